//! Holes: free 4 KiB units inside a page that is in use.
//!
//! A unit is free when every block that overlaps it is. Releasing it first takes those blocks out of the free list,
//! since their links will be lost; from then on they are *holed*. When the page runs dry, a run of units is taken back,
//! and a holed block is free again as soon as no unit of it is released: the holed blocks are those that overlap one. Each step keeps
//! `used + free + holed = formed` (see [`crate::page`]).
//!
//! The set of units of a page fits 128 bits. Only the owner of the page adds to the released ones; the purger moves
//! them from free to given back meanwhile, which is why taking can fail: see [`crate::units`].

use crate::arena::{self, UNIT_BYTES, UNITS_PER_SLICE};
use crate::page::Page;
use crate::poison;
use crate::units::{UnitMask, Word};
use core::ops::Range;

/// A set of units of a page.
type PageUnits = u128;

/// Units in the longest page.
const MAX_UNITS: usize = PageUnits::BITS as usize;

/// Units taken back at once at least, so that a page that runs dry again and again does not take one each time.
const TAKE_UNITS: usize = 4;

/// Free blocks looked at between two looks at whether to stop: a microsecond or two where none is in the cache.
const STOP_EVERY: u32 = 32;

/// `should_stop`, asked once in [`STOP_EVERY`] times.
fn now_and_then(should_stop: &dyn Fn() -> bool) -> impl FnMut() -> bool {
    let mut looked_at = 0u32;
    move || {
        looked_at += 1;
        looked_at.is_multiple_of(STOP_EVERY) && should_stop()
    }
}

fn units_of_range(units: Range<usize>) -> PageUnits {
    if units.is_empty() {
        0
    } else {
        (PageUnits::MAX >> (MAX_UNITS - units.len())) << units.start
    }
}

/// The units that blocks `blocks` of this size overlap.
fn units_of_blocks(blocks: Range<usize>, block_bytes: usize) -> PageUnits {
    units_of_range(
        blocks.start * block_bytes / UNIT_BYTES..(blocks.end * block_bytes).div_ceil(UNIT_BYTES),
    )
}

/// The units that the block at `offset` overlaps.
fn units_of_block(offset: usize, block_bytes: usize) -> PageUnits {
    units_of_range(offset / UNIT_BYTES..(offset + block_bytes).div_ceil(UNIT_BYTES))
}

/// The blocks among the first `formed` that overlap units `units`.
fn blocks_of_units(units: Range<usize>, block_bytes: usize, formed: usize) -> Range<usize> {
    let first = units.start * UNIT_BYTES / block_bytes;
    let end = (units.end * UNIT_BYTES).div_ceil(block_bytes).min(formed);
    first.min(end)..end
}

/// The units of a page that a lane of their words names.
fn lane(page: &Page, of: impl Fn(Word) -> UnitMask) -> PageUnits {
    let slice = page.slice();
    (0..page.slices.get() as usize).fold(0, |units, nth| {
        units | PageUnits::from(of(slice.add(nth).units().load())) << (nth * UNITS_PER_SLICE)
    })
}

/// The parts of a set of units that fall on each slice.
fn by_slice(units: PageUnits) -> impl Iterator<Item = (usize, UnitMask)> {
    (0..MAX_UNITS / UNITS_PER_SLICE)
        .map(move |nth| (nth, (units >> (nth * UNITS_PER_SLICE)) as UnitMask))
        .filter(|&(_, part)| part != 0)
}

/// Who counts the bytes of a page that are committed and those that are released.
pub(crate) trait Ledger {
    /// Bytes were released.
    fn released(&self, bytes: usize);
    /// Released bytes were taken back.
    fn taken_back(&self, bytes: usize);
}

/// For a page that nobody counts at the moment.
pub(crate) struct Uncounted;

impl Ledger for Uncounted {
    fn released(&self, _: usize) {}
    fn taken_back(&self, _: usize) {}
}

/// Releases units whose blocks are in no list.
fn release(heap: &impl Ledger, page: &Page, units: PageUnits, tick: u32) {
    let slice = page.slice();
    for (nth, part) in by_slice(units) {
        slice.add(nth).release(part, tick);
    }
    let count = units.count_ones() as usize;
    page.out_units.set(page.out_units.get() + count as u8);
    heap.released(count * UNIT_BYTES);
}

/// Takes released units back; false while one of them is in flight, and then nothing is changed.
fn take(heap: &impl Ledger, page: &Page, units: PageUnits) -> bool {
    let slice = page.slice();
    for (nth, part) in by_slice(units) {
        if slice.add(nth).take(part).is_none() {
            let before = units & units_of_range(0..nth * UNITS_PER_SLICE);
            for (nth, part) in by_slice(before) {
                slice.add(nth).release(part, arena::tick());
            }
            return false;
        }
    }
    let count = units.count_ones() as usize;
    page.out_units.set(page.out_units.get() - count as u8);
    heap.taken_back(count * UNIT_BYTES);
    true
}

