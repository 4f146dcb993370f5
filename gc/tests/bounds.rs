//! A step is bounded whatever the heap holds: counted in calls of the user's code, which no clock can blur.

use std::cell::Cell;
use std::time::Duration;

use sleepy_gc::collect::Trace;
use sleepy_gc::collections::{GcMap, GcTail, GcVec, LateStack};
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

type StackArena = Arena<Rootable![LateStack<'_, Traced>]>;

/// A stack all of whose slots are alive.
fn deep_stack() -> StackArena {
    Arena::new(|mc| {
        let stack = LateStack::new(mc, COUNT, Traced);
        stack.set_top(mc, COUNT);
        stack
    })
}

#[test]
fn windows_on_a_deep_stack_have_only_their_slots_scanned_again() {
    for windows in [vec![0], vec![COUNT - 1], vec![0, COUNT / 2, COUNT - 1]] {
        let mut arena = deep_stack();
        let (mut most, mut all, mut steps) = (0, 0, 0);
        arena.start_cycle();
        while arena.has_work() {
            arena.mutate(|mc, stack| {
                for &slot in &windows {
                    stack.slots(mc, slot..slot + 1).unwrap()[0].set(Traced);
                }
            });
            CALLS.set(0);
            arena.step(Budget::Work(200));
            most = most.max(CALLS.get());
            all += CALLS.get();
            steps += 1;
        }
        assert!(most <= 1000, "{most} slots in one step, {windows:?}");
        assert!(all <= COUNT + 10 * windows.len() * steps, "{all}");
    }
}

#[test]
fn windows_all_over_a_stack_are_scanned_again() {
    // More of them than are remembered one by one, in any order, with the top going up and down.
    let mut arena = deep_stack();
    let mut numbers = 1_u64;
    let mut below = |limit: usize| {
        numbers = numbers.wrapping_mul(6364136223846793005).wrapping_add(1);
        (numbers >> 33) as usize % limit
    };
    for _ in 0..20 {
        arena.start_cycle();
        arena.step(Budget::Work(below(2 * COUNT)));
        for _ in 0..below(40) {
            arena.mutate(|mc, stack| {
                for _ in 0..below(8) {
                    if below(3) == 0 {
                        stack.set_top(mc, below(COUNT));
                    }
                    let start = below(COUNT - 1000);
                    let _ = stack.slots(mc, start..start + below(1000));
                }
            });
            arena.step(Budget::Work(below(COUNT)));
        }
        let top = arena.mutate(|_, stack| stack.top());
        CALLS.set(0);
        arena.finish_cycle();
        arena.verify().unwrap();
        // A young cycle that is under way ends first, and a full one scans it all anew.
        let cycles = 1 + usize::from(arena.is_generational());
        let most = cycles * (COUNT + top + 10);
        assert!(CALLS.get() <= most, "{} of {most}", CALLS.get());
    }
}

#[test]
fn a_deep_list_is_traced_object_by_object() {
    #[derive(Collect)]
    #[collect(no_drop)]
    struct Cons<'gc> {
        traced: Traced,
        next: Option<Gc<'gc, Cons<'gc>>>,
    }
    let mut arena = Arena::<Rootable![Option<Gc<'_, Cons<'_>>>]>::new(|mc| {
        (0..COUNT).fold(None, |next, _| {
            let traced = Traced;
            Some(Gc::new(mc, Cons { traced, next }))
        })
    });
    let (most, all) = cycle(&mut arena, Budget::Work(1));
    assert!(most <= 256, "{most} objects in one step");
    assert_eq!(all, COUNT);
}

#[test]
fn a_root_of_many_vectors_is_traced_in_slices_and_stored_to_meanwhile() {
    #[derive(Collect)]
    #[collect(no_drop)]
    struct Root<'gc> {
        vectors: [GcVec<'gc, Traced>; 30],
    }
    let mut arena = Arena::<Rootable![Root<'_>]>::new(|mc| Root {
        vectors: std::array::from_fn(|_| {
            let vec = GcVec::new();
            vec.try_resize(mc, COUNT / 30, Traced).unwrap();
            vec
        }),
    });
    let (mut most, mut all, mut steps) = (0, 0, 0);
    arena.start_cycle();
    while arena.has_work() {
        arena.mutate_root(|mc, root| root.vectors[steps % 30].set(mc, 0, Traced));
        CALLS.set(0);
        arena.step(Budget::Work(100));
        most = most.max(CALLS.get());
        all += CALLS.get();
        steps += 1;
    }
    assert!(most <= 512, "{most} elements in one step");
    assert!(all <= COUNT + steps, "{all}");
}

#[test]
fn a_map_that_is_rehashed_between_steps_is_traced_about_once() {
    let mut arena = Arena::<Rootable![GcMap<'_, usize, Traced>]>::new(|mc| {
        let map = GcMap::new();
        for n in 0..100_000 {
            map.insert(mc, n, Traced);
        }
        map
    });
    let (mut most, mut all, mut n) = (0, 0, 100_000);
    arena.start_cycle();
    while arena.has_work() {
        arena.mutate(|mc, map| {
            for _ in 0..20 {
                map.insert(mc, n, Traced);
                n += 1;
            }
        });
        CALLS.set(0);
        arena.step(Budget::Work(4000));
        most = most.max(CALLS.get());
        all += CALLS.get();
    }
    assert!(most <= 1000, "{most} entries in one step");
    assert!(all <= 4 * n, "{all} of {n}");
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
fn a_budget_of_work_bounds_destructors_too() {
    let mut arena = Arena::<Rootable![()]>::new(|_| ());
    arena.mutate(|mc, ()| {
        GcTail::new(mc, (), COUNT, |_| Static(Dropped));
        for _ in 0..1000 {
            GcTail::new(mc, (), 100, |_| Static((Dropped, 0_u64)));
        }
    });
    let (most, all) = cycle(&mut arena, Budget::Work(1));
    assert!(most <= 32, "{most} destructors in one step");
    assert_eq!(all, COUNT + 100_000);
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
