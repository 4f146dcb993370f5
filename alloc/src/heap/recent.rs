//! Pages that a heap has filled and not given away yet.
//!
//! Giving a page away takes an atomic exchange, and so does getting it back. A program that replaces blocks here and
//! there would pay both for each block, and wait at each exchange for its last stores. So a full page stays for a while,
//! during which a free by its own thread brings it back like one of any other heap, and pages are given away several at
//! a time, so that the exchanges share the wait.

use super::inner::Inner;
use crate::page::{Page, Place};
use crate::unowned;
use core::cell::Cell;
use core::ptr;

/// Full pages that a heap keeps at most: what others free in them nobody can use until the owner looks. With pages of
/// 64 KiB that is 1 MiB.
const KEPT: usize = 16;
/// Pages given away at once.
const BATCH: usize = 8;

/// The pages that were full a short while ago, oldest first. An entry may be out of date: then its page has been reopened
/// since, and may even be another heap's.
pub(super) struct RecentlyFull {
    pages: [Cell<*const Page>; KEPT],
    count: Cell<usize>,
}

impl RecentlyFull {
    pub(super) const fn new() -> Self {
        Self {
            pages: [const { Cell::new(ptr::null()) }; KEPT],
            count: Cell::new(0),
        }
    }
}

impl Inner {
    /// The page of an entry, if it is still full and this heap's.
    fn recent_page(&self, nth: usize) -> Option<&'static Page> {
        // SAFETY: entries were pages of this heap; descriptors are never unmapped.
        let page: &'static Page = unsafe { self.recent.pages[nth].get().as_ref() }?;
        // Whose it is comes first: the other cells of a page of somebody else are not ours to read.
        (page.is_of(self) && page.place.get() == Place::Full).then_some(page)
    }

    /// Notes that a page is full, and gives the oldest of those away if they are many.
    pub(super) fn keep_for_a_while(&self, page: &'static Page) {
        if self.recent.count.get() == KEPT {
            self.give_oldest_away();
        }
        self.recent.pages[self.recent.count.get()].set(page);
        self.recent.count.set(self.recent.count.get() + 1);
    }

    #[cold]
    fn give_oldest_away(&self) {
        for nth in 0..BATCH {
            let Some(page) = self.recent_page(nth) else {
                continue;
            };
            if self.fold_page(page) {
                self.reopen(page);
                continue;
            }
            self.part_from(page);
            page.set_origin(self);
            unowned::let_go(page);
        }
        for nth in BATCH..KEPT {
            self.recent.pages[nth - BATCH].set(self.recent.pages[nth].get());
        }
        self.recent.count.set(KEPT - BATCH);
    }

    /// Reopens a page of the class in which others have freed blocks since it was full.
    pub(super) fn reopen_recent(&self, class: usize) -> bool {
        (0..self.recent.count.get()).any(|nth| {
            let Some(page) = self.recent_page(nth) else {
                return false;
            };
            let reopens = page.class.get() as usize == class && self.fold_page(page);
            if reopens {
                self.reopen(page);
            }
            reopens
        })
    }

    /// Forgets the entries, when the heap's pages go.
    pub(super) fn forget_recent(&self) {
        self.recent.count.set(0);
    }
}
