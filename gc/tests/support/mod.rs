//! What several tests need.

#![allow(dead_code, reason = "each test uses a part")]

use std::{cell::Cell, rc::Rc};

use sleepy_gc::{Arena, Budget, Collect, CollectionPhase, Root, Rootable};

/// Counts how many of its tokens are alive.
#[derive(Clone, Default)]
pub struct Census(Rc<Cell<usize>>);

/// A value that is counted until it is dropped.
#[derive(Collect)]
#[collect(require_static)]
pub struct Token(Rc<Cell<usize>>);

impl Census {
    pub fn token(&self) -> Token {
        self.0.set(self.0.get() + 1);
        Token(Rc::clone(&self.0))
    }

    pub fn alive(&self) -> usize {
        self.0.get()
    }
}

impl Drop for Token {
    fn drop(&mut self) {
        self.0.set(self.0.get() - 1);
    }
}

/// Runs a cycle under way to its end, and then a whole one, after which all that was garbage at the call is gone.
pub fn collect_all<R>(arena: &mut Arena<R>)
where
    R: for<'a> Rootable<'a>,
    for<'a> Root<'a, R>: Sized + Collect<'a>,
{
    if arena.collection_phase() != CollectionPhase::Sleeping {
        arena.finish_cycle();
    }
    arena.finish_cycle();
    assert_eq!(arena.collection_phase(), CollectionPhase::Sleeping);
}

/// Steps, a little at a time, until the collector stands in the phase; a cycle is started if none is under way.
pub fn step_to<R>(arena: &mut Arena<R>, phase: CollectionPhase)
where
    R: for<'a> Rootable<'a>,
    for<'a> Root<'a, R>: Sized + Collect<'a>,
{
    match phase {
        CollectionPhase::Sleeping => {
            if arena.collection_phase() != CollectionPhase::Sleeping {
                arena.finish_cycle();
            }
        }
        CollectionPhase::Marking => {
            if matches!(
                arena.collection_phase(),
                CollectionPhase::Marked | CollectionPhase::Sweeping
            ) {
                arena.finish_cycle();
            }
            if arena.collection_phase() == CollectionPhase::Sleeping {
                arena.start_cycle();
            }
            if arena.collection_phase() == CollectionPhase::Sleeping {
                arena.step(Budget::Work(1));
            }
        }
        CollectionPhase::Marked => {
            if arena.collection_phase() == CollectionPhase::Sweeping {
                arena.finish_cycle();
            }
            assert!(arena.finish_marking().is_some());
        }
        CollectionPhase::Sweeping => {
            if arena.collection_phase() != CollectionPhase::Sweeping {
                step_to(arena, CollectionPhase::Marked);
                arena
                    .finish_marking()
                    .expect("marking had ended")
                    .start_sweeping();
            }
        }
    }
    assert_eq!(arena.collection_phase(), phase);
}

/// All phases, in the order of a cycle.
pub const PHASES: [CollectionPhase; 4] = [
    CollectionPhase::Sleeping,
    CollectionPhase::Marking,
    CollectionPhase::Marked,
    CollectionPhase::Sweeping,
];
