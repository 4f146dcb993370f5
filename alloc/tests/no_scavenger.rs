//! Without a scavenger the hand-off of a thread's heap is a bounded slice of the work: memory comes back, whether the
//! loop blocks in its turns or not, and no thread is ever started.

mod common;

use common::block::{Block, blocks, free_all, thin_out};
use common::{scavenger_sleeps, within};
use sleepy_alloc::{
    Heap, Options, SweepHook, has_scavenger, idle, idle_end, idle_start, purge_now, stats,
};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::Duration;

const MIB: u64 = 1 << 20;

/// Runs `turn` until most of 32 MB is given back, and says what it was at the end.
fn until_back(mut turn: impl FnMut()) -> bool {
    let kept = thin_out(blocks(8000, 4000), 20);
    let full = stats().committed_bytes;
    assert!(full > 30 * MIB);
    let is_back = within(common::PATIENCE, || {
        for _ in 0..50 {
            turn();
        }
        stats().committed_bytes < full / 2
    });
    kept.iter().for_each(Block::check);
    free_all(kept);
    is_back
}

/// # Safety
/// `data` is an [`AtomicU32`] above 0.
unsafe fn piece(data: NonNull<()>, _heap: &Heap) -> bool {
    // SAFETY: the caller's contract.
    let left: &AtomicU32 = unsafe { data.cast().as_ref() };
    left.fetch_sub(1, Ordering::Relaxed) > 1
}

#[test]
fn hand_offs_do_the_work_in_slices() {
    let options = Options {
        scavenger: false,
        ..Options::default()
    };
    options.install().unwrap();

    assert!(
        until_back(|| idle(|| thread::sleep(Duration::from_millis(1)))),
        "a loop that waits"
    );
    assert!(
        until_back(|| {
            idle_start();
            idle_end();
        }),
        "a loop that never blocks"
    );
    // Nothing is lent when nobody would sweep it.
    let kept = thin_out(blocks(8000, 4000), 20);
    for _ in 0..20 {
        assert!(!idle_start());
    }
    free_all(kept);

    // What is left with a heap is done in slices, too.
    assert!(!has_scavenger());
    let heap = Heap::new().unwrap();
    let left = AtomicU32::new(200);
    assert!(within(common::PATIENCE, || {
        // SAFETY: `piece` does nothing but count.
        drop(unsafe {
            heap.park_with(SweepHook::new(piece, NonNull::from(&left).cast(), 1 << 20))
        });
        left.load(Ordering::Relaxed) == 0
    }));
    assert!(stats().delegated_sweeps > 1, "it was not done in slices");
    drop(heap);

    // Other threads' frees, and blocks that outlive their thread.
    let left = thread::spawn(|| blocks(3000, 4000)).join().unwrap();
    let mine = blocks(3000, 4000);
    thread::spawn(|| {
        free_all(left);
        free_all(mine);
        idle_start();
    })
    .join()
    .unwrap();
    assert_eq!(stats().live_bytes, 0);
    assert_eq!(stats().abandoned_pages, 0);
    purge_now();
    assert!(stats().committed_bytes < 2 * MIB);
    assert!(scavenger_sleeps().is_none(), "there is a scavenger");
}