/// Takes back what is released of the units under `blocks`, which are about to be formed.
pub(crate) fn take_units_of(heap: &impl Ledger, page: &Page, blocks: Range<u32>) -> bool {
    let wanted = units_of_blocks(
        blocks.start as usize..blocks.end as usize,
        page.block_bytes.get(),
    );
    let taken = wanted & lane(page, Word::unused);
    if !take(heap, page, taken) {
        return false;
    }
    // The first of these units may hold blocks that were formed before.
    let mut rest = taken;
    while rest != 0 {
        let start = rest.trailing_zeros() as usize;
        let run = start..start + (rest >> start).trailing_ones() as usize;
        rest &= !units_of_range(run.clone());
        restore(page, run);
    }
    true
}

/// Takes a run of holes back and puts their blocks on the free list; false if there is none that can be taken now.
pub(crate) fn take_back(heap: &impl Ledger, page: &Page) -> bool {
    if page.holed.get() == 0 {
        return false;
    }
    let block_bytes = page.block_bytes.get();
    let formed = page.formed.get() as usize;
    let grip = TAKE_UNITS.max(block_bytes.div_ceil(UNIT_BYTES) + 1);
    let formed_units = units_of_blocks(0..formed, block_bytes);
    let mut candidates = formed_units & lane(page, |word| word.free() | word.purged());
    while candidates != 0 {
        let start = candidates.trailing_zeros() as usize;
        let length = (candidates >> start).trailing_ones() as usize;
        let run = start..start + length.min(grip);
        candidates &= !units_of_range(run.clone());
        if take(heap, page, units_of_range(run.clone())) && restore(page, run) {
            return true;
        }
    }
    false
}

/// Frees the holed blocks over a run of units that was taken back; false if each still overlaps a released one.
fn restore(page: &Page, run: Range<usize>) -> bool {
    let block_bytes = page.block_bytes.get();
    let released = lane(page, Word::unused);
    let start = page.start();
    let mut restored = 0;
    for index in blocks_of_units(run, block_bytes, page.formed.get() as usize).rev() {
        if units_of_blocks(index..index + 1, block_bytes) & released == 0 {
            let block = page.block(start, index);
            poison::free(block, block_bytes);
            // SAFETY: the block overlapped a released unit, so it was in no list and not in use; now all its units are
            // the owner's again.
            unsafe { page.thread(block) };
            restored += 1;
        }
    }
    page.holed.set(page.holed.get() - restored);
    restored != 0
}

/// What a look at a page found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Found {
    /// So many units were released.
    Released(usize),
    /// `should_stop` said so; the page is as it was, but for the order of its free list.
    Stopped,
}

/// Releases every free unit of a page.
pub(crate) fn release_free(
    heap: &impl Ledger,
    page: &Page,
    tick: u32,
    should_stop: &dyn Fn() -> bool,
) -> Found {
    let Some(units) = free_units(page, should_stop) else {
        return Found::Stopped;
    };
    if units != 0 {
        let block_bytes = page.block_bytes.get();
        let keep = |offset| units_of_block(offset, block_bytes) & units == 0;
        let Some(dropped) = page.retain_free(keep, now_and_then(should_stop)) else {
            return Found::Stopped;
        };
        page.holed.set(page.holed.get() + dropped);
        release(heap, page, units, tick);
    }
    #[cfg(sleepy_check)]
    page.check();
    Found::Released(units.count_ones() as usize)
}

/// The free units of a page that are not released yet, or `None` when it was told to stop.
fn free_units(page: &Page, should_stop: &dyn Fn() -> bool) -> Option<PageUnits> {
    let block_bytes = page.block_bytes.get();
    let formed = page.formed.get() as usize;
    let mut free_blocks = [0u16; MAX_UNITS];
    let mut stops = now_and_then(should_stop);
    let whole = page.each_free(|offset| {
        for count in
            &mut free_blocks[offset / UNIT_BYTES..(offset + block_bytes).div_ceil(UNIT_BYTES)]
        {
            *count += 1;
        }
        !stops()
    });
    if !whole {
        return None;
    }
    let released = lane(page, Word::unused);
    let is_holed = |index: usize| units_of_blocks(index..index + 1, block_bytes) & released != 0;
    let mut found = 0;
    for (unit, &free_blocks) in free_blocks.iter().enumerate().take(page.touched_units()) {
        if released >> unit & 1 == 1 {
            continue;
        }
        let blocks = blocks_of_units(unit..unit + 1, block_bytes, formed);
        // Only a block that sticks out of the unit can be holed, so the first or the last.
        let mut holed = usize::from(!blocks.is_empty() && is_holed(blocks.start));
        holed += usize::from(blocks.len() > 1 && is_holed(blocks.end - 1));
        if free_blocks as usize + holed == blocks.len() {
            found |= 1 << unit;
        }
    }
    Some(found)
}

/// Units of a page that are out, as their words say.
#[cfg(any(test, sleepy_check))]
pub(crate) fn released_units(page: &Page) -> usize {
    lane(page, Word::unused).count_ones() as usize
}

/// Formed blocks that overlap a released unit.
#[cfg(any(test, sleepy_check))]
pub(crate) fn holed_blocks(page: &Page) -> u32 {
    let released = lane(page, Word::unused);
    let block_bytes = page.block_bytes.get();
    (0..page.formed.get() as usize)
        .filter(|&index| units_of_blocks(index..index + 1, block_bytes) & released != 0)
        .count() as u32
}
