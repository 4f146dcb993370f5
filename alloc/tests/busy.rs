//! Loops that never block get their memory back, too: those that park for no time at all, and those that never park.
#![cfg(not(asan))]

mod common;

use allocator_api2::boxed::Box as HeapBox;
use common::rss_bytes;
use sleepy_alloc::{Heap, stats};
use std::time::{Duration, Instant};

const MIB: usize = 1 << 20;
const BLOCKS: usize = 8000;

type Block<'h> = HeapBox<[u8; 4096], &'h Heap>;

/// 32 MB of which all but every 16th block is freed, so that every page stays in use.
fn scattered(heap: &Heap) -> Vec<Block<'_>> {
    let mut blocks: Vec<_> = (0..BLOCKS)
        .map(|_| HeapBox::new_in([1; 4096], heap))
        .collect();
    let mut nth = 0;
    blocks.retain(|_| {
        nth += 1;
        nth % 16 == 0
    });
    blocks
}

fn spin(duration: Duration) {
    let start = Instant::now();
    while start.elapsed() < duration {
        std::hint::spin_loop();
    }
}

/// Runs `turn` until the memory is back; how long that took.
fn until_back(before: usize, mut turn: impl FnMut()) -> Duration {
    let start = Instant::now();
    loop {
        for _ in 0..100 {
            turn();
        }
        if rss_bytes() < before + 6 * MIB || start.elapsed() > Duration::from_secs(5) {
            return start.elapsed();
        }
    }
}

#[test]
fn a_busy_loop_comes_down_without_a_storm_of_wakes() {
    let heap = Heap::new().unwrap();
    let before = rss_bytes();
    let kept = scattered(&heap);
    assert!(rss_bytes() > before + 28 * MIB);
    let parking = until_back(before, || {
        drop(heap.park());
        spin(Duration::from_micros(20));
    });
    assert!(
        parking < Duration::from_secs(2),
        "a loop that parks for no time kept its memory for {parking:?}"
    );
    let wakes = stats().park_wakes;
    assert!(wakes <= 40, "{wakes} wakes");
    drop(kept);

    let kept = scattered(&heap);
    let mut ring = Vec::new();
    let working = until_back(before, || {
        ring.push(HeapBox::new_in([0; 600], &heap));
        if ring.len() == 400 {
            ring.clear();
        }
        spin(Duration::from_micros(20));
    });
    assert!(
        working < Duration::from_secs(2),
        "a loop that never parks kept its memory for {working:?}"
    );
    drop(kept);
}
