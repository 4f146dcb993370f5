//! A child of a fork has its heaps, and a scavenger of its own when it needs one.

mod common;

use allocator_api2::boxed::Box as HeapBox;
use common::{rss_bytes, scavenger_sleeps, within};
use sleepy_alloc::{Heap, idle_start, purge_now, with_thread_heap};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

fn blocks(heap: &Heap) -> Vec<HeapBox<[u8; 4000], &Heap>> {
    (0..2000)
        .map(|_| HeapBox::new_in([7; 4000], heap))
        .collect()
}

/// What the child does; true if all is well.
fn child<'h>(heap: &'h Heap, mut kept: Vec<HeapBox<[u8; 4000], &'h Heap>>) -> bool {
    let whole = kept.iter().all(|block| block.iter().all(|&byte| byte == 7));
    let alone = scavenger_sleeps().is_none();
    let full = rss_bytes();
    kept.extend(blocks(heap));
    let mut nth = 0;
    kept.retain(|_| {
        nth += 1;
        nth % 20 == 0
    });
    let parked = heap.park();
    let shrunk = within(Duration::from_secs(2), || rss_bytes() < full);
    let started = scavenger_sleeps().is_some();
    drop(parked);
    whole
        && alone
        && shrunk
        && started
        && kept.iter().all(|block| block.iter().all(|&byte| byte == 7))
}

#[test]
fn a_child_inherits_whole_heaps_and_starts_its_own_scavenger() {
    static DONE: AtomicBool = AtomicBool::new(false);
    let heap = Heap::new().unwrap();
    let other = Heap::new().unwrap();
    with_thread_heap(|heap| std::mem::forget(blocks(heap))).unwrap();
    // Somebody sweeps and purges all the time while the process forks.
    let purger = std::thread::spawn(|| {
        while !DONE.load(Ordering::Relaxed) {
            purge_now();
        }
    });
    for round in 0..10 {
        let mut kept = blocks(&heap);
        drop(blocks(&other));
        let parked = other.park();
        let mut nth = 0;
        kept.retain(|_| {
            nth += 1;
            nth % 2 == 0
        });
        std::mem::forget(heap.park());
        idle_start();
        // SAFETY: the child touches nothing that another thread may have held, but for the heap under test, and leaves
        // without running anybody's destructors.
        unsafe {
            let pid = libc::fork();
            if pid == 0 {
                libc::_exit(if child(&heap, kept) { 0 } else { 1 });
            }
            let mut status = 0;
            assert_eq!(libc::waitpid(pid, &mut status, 0), pid);
            assert!(
                libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 0,
                "round {round}: status {status:#x}"
            );
        }
        assert!(kept.iter().all(|block| block.iter().all(|&byte| byte == 7)));
        drop(parked);
    }
    DONE.store(true, Ordering::Relaxed);
    purger.join().unwrap();
}
