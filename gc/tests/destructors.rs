//! Panics of the user's code in callbacks, destructors, initialisers and traces, cut into steps.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;

use sleepy_gc::collect::Trace;
use sleepy_gc::collections::{GcTail, GcVec};
use sleepy_gc::{Arena, Budget, Collect, Gc, Lock, Rootable};

/// Counts the living, and panics when it is dropped, if told to.
#[derive(Collect)]
#[collect(require_static)]
struct Bomb {
    alive: Rc<Cell<usize>>,
    armed: bool,
}

impl Bomb {
    fn new(alive: &Rc<Cell<usize>>, armed: bool) -> Self {
        alive.set(alive.get() + 1);
        Self {
            alive: alive.clone(),
            armed,
        }
    }
}

impl Drop for Bomb {
    fn drop(&mut self) {
        self.alive.set(self.alive.get() - 1);
        assert!(!self.armed, "a destructor");
    }
}

fn quiet<T>(f: impl FnOnce() -> T) -> Option<T> {
    catch_unwind(AssertUnwindSafe(f)).ok()
}

#[test]
fn a_panic_in_a_callback_leaves_the_arena_usable() {
    let mut arena = Arena::<Rootable![GcVec<'_, Gc<'_, u32>>]>::new(|_| GcVec::new());
    for n in 0..100 {
        assert!(
            quiet(|| arena.mutate(|mc, root| {
                root.push(mc, Gc::new(mc, n));
                panic!("a callback");
            }))
            .is_none()
        );
        arena.start_cycle();
        arena.step(Budget::Work(64));
        arena.verify().unwrap();
    }
    arena.finish_cycle();
    arena.mutate(|_, root| assert!(root.iter().map(|n| *n).eq(0..100)));
}

#[test]
fn a_destructor_that_panics_stops_neither_the_sweep_nor_the_others() {
    let alive = Rc::new(Cell::new(0));
    let mut arena = Arena::<Rootable![()]>::new(|_| ());
    arena.mutate(|mc, ()| {
        for n in 0..1000 {
            Gc::new(mc, Bomb::new(&alive, n % 100 == 0));
        }
        GcTail::new(mc, Bomb::new(&alive, true), 100, |n| {
            Bomb::new(&alive, n == 50)
        });
    });
    let mut panics = 0;
    while alive.get() > 0 {
        if quiet(|| arena.finish_cycle()).is_none() {
            panics += 1;
        }
        arena.verify().unwrap();
        assert!(panics < 100);
    }
    assert_eq!(panics, 12, "each armed destructor panics once");
    arena.finish_cycle();
    assert_eq!(arena.heap_bytes(), 0);
}

#[test]
fn a_destructor_that_panics_when_the_arena_is_dropped_does_not_spare_the_others() {
    let alive = Rc::new(Cell::new(0));
    let arena = Arena::<Rootable![()]>::new(|_| ());
    arena.mutate(|mc, ()| {
        for n in 0..1000 {
            Gc::new(mc, Bomb::new(&alive, n == 500));
        }
        GcTail::new(mc, (), 100, |_| Bomb::new(&alive, false));
    });
    assert!(quiet(|| drop(arena)).is_none());
    assert_eq!(alive.get(), 0);
}

#[test]
fn an_initialiser_that_panics_drops_what_it_has_made() {
    let alive = Rc::new(Cell::new(0));
    let mut arena = Arena::<Rootable![()]>::new(|_| ());
    for len in [10, 5_000] {
        arena.mutate(|mc, ()| {
            let made = quiet(|| {
                GcTail::new(mc, Bomb::new(&alive, false), len, |n| {
                    assert!(n < len - 1, "an initialiser");
                    Bomb::new(&alive, false)
                })
            });
            assert!(made.is_none());
        });
        assert_eq!(alive.get(), 0);
        arena.verify().unwrap();
        arena.finish_cycle();
        arena.verify().unwrap();
    }
}

thread_local! {
    static PANIC_IN_TRACE: Cell<bool> = const { Cell::new(false) };
}

/// Its trace panics now and then.
struct Nervous<'gc> {
    next: Lock<Option<Gc<'gc, Nervous<'gc>>>>,
    payload: Gc<'gc, Bomb>,
}

// SAFETY: both parts are traced, after a panic again.
unsafe impl<'gc> Collect<'gc> for Nervous<'gc> {
    fn trace<C: Trace<'gc>>(&self, cc: &mut C) {
        cc.trace(&self.next);
        assert!(!PANIC_IN_TRACE.replace(false), "a trace");
        cc.trace(&self.payload);
    }
}

#[test]
fn an_object_whose_trace_panics_is_traced_again() {
    let alive = Rc::new(Cell::new(0));
    type Root<'gc> = Gc<'gc, Nervous<'gc>>;
    let mut arena = Arena::<Rootable![Root<'_>]>::new(|mc| {
        let mut next = None;
        for _ in 0..100 {
            next = Some(Gc::new(
                mc,
                Nervous {
                    next: Lock::new(next),
                    payload: Gc::new(mc, Bomb::new(&alive, false)),
                },
            ));
        }
        next.unwrap()
    });
    let mut panics = 0;
    for _ in 0..3 {
        arena.start_cycle();
        while arena.has_work() {
            PANIC_IN_TRACE.set(true);
            if quiet(|| arena.step(Budget::Work(100))).is_none() {
                panics += 1;
            }
            PANIC_IN_TRACE.set(false);
            arena.step(Budget::Work(100));
        }
        arena.verify().unwrap();
        assert_eq!(alive.get(), 100);
    }
    assert!(panics > 0);
}
