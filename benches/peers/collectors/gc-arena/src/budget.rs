//! Steps of a given time. gc-arena has none, so there they are steps of a given debt, about as long.

use collectors::steps::Steps;
use collectors::{Figure, Outcome};
use gc_arena::Collect;
use gc_arena::arena::{Arena, CollectionPhase, Root, Rootable};

/// The debt of one step of gc-arena: 200 objects marked, at half a unit each, or 2,000 that stay swept.
#[cfg(not(feature = "sleepy"))]
const STEP_DEBT: f64 = 100.0;

#[cfg(not(feature = "sleepy"))]
fn step<R>(arena: &mut Arena<R>)
where
    R: for<'a> Rootable<'a>,
    for<'a> Root<'a, R>: Sized + Collect<'a>,
{
    arena.metrics().adjust_debt(STEP_DEBT);
    arena.collect_debt();
}

#[cfg(feature = "sleepy")]
fn step<R>(arena: &mut Arena<R>)
where
    R: for<'a> Rootable<'a>,
    for<'a> Root<'a, R>: Sized + Collect<'a>,
{
    use collectors::list::STEP_US;
    use std::time::Duration;
    arena.step(gc_arena::Budget::Time(Duration::from_micros(STEP_US)));
}

/// Runs one whole cycle in short steps, and adds what they took.
pub fn cycle<R>(arena: &mut Arena<R>, outcome: Outcome) -> Outcome
where
    R: for<'a> Rootable<'a>,
    for<'a> Root<'a, R>: Sized + Collect<'a>,
{
    // From the start of a cycle to its end.
    arena.finish_cycle();
    #[cfg(feature = "sleepy")]
    arena.start_cycle();
    #[cfg(not(feature = "sleepy"))]
    while arena.collection_phase() == CollectionPhase::Sleeping {
        step(arena);
    }
    let mut steps = Steps::new();
    while arena.collection_phase() != CollectionPhase::Sleeping {
        steps.measure(|| {
            step(arena);
            true
        });
    }
    steps.into_figures(outcome, Figure::MaxTimedUs, Figure::P99TimedUs)
}
