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

/// What the child does; 0 if all is well, or a bit for each thing that is not.
fn child<'h>(heap: &'h Heap, mut kept: Vec<HeapBox<[u8; 4000], &'h Heap>>) -> i32 {
    let is_whole = |kept: &[HeapBox<[u8; 4000], &Heap>]| {
        kept.iter().all(|block| block.iter().all(|&byte| byte == 7))
    };
    let was_whole = is_whole(&kept);
    let was_alone = scavenger_sleeps().is_none();
    kept.extend(blocks(heap));
    let full = rss_bytes();
    let mut nth = 0;
    kept.retain(|_| {
        nth += 1;
        nth % 20 == 0
    });
    let parked = heap.park();
    let has_shrunk = within(Duration::from_secs(3), || rss_bytes() + (6 << 20) < full);
    let has_started = scavenger_sleeps().is_some();
    drop(parked);
    let good = [
        was_whole,
        was_alone,
        has_shrunk,
        has_started,
        is_whole(&kept),
    ];
    good.iter()
        .enumerate()
        .map(|(nth, &good)| i32::from(!good) << nth)
        .sum()
}

#[test]
fn a_child_inherits_whole_heaps_and_starts_its_own_scavenger() {
    static DONE: AtomicBool = AtomicBool::new(false);
    let heap = Heap::new().unwrap();
    let other = Heap::new().unwrap();
    with_thread_heap(|heap| blocks(heap).into_iter().for_each(std::mem::forget)).unwrap();
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
                libc::_exit(child(&heap, kept));
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
