//! Barriers raised exactly when everything is marked and nothing is decided: what each does to the phase, and to what
//! was stored.

use std::cell::Cell;

use sleepy_gc::collect::Trace;
use sleepy_gc::{Arena, Collect, CollectionPhase, Gc, GcWeak, Mutation, Rootable};

/// A place that can be stored into without a barrier, so that each barrier has to do for itself.
#[derive(Default)]
struct Place<'gc> {
    strong: Cell<Option<Gc<'gc, Place<'gc>>>>,
    weak: Cell<Option<GcWeak<'gc, Place<'gc>>>>,
}

// SAFETY: both pointers are traced, there is no destructor, and the tests raise the barriers.
unsafe impl<'gc> Collect<'gc> for Place<'gc> {
    fn trace<T: Trace<'gc>>(&self, cc: &mut T) {
        cc.trace(&self.strong.get());
        cc.trace(&self.weak.get());
    }
}

#[derive(Collect)]
#[collect(no_drop)]
struct Root<'gc> {
    parent: Gc<'gc, Place<'gc>>,
    other: Gc<'gc, Place<'gc>>,
}

/// Which object plays a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Colour {
    /// One that was there when marking ended.
    Black,
    /// A new one.
    White,
    None,
}

use CollectionPhase::{Marked, Marking};
use Colour::{Black, White};

/// Marks an arena, raises a barrier in it, and answers the phase after that. What was stored is checked.
fn phase_after(
    parent: Colour,
    child: Colour,
    weak: bool,
    barrier: impl for<'gc> FnOnce(&Mutation<'gc>, Option<Gc<'gc, ()>>, Option<Gc<'gc, ()>>),
) -> CollectionPhase {
    let mut arena = Arena::<Rootable![Root<'_>]>::new(|mc| Root {
        parent: Gc::new(mc, Place::default()),
        other: Gc::new(mc, Place::default()),
    });
    assert!(arena.finish_marking().is_some());
    arena.mutate(|mc, root| {
        let new = || Gc::new(mc, Place::default());
        let object = |colour, black| match colour {
            Black => Some(black),
            White => Some(new()),
            Colour::None => None,
        };
        let of = object(parent, root.parent);
        let stored = object(child, root.other);
        barrier(mc, of.map(Gc::erase), stored.map(Gc::erase));
        // A barrier without a parent speaks for all of them, one without a child for whatever is stored.
        let of = of.unwrap_or(root.parent);
        let stored = stored.unwrap_or_else(new);
        if weak {
            of.weak.set(Some(Gc::downgrade(stored)));
        } else {
            of.strong.set(Some(stored));
        }
    });
    let phase = arena.collection_phase();
    arena.verify().unwrap();
    arena.finish_cycle();
    arena.verify().unwrap();
    arena.mutate(|mc, root| {
        if parent != White {
            let strong = root.parent.strong.get();
            assert_eq!(strong.is_some(), !weak);
            assert!(strong.is_none_or(|stored| stored.strong.get().is_none()));
            if let Some(stored) = root.parent.weak.get() {
                assert_eq!(stored.upgrade(mc).is_some(), child == Black);
                assert_eq!(stored.is_dropped(), child != Black);
            }
        }
    });
    phase
}

#[test]
fn a_backward_barrier_has_a_marked_parent_traced_again() {
    let phase = |parent, child| {
        phase_after(parent, child, false, |mc, parent, child| {
            mc.backward_barrier(parent.expect("there is one"), child);
        })
    };
    assert_eq!(phase(Black, Colour::None), Marking);
    assert_eq!(phase(Black, White), Marking);
    // What is marked may be adopted by all.
    assert_eq!(phase(Black, Black), Marked);
    // What is not marked adopts what it likes.
    assert_eq!(phase(White, Colour::None), Marked);
    assert_eq!(phase(White, White), Marked);
    assert_eq!(phase(White, Black), Marked);
}

#[test]
fn a_forward_barrier_marks_the_child() {
    let phase = |parent, child| {
        phase_after(parent, child, false, |mc, parent, child| {
            mc.forward_barrier(parent, child.expect("there is one"));
        })
    };
    assert_eq!(phase(Black, White), Marking);
    assert_eq!(phase(Colour::None, White), Marking);
    assert_eq!(phase(Black, Black), Marked);
    assert_eq!(phase(Colour::None, Black), Marked);
    assert_eq!(phase(White, White), Marked);
    assert_eq!(phase(White, Black), Marked);
}

#[test]
fn weak_barriers_keep_nothing_alive() {
    let backward = |parent, child| {
        phase_after(parent, child, true, |mc, parent, child| {
            let child = Gc::downgrade(child.expect("there is one"));
            mc.backward_barrier_weak(parent.expect("there is one"), child);
        })
    };
    assert_eq!(backward(Black, White), Marking);
    assert_eq!(backward(Black, Black), Marking);
    assert_eq!(backward(White, White), Marked);
    let forward = |parent, child| {
        phase_after(parent, child, true, |mc, parent, child| {
            let child = Gc::downgrade(child.expect("there is one"));
            mc.forward_barrier_weak(parent, child);
        })
    };
    for parent in [Black, White, Colour::None] {
        for child in [Black, White] {
            assert_eq!(forward(parent, child), Marked, "{parent:?} {child:?}");
        }
    }
}

#[test]
fn a_child_without_pointers_is_marked_at_once() {
    let mut arena = Arena::<Rootable![Gc<'_, sleepy_gc::Lock<Option<Gc<'_, u64>>>>]>::new(|mc| {
        Gc::new(mc, sleepy_gc::Lock::new(None))
    });
    assert!(arena.finish_marking().is_some());
    arena.mutate(|mc, root| {
        let child = Gc::new(mc, 7_u64);
        mc.forward_barrier(Some(Gc::erase(*root)), Gc::erase(child));
        // SAFETY: the barrier was raised.
        unsafe { root.as_cell() }.set(Some(child));
    });
    assert_eq!(arena.collection_phase(), Marked, "nothing is left to trace");
    arena.finish_marking().unwrap().start_sweeping();
    arena.finish_cycle();
    arena.mutate(|_, root| assert_eq!(root.get().as_deref(), Some(&7)));
}

#[test]
fn barriers_do_nothing_outside_of_marking() {
    for sweeping in [false, true] {
        let mut arena =
            Arena::<Rootable![Gc<'_, Place<'_>>]>::new(|mc| Gc::new(mc, Place::default()));
        if sweeping {
            arena.finish_marking().unwrap().start_sweeping();
        }
        let before = arena.collection_phase();
        arena.mutate(|mc, root| {
            let child = Gc::new(mc, Place::default());
            let (parent, erased) = (Gc::erase(*root), Gc::erase(child));
            mc.backward_barrier(parent, Some(erased));
            mc.forward_barrier(None, erased);
            mc.backward_barrier_weak(parent, Gc::downgrade(erased));
            mc.forward_barrier_weak(None, Gc::downgrade(erased));
            root.strong.set(Some(child));
        });
        assert_eq!(arena.collection_phase(), before);
        arena.finish_cycle();
        arena.finish_cycle();
        arena.mutate(|_, root| assert!(root.strong.get().is_some()));
        arena.verify().unwrap();
    }
}
