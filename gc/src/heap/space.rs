//! The pages of one vtable and size class, and the cells of one of them that are handed out next.

use std::alloc::Layout;
use std::cell::{Cell, UnsafeCell};
use std::ptr::NonNull;

use sleepy_alloc::poison;

use super::page::{PageRef, Swept};
use super::vtable::VTable;

/// The pages of one vtable and size class.
pub(super) struct Space {
    /// Reserved cells of the bitmap word at `word_base` that are not handed out yet.
    free: Cell<u64>,
    /// The cell of bit 0 of that word.
    word_base: Cell<NonNull<u8>>,
    pub(super) cell_bytes: usize,
    /// The page that cells are reserved in.
    pub(super) open: Cell<Option<PageRef>>,
    /// The bitmap word that is reserved from.
    pub(super) word: Cell<usize>,
    /// Whether a cell of the open page was freed behind `word`.
    pub(super) look_again: Cell<bool>,
    /// Pages with free cells that can be used at once.
    pub(super) free_pages: Cell<Option<PageRef>>,
    /// Pages with free cells in units that are released: used last.
    pub(super) holed_pages: Cell<Option<PageRef>>,
    pub(super) vtable: &'static VTable,
    /// Whether each page holds one object.
    pub(super) large: bool,
    pub(super) index: u32,
    pages: UnsafeCell<Vec<PageRef>>,
    /// Pages below are swept, while a sweep is under way.
    cursor: Cell<usize>,
    demand: Demand,
}

/// How many cells a space needs from one sweep to the next, by what the last ones have found.
#[derive(Default)]
struct Demand {
    /// Objects that this sweep has found, the dead among them too.
    found: Cell<usize>,
    /// Those that live.
    survive: Cell<usize>,
    /// Those that the last sweep has left.
    survived: Cell<usize>,
    /// By how many the space grows from one sweep to the next.
    grows_by: Cell<usize>,
    /// Free cells that this sweep has kept.
    kept: Cell<usize>,
}

impl Demand {
    fn begin(&self) {
        self.found.set(0);
        self.survive.set(0);
        self.kept.set(0);
    }

    fn end(&self) {
        let grown = self.found.get().saturating_sub(self.survived.get());
        self.survived.set(self.survive.get());
        self.grows_by.set(grown.max(self.grows_by.get() / 2));
    }

    /// Free cells that this sweep may still keep.
    fn room(&self) -> usize {
        let grows_by = self.grows_by.get();
        (grows_by + grows_by / 4).saturating_sub(self.kept.get())
    }
}

/// What [`Space::look_unswept`] has found.
pub(super) enum Unswept {
    /// A page to sweep.
    Page(PageRef),
    /// A page that is swept, or new; the next look is at the one behind it.
    Swept,
    /// No page is left.
    End,
}

impl Space {
    /// A space in memory that may be freed as a box; `None` where there is none.
    pub(super) fn try_boxed(
        vtable: &'static VTable,
        cell_bytes: usize,
        large: bool,
        index: u32,
    ) -> Option<NonNull<Self>> {
        // SAFETY: a space has a size.
        let memory = NonNull::new(unsafe { std::alloc::alloc(Layout::new::<Self>()) })?.cast();
        // SAFETY: there is room for it.
        unsafe { memory.write(Self::new(vtable, cell_bytes, large, index)) };
        Some(memory)
    }

    fn new(vtable: &'static VTable, cell_bytes: usize, large: bool, index: u32) -> Self {
        Self {
            free: Cell::new(0),
            word_base: Cell::new(NonNull::dangling()),
            cell_bytes,
            open: Cell::new(None),
            word: Cell::new(0),
            look_again: Cell::new(false),
            free_pages: Cell::new(None),
            holed_pages: Cell::new(None),
            vtable,
            large,
            index,
            pages: UnsafeCell::new(Vec::new()),
            cursor: Cell::new(0),
            demand: Demand::default(),
        }
    }

    /// Hands out a reserved cell.
    #[inline(always)]
    pub(super) fn pop(&self) -> Option<NonNull<u8>> {
        let free = self.free.get();
        if free == 0 {
            return None;
        }
        self.free.set(free & (free - 1));
        // SAFETY: the cell of each reserved bit lies in the open page.
        let cell = unsafe {
            self.word_base
                .get()
                .add(free.trailing_zeros() as usize * self.cell_bytes)
        };
        poison::used(cell, self.cell_bytes);
        Some(cell)
    }

    /// Makes cells that were reserved in the open page the ones to hand out.
    pub(super) fn install(&self, page: PageRef, word: usize, free: u64) {
        debug_assert_eq!(self.free.get(), 0);
        self.word.set(word);
        self.word_base.set(page.cell(word * 64));
        self.free.set(free);
    }

    /// Cells that are reserved and not handed out.
    pub(super) fn reserved(&self) -> usize {
        self.free.get().count_ones() as usize
    }

    /// Closes the open page; answers how many reserved cells were given back.
    pub(super) fn close(&self) -> usize {
        let unused = self.reserved();
        if let Some(page) = self.open.take() {
            page.unreserve(self.word.get(), self.free.replace(0));
        }
        self.look_again.set(false);
        unused
    }

    #[allow(clippy::mut_from_ref, reason = "private; see SAFETY")]
    fn list(&self) -> &mut Vec<PageRef> {
        // SAFETY: `Space` is `!Sync`, and each method below uses the reference up before it returns.
        unsafe { &mut *self.pages.get() }
    }

