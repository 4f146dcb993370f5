//! Arenas: address space in large mappings, cut into 64 KiB slices.
//!
//! Every arena starts at a multiple of 1 GiB and is at most that long, so the arena of an address is found by masking
//! it: no table, no load. The information area comes first; what follows holds blocks and nothing else, so that every
//! OS page of it can be given back and no sweep dirties one.
//!
//! What lies where in the information area: see [`layout`].
//!
//! The mapping is readable and writable from the start and never changed (changing parts would split it in the kernel).
//! Untouched parts cost no memory. A block that fits no arena gets a mapping of its own with the same head.
//!
//! **Slices.** A slice is free when its bit in `free` is set. Claims clear bits under [`CLAIM`] (which ranks below every
//! other lock but that of the options); giving slices back sets bits without it. What lies in a free slice, or in released units of
//! a used one, is kept by its unit word, and `pending` marks the slices where the purger has something to do: so the
//! purger needs no claim on a heap, and an owner that finds a slice in flight takes another.

mod fit;
pub(crate) mod huge;
mod layout;
mod pending;
mod places;
mod slice;

pub(crate) use pending::{
    Watch, advance_tick, pending_bytes, purgeable_bytes, recount, set_kept_bytes, set_stuck_bytes,
    tick,
};
pub(crate) use slice::Slice;

use crate::bitmap::{BITS, Bitmap};
use crate::lock::RawLock;
use crate::numa::{self, NodeCell};
use crate::units::{ALL_UNITS, UnitMask, mask_of};
use crate::unowned::map::Maps;
use crate::{options, os};
use core::ptr::{self, NonNull};
use core::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use fit::Fit;
use layout::{ARENA_BYTES, FIRST, MAX_SLICES};

/// Bytes in a slice, the unit in which an arena is cut.
pub const SLICE_BYTES: usize = 64 * 1024;
/// Bytes in a unit, the least that is given back to the OS.
pub const UNIT_BYTES: usize = 4096;
/// Units in a slice.
pub(crate) const UNITS_PER_SLICE: usize = SLICE_BYTES / UNIT_BYTES;

const ARENA_MASK: usize = ARENA_BYTES - 1;
/// The smallest arena that is worth a mapping, of which the information area takes 2.3 MiB.
const MIN_ARENA_BYTES: usize = 4 << 20;

const _: () = assert!(BITS == MAX_SLICES);

/// Guards the search for runs, the growth of the list, and nothing else. Held for no system call but those that make an
/// arena.
static CLAIM: RawLock = RawLock::new();
/// The arenas, newest first. Release publishes the header of a new one to the acquire of those who walk the list.
static NEWEST: AtomicPtr<Arena> = AtomicPtr::new(ptr::null_mut());
/// Arenas in the list. Relaxed: a figure.
static ARENA_COUNT: AtomicU64 = AtomicU64::new(0);

/// The head of an arena's information area. Zeroed memory is a valid empty one.
#[repr(C)]
pub(crate) struct Arena {
    /// Slices of the whole arena; 0 in the mapping of a single huge block. Written before the arena is published.
    slices: AtomicU32,
    /// Below this slice none is free. Relaxed: lowered by frees, raised by claims under the lock; a hint.
    low: AtomicU32,
    /// From this slice on none was ever claimed. Raised under the lock; relaxed: what lies in a slice is published by
    /// its own word and bits.
    high: AtomicU32,
    /// Bytes of the mapping.
    mapped_bytes: AtomicUsize,
    /// The node that its memory comes from. Written before the arena is published.
    node: NodeCell,
    /// The next older arena, fixed once published; the next mapping to unmap in that of a huge block.
    older: AtomicPtr<Arena>,
    free: Bitmap,
}

/// What an arena keeps apart from its header, for it is not touched before something is freed. Zeroed memory is valid.
#[repr(C)]
struct Rest {
    pending: Bitmap,
    /// Where the unowned pages are that have room in them.
    maps: Maps,
}

/// A claimed run of slices.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Run {
    pub(crate) ptr: NonNull<u8>,
    /// Units from the start on that may hold anything, and memory. Those behind them are not resident, and zero if `zeroed` is said
    /// of any.
    pub(crate) dirty_units: usize,
    /// The memory is known to be zero.
    pub(crate) zeroed: bool,
}

