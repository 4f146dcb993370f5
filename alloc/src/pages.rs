//! Runs of slices for collectors, which divide them into cells of their own.
//!
//! A collector asks its heap for runs of whole 64 KiB slices, finds its own page descriptor from any address in the
//! first slice of a run by [`slice_word`], gives single 4 KiB units of a run back while it goes on using the rest, and
//! takes them back before it uses them again. What it releases is purged by the scavenger when it has been unused for a
//! while; that needs no claim on the heap, and no call here makes a system call for it.
//!
//! # Example
//! ```
//! use sleepy_alloc::{Heap, pages};
//! use core::sync::atomic::Ordering;
//!
//! let heap = Heap::new()?;
//! let run = heap.alloc_slices(1)?;
//! // SAFETY: the addresses lie in the run, whose units nobody uses when they are released.
//! unsafe {
//!     pages::slice_word(run.ptr).store(0x1000 as *mut (), Ordering::Relaxed);
//!     assert_eq!(pages::slice_word(run.ptr.add(40_000)).load(Ordering::Relaxed).addr(), 0x1000);
//!     heap.release_units(run.ptr, 4..8);
//!     if heap.take_units(run.ptr, 4..8) {
//!         run.ptr.add(4 * pages::UNIT_BYTES).write(1);
//!     }
//!     heap.free_slices(run.ptr, 1);
//! }
//! # Ok::<(), allocator_api2::alloc::AllocError>(())
//! ```

use crate::Heap;
use crate::arena::{self, Slice, UNITS_PER_SLICE};
use crate::os;
use crate::page::{Kind, Page};
use crate::poison;
use crate::units::{UnitMask, mask_of};
use allocator_api2::alloc::AllocError;
use core::ops::Range;
use core::ptr::{self, NonNull};
use core::sync::atomic::{AtomicPtr, Ordering};

pub use crate::arena::{SLICE_BYTES, UNIT_BYTES};

/// A run of slices.
#[derive(Clone, Copy, Debug)]
pub struct SliceRun {
    /// Where it starts: a multiple of [`SLICE_BYTES`].
    pub ptr: NonNull<u8>,
    /// The memory is known to be zero.
    pub zeroed: bool,
    /// Units from the start on that may be resident: those behind them were given back, or never touched.
    pub dirty_units: usize,
}

impl Heap {
    /// Allocates a run of `slices` slices for a collector's own page.
    ///
    /// Its [`slice_word`] is null. A run that is still there when the heap is dropped is freed with it.
    ///
    /// # Errors
    /// When the OS gives no memory, or `slices` is 0.
    pub fn alloc_slices(&self, slices: usize) -> Result<SliceRun, AllocError> {
        self.alloc_slices_for(slices, UNITS_PER_SLICE)
    }

    /// As [`Self::alloc_slices`]. Of a run of one slice, only the first `units` will be used for now: memory that is resident
    /// already is chosen accordingly.
    ///
    /// # Errors
    /// As there.
    pub fn alloc_slices_for(&self, slices: usize, units: usize) -> Result<SliceRun, AllocError> {
        if slices == 0 {
            return Err(AllocError);
        }
        let heap = self.own();
        let bytes = slices.checked_mul(SLICE_BYTES).ok_or(AllocError)?;
        let run = if slices == 1 {
            arena::claim_fitting(units)
        } else if arena::fits(slices, 1) {
            arena::claim(slices, 1)
        } else {
            arena::huge::map(bytes, 1)
        }
        .ok_or(AllocError)?;
        let page = heap.new_run(run.ptr, Kind::Collector, slices, bytes);
        page.slice()
            .word()
            .store(ptr::null_mut(), Ordering::Relaxed);
        poison::used(run.ptr, bytes);
        Ok(SliceRun {
            ptr: run.ptr,
            zeroed: run.zeroed,
            dirty_units: run.dirty_units,
        })
    }

    /// Frees a run. Its memory is purged when it has been unused for a while.
    ///
    /// # Safety
    /// - `ptr` and `slices` are a run that [`Self::alloc_slices`] of this heap returned, and that is not freed.
    /// - Nobody uses its memory or its [`slice_word`] any more.
    pub unsafe fn free_slices(&self, ptr: NonNull<u8>, slices: usize) {
        let heap = self.own();
        // SAFETY: the run lies in an arena.
        let page = unsafe { run_page(ptr) };
        debug_assert_eq!(
            (page.kind.get(), page.slices.get() as usize),
            (Kind::Collector, slices)
        );
        heap.live.sub(page.block_bytes.get());
        heap.holed.sub(page.bytes() - page.block_bytes.get());
        heap.free_run(page);
    }

    /// Releases units of a run: their contents are lost, and they may be given back to the OS at any time.
    ///
    /// Costs an atomic operation or two for each slice. Units that are released already may be named again.
    ///
    /// # Safety
    /// - `run` is the start of a run of this heap, and `units` lies inside it.
    /// - Nobody uses these units until [`Self::take_units`] has taken them back.
    pub unsafe fn release_units(&self, run: NonNull<u8>, units: Range<usize>) {
        let tick = arena::tick();
        // SAFETY: the caller's contract.
        unsafe { self.release_by(run, units, |slice, units| slice.release(units, tick)) };
    }

