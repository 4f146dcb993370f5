//! Heaps of many idle threads, none of which holds enough to wake the scavenger, are swept all the same.

use allocator_api2::boxed::Box as HeapBox;
use sleepy_alloc::{Heap, stats};

/// Makes some 190 KiB lie free among blocks in use, which stay for good: less than is worth a wake.
fn leave_some_dirt(heap: &Heap) {
    let blocks: Vec<_> = (0..60u8)
        .map(|fill| HeapBox::new_in([fill; 4000], heap))
        .collect();
    for (nth, block) in blocks.into_iter().enumerate() {
        if nth % 5 == 4 {
            std::mem::forget(block);
        }
    }
}

#[test]
fn many_heaps_with_a_little_dirt_wake_the_scavenger() {
    let heaps: Vec<_> = (0..40).map(|_| Heap::new().unwrap()).collect();
    heaps.iter().for_each(leave_some_dirt);
    let wakes_before = stats().park_wakes;
    let parked: Vec<_> = heaps.iter().map(Heap::park).collect();
    assert!(stats().park_wakes > wakes_before);
    drop(parked);
}