impl Arena {
    /// Where the mapping starts.
    #[inline(always)]
    fn base(&self) -> usize {
        ptr::from_ref(self).addr() - layout::ARENA_AT
    }

    /// The whole mapping.
    fn start(&self) -> NonNull<u8> {
        // SAFETY: no mapping of ours starts at null.
        unsafe { NonNull::new_unchecked(self.at::<u8>(0).cast_mut()) }
    }

    /// A pointer into the mapping.
    #[inline(always)]
    fn at<T>(&self, offset: usize) -> *const T {
        // From the exposed pointer: a pointer made from `&self` would be good for the header only.
        ptr::with_exposed_provenance(self.base() + offset)
    }

    #[inline(always)]
    fn rest(&self) -> &Rest {
        // SAFETY: lies in the information area, which is mapped as long as the header, and zeroed memory is valid.
        unsafe { &*self.at(layout::REST_AT) }
    }

    /// Which slice's descriptor lies at this address of the information area.
    #[inline(always)]
    pub(crate) fn page_index(&self, address: usize) -> usize {
        layout::page_index(address - self.base())
    }

    /// True for the mapping of a single block that fits no arena.
    pub(crate) fn is_huge(&self) -> bool {
        self.slices.load(Ordering::Relaxed) == 0
    }

    /// The bitmaps of unowned pages.
    pub(crate) fn maps(&self) -> &Maps {
        &self.rest().maps
    }

    /// From this slice on none was ever claimed.
    pub(crate) fn high(&self) -> usize {
        self.high.load(Ordering::Relaxed) as usize
    }

    /// Words of the pending map that can have bits.
    pub(crate) fn pending_words(&self) -> usize {
        self.high().div_ceil(64)
    }

    /// Makes pending bits and bytes anew from the unit words, when nobody changes them; gives the bytes.
    fn recount(&'static self) -> usize {
        let end = self.high();
        let mut bytes = 0;
        for index in FIRST..end {
            let slice = Slice { arena: self, index };
            let free = slice.units().load().free();
            if free != 0 {
                slice.mark_pending();
                bytes += free.count_ones() as usize * UNIT_BYTES;
            }
        }
        bytes
    }

    /// Whether any of 64 slices has its pending bit. A bit that comes later is found by the next pass: whoever sets it
    /// looks at the schedule afterwards.
    pub(crate) fn has_pending(&self, word: usize) -> bool {
        self.rest().pending.has_any(word)
    }

    /// Takes the pending bits of 64 slices away; the caller looks at each and marks again what stays.
    pub(crate) fn take_pending(&'static self, word: usize) -> impl Iterator<Item = Slice> {
        let mut bits = self.rest().pending.take_word(word);
        core::iter::from_fn(move || {
            let bit = (bits != 0).then(|| bits.trailing_zeros() as usize)?;
            bits &= bits - 1;
            Some(Slice {
                arena: self,
                index: word * 64 + bit,
            })
        })
    }

    /// Claims a run that starts at a multiple of `align` slices. Needs the claim lock.
    fn claim(&'static self, count: usize, align: usize) -> Option<Run> {
        let low = self.low.load(Ordering::Relaxed);
        let units = count * UNITS_PER_SLICE;
        let found = self.claim_from(low as usize, count, align, units);
        if count == 1
            && let Some((start, _)) = found
        {
            // What is free below this was freed during the search; its hint may get lost here.
            let _ = self.low.compare_exchange(
                low,
                start as u32 + 1,
                Ordering::Relaxed,
                Ordering::Relaxed,
            );
        }
        // So before the arena counts as full the whole of it is searched.
        let found = found.or_else(|| {
            if low as usize > FIRST {
                self.claim_from(FIRST, count, align, units)
            } else {
                None
            }
        });
        found.map(|(_, run)| run)
    }

