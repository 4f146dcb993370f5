//! What a heap costs inside one process: small blocks, growth, and lending it.

use std::alloc::Layout;
use std::hint::black_box;
use std::thread;
use std::time::{Duration, Instant};

use allocator_api2::vec::Vec as HeapVec;
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use sleepy_alloc::{Heap, raw};

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
    // A thread without a heap of its own has nothing to lend.
    let kept = raw::alloc(Layout::new::<[u64; 8]>());
    c.bench_function("idle_start and idle_end, nothing to give", |b| {
        b.iter(|| {
            black_box(sleepy_alloc::idle_start());
            sleepy_alloc::idle_end();
        });
    });
    // SAFETY: allocated above, and not used again.
    unsafe { raw::free(kept) };
    c.bench_function("park and take back, on the schedule", |b| {
        b.iter_custom(|pairs| {
            let mut left = pairs;
            let mut time = Duration::ZERO;
            while left > 0 {
                let now = left.min(PAIRS_A_WINDOW);
                time += on_schedule(&heap, now);
                left -= now;
            }
            time
        });
    });
}

/// Hand-offs that are over long before a window of the schedule (100 ms) is.
const PAIRS_A_WINDOW: u64 = 10_000;

/// Lends the heap `pairs` times while it has something to give and the scavenger is on its schedule.
fn on_schedule(heap: &Heap, pairs: u64) -> Duration {
    let free_some = || {
        drop(
            (0..256)
                .map(|_| HeapVec::<u8, &Heap>::with_capacity_in(16 * 1024, heap))
                .collect::<Vec<_>>(),
        );
    };
    // The first takes what there is and opens the window; the second is what the hand-offs find.
    free_some();
    let parked = heap.park();
    thread::sleep(Duration::from_millis(2));
    drop(parked);
    free_some();
    let start = Instant::now();
    for _ in 0..pairs {
        drop(black_box(heap.park()));
    }
    start.elapsed()
}

/// A lock that nobody else wants.
fn locks(c: &mut Criterion) {
    let mut group = c.benchmark_group("lock and unlock, uncontended");
    let sleepy = sleepy_alloc::lock::Mutex::new(0u64);
    group.bench_function("sleepy", |b| b.iter(|| *black_box(&sleepy).lock() += 1));
    let standard = std::sync::Mutex::new(0u64);
    group.bench_function("std", |b| {
        b.iter(|| *black_box(&standard).lock().expect("nobody panics") += 1);
    });
    group.finish();
}

criterion_group!(benches, runs, growth, hand_off, locks);
criterion_main!(benches);
