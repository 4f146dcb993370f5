//! Stores into a graph, with and without a cycle under way.

use crate::table::Table;
use collectors::list::{EDGES, FRESH, WRITE_BATCH};
use collectors::steps::Steps;
use collectors::{Figure, Outcome, Size};
use gc_arena::arena::CollectionPhase;
use gc_arena::barrier::field;
use gc_arena::metrics::Pacing;
use gc_arena::{Arena, Collect, Gc, Lock, Mutation, Rootable};
use workloads::random::Random;

type Edge<'gc> = Lock<Option<Gc<'gc, Node<'gc>>>>;

#[derive(Collect)]
#[collect(no_drop)]
struct Node<'gc> {
    id: u64,
    edges: [Edge<'gc>; EDGES],
}

fn node<'gc>(mc: &Mutation<'gc>, id: u64) -> Gc<'gc, Node<'gc>> {
    let edges = std::array::from_fn(|_| Lock::new(None));
    Gc::new(mc, Node { id, edges })
}

#[inline]
fn store<'gc>(mc: &Mutation<'gc>, from: Gc<'gc, Node<'gc>>, edge: usize, to: Gc<'gc, Node<'gc>>) {
    field!(Gc::write(mc, from), Node, edges)[edge]
        .unlock()
        .set(Some(to));
}

#[derive(Collect)]
#[collect(no_drop)]
struct Graph<'gc> {
    nodes: Table<'gc, Node<'gc>>,
}

type Graphs = Rootable![Graph<'_>];

fn graph(nodes: usize, pacing: Pacing) -> Arena<Graphs> {
    let arena = Arena::new(|mc| Graph {
        nodes: Table::new(mc, nodes, |id| node(mc, id as u64), |i| i),
    });
    arena.metrics().set_pacing(pacing);
    arena
}

fn check(arena: &Arena<Graphs>, nodes: usize) -> u64 {
    arena.mutate(|_, root| {
        let ids = (0..nodes).flat_map(|i| {
            let node = root.nodes.at(i);
            (0..EDGES).map(move |e| node.edges[e].get().map_or(0, |to| (e as u64 + 1) * to.id))
        });
        ids.fold(0, u64::wrapping_add)
    })
}

/// Stores only: nothing is allocated, so no cycle begins.
pub fn writes(size: Size, pacing: Pacing) -> Outcome {
    let mut arena = graph(size.live, pacing);
    arena.finish_cycle();
    let mut random = Random::new(2);
    for _ in 0..size.ops / WRITE_BATCH {
        arena.mutate(|mc, root| {
            for _ in 0..WRITE_BATCH {
                let from = root.nodes.at(random.below(size.live));
                let to = root.nodes.at(random.below(size.live));
                store(mc, from, random.below(EDGES), to);
            }
        });
        arena.collect_debt();
    }
    Outcome::check(check(&arena, size.live))
}

/// gc-arena's default factors, for both: two objects, or two objects' bytes, are marked for each that is allocated. Without
/// sleep, so that a cycle begins when the one before has ended.
const AWAKE: Pacing = Pacing {
    sleep_factor: 0.0,
    min_sleep: 0,
    mark_factor: 0.1,
    trace_factor: 0.4,
    keep_factor: 0.05,
    drop_factor: 0.2,
    free_factor: 0.3,
};

/// Every [`FRESH`]th store is of a new node, with a cycle always under way.
pub fn writes_in_cycle(size: Size) -> Outcome {
    writes_and_allocates(size, AWAKE)
}

/// Every [`FRESH`]th store is of a new node; cycles as the collector paces them.
pub fn writes_and_allocates(size: Size, pacing: Pacing) -> Outcome {
    let mut arena = graph(size.live, pacing);
    arena.finish_cycle();
    let mut random = Random::new(2);
    let mut steps = Steps::new();
    let mut id = size.live as u64;
    for _ in 0..size.ops / WRITE_BATCH {
        arena.mutate(|mc, root| {
            for n in 0..WRITE_BATCH {
                let from = root.nodes.at(random.below(size.live));
                let to = if n % FRESH == 0 {
                    id += 1;
                    node(mc, id)
                } else {
                    root.nodes.at(random.below(size.live))
                };
                store(mc, from, random.below(EDGES), to);
            }
        });
        steps.measure(|| {
            arena.collect_debt();
            arena.collection_phase() != CollectionPhase::Sleeping
        });
    }
    let outcome = Outcome::check(check(&arena, size.live));
    steps.into_figures(outcome, Figure::MaxStepUs, Figure::P99StepUs)
}
