//! The steps of a heap in a steady state: a queue that is pushed to and popped from.

use crate::budget;
use collectors::list::STEP_BATCH;
use collectors::steps::{Steps, cpu_ns};
use collectors::{Figure, Outcome, Size};
use gc_arena::arena::CollectionPhase;
use gc_arena::metrics::Pacing;
use gc_arena::{Arena, Collect, Gc, Lock, Mutation, Rootable, barrier::unlock};

/// 32 bytes.
#[derive(Collect)]
#[collect(no_drop)]
struct Cell<'gc> {
    next: Lock<Option<Gc<'gc, Cell<'gc>>>>,
    values: [u64; 3],
}

fn cell<'gc>(mc: &Mutation<'gc>, value: u64) -> Gc<'gc, Cell<'gc>> {
    Gc::new(
        mc,
        Cell {
            next: Lock::new(None),
            values: [value; 3],
        },
    )
}

#[derive(Collect)]
#[collect(no_drop)]
struct Queue<'gc> {
    head: Gc<'gc, Cell<'gc>>,
    tail: Gc<'gc, Cell<'gc>>,
}

impl<'gc> Queue<'gc> {
    fn push(&mut self, mc: &Mutation<'gc>, value: u64) {
        let new = cell(mc, value);
        unlock!(Gc::write(mc, self.tail), Cell, next).set(Some(new));
        self.tail = new;
    }

    /// The first value; the queue keeps at least one.
    fn pop(&mut self) -> u64 {
        let value = self.head.values[2];
        if let Some(next) = self.head.next.get() {
            self.head = next;
        }
        value
    }
}

/// Steps that allocation drives, then a cycle in short steps.
pub fn steps(size: Size, pacing: Pacing) -> Outcome {
    let mut value = 0;
    let mut arena = Arena::<Rootable![Queue<'_>]>::new(|mc| {
        let first = cell(mc, value);
        let mut queue = Queue {
            head: first,
            tail: first,
        };
        for _ in 0..size.live {
            value += 1;
            queue.push(mc, value);
        }
        queue
    });
    arena.metrics().set_pacing(pacing);
    arena.finish_cycle();
    let ((), mark_ns) = cpu_ns(|| _ = arena.finish_marking());
    arena.finish_cycle();
    let mut check = 0u64;
    let mut steps = Steps::new();
    for _ in 0..size.ops / STEP_BATCH {
        check += arena.mutate_root(|mc, root| {
            let mut sum = 0;
            for _ in 0..STEP_BATCH {
                value += 1;
                root.push(mc, value);
                sum += root.pop();
            }
            sum
        });
        steps.measure(|| {
            arena.collect_debt();
            arena.collection_phase() != CollectionPhase::Sleeping
        });
    }
    let outcome = Outcome::check(check)
        .live(size.live * 32)
        .with(Figure::MarkNs, mark_ns as f64 / size.live as f64);
    let outcome = steps.into_figures(outcome, Figure::MaxStepUs, Figure::P99StepUs);
    budget::cycle(&mut arena, outcome)
}
