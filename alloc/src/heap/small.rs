//! Blocks of the size classes, the slow half: finding, making and giving up pages.
//!
//! A class keeps its pages in a list whose head serves the fast path. A page with nothing to allocate leaves the list;
//! the first free brings it back, behind the head, so that a full heap does not change pages at every turn.

use super::inner::Inner;
use crate::arena::{self, SLICE_BYTES, UNIT_BYTES};
use crate::page::{EMPTY_PAGE, Kind, Page, Place};
use crate::size_class::{block_bytes, page_slices};
use crate::unowned::{self, LetGo};
use crate::{hole, poison, scavenger, stats};
use core::ptr::{self, NonNull};
use core::sync::atomic::Ordering;

/// Unowned pages taken before a fresh one: what is free in them may be in flight.
const TAKE_TRIES: u32 = 4;

/// A page whose frees are never to go the slow way.
const NEVER: u32 = u32::MAX;

/// Bytes of blocks that are formed at once: an OS page's worth, so that a new page touches little memory.
const FORM_BYTES: usize = UNIT_BYTES;

impl Inner {
    /// The page at the head of a class.
    #[inline(always)]
    pub(crate) fn head(&self, class: usize) -> &'static Page {
        // SAFETY: bins hold the empty page or a page of this heap; descriptors are never unmapped while in use.
        unsafe { &*self.bins[class].get() }
    }

    fn is_empty_page(page: &Page) -> bool {
        ptr::eq(page, &EMPTY_PAGE.0)
    }

    /// Allocates a block when the head of the class has none.
    pub(crate) fn alloc_small(&self, class: usize) -> Option<NonNull<u8>> {
        if self.sweep_wanted.load(Ordering::Relaxed) {
            self.sweep_slice();
        }
        let mut tries = TAKE_TRIES;
        loop {
            let page = self.head(class);
            if Self::is_empty_page(page) {
                if self.gives_away.get() && tries > 0 {
                    tries -= 1;
                    if let Some(page) = unowned::take(class, self) {
                        self.adopt(page);
                        continue;
                    }
                }
                let page = self.new_page(class)?;
                self.form(page);
                continue;
            }
            if let Some(block) = page.pop() {
                self.live.add(page.block_bytes.get());
                self.check_page(page);
                return Some(block);
            }
            if !self.fold_page(page) && !self.form(page) && !hole::take_back(self, page) {
                self.set_full(page);
            }
        }
    }

    /// Forms the next blocks of a page; false if there are none, or their units are in flight.
    fn form(&self, page: &Page) -> bool {
        let formed = page.formed.get();
        if formed == page.limit.get() {
            return false;
        }
        let block_bytes = page.block_bytes.get();
        let end = (formed + (FORM_BYTES / block_bytes).max(1) as u32).min(page.limit.get());
        if page.out_units.get() != 0 && !hole::take_units_of(self, page, formed..end) {
            return false;
        }
        self.form_to(page, end);
        true
    }

    fn form_to(&self, page: &Page, end: u32) {
        let before = page.touched_units();
        page.form(end);
        self.committed
            .add((page.touched_units() - before) * UNIT_BYTES);
    }

    /// A block that was never formed, from memory that is known to be zero: the next in the page at the head of the
    /// class, if nothing lies free in that.
    pub(crate) fn alloc_unformed(&self, class: usize) -> Option<NonNull<u8>> {
        let page = self.head(class);
        let nth = page.formed.get();
        let is_next = page.free.get().is_null() && nth != page.limit.get();
        if !is_next || page.dirty_tail.get() || page.out_units.get() != 0 {
            return None;
        }
        self.form_to(page, nth + 1);
        let block = page.pop()?;
        self.live.add(page.block_bytes.get());
        // SAFETY: the block is new; forming it has written to its first word only.
        unsafe { block.cast::<usize>().write(0) };
        Some(block)
    }

    #[cold]
    fn new_page(&self, class: usize) -> Option<&'static Page> {
        let slices = page_slices(class);
        let run = arena::claim(slices, 1)?;
        // SAFETY: the run was claimed just now.
        let slice = unsafe { arena::Slice::of(run.ptr.addr().get()) };
        let page = slice.page();
        page.reset(self, Kind::Small, slices, block_bytes(class));
        page.class.set(class as u8);
        page.limit
            .set((slices * SLICE_BYTES / block_bytes(class)) as u32);
        for back in 1..slices {
            slice.add(back).page().back.set(back as u32);
        }
        if !run.zeroed {
            page.dirty_tail.set(true);
            self.committed.add(page.bytes());
        }
        poison::unused(run.ptr, page.bytes());
        self.pages_push(page);
        self.open(page);
        Some(page)
    }

    /// Puts a page into the list of its class: as its head, or behind a head that has blocks.
    fn open(&self, page: &'static Page) {
        let bin = &self.bins[page.class.get() as usize];
        let head = self.head(page.class.get() as usize);
        page.place.set(Place::Open);
        if Self::is_empty_page(head) {
            page.prev.set(ptr::null());
            page.next.set(ptr::null());
            // The only page of its class is kept when it runs empty, so nobody need notice.
            page.notify_at.set(NEVER);
            bin.set(page);
            return;
        }
        head.notify_at.set(0);
        page.notify_at.set(0);
        page.prev.set(head);
        page.next.set(head.next.get());
        // SAFETY: neighbours in the list are pages of this heap.
        if let Some(next) = unsafe { head.next.get().as_ref() } {
            next.prev.set(page);
        }
        head.next.set(page);
    }

    /// Takes a page out of the list of its class.
    fn close(&self, page: &Page) {
        let (prev, next) = (page.prev.get(), page.next.get());
        // SAFETY: neighbours in the list are pages of this heap.
        match unsafe { prev.as_ref() } {
            Some(prev) => prev.next.set(next),
            None => self.bins[page.class.get() as usize].set(if next.is_null() {
                &raw const EMPTY_PAGE.0
            } else {
                next
            }),
        }
        // SAFETY: as above.
        if let Some(next) = unsafe { next.as_ref() } {
            next.prev.set(prev);
        }
    }

    fn set_full(&self, page: &'static Page) {
        if self.gives_away.get() {
            self.part_from(page);
            page.set_origin(self);
            return unowned::let_go(
                page,
                LetGo {
                    orphan: false,
                    dirty: false,
                },
            );
        }
        self.close(page);
        page.place.set(Place::Full);
        // The next free goes the slow way and brings the page back. With no block in use there is none to come.
        page.notify_at.set(page.used.get().wrapping_sub(1));
    }

    /// Takes a page of a heap that gives pages away out of its lists.
    fn part_from(&self, page: &'static Page) {
        self.close(page);
        self.pages_remove(page);
    }

    /// Takes over a page that the caller has claimed.
    pub(crate) fn adopt(&self, page: &'static Page) {
        if !page.came_from(self) {
            self.charge(page.figures());
        }
        page.set_owner(self);
        self.pages_push(page);
        self.open(page);
    }

    /// A page that was full has something to allocate again.
    pub(crate) fn reopen(&self, page: &'static Page) {
        debug_assert_eq!(page.place.get(), Place::Full);
        self.open(page);
    }

    /// The slow half of a free, after the block is in the list and counted.
    #[cold]
    pub(crate) fn freed_slow(&self, page: &'static Page) {
        if page.kind.get() != Kind::Small {
            return self.free_run(page);
        }
        if page.place.get() == Place::Full {
            self.reopen(page);
            scavenger::tell(self);
        }
        if page.used.get() == 0 {
            if self.is_alone(page) {
                page.notify_at.set(NEVER);
            } else {
                self.free_page(page, arena::tick());
                scavenger::nudge();
            }
        }
    }

    /// The only open page of its class, which is kept for the next allocation.
    fn is_alone(&self, page: &Page) -> bool {
        page.prev.get().is_null() && page.next.get().is_null()
    }

    /// Gives a page without blocks in use back to its arena, as free since `tick`.
    pub(crate) fn free_page(&self, page: &'static Page, tick: u32) {
        debug_assert_eq!(page.used.get(), 0);
        if page.place.get() == Place::Open {
            self.close(page);
        }
        self.pages_remove(page);
        self.discharge(page.figures());
        poison::unused(page.start(), page.bytes());
        // SAFETY: no block of the page is in use, and it is in no list any more.
        unsafe { arena::give_back(page.start(), page.slices.get() as usize, tick) };
    }

    fn pages_push(&self, page: &'static Page) {
        push(&self.pages, page);
    }

    fn pages_remove(&self, page: &'static Page) {
        if ptr::eq(self.cursor.get(), page) {
            self.cursor.set(page.all_next.get());
        }
        remove(&self.pages, page);
    }

    /// Checks that `used + free + holed = formed` holds for a page.
    #[inline(always)]
    pub(crate) fn check_page(&self, page: &Page) {
        #[cfg(sleepy_check)]
        page.check();
        let _ = page;
    }
}