    pub(super) fn len(&self) -> usize {
        self.list().len()
    }

    pub(super) fn page(&self, index: usize) -> Option<PageRef> {
        self.list().get(index).copied()
    }

    /// Adds a page; false where there is no memory for the list.
    pub(super) fn add(&self, page: PageRef) -> bool {
        let list = self.list();
        let Ok(index) = u32::try_from(list.len()) else {
            return false;
        };
        if list.try_reserve(1).is_err() {
            return false;
        }
        page.index.set(index);
        list.push(page);
        true
    }

    /// Takes a page off the list, keeping swept pages below the cursor and unswept ones above.
    pub(super) fn remove(&self, page: PageRef) {
        let list = self.list();
        let mut hole = page.index.get() as usize;
        debug_assert!(list[hole] == page);
        if hole < self.cursor.get() {
            let last_swept = self.cursor.get() - 1;
            self.cursor.set(last_swept);
            list[hole] = list[last_swept];
            list[hole]
                .index
                .set(u32::try_from(hole).unwrap_or(u32::MAX));
            hole = last_swept;
        }
        list.swap_remove(hole);
        if let Some(moved) = list.get(hole) {
            moved.index.set(u32::try_from(hole).unwrap_or(u32::MAX));
        }
    }

    /// The next page that this sweep has not come to.
    pub(super) fn next_unswept(&self, epoch: u32) -> Option<PageRef> {
        while let Some(page) = self.page(self.cursor.get()) {
            if page.swept.get() != epoch {
                return Some(page);
            }
            self.cursor.set(self.cursor.get() + 1);
        }
        None
    }

    /// Looks at the first page that this sweep has not come to, and at no other: a bounded [`Space::next_unswept`].
    pub(super) fn look_unswept(&self, epoch: u32) -> Unswept {
        let Some(page) = self.page(self.cursor.get()) else {
            return Unswept::End;
        };
        if page.swept.get() != epoch {
            return Unswept::Page(page);
        }
        self.cursor.set(self.cursor.get() + 1);
        Unswept::Swept
    }

    /// How many pages this sweep has not come to; at most, since some of them may be new.
    pub(super) fn unswept_pages(&self) -> usize {
        self.len() - self.cursor.get()
    }

    /// Begins a sweep: nothing is swept, and no page is known to have free cells.
    pub(super) fn begin_sweep(&self) {
        self.cursor.set(0);
        self.free_pages.set(None);
        self.holed_pages.set(None);
        self.demand.begin();
    }

    /// Ends a sweep.
    pub(super) fn end_sweep(&self) {
        self.cursor.set(0);
        self.demand.end();
    }

    /// A page of the space was swept.
    pub(super) fn note_swept(&self, swept: Swept) {
        let demand = &self.demand;
        demand
            .found
            .set(demand.found.get() + swept.live + swept.freed);
        demand.survive.set(demand.survive.get() + swept.live);
    }

    /// Whether the sweeps of late have found anything new in the space.
    pub(super) fn is_used(&self) -> bool {
        self.demand.grows_by.get() > 0
    }

    /// Bytes of free cells that the space will need before the next sweep, and that this one has not kept yet.
    pub(super) fn needed_bytes(&self) -> usize {
        self.demand.room().saturating_mul(self.cell_bytes)
    }

    /// Free cells of so many bytes are kept.
    pub(super) fn keep(&self, bytes: usize) {
        let kept = &self.demand.kept;
        kept.set(kept.get() + bytes / self.cell_bytes.max(1));
    }

    /// Puts a page on the list of pages with free cells, unless it is on one.
    pub(super) fn offer(&self, page: PageRef) {
        Self::push(&self.free_pages, page);
    }

    /// Puts a page on the list of pages with released units, unless it is on one.
    pub(super) fn offer_holed(&self, page: PageRef) {
        Self::push(&self.holed_pages, page);
    }

    fn push(list: &Cell<Option<PageRef>>, page: PageRef) {
        if !page.listed.replace(true) {
            page.next.set(list.replace(Some(page)));
        }
    }

    /// Takes a page from a list.
    pub(super) fn pop_page(list: &Cell<Option<PageRef>>) -> Option<PageRef> {
        let page = list.get()?;
        list.set(page.next.take());
        page.listed.set(false);
        Some(page)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A sweep that finds so many objects, of which some survive; gives what it may keep at its beginning.
    fn sweep(demand: &Demand, found: usize, survive: usize) -> usize {
        demand.begin();
        let room = demand.room();
        demand.found.set(found);
        demand.survive.set(survive);
        demand.end();
        room
    }

    #[test]
    fn a_space_keeps_what_it_has_grown_by_and_a_quarter_more() {
        let demand = Demand::default();
        assert_eq!(sweep(&demand, 1_000, 600), 0, "nothing is known");
        for _ in 0..20 {
            sweep(&demand, 1_000, 600);
        }
        assert_eq!(sweep(&demand, 1_000, 600), 500);
        // A burst is remembered for a few sweeps.
        sweep(&demand, 5_000, 600);
        assert_eq!(sweep(&demand, 1_000, 600), 5_500);
        assert_eq!(sweep(&demand, 1_000, 600), 2_750);
        // What is kept takes room.
        demand.begin();
        demand.kept.set(1_300);
        assert_eq!(demand.room(), 75);
        // A space that shrinks needs nothing.
        for _ in 0..20 {
            sweep(&demand, 600, 600);
        }
        assert_eq!(sweep(&demand, 600, 600), 0);
    }
}
