//! Blocks of the size classes, the slow half: finding, making and giving up pages.

use super::bin::{NEVER, is_empty_page};
use super::inner::Inner;
use crate::arena::{self, SLICE_BYTES, UNIT_BYTES};
use crate::page::{Kind, Page, Place};
use crate::size_class::{block_bytes, page_slices};
use crate::{hole, poison, scavenger, unowned};
use core::ptr::{self, NonNull};
use core::sync::atomic::Ordering;

/// Unowned pages taken before a fresh one: what is free in them may be in flight.
const TAKE_TRIES: u32 = 4;

/// Bytes of blocks that are formed at once: an OS page's worth, so that a new page touches little memory.
const FORM_BYTES: usize = UNIT_BYTES;

impl Inner {
    /// Allocates a block when the head of the class has none.
    pub(crate) fn alloc_small(&self, class: usize) -> Option<NonNull<u8>> {
        if self.sweep_wanted.load(Ordering::Relaxed) {
            self.sweep_slice();
        }
        let mut tries = TAKE_TRIES;
        loop {
            let page = self.head(class);
            if is_empty_page(page) {
                self.add_page(class, &mut tries)?;
                continue;
            }
            if let Some(block) = page.pop() {
                self.live.add(page.block_bytes.get());
                self.check_page(page);
                return Some(block);
            }
            if !self.refill(page) {
                self.set_full(page);
                if self.pass_over_poor_pages(class) {
                    // Without memory for a fresh page the poor ones will have to do.
                    let _ = self.add_page(class, &mut tries);
                }
            }
        }
    }

    /// Puts what can be allocated in a page on its free list; false if that is nothing.
    pub(super) fn refill(&self, page: &Page) -> bool {
        self.fold_page(page) || self.form(page) || hole::take_back(self, page)
    }

    /// Puts another page at the head of the class: one that somebody has freed blocks in, or a fresh one.
    fn add_page(&self, class: usize, tries: &mut u32) -> Option<()> {
        if self.gives_away && *tries > 0 {
            *tries -= 1;
            if self.reopen_recent(class) {
                return Some(());
            }
            if let Some(page) = unowned::take(class, self) {
                self.adopt(page);
                self.put_first(page);
                return Some(());
            }
        }
        let page = self.new_page(class)?;
        self.put_first(page);
        self.form(page);
        Some(())
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

    /// Takes over a page that the caller has claimed.
    pub(crate) fn adopt(&self, page: &'static Page) {
        if !page.came_from(self) {
            self.charge(page.figures());
        }
        page.set_owner(self);
        self.pages_push(page);
        self.open(page);
    }

    /// The slow half of a free, after the block is in the list and counted.
    #[cold]
    pub(crate) fn freed_slow(&self, page: &'static Page) {
        if page.kind.get() != Kind::Small {
            return self.free_run(page);
        }
        let was_full = page.place.get() == Place::Full;
        if was_full {
            self.reopen(page);
        }
        if page.used.get() == 0 {
            if self.is_alone(page) {
                page.notify_at.set(NEVER);
            } else {
                self.free_page(page, arena::tick());
                self.nudge();
            }
        }
        // Last, as nudging is: starting the scavenger may allocate in this heap.
        if was_full && !self.park.is_swept() {
            scavenger::tell(self);
        }
    }

    /// Gives a page without blocks in use back to its arena, as free since `tick`.
    pub(crate) fn free_page(&self, page: &'static Page, tick: u32) {
        debug_assert_eq!(page.used.get(), 0);
        if page.place.get() == Place::Open {
            self.close(page);
        }
        self.pages_remove(page);
        self.discharge(page.figures());
        // An entry of the recently full pages may still name it.
        page.set_owner(ptr::null());
        // SAFETY: no block of the page is in use, and it is in no list any more.
        unsafe { page.give_back(tick) };
    }

    pub(super) fn pages_push(&self, page: &'static Page) {
        push(&self.pages, page);
    }

    pub(super) fn pages_remove(&self, page: &'static Page) {
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
            unowned::abandon(page);
        }
        self.forget_recent();
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
