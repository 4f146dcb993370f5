//! Eight threads abandon their pages at once; then the pages are reclaimed, abandoned again by foreign frees, and deleted.

mod common;

use allocator_api2::boxed::Box as HeapBox;
use common::block::{Block, blocks, free_all};
use sleepy_alloc::{Heap, purge_now, stats};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Barrier};
use std::thread;

const THREADS: usize = 8;
const SIZES: [usize; 6] = [16, 120, 512, 2048, 10_000, 50_000];

/// What eight threads leave behind that end at the same moment.
fn left_by_eight() -> Vec<Vec<Block>> {
    let ends = Arc::new(Barrier::new(THREADS));
    let threads: Vec<_> = (0..THREADS)
        .map(|_| {
            let ends = ends.clone();
            thread::spawn(move || {
                let made = SIZES
                    .iter()
                    .flat_map(|&size| blocks(1 + 300_000 / size, size))
                    .collect();
                ends.wait();
                made
            })
        })
        .collect();
    threads
        .into_iter()
        .map(|thread| thread.join().unwrap())
        .collect()
}

/// Has each list freed by a thread of its own, all at the same moment.
fn freed_by_eight(lists: Vec<Vec<Block>>) {
    let start = Arc::new(Barrier::new(lists.len()));
    let threads: Vec<_> = lists
        .into_iter()
        .map(|list| {
            let start = start.clone();
            thread::spawn(move || {
                start.wait();
                free_all(list);
            })
        })
        .collect();
    for thread in threads {
        thread.join().unwrap();
    }
}

/// Deals the blocks out again, so that each list has some of every page.
fn dealt(lists: Vec<Vec<Block>>) -> Vec<Vec<Block>> {
    let mut dealt: Vec<Vec<Block>> = (0..THREADS).map(|_| Vec::new()).collect();
    for (nth, block) in lists.into_iter().flatten().enumerate() {
        dealt[nth % THREADS].push(block);
    }
    dealt
}

fn check(lists: &[Vec<Block>]) {
    lists.iter().flatten().for_each(Block::check);
}

#[test]
fn abandoned_reclaimed_abandoned_again_and_deleted() {
    let _alone = common::alone();
    let before = stats();
    for _ in 0..5 {
        let lists = left_by_eight();
        let left = stats();
        assert!(left.abandoned_pages > before.abandoned_pages);
        check(&lists);

        // Frees by threads that use no page of these classes, or any: what they empty goes, the rest stays abandoned.
        let mut lists = dealt(lists);
        let later = lists.split_off(THREADS / 2);
        freed_by_eight(lists);
        check(&later);
        let half = stats();
        assert!(half.abandoned_pages > before.abandoned_pages);
        assert!(half.live_bytes < left.live_bytes);
        assert!(half.abandoned_bitmaps > 0, "nothing was mapped");

        // Eight new threads take pages over, and end again.
        let newer = left_by_eight();
        check(&later);
        check(&newer);

        freed_by_eight(dealt(later));
        freed_by_eight(dealt(newer));
        let gone = stats();
        assert_eq!(gone.live_bytes, before.live_bytes);
        assert_eq!(gone.abandoned_pages, before.abandoned_pages);
    }
    // A bitmap for a class and an arena is made once.
    let bitmaps = stats().abandoned_bitmaps;
    free_all(left_by_eight().into_iter().flatten());
    assert_eq!(stats().abandoned_bitmaps, bitmaps);
}

#[test]
fn nothing_is_made_before_it_is_needed() {
    let _alone = common::alone();
    let before = stats();
    // No thread that frees all its blocks needs a bitmap.
    thread::spawn(|| free_all(blocks(5000, 100)))
        .join()
        .unwrap();
    assert_eq!(stats().abandoned_bitmaps, before.abandoned_bitmaps);
}

#[test]
fn purges_go_on_meanwhile() {
    let _alone = common::alone();
    static DONE: AtomicBool = AtomicBool::new(false);
    let purger = thread::spawn(|| {
        while !DONE.load(Ordering::Relaxed) {
            purge_now();
        }
    });
    let before = stats();
    for _ in 0..5 {
        let lists = dealt(left_by_eight());
        check(&lists);
        freed_by_eight(lists);
    }
    DONE.store(true, Ordering::Relaxed);
    purger.join().unwrap();
    let after = stats();
    assert_eq!(after.live_bytes, before.live_bytes);
    assert_eq!(after.abandoned_pages, before.abandoned_pages);
}

#[test]
fn heaps_are_deleted_with_their_blocks_by_eight_threads_at_once() {
    let _alone = common::alone();
    let before = stats();
    for _ in 0..20 {
        let ends = Arc::new(Barrier::new(THREADS));
        let threads: Vec<_> = (0..THREADS)
            .map(|_| {
                let ends = ends.clone();
                let heap = Heap::new().unwrap();
                thread::spawn(move || {
                    for _ in 0..500 {
                        std::mem::forget(HeapBox::new_in([1u8; 900], &heap));
                    }
                    std::mem::forget(heap.park());
                    let left = blocks(50, 900);
                    ends.wait();
                    drop(heap);
                    left
                })
            })
            .collect();
        for thread in threads {
            free_all(thread.join().unwrap());
        }
    }
    let after = stats();
    assert_eq!(after.live_bytes, before.live_bytes);
    assert_eq!(after.abandoned_pages, before.abandoned_pages);
}
