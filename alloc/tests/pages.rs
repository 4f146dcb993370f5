//! The collector's face: runs of slices, their words, their units.

use sleepy_alloc::Heap;
use sleepy_alloc::pages::{SLICE_BYTES, UNIT_BYTES, blank, slice_word};
use std::sync::atomic::Ordering;

#[test]
fn a_run_is_aligned_has_a_null_word_and_is_zero_when_it_says_so() {
    let heap = Heap::new().unwrap();
    for slices in [1, 2, 7, 100, 1, 2, 7, 100] {
        let run = heap.alloc_slices(slices).unwrap();
        assert!(run.ptr.addr().get().is_multiple_of(SLICE_BYTES));
        // SAFETY: addresses in the new run, which is given up at the end.
        unsafe {
            assert!(slice_word(run.ptr).load(Ordering::Relaxed).is_null());
            let bytes = std::slice::from_raw_parts_mut(run.ptr.as_ptr(), slices * SLICE_BYTES);
            assert!(!run.zeroed || bytes.iter().all(|&byte| byte == 0));
            bytes.fill(1);
            assert_eq!(heap.live_bytes(), slices * SLICE_BYTES);
            heap.free_slices(run.ptr, slices);
        }
        assert_eq!(heap.live_bytes(), 0);
    }
    assert!(heap.alloc_slices(0).is_err());
    assert!(heap.alloc_slices(usize::MAX).is_err());
}

#[test]
fn the_word_is_found_from_the_whole_first_slice() {
    let heap = Heap::new().unwrap();
    let runs: Vec<_> = (0..50).map(|_| heap.alloc_slices(1).unwrap()).collect();
    for (nth, run) in runs.iter().enumerate() {
        // SAFETY: the run is live.
        unsafe { slice_word(run.ptr) }
            .store(std::ptr::without_provenance_mut(nth + 1), Ordering::Relaxed);
    }
    for (nth, run) in runs.iter().enumerate() {
        for offset in [0, 1, 4097, SLICE_BYTES - 1] {
            // SAFETY: an address in a live run.
            let word = unsafe { slice_word(run.ptr.add(offset)) };
            assert_eq!(word.load(Ordering::Relaxed).addr(), nth + 1);
        }
    }
}

#[test]
fn a_run_larger_than_an_arena_works_like_any_other() {
    let heap = Heap::new().unwrap();
    for _ in 0..3 {
        let slices = 20_000;
        let run = heap.alloc_slices(slices).unwrap();
        // SAFETY: the run is this test's own, and given up at the end; its units are not touched while released.
        unsafe {
            assert!(slice_word(run.ptr).load(Ordering::Relaxed).is_null());
            run.ptr.add(slices * SLICE_BYTES - 1).write(1);
            heap.release_units(run.ptr, 100..300_000);
            assert!(heap.take_units(run.ptr, 100..300_000));
            heap.free_slices(run.ptr, slices);
        }
        assert_eq!((heap.live_bytes(), heap.committed_bytes()), (0, 0));
    }
    // One that is still there goes with its heap.
    heap.alloc_slices(20_000).unwrap();
}

#[test]
fn released_units_leave_the_figures_and_come_back() {
    let heap = Heap::new().unwrap();
    let run = heap.alloc_slices(3).unwrap();
    let bytes = 3 * SLICE_BYTES;
    // SAFETY: the units are this test's own, and not touched while released.
    unsafe {
        heap.release_units(run.ptr, 10..40);
        heap.release_units(run.ptr, 12..14);
        assert_eq!(heap.live_bytes(), bytes - 30 * UNIT_BYTES);
        assert_eq!(heap.committed_bytes(), bytes - 30 * UNIT_BYTES);
        assert!(heap.take_units(run.ptr, 0..48));
        assert_eq!(heap.live_bytes(), bytes);
        heap.release_units(run.ptr, 47..48);
        heap.free_slices(run.ptr, 3);
    }
    assert_eq!((heap.live_bytes(), heap.committed_bytes()), (0, 0));
}

#[test]
fn whole_pages_of_a_range_are_blanked_and_nothing_else() {
    let heap = Heap::new().unwrap();
    let run = heap.alloc_slices(2).unwrap();
    let bytes = 2 * SLICE_BYTES;
    for (start, len) in [(0, bytes), (8, 3 * UNIT_BYTES), (100, 50), (UNIT_BYTES, 0)] {
        // SAFETY: the run is live, and nobody else uses it.
        unsafe {
            std::slice::from_raw_parts_mut(run.ptr.as_ptr(), bytes).fill(7);
            let blanked = blank(run.ptr.add(start), len);
            let after = std::slice::from_raw_parts(run.ptr.as_ptr(), bytes);
            assert_eq!(after.iter().filter(|&&byte| byte == 0).count(), blanked);
            assert!(blanked <= len);
            for (at, &byte) in after.iter().enumerate() {
                assert!(byte == 7 || (byte == 0 && (start..start + len).contains(&at)));
            }
        }
    }
    // SAFETY: the run is live, and given up here.
    unsafe { heap.free_slices(run.ptr, 2) };
}

#[test]
fn what_was_never_touched_is_released_and_taken_back_like_the_rest() {
    const UNITS: usize = SLICE_BYTES / UNIT_BYTES;
    let heap = Heap::new().unwrap();
    let run = heap.alloc_slices_for(1, 2).unwrap();
    let from = run.dirty_units.max(2);
    assert!(from <= UNITS);
    // SAFETY: the run is this heap's; its units are not used while released, and those from `from` on were not touched.
    unsafe {
        run.ptr.write_bytes(1, 2 * UNIT_BYTES);
        heap.release_untouched_units(run.ptr, from..UNITS);
        assert_eq!(heap.live_bytes(), from * UNIT_BYTES);
        assert_eq!(heap.committed_bytes(), from * UNIT_BYTES);
        assert!(heap.take_units(run.ptr, from..UNITS));
        assert_eq!(heap.live_bytes(), SLICE_BYTES);
        run.ptr.add(from * UNIT_BYTES).write_bytes(1, UNIT_BYTES);
        heap.free_slices(run.ptr, 1);
    }
    assert_eq!((heap.live_bytes(), heap.committed_bytes()), (0, 0));
}