    /// As [`Self::release_units`], of units that are not resident: behind the run's [`dirty_units`](SliceRun::dirty_units), and not
    /// touched since. There is nothing to give back, so that nobody is called for it.
    ///
    /// # Safety
    /// - As for [`Self::release_units`].
    /// - Nobody has written to these units since the run was allocated.
    pub unsafe fn release_untouched_units(&self, run: NonNull<u8>, units: Range<usize>) {
        // SAFETY: the caller's contract.
        unsafe { self.release_by(run, units, Slice::release_untouched) };
    }

    /// # Safety
    /// As for [`Self::release_units`].
    unsafe fn release_by(
        &self,
        run: NonNull<u8>,
        units: Range<usize>,
        release: impl Fn(Slice, UnitMask) -> usize,
    ) {
        let heap = self.own();
        // SAFETY: the run lies in an arena.
        let page = unsafe { run_page(run) };
        if page.slice().arena.is_huge() {
            return;
        }
        let released: usize = parts(page, units)
            .map(|(slice, units)| release(slice, mask_of(units)))
            .sum();
        let bytes = released * UNIT_BYTES;
        page.block_bytes.set(page.block_bytes.get() - bytes);
        heap.live.sub(bytes);
        heap.committed.sub(bytes);
        heap.holed.add(bytes);
    }

    /// Takes released units back, before they are used again.
    ///
    /// True: the units are the caller's; each holds what it held when it was released, or zeroes. False: some of them
    /// are being given back at this moment, and nothing is changed; use other memory, and ask again later.
    ///
    /// # Safety
    /// `run` is the start of a run of this heap, and `units` lies inside it.
    pub unsafe fn take_units(&self, run: NonNull<u8>, units: Range<usize>) -> bool {
        let heap = self.own();
        // SAFETY: the run lies in an arena.
        let page = unsafe { run_page(run) };
        if page.slice().arena.is_huge() {
            return true;
        }
        let Some(taken) = take_parts(&mut parts(page, units.clone())) else {
            return false;
        };
        poison::used(unit_start(run, &units), units.len() * UNIT_BYTES);
        let bytes = taken * UNIT_BYTES;
        page.block_bytes.set(page.block_bytes.get() + bytes);
        heap.live.add(bytes);
        heap.committed.add(bytes);
        heap.holed.sub(bytes);
        true
    }
}

/// Where a range of units of a run starts.
fn unit_start(run: NonNull<u8>, units: &Range<usize>) -> NonNull<u8> {
    // SAFETY: the callers' contract puts the units inside the run.
    unsafe { run.add(units.start * UNIT_BYTES) }
}

/// The descriptor of a run.
///
/// # Safety
/// `run` is the start of a run that is not freed.
unsafe fn run_page(run: NonNull<u8>) -> &'static Page {
    // SAFETY: runs lie in mapped arenas.
    unsafe { Slice::of(run.addr().get()) }.page()
}

/// Takes the released units of these parts back, and gives their number. `None`: one is in flight, and nothing is changed.
fn take_parts(parts: &mut impl Iterator<Item = (Slice, Range<usize>)>) -> Option<usize> {
    let Some((slice, part)) = parts.next() else {
        return Some(0);
    };
    let taken = slice.take(mask_of(part))?;
    let more = take_parts(parts);
    if more.is_none() {
        slice.release(taken, arena::tick());
    }
    Some(more? + taken.count_ones() as usize)
}

/// The parts of a range of units that fall on each slice of a run.
fn parts(page: &Page, units: Range<usize>) -> impl Iterator<Item = (Slice, Range<usize>)> {
    let first = page.slice();
    debug_assert!(units.is_empty() || units.end <= page.slices.get() as usize * UNITS_PER_SLICE);
    (units.start / UNITS_PER_SLICE..units.end.div_ceil(UNITS_PER_SLICE)).map(move |nth| {
        let base = nth * UNITS_PER_SLICE;
        (
            first.add(nth),
            units.start.saturating_sub(base)..(units.end - base).min(UNITS_PER_SLICE),
        )
    })
}

/// Gives the memory of the OS pages that lie wholly in a range back at once, where the block that it belongs to goes on being
/// used. Returns how many bytes read as zero from now on: all of these pages, or, where the system refuses, none, and then they
/// hold what they held. The statistics go on counting them as committed.
///
/// # Safety
/// - The range lies inside of a block or run of this allocator that the caller may write to.
/// - Nobody else reads or writes it meanwhile.
pub unsafe fn blank(ptr: NonNull<u8>, bytes: usize) -> usize {
    let page_bytes = os::page_bytes();
    let address = ptr.addr().get();
    let start = address.next_multiple_of(page_bytes);
    let end = (address + bytes) & !(page_bytes - 1);
    if start >= end {
        return 0;
    }
    // SAFETY: whole pages inside of the range, whose contents the caller gives up; arenas are mappings of ours.
    let is_given_back = unsafe { os::discard(ptr.add(start - address), end - start) };
    if is_given_back { end - start } else { 0 }
}

/// The word that a collector keeps for a slice, found from any address in it by arithmetic alone.
///
/// Only the words of the first slice of each run are the collector's to use.
///
/// # Safety
/// `ptr` lies in the first slice of a run that is not freed.
#[inline(always)]
pub unsafe fn slice_word(ptr: NonNull<u8>) -> &'static AtomicPtr<()> {
    // SAFETY: runs lie in mapped arenas, and start in their first GiB.
    unsafe { Slice::of(ptr.addr().get()) }.word()
}