    /// Claims the free slice whose resident part comes nearest to the units that will be used. Needs the claim lock.
    fn claim_fitting(&'static self, units: usize) -> Option<Run> {
        let (low, high) = (self.low.load(Ordering::Relaxed) as usize, self.high());
        // One slice that was never claimed is as good as any.
        let end = (high.max(low) + 1).min(self.slices.load(Ordering::Relaxed) as usize);
        let mut fit = Fit::new(units);
        let mut from = self.free.first_set(low, end).unwrap_or(end);
        // As in `claim`, which finds what was freed below this meanwhile.
        let _ = self.low.compare_exchange(
            low as u32,
            from as u32,
            Ordering::Relaxed,
            Ordering::Relaxed,
        );
        while let Some(index) = self.free.first_set(from, end) {
            let word = Slice { arena: self, index }.units().load();
            if fit.is_found(index, word) {
                break;
            }
            from = index + 1;
        }
        let run = self.claim_from(fit.best()?, 1, 1, units);
        run.map(|(_, run)| run)
    }

    /// Claims the first run from a slice on, of which the first `units` will be used.
    fn claim_from(
        &'static self,
        from: usize,
        count: usize,
        align: usize,
        units: usize,
    ) -> Option<(usize, Run)> {
        let end = self.slices.load(Ordering::Relaxed) as usize;
        let mut from = from;
        loop {
            let start = self.free.find_run(from, end, count, align)?;
            self.free.clear(start..start + count);
            self.high
                .fetch_max((start + count) as u32, Ordering::Relaxed);
            match self.claim_units(start, count, units) {
                Ok(dirty_units) => {
                    let ptr = Slice {
                        arena: self,
                        index: start,
                    }
                    .start();
                    let run = Run {
                        ptr,
                        dirty_units,
                        zeroed: is_zeroed(dirty_units),
                    };
                    return Some((start, run));
                }
                Err(in_flight) => {
                    self.free.set(start..start + count);
                    from = in_flight + 1;
                }
            }
        }
    }

    /// Claims the unit words of slices whose free bits were cleared, and of which the first `units` will be used; tells how many units there are up to the last dirty one. An
    /// error names the slice that is in flight.
    fn claim_units(
        &'static self,
        start: usize,
        count: usize,
        units: usize,
    ) -> Result<usize, usize> {
        let (mut dirty_units, mut returned_units, mut dirty_end) = (0, 0, 0);
        let mut in_flight = None;
        for index in start..start + count {
            match (Slice { arena: self, index }).units().claim() {
                Some(before) => {
                    dirty_units += before.free().count_ones();
                    let last = UnitMask::BITS - before.free().leading_zeros();
                    if last != 0 {
                        dirty_end = (index - start) * UNITS_PER_SLICE + last as usize;
                    }
                    let used = units.saturating_sub((index - start) * UNITS_PER_SLICE);
                    let used = mask_of(0..used.min(UNITS_PER_SLICE));
                    returned_units += (before.purged() & used).count_ones();
                }
                None => {
                    in_flight = Some(index);
                    break;
                }
            }
        }
        pending::take(dirty_units, returned_units);
        if let Some(in_flight) = in_flight {
            // What was purged before counts as dirty now: it is given back once more, which is rare and harmless.
            for index in start..in_flight {
                Slice { arena: self, index }.release(ALL_UNITS, tick());
            }
            return Err(in_flight);
        }
        Ok(dirty_end)
    }

    /// Claims the `count` slices from `start` on if all are free; tells whether they are zero. Needs the claim lock.
    fn claim_at(&'static self, start: usize, count: usize) -> Option<bool> {
        let end = (start + count).min(self.slices.load(Ordering::Relaxed) as usize);
        self.free.find_run(start, end, count, 1)?;
        self.free.clear(start..end);
        self.high.fetch_max(end as u32, Ordering::Relaxed);
        let claimed = self.claim_units(start, count, count * UNITS_PER_SLICE);
        if claimed.is_err() {
            self.free.set(start..end);
        }
        claimed.ok().map(is_zeroed)
    }

    /// Gives a run back. Its contents are lost.
    fn give_back(&'static self, start: usize, count: usize, tick: u32) {
        for index in start..start + count {
            Slice { arena: self, index }.release(ALL_UNITS, tick);
        }
        // After the words: whoever claims the bit finds the units released.
        self.free.set(start..start + count);
        self.low.fetch_min(start as u32, Ordering::Relaxed);
    }

