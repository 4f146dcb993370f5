//! The list of pages of one size class.
//!
//! Its head serves the fast path. A page with nothing to allocate leaves the list; the first free brings it back, at the
//! end, so that it has more than that one block when it gets to the head.

use super::inner::Inner;
use crate::page::{EMPTY_PAGE, Page, Place};
use core::ptr;

/// A page whose frees are never to go the slow way.
pub(super) const NEVER: u32 = u32::MAX;

/// A page with a smaller part of its blocks free than this is passed over: allocating there would mean to change pages
/// every few blocks.
const POOR: u32 = 64;
/// Pages looked at before a fresh one is taken instead of a poor one.
const CANDIDATES: u32 = 4;

/// Whether this is what a bin without pages points to.
pub(super) fn is_empty_page(page: &Page) -> bool {
    ptr::eq(page, &EMPTY_PAGE.0)
}

impl Inner {
    /// The page at the head of a class.
    #[inline(always)]
    pub(crate) fn head(&self, class: usize) -> &'static Page {
        debug_assert!(class < self.bins.len());
        // SAFETY: every class, whether of a layout or noted in a page, is below the number of classes. Bins hold the empty
        // page or a page of this heap; descriptors are never unmapped while in use.
        unsafe { &*self.bins.get_unchecked(class).get() }
    }

    /// Puts a page at the end of the list of its class.
    ///
    /// The end, because a page comes here with one free block, most often, and by the time that it gets to the head it
    /// has more. The head's `prev` is the last page of the list.
    pub(super) fn open(&self, page: &'static Page) {
        let bin = &self.bins[page.class.get() as usize];
        let head = self.head(page.class.get() as usize);
        page.place.set(Place::Open);
        page.next.set(ptr::null());
        if is_empty_page(head) {
            page.prev.set(page);
            // The only page of its class is kept when it runs empty, so nobody need notice.
            page.notify_at.set(NEVER);
            bin.set(page);
            return;
        }
        // SAFETY: the last page of the list is a page of this heap.
        let last = unsafe { &*head.prev.get() };
        head.notify_at.set(0);
        page.notify_at.set(0);
        page.prev.set(last);
        last.next.set(page);
        head.prev.set(page);
    }

    /// Takes a page out of the list of its class.
    pub(super) fn close(&self, page: &Page) {
        let bin = &self.bins[page.class.get() as usize];
        let (prev, next) = (page.prev.get(), page.next.get());
        let is_head = ptr::eq(bin.get(), page);
        // SAFETY: neighbours in the list are pages of this heap.
        let (prev, next) = unsafe { (&*prev, next.as_ref()) };
        match next {
            Some(next) => next.prev.set(prev),
            None if !is_head => self.head(page.class.get() as usize).prev.set(prev),
            None => {}
        }
        if is_head {
            bin.set(next.map_or(&raw const EMPTY_PAGE.0, ptr::from_ref));
        } else {
            prev.next.set(page.next.get());
        }
    }

    pub(super) fn set_full(&self, page: &'static Page) {
        self.close(page);
        page.place.set(Place::Full);
        // The next free goes the slow way and brings the page back. With no block in use there is none to come.
        page.notify_at.set(page.used.get().wrapping_sub(1));
        if self.gives_away {
            self.keep_for_a_while(page);
        }
    }

    /// Takes a page of a heap that gives pages away out of its lists.
    pub(super) fn part_from(&self, page: &'static Page) {
        if page.place.get() == Place::Open {
            self.close(page);
        }
        self.pages_remove(page);
    }

    /// A page that was full has something to allocate again.
    pub(crate) fn reopen(&self, page: &'static Page) {
        debug_assert_eq!(page.place.get(), Place::Full);
        self.open(page);
    }

    /// The only open page of its class, which is kept for the next allocation.
    pub(super) fn is_alone(&self, page: &Page) -> bool {
        ptr::eq(page.prev.get(), page)
    }

    /// Makes an open page the head of its class.
    pub(super) fn put_first(&self, page: &'static Page) {
        let bin = &self.bins[page.class.get() as usize];
        if ptr::eq(bin.get(), page) {
            return;
        }
        self.close(page);
        let head = self.head(page.class.get() as usize);
        page.prev.set(head.prev.get());
        page.next.set(head);
        head.prev.set(page);
        bin.set(page);
    }

    /// Moves pages with hardly a free block from the head of the class to its end, where they get more with time. True:
    /// there are only such pages, as far as was looked.
    ///
    /// So the blocks that lie unused in a class are spread over its pages, a 64th of each at most, and the work of
    /// changing pages over that many allocations.
    pub(super) fn pass_over_poor_pages(&self, class: usize) -> bool {
        for _ in 0..CANDIDATES {
            let page = self.head(class);
            if is_empty_page(page) || !self.is_poor(page) {
                return false;
            }
            if self.is_alone(page) {
                return true;
            }
            self.close(page);
            self.open(page);
        }
        true
    }

    fn is_poor(&self, page: &Page) -> bool {
        self.fold_page(page);
        let free = page.formed.get() - page.used.get() - page.holed.get();
        free < page.limit.get() / POOR
            && page.formed.get() == page.limit.get()
            && page.holed.get() == 0
    }
}
