//! Measures what the allocator is judged on, on this machine.
//!
//! `cargo run --release -p sleepy-alloc --example measure`

use allocator_api2::alloc::Allocator;
use allocator_api2::boxed::Box as HeapBox;
use allocator_api2::vec::Vec as HeapVec;
use sleepy_alloc::{Heap, purge_now, stats};
use std::alloc::Layout;
use std::hint::black_box;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

#[path = "../tests/common/mod.rs"]
mod common;
use common::{rss_bytes, scavenger_sleeps};

fn main() {
    floor();
    owner_wait();
    park_cost();
    block_cost();
    timer("16 KiB more free each turn", 16 * 1024);
    timer("nothing freed", 0);
}

/// Takes a heap back while another thread sweeps it without rest.
fn owner_wait() {
    static DONE: AtomicBool = AtomicBool::new(false);
    let heap = Heap::new().unwrap();
    let sweeper = std::thread::spawn(|| {
        while !DONE.load(Ordering::Relaxed) {
            purge_now();
        }
    });
    let mut waits = Vec::with_capacity(4000);
    let mut blocks: Vec<Option<HeapBox<[u64; 6], &Heap>>> = (0..1_000_000)
        .map(|_| Some(HeapBox::new_in([1; 6], &heap)))
        .collect();
    let mut at = 0;
    for _ in 0..4000 {
        for _ in 0..3000 {
            at = (at + 7919) % blocks.len();
            let block = &mut blocks[at];
            *block = if block.is_some() {
                None
            } else {
                Some(HeapBox::new_in([2; 6], &heap))
            };
        }
        let parked = heap.park();
        let until = Instant::now() + Duration::from_micros(100);
        while Instant::now() < until {
            std::hint::spin_loop();
        }
        let start = Instant::now();
        drop(parked);
        waits.push(start.elapsed());
    }
    DONE.store(true, Ordering::Relaxed);
    sweeper.join().unwrap();
    waits.sort();
    let at = |share: f64| waits[(waits.len() as f64 * share) as usize];
    println!(
        "taking a heap back while it is swept: p50 {:?}, p90 {:?}, p99 {:?}, p99.9 {:?}, max {:?}; {:?}",
        at(0.5),
        at(0.9),
        at(0.99),
        at(0.999),
        waits[waits.len() - 1],
        stats(),
    );
}

fn ns_each(count: u32, start: Instant) -> f64 {
    start.elapsed().as_nanos() as f64 / f64::from(count)
}

/// Least of several rounds.
fn least(mut round: impl FnMut() -> f64) -> f64 {
    (0..7).map(|_| round()).fold(f64::MAX, f64::min)
}

fn park_cost() {
    let heap = Heap::new().unwrap();
    let _kept = HeapVec::<u8, _>::with_capacity_in(64, &heap);
    let ns = least(|| {
        let start = Instant::now();
        for _ in 0..1_000_000 {
            drop(black_box(&heap).park());
        }
        ns_each(1_000_000, start)
    });
    println!(
        "park and unpark with nothing to give: {ns:.1} ns, {} wakes",
        stats().park_wakes
    );
}

fn block_cost() {
    let heap = Heap::new().unwrap();
    let heap = &heap;
    for size in [16, 64, 256, 1024, 8192] {
        let layout = Layout::from_size_align(size, 8).unwrap();
        let pair = least(|| {
            let start = Instant::now();
            for _ in 0..1_000_000 {
                let block = heap.allocate(black_box(layout)).unwrap();
                // SAFETY: allocated just now with this layout.
                unsafe { heap.deallocate(black_box(block).cast(), layout) };
            }
            ns_each(1_000_000, start)
        });
        let mut blocks = Vec::with_capacity(10_000);
        let batch = least(|| {
            let start = Instant::now();
            for _ in 0..10 {
                blocks.extend((0..10_000).map(|_| heap.allocate(black_box(layout)).unwrap()));
                for block in blocks.drain(..) {
                    // SAFETY: allocated above with this layout.
                    unsafe { heap.deallocate(block.cast(), layout) };
                }
            }
            ns_each(100_000, start)
        });
        let system_pair = least(|| {
            let start = Instant::now();
            for _ in 0..1_000_000 {
                // SAFETY: a layout of non-zero size, freed with the same.
                unsafe {
                    std::alloc::dealloc(black_box(std::alloc::alloc(black_box(layout))), layout)
                };
            }
            ns_each(1_000_000, start)
        });
        println!(
            "{size:5} B: allocate and free {pair:.1} ns, in batches of 10,000 {batch:.1} ns; system allocator {system_pair:.1} ns"
        );
    }
}

fn floor() {
    const BLOCK: usize = 16 * 1024;
    let heap = Heap::new().unwrap();
    let before = rss_bytes();
    let mut blocks: Vec<HeapVec<u8, &Heap>> = (0..8192)
        .map(|_| {
            let mut block = HeapVec::with_capacity_in(BLOCK, &heap);
            block.resize(BLOCK, 1);
            block
        })
        .collect();
    println!(
        "8192 buffers of 16 KiB: {} MiB resident",
        (rss_bytes() - before) >> 20
    );
    let mut nth = 0;
    blocks.retain(|_| {
        nth += 1;
        nth % 16 == 0
    });
    let start = Instant::now();
    let parked = heap.park();
    for wait_ms in [100, 100, 100, 200, 500] {
        std::thread::sleep(Duration::from_millis(wait_ms));
        println!(
            "  {:4} ms after 15 of 16 were freed: {} MiB",
            start.elapsed().as_millis(),
            (rss_bytes() - before) >> 20
        );
    }
    let sleeps = scavenger_sleeps();
    std::thread::sleep(Duration::from_secs(10));
    println!(
        "  wake-ups of the scavenger in 10 s of silence: {:?} -> {:?}; {:?}",
        sleeps,
        scavenger_sleeps(),
        stats()
    );
    drop(parked);
}

fn timer(name: &str, bytes: usize) {
    let heap = Heap::new().unwrap();
    let mut blocks: Vec<HeapVec<u8, &Heap>> = (0..500)
        .map(|_| {
            let mut block = HeapVec::with_capacity_in(bytes, &heap);
            block.resize(bytes, 1);
            block
        })
        .collect();
    let before = stats();
    let sleeps = scavenger_sleeps();
    let start = Instant::now();
    for _ in 0..500 {
        drop(blocks.pop());
        let parked = heap.park();
        std::thread::sleep(Duration::from_millis(1));
        drop(parked);
    }
    let after = stats();
    println!(
        "500 turns of a 1 ms timer, {name}: {} wakes, {} turns, {:?} -> {:?} sleeps in {:?}",
        after.park_wakes - before.park_wakes,
        after.scavenger_turns - before.scavenger_turns,
        sleeps,
        scavenger_sleeps(),
        start.elapsed(),
    );
}