    /// Maps an arena of about `bytes`, or `None`.
    fn map(bytes: usize) -> Option<&'static Self> {
        let slices = (bytes / SLICE_BYTES).min(MAX_SLICES);
        let arena = Self::map_head(slices * SLICE_BYTES)?;
        arena.slices.store(slices as u32, Ordering::Relaxed);
        arena.low.store(FIRST as u32, Ordering::Relaxed);
        arena.free.set(FIRST..slices);
        Some(arena)
    }

    /// Has the memory come from the node of the calling thread, if there is more than one.
    fn settle_near(&'static self) {
        numa::count();
        let node = numa::here();
        if let Some(number) = node.number() {
            let bytes = self.mapped_bytes.load(Ordering::Relaxed);
            os::prefer_node(self.start(), bytes, number);
            self.node.set(node);
        }
    }

    fn map_head(bytes: usize) -> Option<&'static Self> {
        let base = os::map_aligned(bytes, ARENA_BYTES)?;
        let arena = base.as_ptr().expose_provenance() + layout::ARENA_AT;
        let arena = ptr::with_exposed_provenance::<Self>(arena);
        // SAFETY: fresh zeroed memory longer than the information area, which zeroes are valid for. Arenas in the list are
        // never unmapped; the mapping of a huge block lives as long as the block.
        let arena = unsafe { &*arena };
        arena.mapped_bytes.store(bytes, Ordering::Relaxed);
        if !places::add(base.addr().get()) {
            // SAFETY: just mapped, used by nobody.
            unsafe { os::unmap(base, bytes) };
            return None;
        }
        Some(arena)
    }
}

/// Claims one slice, of which so many units will be used: of those at hand the one that wastes least.
///
/// Units that are resident and will not be used can't serve anybody else while the slice is claimed, and units that will be used
/// and are not resident cost a page fault each.
pub(crate) fn claim_fitting(units: usize) -> Option<Run> {
    let here = numa::here();
    CLAIM.lock();
    let run = arenas()
        .filter(|arena| here.is_near(arena.node.get()))
        .find_map(|arena| arena.claim_fitting(units));
    CLAIM.unlock();
    run.or_else(|| claim(1, 1))
}

/// Whether claimed memory is zero of which so many units may be dirty.
fn is_zeroed(dirty_units: usize) -> bool {
    dirty_units == 0 && pending::is_zero_when_purged()
}

/// All arenas, newest first.
pub(crate) fn arenas() -> impl Iterator<Item = &'static Arena> {
    let mut next = NEWEST.load(Ordering::Acquire);
    core::iter::from_fn(move || {
        // SAFETY: arenas in the list are initialised before they are published, and never unmapped.
        let arena = unsafe { next.as_ref() }?;
        next = arena.older.load(Ordering::Relaxed);
        Some(arena)
    })
}

/// The slice that an address lies in, if it lies in the data part of an arena or a huge block's mapping.
pub(crate) fn find(address: usize) -> Option<Slice> {
    if !places::has(address) {
        return None;
    }
    // SAFETY: the arena is mapped; it may be unmapped only while its one block is freed, which is the caller's.
    let slice = unsafe { Slice::of(address) };
    (slice.index >= FIRST).then_some(slice)
}

/// Claims `count` slices, the first at a multiple of `align` slices from an address that is a multiple of 1 GiB.
pub(crate) fn claim(count: usize, align: usize) -> Option<Run> {
    if align >= MAX_SLICES {
        return None;
    }
    let here = numa::here();
    let claim_where = |near: bool| {
        arenas()
            .filter(|arena| here.is_near(arena.node.get()) == near)
            .find_map(|arena| arena.claim(count, align))
    };
    CLAIM.lock();
    let run = claim_where(true)
        .or_else(|| grow(count, align)?.claim(count, align))
        .or_else(|| claim_where(false));
    CLAIM.unlock();
    run
}

/// Claims `count` slices right behind a claimed run that ends before `slice`; tells whether they are zero.
pub(crate) fn extend(slice: Slice, count: usize) -> Option<bool> {
    CLAIM.lock();
    let claimed = slice.arena.claim_at(slice.index, count);
    CLAIM.unlock();
    claimed
}

