//! Blocks above the size classes: a run of slices for each, or a mapping of its own when no arena can hold it.

use super::inner::{Figures, Inner};
use super::small::{push, remove};
use crate::arena::{self, SLICE_BYTES, Slice, UNIT_BYTES, UNITS_PER_SLICE};
use crate::page::{Kind, Page};
use crate::units::mask_of;
use crate::{poison, unowned};
use core::alloc::Layout;
use core::ptr::NonNull;

/// A block, and whether its memory is known to be zero.
pub(crate) struct Fresh {
    pub(crate) block: NonNull<u8>,
    pub(crate) zeroed: bool,
}

impl Inner {
    /// Allocates a block that no class serves.
    #[cold]
    pub(crate) fn alloc_large(&self, layout: Layout) -> Option<Fresh> {
        let bytes = layout.size().next_multiple_of(UNIT_BYTES);
        let slices = bytes.div_ceil(SLICE_BYTES);
        let align = layout.align().div_ceil(SLICE_BYTES);
        let (run, kind) = if arena::fits(slices, align) {
            (arena::claim(slices, align)?, Kind::Large)
        } else {
            (arena::huge::map(bytes, align)?, Kind::Huge)
        };
        let page = if self.gives_away {
            unowned::new_run(run.ptr, kind, slices, bytes)
        } else {
            self.new_run(run.ptr, kind, slices, bytes)
        };
        if !run.zeroed {
            release_tail(page, bytes);
        }
        poison::used(run.ptr, layout.size());
        Some(Fresh {
            block: run.ptr,
            zeroed: run.zeroed,
        })
    }

    /// Makes the descriptor of a run of this heap of which `bytes` are in use.
    pub(crate) fn new_run(
        &self,
        start: NonNull<u8>,
        kind: Kind,
        slices: usize,
        bytes: usize,
    ) -> &'static Page {
        // SAFETY: the run was claimed or mapped just now.
        let page = unsafe { Page::of_run(start, self, kind, slices, bytes) };
        push(&self.runs, page);
        self.charge(Figures::of_run(bytes));
        page
    }

    /// Gives a run back that no longer counts as live: a larger block, or a collector's.
    #[cold]
    pub(crate) fn free_run(&self, page: &'static Page) {
        remove(&self.runs, page);
        self.committed.sub(page.block_bytes.get());
        // SAFETY: the caller gives the run up, and it is in no list any more.
        unsafe { page.give_back(arena::tick()) };
        self.nudge();
    }

    /// Makes a large block serve another size where it is, with the free slices behind it if need be; false if it has to
    /// move.
    pub(crate) fn resize_large(&self, page: &Page, new: Layout) -> bool {
        let bytes = new.size().next_multiple_of(UNIT_BYTES);
        let old_bytes = page.block_bytes.get();
        // A block that leaves half of its slices idle had better move.
        if page.kind.get() != Kind::Large || bytes < page.bytes() / 2 {
            return false;
        }
        if bytes > old_bytes && !take_tail(page, bytes.min(page.bytes())) {
            return false;
        }
        if bytes > page.bytes() && !extend(page, bytes) {
            release_tail(page, old_bytes);
            return false;
        }
        if bytes < old_bytes {
            release_tail(page, bytes);
        }
        poison::unused(page.start(), page.bytes());
        poison::used(page.start(), new.size());
        let (before, after) = (Figures::of_run(old_bytes), Figures::of_run(bytes));
        if page.owner().is_some() {
            self.discharge(before);
            self.charge(after);
        } else {
            unowned::discharge(before);
            unowned::charge(after);
        }
        page.block_bytes.set(bytes);
        true
    }
}

/// Adds free slices to the end of a run, so that it holds `bytes`; false if there are none.
fn extend(page: &Page, bytes: usize) -> bool {
    let old_slices = page.slices.get() as usize;
    let slices = bytes.div_ceil(SLICE_BYTES);
    let Some(zeroed) = arena::extend(page.slice().add(old_slices), slices - old_slices) else {
        return false;
    };
    page.slices.set(slices as u32);
    if !zeroed {
        release_tail(page, bytes);
    }
    true
}

/// The units of each slice of the run that lie beyond its first `bytes`.
fn tail(page: &Page, bytes: usize) -> impl Iterator<Item = (Slice, core::ops::Range<usize>)> {
    let first = page.slice();
    let used_units = bytes.div_ceil(UNIT_BYTES);
    (used_units / UNITS_PER_SLICE..page.slices.get() as usize).map(move |nth| {
        (
            first.add(nth),
            used_units.saturating_sub(nth * UNITS_PER_SLICE)..UNITS_PER_SLICE,
        )
    })
}

/// Releases the units beyond the first `bytes` of a run.
fn release_tail(page: &Page, bytes: usize) {
    let tick = arena::tick();
    for (slice, units) in tail(page, bytes) {
        slice.release(mask_of(units), tick);
    }
}

/// Takes back the released units below `bytes`; false while one is in flight, and then they stay released.
fn take_tail(page: &Page, bytes: usize) -> bool {
    let keep: usize = bytes.div_ceil(UNIT_BYTES);
    let first = page.slice();
    let taken = tail(page, page.block_bytes.get())
        .take_while(|(slice, _)| (slice.index - first.index) * UNITS_PER_SLICE < keep)
        .all(|(slice, units)| {
            let end = units
                .end
                .min(keep - (slice.index - first.index) * UNITS_PER_SLICE);
            slice
                .take(mask_of(units.start..end.max(units.start)))
                .is_some()
        });
    if !taken {
        // What lies beyond the block may be released at any time: it holds nothing.
        release_tail(page, page.block_bytes.get());
    }
    taken
}
