//! A slice by its arena and index, and what the information area keeps for it.

use super::{ARENA_MASK, Arena, SLICE_BYTES, UNIT_BYTES, layout, pending};
use crate::page::Page;
use crate::units::{UnitMask, UnitWord, Word};
use core::ptr::{self, NonNull};
use core::sync::atomic::AtomicPtr;

/// A slice in use or in a free run, by arena and index.
#[derive(Clone, Copy)]
pub(crate) struct Slice {
    pub(crate) arena: &'static Arena,
    pub(crate) index: usize,
}

impl Slice {
    /// The slice that an address lies in.
    ///
    /// # Safety
    /// The address lies in the first GiB of an arena that is mapped.
    #[inline(always)]
    pub(crate) unsafe fn of(address: usize) -> Self {
        // Not derived from the caller's pointer, which may be good for its own block only.
        let arena = (address & !ARENA_MASK) + layout::ARENA_AT;
        let arena = ptr::with_exposed_provenance::<Arena>(arena);
        // SAFETY: an arena's header lies here, and its provenance was exposed when it was made.
        let arena = unsafe { &*arena };
        let index = (address & ARENA_MASK) / SLICE_BYTES;
        Self { arena, index }
    }

    /// The descriptor of the page that starts in this slice.
    #[inline(always)]
    pub(crate) fn page(self) -> &'static Page {
        // SAFETY: the information area holds a descriptor for each slice; zeroed memory is a valid one.
        unsafe { &*self.arena.at::<Page>(layout::page(self.index)) }
    }

    /// The collector's word.
    #[inline(always)]
    pub(crate) fn word(self) -> &'static AtomicPtr<()> {
        // SAFETY: the information area holds a word for each slice of the largest arena.
        unsafe {
            &*self
                .arena
                .at::<AtomicPtr<()>>(layout::slice_word(self.index))
        }
    }

    pub(crate) fn units(self) -> &'static UnitWord {
        // SAFETY: as for `word`.
        unsafe { &*self.arena.at::<UnitWord>(layout::unit_word(self.index)) }
    }

    /// The slice `count` further on.
    #[inline(always)]
    pub(crate) fn add(self, count: usize) -> Self {
        Self {
            index: self.index + count,
            ..self
        }
    }

    /// Where the slice's memory starts.
    pub(crate) fn start(self) -> NonNull<u8> {
        // SAFETY: slices lie inside the mapping.
        unsafe { NonNull::new_unchecked(self.arena.at::<u8>(self.index * SLICE_BYTES).cast_mut()) }
    }

    /// Releases units of a slice in use: their contents are lost, they may be given back at any time.
    ///
    /// Word first, then the pending bit; the purger takes the bit first, then looks at the word. All four are
    /// sequentially consistent: so either the purger sees the units or the bit stays set.
    /// Gives the number of units that were not released before.
    pub(crate) fn release(self, units: UnitMask, tick: u32) -> usize {
        let fresh = self.units().release(units, tick).count_ones() as usize;
        if fresh != 0 {
            self.arena.rest().pending.set_one(self.index);
            pending::add(fresh * UNIT_BYTES);
        }
        fresh
    }

    /// Releases units of a slice in use that its owner has not touched since it claimed the slice, where they were zero then: there
    /// is nothing to give back. Gives the number of units that were not released before.
    pub(crate) fn release_untouched(self, units: UnitMask) -> usize {
        self.units().release_untouched(units).count_ones() as usize
    }

    /// Takes released units back, and tells which of these were released; `None` while one is in flight, and then nothing
    /// is changed.
    pub(crate) fn take(self, units: UnitMask) -> Option<UnitMask> {
        let before = self.units().take(units)?;
        let taken = |lane: UnitMask| (lane & units).count_ones();
        pending::take(taken(before.free()), taken(before.purged()));
        Some(before.unused() & units)
    }

    /// Starts to give back the units that `choose` picks from the free ones.
    pub(crate) fn depart(self, choose: impl FnMut(Word) -> UnitMask) -> UnitMask {
        let units = self.units().depart(choose);
        pending::sub(units.count_ones() as usize * UNIT_BYTES);
        units
    }

    /// Ends what [`Self::depart`] began.
    pub(crate) fn land(self, units: UnitMask, given_back: bool) {
        if !given_back {
            pending::set_refused();
        }
        self.units().land(units);
    }

    /// Asks the purger to look at this slice again.
    pub(crate) fn mark_pending(self) {
        self.arena.rest().pending.set_one(self.index);
    }
}