/// Maps a new arena with room for the run: as large as the options say, or smaller where the OS allows no more.
#[cold]
fn grow(count: usize, align: usize) -> Option<&'static Arena> {
    let least_bytes = ((count + align + FIRST) * SLICE_BYTES).clamp(MIN_ARENA_BYTES, ARENA_BYTES);
    let mut bytes = options::arena_bytes().clamp(least_bytes, ARENA_BYTES);
    let arena = loop {
        if let Some(arena) = Arena::map(bytes) {
            break arena;
        }
        if bytes == least_bytes {
            return None;
        }
        bytes = (bytes / 2).max(least_bytes);
    };
    if !NEWEST.load(Ordering::Relaxed).is_null() {
        arena.settle_near();
    }
    arena
        .older
        .store(NEWEST.load(Ordering::Relaxed), Ordering::Relaxed);
    NEWEST.store(ptr::from_ref(arena).cast_mut(), Ordering::Release);
    ARENA_COUNT.fetch_add(1, Ordering::Relaxed);
    Some(arena)
}

/// Gives claimed slices back; they are purged when they have been free for a while, counted from `tick`.
///
/// # Safety
/// `ptr` is the start of `count` claimed slices that nobody uses any more.
pub(crate) unsafe fn give_back(ptr: NonNull<u8>, count: usize, tick: u32) {
    // SAFETY: a claimed slice lies in an arena.
    let slice = unsafe { Slice::of(ptr.addr().get()) };
    slice.arena.give_back(slice.index, count, tick);
}

/// Whether a run of this many slices fits an arena.
pub(crate) fn fits(count: usize, align: usize) -> bool {
    count + align < MAX_SLICES - FIRST
}

/// Number of arenas.
pub(crate) fn arena_count() -> u64 {
    ARENA_COUNT.load(Ordering::Relaxed)
}

/// Keeps every claim out while the process forks.
pub(crate) fn lock_for_fork() {
    CLAIM.lock();
}

/// Ends [`lock_for_fork`], in parent and child.
pub(crate) fn unlock_after_fork() {
    CLAIM.unlock();
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::numa::Node;
    use crate::numa::tests::on_node;

    fn node_of(run: Run) -> Node {
        // SAFETY: a claimed slice lies in an arena.
        unsafe { Slice::of(run.ptr.addr().get()) }.arena.node.get()
    }

    #[test]
    fn claims_that_fit_do_not_search_what_is_used_again() {
        // In no list: nobody else claims from it.
        let arena = Arena::map(MIN_ARENA_BYTES).unwrap();
        let end = arena.slices.load(Ordering::Relaxed) as usize;
        let low = || arena.low.load(Ordering::Relaxed) as usize;
        CLAIM.lock();
        for index in FIRST..end {
            assert!(arena.claim_fitting(1).is_some());
            assert!(low() >= index, "the used slices below {index} are searched");
        }
        assert!(arena.claim_fitting(1).is_none());
        assert_eq!(low(), end);
        arena.give_back(FIRST + 1, 1, tick());
        assert_eq!(low(), FIRST + 1);
        assert!(arena.claim_fitting(1).is_some());
        CLAIM.unlock();
    }

    #[test]
    fn a_claim_stays_off_the_arenas_of_another_node() {
        let make = || {
            CLAIM.lock();
            let arena = grow(1, 1).unwrap();
            CLAIM.unlock();
            arena
        };
        // Whatever other tests have made or not: this is not the first arena.
        make();
        let far = on_node(5, make);
        assert_eq!(far.node.get(), Node::new(5));
        let claimed = |node| on_node(node, || claim(1, 1).unwrap());
        let runs = [claimed(5), claimed(6), claim(1, 1).unwrap()];
        assert!(Node::new(5).is_near(node_of(runs[0])));
        assert!(Node::new(6).is_near(node_of(runs[1])));
        for run in runs {
            // SAFETY: claimed above and used by nobody.
            unsafe { give_back(run.ptr, 1, tick()) };
        }
    }

    #[test]
    fn a_far_arena_is_better_than_none() {
        use crate::os::faulty::{Call, failing_after};
        let arena = on_node(7, || {
            CLAIM.lock();
            let arena = grow(1, 1).unwrap();
            CLAIM.unlock();
            arena
        });
        arena.node.set(Node::new(7));
        // More than any arena of no node has room for in one piece is found here only.
        let most = MAX_SLICES - FIRST;
        let run = failing_after(Call::Map, 0, || on_node(8, || claim(most, 1)));
        if let Some(run) = run {
            // SAFETY: claimed above and used by nobody.
            unsafe { give_back(run.ptr, most, tick()) };
        }
        assert!(run.is_some());
    }
}
