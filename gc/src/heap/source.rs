//! Where the collector's memory comes from: one heap of `sleepy_alloc` for each arena.

use std::alloc::Layout;
use std::ops::Range;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicPtr, Ordering};

use allocator_api2::alloc::Allocator;
use sleepy_alloc::Heap;
use sleepy_alloc::pages::{self, SLICE_BYTES, SliceRun, UNIT_BYTES};

/// Bytes of a page that holds more than one object.
pub(super) const PAGE_BYTES: usize = SLICE_BYTES;

/// Units of a page that can be given back each by itself.
pub(super) const PAGE_UNITS: usize = PAGE_BYTES / UNIT_BYTES;

/// An arena's own heap.
#[repr(transparent)]
pub(super) struct Source {
    heap: Heap,
}

impl Source {
    pub(super) fn new() -> Option<Self> {
        Some(Self {
            heap: Heap::new().ok()?,
        })
    }

    /// The heap as somebody else names it who has it.
    pub(super) fn of(heap: &Heap) -> &Self {
        // SAFETY: a `Source` is transparent over its heap.
        unsafe { &*std::ptr::from_ref(heap).cast() }
    }

    pub(super) fn heap(&self) -> &Heap {
        &self.heap
    }

    /// A run of slices, aligned to one, of which the first `units` will be used.
    pub(super) fn alloc_run(&self, slices: usize, units: usize) -> Option<SliceRun> {
        self.heap.alloc_slices_for(slices, units).ok()
    }

    /// # Safety
    ///
    /// `run` came from [`Source::alloc_run`] with as many slices, and is not used again.
    pub(super) unsafe fn free_run(&self, run: NonNull<u8>, slices: usize) {
        // SAFETY: the caller's contract.
        unsafe { self.heap.free_slices(run, slices) };
    }

    /// # Safety
    ///
    /// `run` is a run of this source; its `units` hold nothing that is needed, and are taken back before they are used.
    pub(super) unsafe fn release_units(&self, run: NonNull<u8>, units: Range<usize>) {
        // SAFETY: the caller's contract.
        unsafe { self.heap.release_units(run, units) };
    }

    /// The same, of units that hold no memory.
    ///
    /// # Safety
    ///
    /// As for [`Source::release_units`]; and these lie behind the run's dirty units, and were not written to.
    pub(super) unsafe fn release_untouched(&self, run: NonNull<u8>, units: Range<usize>) {
        // SAFETY: the caller's contract.
        unsafe { self.heap.release_untouched_units(run, units) };
    }

    /// Takes units back; false where the kernel is just being given them.
    ///
    /// # Safety
    ///
    /// `run` is a run of this source with these units.
    pub(super) unsafe fn take_units(&self, run: NonNull<u8>, units: Range<usize>) -> bool {
        // SAFETY: the caller's contract.
        unsafe { self.heap.take_units(run, units) }
    }

    /// Memory for the collector's own tables.
    pub(super) fn alloc_table(&self, layout: Layout) -> Option<NonNull<u8>> {
        Some((&self.heap).allocate_zeroed(layout).ok()?.cast())
    }

    /// # Safety
    ///
    /// `table` came from [`Source::alloc_table`] with the same layout, and is not used again.
    pub(super) unsafe fn free_table(&self, table: NonNull<u8>, layout: Layout) {
        // SAFETY: the caller's contract.
        unsafe { (&self.heap).deallocate(table, layout) };
    }
}

/// What is stored for the slice of an address.
///
/// # Safety
///
/// `ptr` lies in the first slice of a run of some source.
#[inline(always)]
pub(super) unsafe fn word(ptr: NonNull<u8>) -> *mut () {
    // SAFETY: the caller's contract. Relaxed: the word is written and read by the arena's own thread only; an arena that
    // moves between threads does so under a lock, which orders it.
    unsafe { slice_word(ptr) }.load(Ordering::Relaxed)
}

/// # Safety
///
/// As [`word`], and no object lies in the run.
pub(super) unsafe fn set_word(run: NonNull<u8>, value: *mut ()) {
    // SAFETY: the caller's contract. Relaxed: as in `word`.
    unsafe { slice_word(run) }.store(value, Ordering::Relaxed);
}

/// # Safety
///
/// As [`word`].
#[inline(always)]
unsafe fn slice_word(ptr: NonNull<u8>) -> &'static AtomicPtr<()> {
    // SAFETY: the caller's contract.
    unsafe { pages::slice_word(ptr) }
}
