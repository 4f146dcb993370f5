//! A step is bounded whatever the heap holds: counted in calls of the user's code, which no clock can blur.

use std::cell::Cell;
use std::time::Duration;

use sleepy_gc::collect::Trace;
use sleepy_gc::collections::{GcTail, GcVec, LateStack};
use sleepy_gc::{Arena, Budget, Collect, Gc, Rootable, Static};

thread_local! {
    static CALLS: Cell<usize> = const { Cell::new(0) };
}

/// Counts how often it is traced.
#[derive(Clone, Copy)]
struct Traced;

// SAFETY: owns no pointer.
unsafe impl<'gc> Collect<'gc> for Traced {
    fn trace<C: Trace<'gc>>(&self, _: &mut C) {
        CALLS.set(CALLS.get() + 1);
    }
}

/// Counts how often it is dropped.
struct Dropped;

impl Drop for Dropped {
    fn drop(&mut self) {
        CALLS.set(CALLS.get() + 1);
    }
}

/// Runs a cycle in steps; the most calls that one of them made, and all of them together.
fn cycle<R>(arena: &mut Arena<R>, budget: Budget) -> (usize, usize)
where
    R: for<'a> Rootable<'a>,
    for<'a> sleepy_gc::Root<'a, R>: Sized + Collect<'a>,
{
    let (mut most, mut all) = (0, 0);
    arena.start_cycle();
    while arena.has_work() {
        CALLS.set(0);
        arena.step(budget);
        most = most.max(CALLS.get());
        all += CALLS.get();
    }
    (most, all)
}

const COUNT: usize = 300_000;

#[test]
fn a_huge_vector_is_traced_in_slices() {
    let mut arena = Arena::<Rootable![GcVec<'_, Traced>]>::new(|mc| {
        let vec = GcVec::new();
        vec.try_resize(mc, COUNT, Traced).unwrap();
        vec
    });
    let (most, all) = cycle(&mut arena, Budget::Work(1));
    assert!(most <= 256, "{most} elements in one step");
    assert_eq!(all, COUNT);
}

#[test]
fn a_huge_tail_is_traced_in_slices() {
    let mut arena =
        Arena::<Rootable![GcTail<'_, u8, Traced>]>::new(|mc| GcTail::new(mc, 0, COUNT, |_| Traced));
    let (most, all) = cycle(&mut arena, Budget::Work(1));
    assert!(most <= 256, "{most} elements in one step");
    assert_eq!(all, COUNT);
}

#[test]
fn a_deep_stack_is_scanned_in_slices() {
    let mut arena = Arena::<Rootable![LateStack<'_, Traced>]>::new(|mc| {
        let stack = LateStack::new(mc, COUNT, Traced);
        stack.set_top(mc, COUNT);
        stack
    });
    let (most, all) = cycle(&mut arena, Budget::Work(1));
    assert!(most <= 256, "{most} slots in one step");
    assert!((COUNT..COUNT + 10).contains(&all), "{all}");
}

#[test]
fn a_million_destructors_are_many_steps() {
    let mut arena = Arena::<Rootable![()]>::new(|_| ());
    arena.mutate(|mc, ()| {
        for _ in 0..COUNT {
            Gc::new(mc, Static(Dropped));
        }
    });
    let (most, all) = cycle(&mut arena, Budget::Time(Duration::from_micros(15)));
    assert!(most < COUNT / 10, "{most} destructors in one step");
    assert_eq!(all, COUNT);
}

#[test]
fn a_huge_tail_of_destructors_is_many_steps() {
    let mut arena = Arena::<Rootable![()]>::new(|_| ());
    arena.mutate(|mc, ()| {
        GcTail::new(mc, (), COUNT, |_| Static(Dropped));
    });
    let (most, all) = cycle(&mut arena, Budget::Time(Duration::from_micros(15)));
    assert!(most < COUNT / 10, "{most} destructors in one step");
    assert_eq!(all, COUNT);
}

#[test]
fn a_store_into_a_huge_vector_does_not_trace_it_again() {
    let mut arena = Arena::<Rootable![GcVec<'_, Traced>]>::new(|mc| {
        let vec = GcVec::new();
        vec.try_resize(mc, COUNT, Traced).unwrap();
        vec
    });
    arena.start_cycle();
    CALLS.set(0);
    let mut stores = 0;
    while arena.has_work() {
        arena.mutate(|mc, vec| vec.set(mc, stores % COUNT, Traced));
        arena.step(Budget::Work(1000));
        stores += 1;
    }
    assert!(
        CALLS.get() <= COUNT + stores,
        "{} traces, {stores} stores",
        CALLS.get()
    );
}
