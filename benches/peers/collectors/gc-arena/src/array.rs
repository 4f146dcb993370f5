//! One large array.

use crate::budget;
use crate::table::Table;
use collectors::list::STEP_BATCH;
use collectors::steps::{Steps, cpu_ns};
use collectors::{Figure, Outcome, Size};
use gc_arena::arena::CollectionPhase;
use gc_arena::metrics::Pacing;
use gc_arena::{Arena, Collect, Gc, Rootable, Static};
use std::hint::black_box;
use workloads::random::Random;

type Entry = Static<[u64; 2]>;

#[derive(Collect)]
#[collect(no_drop)]
struct Root<'gc> {
    array: Gc<'gc, Table<'gc, Entry>>,
}

/// The steps of one cycle that garbage drives, then those of a cycle in short steps.
pub fn array(size: Size, pacing: Pacing) -> Outcome {
    let mut random = Random::new(3);
    let mut arena = Arena::<Rootable![Root<'_>]>::new(|mc| Root {
        array: Gc::new(
            mc,
            Table::new(
                mc,
                size.live,
                |n| Gc::new(mc, Static([n as u64; 2])),
                |i| random.below(i + 1),
            ),
        ),
    });
    arena.metrics().set_pacing(pacing);
    arena.finish_cycle();
    let ((), mark_ns) = cpu_ns(|| _ = arena.finish_marking());
    arena.finish_cycle();
    let check = arena.mutate(|_, root| root.array.at(size.live / 2).0[1]);
    let mut steps = Steps::new();
    let mut begun = false;
    // A cycle is over long before that, unless it comes in one piece.
    for _ in 0..=8 * size.live / STEP_BATCH {
        arena.mutate(|mc, _| {
            for n in 0..STEP_BATCH as u64 {
                black_box(Gc::new(mc, Static([n; 2])));
            }
        });
        let mut asleep = false;
        steps.measure(|| {
            arena.collect_debt();
            asleep = arena.collection_phase() == CollectionPhase::Sleeping;
            !asleep
        });
        begun |= !asleep;
        if begun && asleep {
            break;
        }
    }
    let outcome = Outcome::check(check).with(Figure::MarkNs, mark_ns as f64 / size.live as f64);
    let outcome = steps.into_figures(outcome, Figure::MaxStepUs, Figure::P99StepUs);
    budget::cycle(&mut arena, outcome)
}
