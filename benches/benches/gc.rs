//! What the collector costs inside one process: allocation, marking, sweeping, and the steps between.

use std::hint::black_box;
use std::time::Duration;

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use sleepy_benches::graph::{Chain, Node, Tree, array_arena, chain_arena, tree_arena};
use sleepy_gc::{Arena, Budget, CollectionPhase, Gc, Rootable, Static};

/// Short-lived objects of 16 bytes, collected as the debt asks.
fn small_short_lived(c: &mut Criterion) {
    const OBJECTS: u64 = 100_000;
    let mut group = c.benchmark_group("allocate");
    group.throughput(Throughput::Elements(OBJECTS));
    group.bench_function("16 bytes, short-lived", |b| {
        let mut arena = Arena::<Rootable![Static<()>]>::new(|_| Static(()));
        b.iter(|| {
            for _ in 0..OBJECTS / 1_000 {
                arena.mutate(|mc, _| {
                    for n in 0..1_000u64 {
                        black_box(Gc::new(mc, Static([n, n])));
                    }
                });
                arena.collect_debt();
            }
        });
    });
    group.finish();
}

/// A binary tree built and dropped, as in the benchmark of that name.
fn binary_tree(c: &mut Criterion) {
    const DEPTH: u32 = 14;
    let mut group = c.benchmark_group("binary tree");
    group.throughput(Throughput::Elements((2 << DEPTH) - 1));
    group.bench_function("build and drop, depth 14", |b| {
        let mut arena = tree_arena();
        b.iter(|| {
            arena.mutate_root(|mc, root| root.tree = Some(Tree::build(mc, DEPTH)));
            arena.collect_debt();
        });
    });
    group.finish();
}

/// A whole cycle over a million live cells, and over a million dead ones.
fn full_cycle(c: &mut Criterion) {
    const CELLS: usize = 1_000_000;
    let mut group = c.benchmark_group("full cycle");
    group.sample_size(10);
    group.throughput(Throughput::Elements(CELLS as u64));
    group.bench_function("a million live cells", |b| {
        let mut arena = chain_arena(CELLS);
        arena.finish_cycle();
        b.iter(|| arena.finish_cycle());
    });
    group.bench_function("a million dead cells", |b| {
        b.iter_batched(
            || {
                let mut arena = chain_arena(CELLS);
                arena.finish_cycle();
                arena.mutate_root(|_, root| root.head = None);
                arena
            },
            |mut arena| {
                arena.finish_cycle();
                arena
            },
            BatchSize::PerIteration,
        );
    });
    group.finish();
}

/// A cycle over one large array, in short steps; and the end of a heap.
fn array_and_end(c: &mut Criterion) {
    const CELLS: usize = 1_000_000;
    let mut group = c.benchmark_group("large");
    group.sample_size(10);
    group.throughput(Throughput::Elements(CELLS as u64));
    group.bench_function("array of a million, in steps of 15 us", |b| {
        let mut arena = array_arena(CELLS);
        arena.finish_cycle();
        b.iter(|| {
            arena.start_cycle();
            while arena.has_work() {
                arena.step(Budget::Time(Duration::from_micros(15)));
            }
        });
    });
    group.bench_function("drop a million cells", |b| {
        b.iter_batched(|| chain_arena(CELLS), drop, BatchSize::PerIteration);
    });
    group.finish();
}

/// Stores into objects, through the write barrier.
fn writes(c: &mut Criterion) {
    const NODES: usize = 100_000;
    const WRITES: usize = 1_000;
    let mut group = c.benchmark_group("writes");
    group.throughput(Throughput::Elements(WRITES as u64));
    for marking in [false, true] {
        let name = if marking { "while marking" } else { "asleep" };
        group.bench_function(name, |b| {
            let mut arena = array_arena(NODES);
            arena.finish_cycle();
            let mut place = 0;
            b.iter(|| {
                if marking && arena.collection_phase() != CollectionPhase::Marking {
                    arena.finish_cycle();
                    arena.start_cycle();
                }
                if marking {
                    arena.step(Budget::Work(4096));
                }
                arena.mutate(|mc, root| {
                    for _ in 0..WRITES {
                        place = (place + 7_919) % NODES;
                        let (from, to) = (root.nodes.get(place), root.nodes.get(NODES - 1 - place));
                        if let (Some(from), Some(to)) = (from, to) {
                            Node::set(from, mc, to);
                        }
                    }
                });
            });
        });
    }
    group.finish();
}

/// Lists pushed and dropped while others stay live.
fn list_churn(c: &mut Criterion) {
    const CELLS: u64 = 10_000;
    let mut group = c.benchmark_group("list churn");
    group.throughput(Throughput::Elements(CELLS));
    group.bench_function("beside 100,000 live cells", |b| {
        let mut arena = chain_arena(100_000);
        b.iter(|| {
            arena.mutate(|mc, _| {
                let mut head = None;
                for n in 0..CELLS {
                    head = Some(Chain::cons(mc, n, head));
                }
                black_box(head);
            });
            arena.collect_debt();
        });
    });
    group.finish();
}

/// What entering the arena costs, a bounded step, and lending the heap.
fn boundaries(c: &mut Criterion) {
    let mut group = c.benchmark_group("boundary");
    let mut arena = chain_arena(1_000);
    arena.finish_cycle();
    group.bench_function("mutate, empty", |b| {
        b.iter(|| arena.mutate(|_, root| black_box(root.head.is_some())));
    });
    group.bench_function("step of 15 us inside a cycle", |b| {
        let mut arena = chain_arena(1_000_000);
        b.iter(|| {
            if !arena.has_work() {
                arena.start_cycle();
            }
            black_box(arena.step(Budget::Time(Duration::from_micros(15))))
        });
    });
    group.bench_function("park and take back, nothing to give", |b| {
        b.iter(|| drop(black_box(arena.park())));
    });
    group.finish();
}

criterion_group!(
    benches,
    small_short_lived,
    binary_tree,
    full_cycle,
    array_and_end,
    writes,
    list_churn,
    boundaries
);
criterion_main!(benches);
