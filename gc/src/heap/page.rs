//! The page descriptor: the only file that knows the side tables.
//!
//! A page is a run of slices that holds cells of one size for objects of one vtable, and nothing else: an object has no
//! header. What the collector knows of each object stands in bitmaps behind the descriptor, which lies elsewhere and is
//! found from an object's address through the slice's word.
//!
//! ```text
//! run:        | cell 0 | cell 1 | …                                      | (rest) |
//! descriptor: | Page | mark: u64 × words | alloc: u64 × words |
//! weak table: | weak: u64 × words | held: u64 × words |        (made when a weak pointer is first traced)
//! ```
//!
//! | alloc | mark | held | the cell |
//! |---|---|---|---|
//! | 0 | 0 | 0 | is free |
//! | 1 | 0 | 0 | holds an object (white while a cycle is under way), or is reserved by its space for the next ones |
//! | 1 | 1 | 0 | holds an object that this cycle has marked |
//! | 0 | 0 | 1 | held an object whose value is dropped, but which a weak pointer names: it is not used again |
//!
//! Of all these only what was handed out may be touched: AddressSanitizer is told so (`sleepy_alloc::poison`).
//!
//! `mark` is all zero when no cycle is under way, `weak` (traced weak pointers of this cycle) too; unless marks are
//! sticky (`generations.rs`): then they are those of old objects, and `weak` is of all cycles since the last full one.

use std::alloc::Layout;
use std::cell::Cell;
use std::ops::{Deref, Range};
use std::ptr::NonNull;

use sleepy_alloc::pages::UNIT_BYTES;
use sleepy_alloc::poison;

use super::mark::{Marker, TICK};
use super::source::{self, PAGE_BYTES, PAGE_UNITS, Source};
use super::vtable::VTable;

/// Objects of the page must be traced.
pub(super) const TRACED: u8 = 1;
/// Ephemeron entries wait for an object of the page to be marked.
pub(super) const WAITED_FOR: u8 = 2;

/// Cells of the page were allocated or freed since its last sweep.
const CHANGED: u32 = u32::MAX;

/// What marking a tail counts for, besides its elements.
const TAIL_MARK_BYTES: u64 = 16;

/// A descriptor.
#[repr(C)]
pub(super) struct Page {
    /// `ceil(2^32 / cell_bytes)`, or 0 for a page of one cell: turns an offset into an index.
    reciprocal: u32,
    /// [`TRACED`], [`WAITED_FOR`].
    pub(super) flags: Cell<u8>,
    /// Whether the space's list of pages with free cells has it.
    pub(super) listed: Cell<bool>,
    /// Units that are released to the allocator, a bit each; 0 in a page of one cell.
    released: Cell<u16>,
    pub(super) vtable: &'static VTable,
    /// The vtable's, for marking.
    pub(super) trace: unsafe fn(NonNull<u8>, usize, &mut Marker),
    pub(super) cell_bytes: usize,
    /// What marking an object counts for ([`TICK`]); the elements of a traced tail count when they are traced.
    pub(super) mark_cost: u64,
    pub(super) base: NonNull<u8>,
    /// The weak table, if there is one.
    weak: Cell<Option<NonNull<Cell<u64>>>>,
    cells: u32,
    slices: u32,
    /// The units of the run from here on were never written to, and hold no memory.
    untouched_from: Cell<u32>,
    /// The epoch in which the page was swept last, or was made.
    pub(super) swept: Cell<u32>,
    /// Where the page stands in its space.
    pub(super) index: Cell<u32>,
    /// The index of its space.
    pub(super) space: u32,
    /// Objects after the last sweep, or [`CHANGED`].
    live: Cell<u32>,
    /// The next page of the space's list of pages with free cells.
    pub(super) next: Cell<Option<PageRef>>,
}

/// A descriptor of a page that is not freed. Whoever frees the page keeps no copy.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct PageRef(NonNull<Page>);

impl Deref for PageRef {
    type Target = Page;

    #[inline(always)]
    fn deref(&self) -> &Page {
        // SAFETY: a `PageRef` is alive while it is used; a descriptor is changed through cells only.
        unsafe { self.0.as_ref() }
    }
}

/// The place of a cell in the bitmaps.
#[derive(Clone, Copy)]
pub(super) struct Bit {
    word: usize,
    mask: u64,
}

