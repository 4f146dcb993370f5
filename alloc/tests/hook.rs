//! Work that is left with a lent heap: who does it, when it stops, and what takes it away.

mod common;

use common::{alone, within};
use sleepy_alloc::pages::SLICE_BYTES;
use sleepy_alloc::{Heap, SweepHook, has_scavenger, purge_now, stats};
use std::cell::Cell;
use std::mem::forget;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

/// Runs of a heap that are to be freed, as a collector would leave its dead pages: one a piece.
struct Runs {
    left: Cell<Vec<NonNull<u8>>>,
    /// For other threads to look at.
    done: AtomicUsize,
}

/// # Safety
/// `data` is a [`Runs`] of the heap that nobody else uses.
unsafe fn free_one(data: NonNull<()>, heap: &Heap) -> bool {
    // SAFETY: the caller's contract.
    let runs: &Runs = unsafe { data.cast().as_ref() };
    let mut left = runs.left.take();
    if let Some(run) = left.pop() {
        // SAFETY: the run is one of the heap's, which nobody uses.
        unsafe { heap.free_slices(run, 1) };
        runs.done.fetch_add(1, Ordering::Relaxed);
    }
    let more = !left.is_empty();
    runs.left.set(left);
    more
}

impl Runs {
    fn new(heap: &Heap, count: usize) -> Box<Self> {
        let run = |_| {
            let run = heap.alloc_slices(1).unwrap().ptr;
            // SAFETY: the run is ours.
            unsafe { run.write_bytes(1, SLICE_BYTES) };
            run
        };
        Box::new(Self {
            left: Cell::new((0..count).map(run).collect()),
            done: AtomicUsize::new(0),
        })
    }

    /// To park with it is sound: a run is freed through the reference, and that is all; the tests take the heap back before they use
    /// the runs.
    fn hook(&self) -> SweepHook {
        let bytes = self.count() * SLICE_BYTES;
        SweepHook::new(free_one, NonNull::from(self).cast(), bytes)
    }

    /// For whoever has the heap.
    fn count(&self) -> usize {
        let left = self.left.take();
        let count = left.len();
        self.left.set(left);
        count
    }

    fn done(&self) -> usize {
        self.done.load(Ordering::Relaxed)
    }
}

#[test]
fn the_scavenger_does_what_is_left() {
    let _alone = alone();
    assert!(has_scavenger());
    let heap = Heap::new().unwrap();
    let runs = Runs::new(&heap, 100);
    let before = stats();
    // SAFETY: see `Runs::hook`.
    let parked = unsafe { heap.park_with(runs.hook()) };
    assert!(
        within(common::PATIENCE, || runs.done() == 100),
        "nobody came by"
    );
    // The memory goes to the system as any other, while the heap stays lent.
    assert!(within(common::PATIENCE, || stats().purged_bytes
        - before.purged_bytes
        >= (100 * SLICE_BYTES) as u64));
    drop(parked);
    let now = stats();
    assert_eq!(now.delegated_sweeps - before.delegated_sweeps, 1);
    assert_eq!(now.delegated_pieces - before.delegated_pieces, 100);
    assert_eq!((runs.count(), heap.live_bytes()), (0, 0));
}

#[test]
fn whatever_takes_the_heap_back_takes_the_work_away() {
    let _alone = alone();
    for how in 0..5 {
        let heap = Heap::new().unwrap();
        let runs = Runs::new(&heap, 4);
        // SAFETY: see `Runs::hook`.
        let parked = unsafe { heap.park_with(runs.hook()) };
        match how {
            0 => drop(parked),
            1 => {
                forget(parked);
                heap.take_back();
            }
            2 => {
                forget(parked);
                heap.alloc_slices(1).unwrap();
            }
            3 => {
                drop(parked);
                forget(heap.park());
            }
            _ => {
                forget(parked);
                drop(heap);
            }
        }
        let done = runs.done();
        for _ in 0..3 {
            purge_now();
        }
        assert_eq!(runs.done(), done, "way {how}");
    }
}

#[test]
fn a_second_park_leaves_nothing() {
    let _alone = alone();
    let heap = Heap::new().unwrap();
    let (first, second) = (Runs::new(&heap, 3), Runs::new(&heap, 3));
    // SAFETY: see `Runs::hook`.
    let (outer, inner) = unsafe { (heap.park_with(first.hook()), heap.park_with(second.hook())) };
    purge_now();
    drop(inner);
    drop(outer);
    assert_eq!((first.count(), second.count()), (0, 3));
}

#[test]
fn an_owner_gets_its_heap_back_between_two_pieces() {
    let _alone = alone();
    static DONE: AtomicBool = AtomicBool::new(false);
    let sweeper = thread::spawn(|| {
        while !DONE.load(Ordering::Relaxed) {
            purge_now();
        }
    });
    let heap = Heap::new().unwrap();
    for taken_after in 0..200 {
        let runs = Runs::new(&heap, 100);
        // SAFETY: see `Runs::hook`.
        let parked = unsafe { heap.park_with(runs.hook()) };
        while runs.done() < taken_after.min(100) {
            std::hint::spin_loop();
        }
        drop(parked);
        let (done, left) = (runs.done(), runs.left.take());
        assert_eq!(done + left.len(), 100);
        assert_eq!(heap.live_bytes(), left.len() * SLICE_BYTES);
        for run in left {
            // SAFETY: the run is ours again.
            unsafe { heap.free_slices(run, 1) };
        }
    }
    DONE.store(true, Ordering::Relaxed);
    sweeper.join().unwrap();
}

#[test]
fn parks_that_leave_work_do_not_wake_more_often_than_the_schedule() {
    let _alone = alone();
    let heap = Heap::new().unwrap();
    let before = stats();
    let start = std::time::Instant::now();
    let mut parks = 0;
    while start.elapsed().as_millis() < 500 {
        let runs = Runs::new(&heap, 2);
        // SAFETY: see `Runs::hook`.
        drop(unsafe { heap.park_with(runs.hook()) });
        runs.left.take().into_iter().for_each(|run| {
            // SAFETY: the run is ours again.
            unsafe { heap.free_slices(run, 1) };
        });
        parks += 1;
        thread::yield_now();
    }
    let periods = start.elapsed().as_millis() as u64 / 100 + 1;
    let wakes = stats().park_wakes - before.park_wakes;
    assert!(
        wakes <= 2 * periods,
        "{wakes} wakes by {parks} parks in {periods} periods"
    );
}

#[test]
fn a_child_does_not_do_what_its_parent_has_left() {
    let _alone = alone();
    let heap = Heap::new().unwrap();
    let runs = Runs::new(&heap, 50);
    // SAFETY: the child does nothing that is not safe after a fork of a process with several threads.
    let child = unsafe {
        // SAFETY: see `Runs::hook`.
        forget(heap.park_with(runs.hook()));
        libc::fork()
    };
    if child == 0 {
        let done = runs.done();
        purge_now();
        let as_it_was = runs.done() == done;
        heap.take_back();
        let left = runs.count();
        // SAFETY: see `Runs::hook`.
        let parked = unsafe { heap.park_with(runs.hook()) };
        purge_now();
        drop(parked);
        let good = as_it_was && runs.done() - done == left && runs.count() == 0;
        // SAFETY: ends the child without running what the parent registered.
        unsafe { libc::_exit(i32::from(!good)) };
    }
    let mut status = 0;
    // SAFETY: the pointer is to a local.
    assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
    assert_eq!(status, 0);
}
