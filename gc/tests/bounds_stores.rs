//! What a program stores between bounded steps neither keeps the collector from going on nor is counted twice: counted in
//! calls of the user's code and in bytes of work.

use std::cell::Cell;

use sleepy_gc::collect::Trace;
use sleepy_gc::{Arena, Budget, Collect, Gc, Mutation, Rootable, lock::Lock};

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

/// Builds in which steps are of any length at all.
fn is_zealous() -> bool {
    std::env::var_os("SLEEPY_ZEAL").is_some()
}

type Place<'gc> = Gc<'gc, Lock<Option<Gc<'gc, usize>>>>;

#[derive(Collect)]
#[collect(no_drop)]
struct Places<'gc> {
    places: Vec<Place<'gc>>,
    rest: Vec<Gc<'gc, Traced>>,
}

const PLACES: usize = 2_000;
const REST: usize = 20_000;

fn places() -> Arena<Rootable![Places<'_>]> {
    Arena::new(|mc| Places {
        places: (0..PLACES).map(|_| Gc::new(mc, Lock::new(None))).collect(),
        rest: (0..REST).map(|_| Gc::new(mc, Traced)).collect(),
    })
}

#[test]
fn a_program_that_stores_more_than_a_step_traces_lets_the_marking_go_on_and_end() {
    if is_zealous() {
        return;
    }
    let mut arena = places();
    arena.finish_cycle();
    arena.start_cycle();
    let (mut steps, mut calls, mut idle) = (0, 0, 0);
    while arena.has_work() {
        CALLS.set(0);
        arena.step(Budget::Work(2_000));
        calls += CALLS.get();
        idle = if CALLS.get() == 0 { idle + 1 } else { 0 };
        // The first step has the root, the second one what was stored meanwhile.
        assert!(calls >= REST || idle <= 2, "steps without progress");
        arena.mutate(|mc, root| {
            for n in 0..400 {
                let place = root.places[(steps * 400 + n) % PLACES];
                place.set(mc, Some(Gc::new(mc, n)));
            }
        });
        steps += 1;
        assert!(steps < 5_000, "the cycle does not end");
    }
    assert_eq!(calls, REST, "each was traced once");
    arena.verify().unwrap();
}

#[test]
fn what_is_reached_after_a_store_is_counted_once() {
    if is_zealous() {
        return;
    }
    let work = |after: for<'gc> fn(&Mutation<'gc>, Place<'gc>)| {
        let mut arena = places();
        assert!(arena.finish_marking().is_some());
        arena.mutate(|mc, root| {
            for &place in &root.places {
                Gc::write(mc, place);
                after(mc, place);
            }
        });
        let before = arena.metrics().cycles();
        let mut work = 0;
        while arena.metrics().cycles() == before {
            work += arena.step(Budget::Work(1_000)).work_bytes;
        }
        work
    };
    let stored = work(|_, _| {});
    // Marked from the callback: what is left is to find that out.
    let reached = work(|mc, place| mc.forward_barrier(None, Gc::erase(place)));
    assert!(stored >= reached + PLACES * 4, "{stored} and {reached}");
}
