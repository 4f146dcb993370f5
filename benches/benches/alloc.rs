//! What a heap costs inside one process: small blocks, growth, and lending it.

use std::hint::black_box;

use allocator_api2::vec::Vec as HeapVec;
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use sleepy_alloc::Heap;

/// Blocks of one size, allocated in a run and freed in a run.
fn runs(c: &mut Criterion) {
    const BLOCKS: usize = 1_000;
    let heap = Heap::new().expect("memory for a heap");
    let mut group = c.benchmark_group("1000 blocks, allocate then free");
    group.throughput(Throughput::Elements(BLOCKS as u64));
    for bytes in [16usize, 64, 256, 1024, 16 * 1024] {
        group.bench_function(format!("sleepy, {bytes} bytes"), |b| {
            b.iter(|| {
                let blocks: Vec<_> = (0..BLOCKS)
                    .map(|_| HeapVec::<u8, &Heap>::with_capacity_in(bytes, &heap))
                    .collect();
                black_box(blocks)
            });
        });
        group.bench_function(format!("system, {bytes} bytes"), |b| {
            b.iter(|| {
                let blocks: Vec<_> = (0..BLOCKS)
                    .map(|_| Vec::<u8>::with_capacity(bytes))
                    .collect();
                black_box(blocks)
            });
        });
    }
    group.finish();
}

/// A vector that grows a word at a time.
fn growth(c: &mut Criterion) {
    let heap = Heap::new().expect("memory for a heap");
    c.bench_function("push 100,000 words", |b| {
        b.iter(|| {
            let mut v = HeapVec::new_in(&heap);
            for n in 0..100_000u64 {
                v.push(n);
            }
            black_box(v.len())
        });
    });
}

/// The hand-off around a wait where there is nothing to give back.
fn hand_off(c: &mut Criterion) {
    let heap = Heap::new().expect("memory for a heap");
    c.bench_function("park and take back, nothing to give", |b| {
        b.iter(|| drop(black_box(heap.park())));
    });
    c.bench_function("idle_start and idle_end, nothing to give", |b| {
        b.iter(|| {
            black_box(sleepy_alloc::idle_start());
            sleepy_alloc::idle_end();
        });
    });
}

criterion_group!(benches, runs, growth, hand_off);
criterion_main!(benches);