impl Bit {
    #[inline]
    pub(super) fn of(index: usize) -> Self {
        Self {
            word: index / 64,
            mask: 1 << (index % 64),
        }
    }
}

/// What the sweep of a page came to.
#[derive(Clone, Copy, Default, Debug, PartialEq, Eq)]
pub(super) struct Swept {
    /// Cells whose objects survive.
    pub(super) live: usize,
    /// Cells whose objects were dead.
    pub(super) freed: usize,
    /// Cells that a weak pointer holds.
    pub(super) held: usize,
}

fn layout(words: usize) -> Layout {
    // At most 128 words: no overflow.
    match Layout::from_size_align(size_of::<Page>() + 2 * words * 8, 64) {
        Ok(layout) => layout,
        Err(_) => unreachable!("a descriptor is small"),
    }
}

fn weak_layout(words: usize) -> Layout {
    match Layout::from_size_align(2 * words * 8, 8) {
        Ok(layout) => layout,
        Err(_) => unreachable!("a weak table is small"),
    }
}

impl PageRef {
    /// Makes a page of as many cells as a slice holds, or a `large` one of a single cell in as many slices as it needs.
    pub(super) fn new(
        source: &Source,
        vtable: &'static VTable,
        cell_bytes: usize,
        large: bool,
        space: u32,
    ) -> Option<Self> {
        let slices = if large {
            cell_bytes.div_ceil(PAGE_BYTES)
        } else {
            1
        };
        let cells = if large { 1 } else { PAGE_BYTES / cell_bytes };
        let words = cells.div_ceil(64);
        let units = if large {
            cell_bytes.div_ceil(UNIT_BYTES)
        } else {
            PAGE_UNITS
        };
        let run = source.alloc_run(slices, units)?;
        let base = run.ptr;
        let Some(table) = source.alloc_table(layout(words)) else {
            // SAFETY: the run was just allocated.
            unsafe { source.free_run(base, slices) };
            return None;
        };
        #[allow(
            clippy::cast_possible_truncation,
            reason = "cells are at least 8 bytes; slices are limited by the address space"
        )]
        let page = Page {
            reciprocal: if cells == 1 {
                0
            } else {
                ((1_u64 << 32).div_ceil(cell_bytes as u64)) as u32
            },
            flags: Cell::new(if vtable.needs_trace { TRACED } else { 0 }),
            listed: Cell::new(false),
            released: Cell::new(0),
            vtable,
            trace: vtable.trace,
            cell_bytes,
            mark_cost: TICK
                + if vtable.needs_trace && vtable.object_bytes == 0 {
                    TAIL_MARK_BYTES
                } else {
                    cell_bytes as u64
                },
            base,
            weak: Cell::new(None),
            cells: cells as u32,
            slices: slices as u32,
            untouched_from: Cell::new(match large {
                true => run.dirty_units.max(units) as u32,
                false => run.dirty_units as u32,
            }),
            swept: Cell::new(0),
            index: Cell::new(0),
            space,
            live: Cell::new(CHANGED),
            next: Cell::new(None),
        };
        // SAFETY: the table is zeroed and has room for the descriptor and its bitmaps; the run is this page's own.
        unsafe {
            table.cast::<Page>().write(page);
            source::set_word(base, table.as_ptr().cast());
        }
        if !large {
            poison::unused(base, PAGE_BYTES);
        }
        Some(Self(table.cast()))
    }

    /// # Safety
    ///
    /// No object of the page is used again, and no copy of this is.
    pub(super) unsafe fn free(self, source: &Source) {
        let (base, slices, words) = (self.base, self.slices(), self.words());
        let end = self.bytes() / UNIT_BYTES;
        if let Some(weak) = self.weak.get() {
            // SAFETY: allocated with this layout.
            unsafe { source.free_table(weak.cast(), weak_layout(words)) };
        }
        // SAFETY: the caller's contract. The word is cleared first: the run may serve another page.
        unsafe {
            source::set_word(base, std::ptr::null_mut());
            self.release_units(source, self.untouched().min(end)..end);
            source.free_table(self.0.cast(), layout(words));
            source.free_run(base, slices);
        }
    }

    /// The page of an object.
    ///
    /// # Safety
    ///
    /// `object` is the address of an object (alive, dead or dropped but held) of an arena.
    #[inline(always)]
    pub(super) unsafe fn of(object: NonNull<u8>) -> Self {
        // SAFETY: objects start in the first slice of their page, whose word is its descriptor.
        unsafe { Self(NonNull::new_unchecked(source::word(object).cast())) }
    }

    /// The bitmap word `word` of the table `table`: 0 is mark, 1 is alloc.
    #[inline(always)]
    fn bitmap(&self, table: usize, word: usize) -> &Cell<u64> {
        debug_assert!(word < self.words());
        // SAFETY: the bitmaps lie behind the descriptor, in the same block of memory.
        unsafe {
            self.0
                .add(1)
                .cast::<Cell<u64>>()
                .add(table * self.words() + word)
                .as_ref()
        }
    }

    #[inline(always)]
    fn mark(&self, word: usize) -> &Cell<u64> {
        // SAFETY: as in `bitmap`; the first table.
        unsafe { self.0.add(1).cast::<Cell<u64>>().add(word).as_ref() }
    }

    #[inline(always)]
    fn alloc(&self, word: usize) -> &Cell<u64> {
        self.bitmap(1, word)
    }

    fn weak(&self, word: usize) -> Option<&Cell<u64>> {
        // SAFETY: the weak table has `words` words twice.
        self.weak
            .get()
            .map(|table| unsafe { table.add(word).as_ref() })
    }

    fn held(&self, word: usize) -> Option<&Cell<u64>> {
        // SAFETY: as in `weak`.
        self.weak
            .get()
            .map(|table| unsafe { table.add(self.words() + word).as_ref() })
    }

    /// The index of the cell at an address.
    #[inline(always)]
    pub(super) fn bit_of(&self, object: NonNull<u8>) -> Bit {
        let offset = object.addr().get() & (PAGE_BYTES - 1);
        #[allow(
            clippy::cast_possible_truncation,
            reason = "below 2^16 by construction"
        )]
        Bit::of(((offset as u64 * u64::from(self.reciprocal)) >> 32) as usize)
    }

    /// What marking an object counts for.
    #[inline]
    pub(super) fn mark_bytes(&self) -> usize {
        #[allow(clippy::cast_possible_truncation, reason = "an object's size at most")]
        let bytes = (self.mark_cost % TICK) as usize;
        bytes
    }

    /// Whether the object is marked.
    #[inline(always)]
    pub(super) fn is_marked(&self, bit: Bit) -> bool {
        self.mark(bit.word).get() & bit.mask != 0
    }

    /// Marks the object; false where it was marked already.
    #[inline(always)]
    pub(super) fn set_marked(&self, bit: Bit) -> bool {
        let word = self.mark(bit.word);
        let old = word.get();
        if old & bit.mask != 0 {
            return false;
        }
        word.set(old | bit.mask);
        true
    }

    /// Takes the mark back.
    pub(super) fn clear_marked(&self, bit: Bit) {
        let word = self.mark(bit.word);
        word.set(word.get() & !bit.mask);
    }

    /// Whether the cell holds an object (or is reserved for one).
    pub(super) fn is_allocated(&self, bit: Bit) -> bool {
        self.alloc(bit.word).get() & bit.mask != 0
    }

    pub(super) fn set_allocated(&self, bit: Bit) {
        let word = self.alloc(bit.word);
        word.set(word.get() | bit.mask);
        self.live.set(CHANGED);
    }

    /// Makes the cell free, as far as no weak pointer holds it.
    pub(super) fn clear_allocated(&self, bit: Bit) {
        let word = self.alloc(bit.word);
        word.set(word.get() & !bit.mask);
        self.live.set(CHANGED);
    }

    /// Remembers that a weak pointer to the object was traced. False where there is no memory for that.
    pub(super) fn set_weak(&self, bit: Bit, source: &Source) -> bool {
        if self.weak.get().is_none() {
            match source.alloc_table(weak_layout(self.words())) {
                Some(table) => self.weak.set(Some(table.cast())),
                None => return false,
            }
        }
        if let Some(word) = self.weak(bit.word) {
            word.set(word.get() | bit.mask);
        }
        true
    }

    pub(super) fn words(&self) -> usize {
        self.cells().div_ceil(64)
    }

    pub(super) fn cells(&self) -> usize {
        self.cells as usize
    }

    pub(super) fn slices(&self) -> usize {
        self.slices as usize
    }

    /// Bytes of the run.
    pub(super) fn bytes(&self) -> usize {
        self.slices() * PAGE_BYTES
    }

    /// The address of a cell.
    pub(super) fn cell(&self, index: usize) -> NonNull<u8> {
        debug_assert!(index < self.cells());
        // SAFETY: the cell lies in the run.
        unsafe { self.base.add(index * self.cell_bytes) }
    }

    /// The cells that a bitmap word has bits for.
    fn valid(&self, word: usize) -> u64 {
        let rest = self.cells() - word * 64;
        if rest >= 64 { !0 } else { (1 << rest) - 1 }
    }

    /// The free cells of a bitmap word that lie in memory that is not released.
    fn free_in(&self, word: usize) -> u64 {
        let held = self.held(word).map_or(0, Cell::get);
        let mut free = !(self.alloc(word).get() | held) & self.valid(word);
        let mut released = self.released.get();
        while free != 0 && released != 0 {
            let unit = released.trailing_zeros() as usize;
            released &= released - 1;
            let first = (unit * UNIT_BYTES / self.cell_bytes).max(word * 64);
            let end = ((unit + 1) * UNIT_BYTES)
                .div_ceil(self.cell_bytes)
                .min(word * 64 + 64);
            if first < end {
                free &= !bits(first..end);
            }
        }
        free
    }

    /// Whether a cell is free in memory that is not released.
    fn has_free(&self) -> bool {
        (0..self.words()).any(|word| self.free_in(word) != 0)
    }

    /// Reserves at most `limit` free cells of one bitmap word, looked for from `from` on.
    pub(super) fn reserve(&self, from: usize, limit: u32, black: bool) -> Option<(usize, u64)> {
        for word in from..self.words() {
            let mut free = self.free_in(word);
            if free == 0 {
                continue;
            }
            while free.count_ones() > limit {
                free &= !(1 << (63 - free.leading_zeros()));
            }
            let alloc = self.alloc(word);
            alloc.set(alloc.get() | free);
            self.live.set(CHANGED);
            self.touch(word * 64 + 64 - free.leading_zeros() as usize);
            if black {
                let mark = self.mark(word);
                mark.set(mark.get() | free);
            }
            return Some((word, free));
        }
        None
    }

    /// The cells before this one may be written to.
    fn touch(&self, end: usize) {
        let units = (end * self.cell_bytes).div_ceil(UNIT_BYTES);
        if units > self.untouched() {
            #[allow(
                clippy::cast_possible_truncation,
                reason = "units of a run of slices that are counted in 32 bits, and a few of them are touched"
            )]
            self.untouched_from.set(units as u32);
        }
    }

    fn untouched(&self) -> usize {
        self.untouched_from.get() as usize
    }

    /// Releases units, those among them that hold no memory as such.
    ///
    /// # Safety
    ///
    /// No cell that is in use reaches into these units, or will before they are taken back.
    unsafe fn release_units(&self, source: &Source, units: Range<usize>) {
        let middle = self.untouched().clamp(units.start, units.end);
        let (touched, untouched) = (units.start..middle, middle..units.end);
        // SAFETY: the caller's contract; cells are reserved before they are written to, which raises the mark, or are the page's one.
        unsafe {
            if !touched.is_empty() {
                source.release_units(self.base, touched);
            }
            if !untouched.is_empty() {
                source.release_untouched(self.base, untouched);
            }
        }
    }

    /// Gives back reserved cells that were not used.
    pub(super) fn unreserve(&self, word: usize, cells: u64) {
        let (alloc, mark) = (self.alloc(word), self.mark(word));
        alloc.set(alloc.get() & !cells);
        mark.set(mark.get() & !cells);
    }

    /// The first dead object at or after `from`, in a page whose marks are final.
    pub(super) fn next_dead(&self, from: usize) -> Option<usize> {
        self.next_of(from, |word| self.alloc(word).get() & !self.mark(word).get())
    }

    /// The first object at or after `from`.
    pub(super) fn next_object(&self, from: usize) -> Option<usize> {
        self.next_of(from, |word| self.alloc(word).get())
    }

    /// The first cell at or after `from` whose bit is set.
    fn next_of(&self, from: usize, bits_of: impl Fn(usize) -> u64) -> Option<usize> {
        for word in from / 64..self.words() {
            let mut bits = bits_of(word);
            if word == from / 64 {
                bits &= !0 << (from % 64);
            }
            if bits != 0 {
                return Some(word * 64 + bits.trailing_zeros() as usize);
            }
        }
        None
    }

    /// The cells that hold objects.
    pub(super) fn objects(self) -> impl Iterator<Item = usize> {
        (0..self.cells()).filter(move |&index| self.is_allocated(Bit::of(index)))
    }

    /// Sweeps: what is not marked is free, unless a weak pointer holds it. Then nothing is marked, or, where marks are
    /// `sticky`, what survives.
    ///
    /// Values of dead objects have been dropped before, or need no drop. Touches no object.
    pub(super) fn sweep(&self, sticky: bool) -> Swept {
        let mut swept = Swept::default();
        let stays = if sticky { !0 } else { 0 };
        let (mut live, mut freed) = (0, 0);
        for word in 0..self.words() {
            let (mark, alloc) = (self.mark(word), self.alloc(word));
            let survivors = mark.get();
            live += survivors.count_ones();
            freed += (alloc.get() & !survivors).count_ones();
            alloc.set(survivors);
            mark.set(survivors & stays);
        }
        self.live.set(live);
        (swept.live, swept.freed) = (live as usize, freed as usize);
        if self.weak.get().is_some() {
            for word in 0..self.words() {
                if let (Some(weak), Some(held)) = (self.weak(word), self.held(word)) {
                    held.set(weak.get() & !self.alloc(word).get());
                    weak.set(weak.get() & stays);
                    swept.held += held.get().count_ones() as usize;
                }
            }
        }
        self.flags.set(self.flags.get() & !WAITED_FOR);
        swept
    }

    /// Whether no cell was allocated or freed since the last sweep: in a young cycle, all objects of the page are old.
    pub(super) fn is_unchanged(&self) -> bool {
        self.live.get() != CHANGED
    }

    /// As [`Page::sweep`] with sticky marks, for a page of old objects only.
    pub(super) fn sweep_unchanged(&self) -> Swept {
        self.flags.set(self.flags.get() & !WAITED_FOR);
        let mut swept = Swept {
            live: self.live.get() as usize,
            ..Swept::default()
        };
        if self.weak.get().is_some() {
            swept.held = self.count().held;
        }
        swept
    }

    /// Makes all objects white, and forgets which weak pointers were traced.
    pub(super) fn take_marks_back(&self) {
        for word in 0..self.words() {
            self.mark(word).set(0);
            if let Some(weak) = self.weak(word) {
                weak.set(0);
            }
        }
    }

    /// Objects and held cells, counted.
    pub(super) fn count(&self) -> Swept {
        let mut count = Swept::default();
        for word in 0..self.words() {
            count.live += self.alloc(word).get().count_ones() as usize;
            count.held += self.held(word).map_or(0, Cell::get).count_ones() as usize;
        }
        count
    }

    /// Objects that are marked.
    pub(super) fn count_marked(&self) -> usize {
        (0..self.words())
            .map(|word| self.mark(word).get().count_ones() as usize)
            .sum()
    }

    /// Whether nothing is marked and no weak pointer of this cycle is remembered.
    pub(super) fn is_clean(&self) -> bool {
        (0..self.words())
            .all(|word| self.mark(word).get() == 0 && self.weak(word).map_or(0, Cell::get) == 0)
    }

    /// The units that hold no part of a cell that is in use, and are not released, as maximal runs.
    fn free_units(&self) -> impl Iterator<Item = Range<usize>> + '_ {
        let mut unit = 0;
        std::iter::from_fn(move || {
            while unit < PAGE_UNITS && !self.unit_is_free(unit) {
                unit += 1;
            }
            let start = unit;
            while unit < PAGE_UNITS && self.unit_is_free(unit) {
                unit += 1;
            }
            (start < unit).then_some(start..unit)
        })
    }

    fn unit_is_free(&self, unit: usize) -> bool {
        if self.released.get() >> unit & 1 != 0 {
            return false;
        }
        let first = unit * UNIT_BYTES / self.cell_bytes;
        let end = ((unit + 1) * UNIT_BYTES)
            .div_ceil(self.cell_bytes)
            .min(self.cells());
        let mut index = first;
        while index < end {
            // A word at a time.
            let upto = end.min((index / 64 + 1) * 64);
            let mask = bits(index..upto);
            let word = index / 64;
            if (self.alloc(word).get() | self.held(word).map_or(0, Cell::get)) & mask != 0 {
                return false;
            }
            index = upto;
        }
        true
    }

    /// Releases the free units of a swept page of many cells to the allocator, but the first of them, of so many bytes; answers how many
    /// bytes went.
    pub(super) fn release(&self, source: &Source, keep_bytes: usize) -> usize {
        if self.cells() == 1 {
            return 0;
        }
        let mut released = 0;
        let mut keep_units = keep_bytes.div_ceil(UNIT_BYTES);
        for mut units in self.free_units() {
            let kept = keep_units.min(units.len());
            keep_units -= kept;
            units.start += kept;
            if units.is_empty() {
                continue;
            }
            // SAFETY: the units are free, and marked as released so that no cell in them is used.
            unsafe { self.release_units(source, units.clone()) };
            for unit in units {
                released |= 1_u16 << unit;
            }
        }
        self.released.set(self.released.get() | released);
        released.count_ones() as usize * UNIT_BYTES
    }

    /// Releases the units behind the object of a page of one cell.
    pub(super) fn release_rest(&self, source: &Source) {
        let (first, end) = (
            self.cell_bytes.div_ceil(UNIT_BYTES),
            self.bytes() / UNIT_BYTES,
        );
        if self.cells() == 1 && first < end {
            // SAFETY: no cell reaches into these units.
            unsafe { self.release_units(source, first..end) };
        }
    }

    /// Takes released units back until a cell is free, and no more: what is not needed is given to the system in time. False where
    /// there are none that can be had now.
    pub(super) fn take_back(&self, source: &Source) -> bool {
        for unit in 0..PAGE_UNITS {
            let mask = 1_u16 << unit;
            if self.released.get() & mask == 0 {
                continue;
            }
            // SAFETY: the unit is one of the run's.
            if unsafe { source.take_units(self.base, unit..unit + 1) } {
                // SAFETY: as above.
                poison::unused(unsafe { self.base.add(unit * UNIT_BYTES) }, UNIT_BYTES);
                self.released.set(self.released.get() & !mask);
                if self.has_free() {
                    return true;
                }
            }
        }
        false
    }

    /// Whether units of the page are released.
    pub(super) fn has_released(&self) -> bool {
        self.released.get() != 0
    }

    /// The part of the free bytes that was ever written to. In pages of many cells.
    pub(super) fn resident_free_bytes(&self, swept: Swept) -> usize {
        let touched_bytes = (self.untouched() * UNIT_BYTES).min(PAGE_BYTES);
        let released_bytes = released_below(self.released.get(), self.untouched()) * UNIT_BYTES;
        touched_bytes.saturating_sub(released_bytes + (swept.live + swept.held) * self.cell_bytes)
    }

    /// Bytes of free cells that can be used at once or after taking units back.
    pub(super) fn free_bytes(&self, swept: Swept) -> usize {
        (self.cells() - swept.live - swept.held) * self.cell_bytes
    }
}

