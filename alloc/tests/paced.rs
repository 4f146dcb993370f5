//! A loop that parks all the time does not wake the scavenger all the time.

mod common;

use allocator_api2::vec::Vec as HeapVec;
use sleepy_alloc::{Heap, stats};
use std::time::{Duration, Instant};

/// Turns of a loop that waits a millisecond in each, after `work`.
fn turns(heap: &Heap, count: usize, mut work: impl FnMut(usize)) -> u64 {
    let before = stats();
    for turn in 0..count {
        work(turn);
        let parked = heap.park();
        std::thread::sleep(Duration::from_millis(1));
        drop(parked);
    }
    let after = stats();
    assert!(
        after.park_wakes - before.park_wakes <= 8,
        "{} wakes",
        after.park_wakes - before.park_wakes
    );
    after.scavenger_turns - before.scavenger_turns
}

#[test]
fn a_timer_loop_wakes_it_a_few_times_at_most_and_a_clean_one_never() {
    let heap = Heap::new().unwrap();
    // The same 16 KiB again and again leave nothing to give back.
    let churn = turns(&heap, 500, |_| {
        drop(HeapVec::<u8, _>::with_capacity_in(16 * 1024, &heap))
    });
    assert_eq!(churn, 0);

    // 16 KiB more lie free after each turn.
    let mut blocks: Vec<HeapVec<u8, _>> = (0..1000)
        .map(|_| {
            let mut block = HeapVec::with_capacity_in(16 * 1024, &heap);
            block.resize(16 * 1024, 1);
            block
        })
        .collect();
    let start = Instant::now();
    let freeing = turns(&heap, 500, |_| drop(blocks.pop()));
    // The bound is 8 for half a second; a busy machine stretches the turns.
    let half_seconds = start.elapsed().as_millis() as u64 / 500 + 1;
    assert!(
        freeing <= 8 * half_seconds,
        "{freeing} turns of the scavenger in {:?}",
        start.elapsed()
    );
    assert!(freeing >= 2, "nobody gave the memory back");

    drop(blocks);
    assert!(common::within(Duration::from_secs(3), || {
        drop(heap.park());
        turns(&heap, 200, |_| ()) == 0
    }));
    assert_eq!(turns(&heap, 200, |_| ()), 0);
}
