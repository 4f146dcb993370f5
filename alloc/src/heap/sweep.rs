//! Sweeping a heap: giving up its empty pages and the free units of the others.
//!
//! Nothing here makes a system call. What a sweep releases is only unlinked and marked; the purger gives it back later
//! without any claim on the heap. A sweep stops between two pages (or inside a long one, before it has changed it) when
//! it is told to, and the next one goes on from there.

use super::inner::Inner;
use crate::arena;
use crate::hole::{self, Found};
use crate::page::{Page, Place};
use core::cell::Cell;
use core::ptr;
use core::sync::atomic::Ordering;

/// How many times the owner lets `should_stop` be asked in a slice of its own: once a page, and at most twice in 32 free
/// blocks of a page; a few dozen microseconds. More than the longest page needs, so every slice gets on.
const SLICE_LOOKS: u32 = 800;

/// Every so many sweeps look at the pages, too, that seem unchanged: equal counts can hide a change.
const THOROUGH_EVERY: u32 = 16;

impl Inner {
    /// Goes on with the sweep, or begins one; true when it is complete. What it gives up is due for purging.
    pub(crate) fn sweep(&self, should_stop: &dyn Fn() -> bool) -> bool {
        let before = self.slack();
        if !self.mid_sweep.get() {
            self.mid_sweep.set(true);
            self.forget_remote_dirt();
            self.cursor.set(self.pages.get());
            self.left.set(before);
        }
        let complete = self.sweep_on(should_stop);
        let released = before.saturating_sub(self.slack());
        self.left.set(self.left.get().saturating_sub(released));
        if complete {
            self.mid_sweep.set(false);
            self.sweeps.set(self.sweeps.get().wrapping_add(1));
            self.floor.set(self.left.get().min(self.slack()));
            self.told.set(0);
            #[cfg(sleepy_check)]
            self.check();
        }
        complete
    }

    /// From the cursor on; false if it was told to stop.
    fn sweep_on(&self, should_stop: &dyn Fn() -> bool) -> bool {
        // It was free for a period at least before it was found, so it counts as old.
        let tick = arena::tick().wrapping_sub(crate::purge::AGE_TICKS);
        // SAFETY: the cursor is null or a page of this heap: it moves on when its page is given up.
        while let Some(page) = unsafe { self.cursor.get().as_ref() } {
            if should_stop() || !self.sweep_page(page, tick, should_stop) {
                return false;
            }
            if ptr::eq(self.cursor.get(), page) {
                self.cursor.set(page.all_next.get());
            }
        }
        true
    }

    /// False if it was told to stop before it was done with the page.
    fn sweep_page(&self, page: &'static Page, tick: u32, should_stop: &dyn Fn() -> bool) -> bool {
        self.fold_page(page);
        if page.used.get() == 0 {
            self.free_page(page, tick);
            return true;
        }
        if page.is_as_swept() && !self.sweeps.get().is_multiple_of(THOROUGH_EVERY) {
            return true;
        }
        if hole::release_free(self, page, tick, should_stop) == Found::Stopped {
            return false;
        }
        // Others may have freed blocks in it, or what it could have taken back was in flight.
        if page.place.get() == Place::Full && page.has_room() {
            self.reopen(page);
        }
        page.set_swept();
        true
    }

    /// A slice of the sweep, bounded, by the owner.
    #[cold]
    pub(crate) fn sweep_slice(&self) {
        crate::stats::INLINE_SLICES.add(1);
        let looks = Cell::new(0);
        let complete = self.sweep(&|| {
            looks.set(looks.get() + 1);
            looks.get() > SLICE_LOOKS
        });
        if complete {
            self.sweep_wanted.store(false, Ordering::Relaxed);
        }
        crate::scavenger::nudge();
    }
}