/// Puts a page in front of one of the heap's lists of all pages.
pub(super) fn push(list: &core::cell::Cell<*const Page>, page: &'static Page) {
    page.all_prev.set(ptr::null());
    page.all_next.set(list.get());
    // SAFETY: pages in the lists of a heap are its own, and their descriptors stay mapped.
    if let Some(next) = unsafe { list.get().as_ref() } {
        next.all_prev.set(page);
    }
    list.set(page);
}

/// Takes a page out of one of the heap's lists of all pages.
pub(super) fn remove(list: &core::cell::Cell<*const Page>, page: &'static Page) {
    let (prev, next) = (page.all_prev.get(), page.all_next.get());
    // SAFETY: as in `push`.
    match unsafe { prev.as_ref() } {
        Some(prev) => prev.all_next.set(next),
        None => list.set(next),
    }
    // SAFETY: as in `push`.
    if let Some(next) = unsafe { next.as_ref() } {
        next.all_prev.set(prev);
    }
}

impl Inner {
    /// Gives back what is free, and leaves the pages with blocks in use to whoever frees those: the heap's thread ends.
    pub(crate) fn abandon_everything(&self) {
        // SAFETY: pages in the lists of a heap are its own, and their descriptors stay mapped while they are.
        while let Some(page) = unsafe { self.pages.get().as_ref() } {
            self.fold_page(page);
            if page.used.get() == 0 {
                self.free_page(page, arena::tick());
                continue;
            }
            self.part_from(page);
            self.discharge(page.figures());
            page.set_owner(ptr::null());
            stats::ABANDONED_TOTAL.add(1);
            unowned::let_go(
                page,
                LetGo {
                    orphan: true,
                    dirty: true,
                },
            );
        }
        self.free_everything();
    }

    /// Gives everything that the heap holds back to the arenas; its blocks are gone.
    pub(crate) fn free_everything(&self) {
        // SAFETY: pages in the lists of a heap are its own, and their descriptors stay mapped while they are.
        while let Some(page) = unsafe { self.pages.get().as_ref() } {
            self.live.sub(page.figures().live_bytes);
            page.used.set(0);
            self.free_page(page, arena::tick());
        }
        // SAFETY: as above.
        while let Some(page) = unsafe { self.runs.get().as_ref() } {
            self.live.sub(page.block_bytes.get());
            if page.kind.get() == Kind::Collector {
                self.holed.sub(page.bytes() - page.block_bytes.get());
            }
            self.free_run(page);
        }
        scavenger::nudge();
    }
}