/// The bits of the cells of a range that lies in one word of the bitmaps.
fn bits(cells: Range<usize>) -> u64 {
    (!0 << (cells.start % 64)) & (!0 >> ((64 - cells.end % 64) % 64))
}

/// How many of a page's released units lie below its first `end`: what lies above held no memory when it was released.
fn released_below(released: u16, end: usize) -> usize {
    let touched = !u16::MAX
        .checked_shl(u32::try_from(end).unwrap_or(u32::MAX))
        .unwrap_or(0);
    (released & touched).count_ones() as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_released_untouched_take_nothing_off_what_is_resident() {
        assert_eq!(released_below(0b1111_0000_0000_0110, 12), 2);
        assert_eq!(released_below(0b1111_0000_0000_0110, 13), 3);
        assert_eq!(released_below(u16::MAX, PAGE_UNITS), PAGE_UNITS);
        assert_eq!(released_below(u16::MAX, 1000), PAGE_UNITS);
        assert_eq!(released_below(u16::MAX, 0), 0);
    }

    #[test]
    fn the_bits_of_a_range() {
        assert_eq!(bits(0..1), 1);
        assert_eq!(bits(64..128), !0);
        assert_eq!(bits(67..70), 0b11_1000);
        assert_eq!(bits(191..192), 1 << 63);
    }
}
