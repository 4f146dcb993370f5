//! Allocation: a reserved cell if there is one, else the next free ones of a page.

use std::ptr::NonNull;

use sleepy_alloc::poison;

use super::context::{CACHE_PLACES, Context, Phase, key_of};
use super::events;
use super::page::{Bit, PageRef};
use super::size_class::{self, FIXED, LARGE, MAX_SHARED_BYTES};
use super::source::PAGE_BYTES;
use super::space::Space;
use super::vtable::VTable;
use super::zeal;

/// Cells are reserved in batches of about so many bytes: what is counted before it is used. Small heaps, where the batches
/// of a few dozen spaces would weigh, have smaller ones.
const BATCH_BYTES: usize = 4096;
const SMALL_BATCH_BYTES: usize = 1024;
const SMALL_HEAP_BYTES: usize = 4 << 20;

/// Pages without a free cell that an allocation sweeps at most before it takes a new page: so that it is never long.
const LAZILY_SWEPT: usize = 8;

/// What `Gc::new` may take beyond the heap limit before it aborts, as a fraction of the limit.
const RESERVE_DIVISOR: usize = 8;

/// Where in the cache a key is looked for.
#[inline(always)]
fn place_of(key: usize) -> usize {
    (key >> 7 ^ key >> 14 ^ key << 2) % CACHE_PLACES
}

impl Context {
    /// A cell for an object whose size its type fixes.
    #[inline(always)]
    pub(crate) fn alloc(&self, vtable: &'static VTable) -> Option<NonNull<u8>> {
        if self.is_short() {
            return None;
        }
        if vtable.object_bytes > MAX_SHARED_BYTES {
            return self.alloc_large(vtable, vtable.object_bytes);
        }
        self.alloc_in_class(vtable, FIXED)
    }

    /// A cell for an object of `bytes`, whose type does not fix its size.
    #[inline]
    pub(crate) fn alloc_sized(&self, vtable: &'static VTable, bytes: usize) -> Option<NonNull<u8>> {
        if self.is_short() {
            return None;
        }
        let bytes = bytes.next_multiple_of(vtable.align);
        if bytes > MAX_SHARED_BYTES {
            return self.alloc_large(vtable, bytes);
        }
        self.alloc_in_class(vtable, size_class::class_of(bytes))
    }

    #[inline(always)]
    fn alloc_in_class(&self, vtable: &'static VTable, class: usize) -> Option<NonNull<u8>> {
        let key = key_of(vtable, class);
        let cached = &self.cache[place_of(key)];
        if cached.key.get() == key {
            // SAFETY: spaces live as long as the context.
            if let Some(cell) = unsafe { cached.space.get().as_ref() }.pop() {
                return Some(cell);
            }
        }
        self.alloc_slow(vtable, class)
    }

    #[cold]
    #[inline(never)]
    fn alloc_slow(&self, vtable: &'static VTable, class: usize) -> Option<NonNull<u8>> {
        let space = self.find_space(vtable, class)?;
        let key = key_of(vtable, class);
        let cached = &self.cache[place_of(key)];
        cached.key.set(key);
        cached.space.set(NonNull::from(space));
        if let Some(cell) = space.pop() {
            return Some(cell);
        }
        self.reserve(space)?;
        space.pop()
    }

    /// Reserves the next free cells of a space.
    fn reserve(&self, space: &Space) -> Option<()> {
        #[allow(clippy::cast_possible_truncation, reason = "at most 64")]
        let limit = (self.batch_bytes() / space.cell_bytes).clamp(1, 64) as u32;
        let black = self.phase.get() == Phase::Clearing;
        self.take_over();
        if !self.has_room(space.cell_bytes * limit as usize) {
            return None;
        }
        loop {
            if let Some(page) = space.open.get() {
                if let Some((word, cells)) = page.reserve(space.word.get(), limit, black) {
                    let count = cells.count_ones() as usize;
                    self.charge(count, count * space.cell_bytes);
                    space.install(page, word, cells);
                    return Some(());
                }
                space.word.set(0);
                if space.look_again.replace(false) {
                    continue;
                }
                space.open.set(None);
                if page.has_released() {
                    space.offer_holed(page);
                }
            }
            let page = self.next_page(space)?;
            space.word.set(0);
            space.open.set(Some(page));
        }
    }

    fn batch_bytes(&self) -> usize {
        if self.metrics.counted_bytes() < SMALL_HEAP_BYTES {
            SMALL_BATCH_BYTES
        } else {
            BATCH_BYTES
        }
    }

    /// A page of the space with free cells.
    fn next_page(&self, space: &Space) -> Option<PageRef> {
        if let Some(page) = Space::pop_page(&space.free_pages) {
            return Some(page);
        }
        if self.phase.get() == Phase::Sweeping && !space.vtable.needs_drop {
            for _ in 0..LAZILY_SWEPT {
                let Some(page) = space.next_unswept(self.epoch.get()) else {
                    break;
                };
                if self.sweep_page(space, page, true) {
                    return Some(page);
                }
            }
        }
        while let Some(page) = Space::pop_page(&space.holed_pages) {
            if page.take_back(&self.source) {
                return Some(page);
            }
        }
        self.new_page(space, space.cell_bytes)
    }

    fn new_page(&self, space: &Space, cell_bytes: usize) -> Option<PageRef> {
        let page = PageRef::new(
            &self.source,
            space.vtable,
            cell_bytes,
            space.large,
            space.index,
        );
        let Some(page) = page else {
            self.refuse();
            return None;
        };
        page.swept.set(self.epoch.get());
        if space.add(page) {
            return Some(page);
        }
        // SAFETY: nothing was allocated in it.
        unsafe { page.free(&self.source) };
        self.refuse();
        None
    }

    #[cold]
    fn alloc_large(&self, vtable: &'static VTable, bytes: usize) -> Option<NonNull<u8>> {
        self.take_over();
        if !self.has_room(bytes) {
            return None;
        }
        let space = self.find_space(vtable, LARGE)?;
        let page = self.new_page(space, bytes)?;
        page.release_rest(&self.source);
        page.set_allocated(Bit::of(0));
        if self.phase.get() == Phase::Clearing {
            page.set_marked(Bit::of(0));
        }
        self.charge(1, bytes);
        Some(page.cell(0))
    }

    /// The space of a vtable and class, made where it is missing.
    ///
    /// # Panics
    ///
    /// Where the arena may move between threads and the type may not.
    fn find_space(&self, vtable: &'static VTable, class: usize) -> Option<&Space> {
        let key = key_of(vtable, class);
        if let Some(&index) = self.space_of.borrow().get(&key) {
            return self.space(index as usize);
        }
        assert!(
            vtable.send || !self.is_send(),
            "{} can't live in an arena that moves between threads",
            (vtable.name)()
        );
        let cell_bytes = match class {
            FIXED | LARGE => vtable.object_bytes,
            class => size_class::bytes_of(class),
        };
        let mut spaces = self.spaces.borrow_mut();
        let mut space_of = self.space_of.borrow_mut();
        if spaces.try_reserve(1).is_err() || space_of.try_reserve(1).is_err() {
            self.refuse();
            return None;
        }
        let index = u32::try_from(spaces.len()).ok()?;
        let Some(space) = Space::try_boxed(vtable, cell_bytes, class == LARGE, index) else {
            self.refuse();
            return None;
        };
        spaces.push(space);
        space_of.insert(key, index);
        drop(spaces);
        self.space(index as usize)
    }

    /// Whether so many more bytes stay within the heap limit.
    pub(super) fn has_room(&self, bytes: usize) -> bool {
        if self.metrics.counted_bytes().saturating_add(bytes) <= self.limit_bytes.get() {
            return true;
        }
        self.refuse();
        false
    }

    /// Whether the request that is being made is one that fails on purpose.
    #[cfg(debug_assertions)]
    pub(super) fn is_short(&self) -> bool {
        let refused = self.shortages.refuses();
        if refused {
            self.refuse();
        }
        refused
    }

    /// No request fails on purpose.
    #[cfg(not(debug_assertions))]
    #[inline(always)]
    #[allow(clippy::unused_self, reason = "debug builds look")]
    pub(super) fn is_short(&self) -> bool {
        false
    }

    /// Notes that memory has run out: a step is due, and the next cycle is an emergency.
    fn refuse(&self) {
        events::out_of_memory(&self.metrics, self.limit_bytes.get());
        self.refused.set(true);
        self.make_due();
    }

    /// As [`Context::alloc`] after it has failed: draws on the reserve beyond the heap limit, or aborts.
    #[cold]
    pub(crate) fn alloc_or_abort(&self, vtable: &'static VTable) -> NonNull<u8> {
        self.beyond_limit(|| self.alloc(vtable))
            .unwrap_or_else(|| super::out_of_memory())
    }

    pub(crate) fn beyond_limit<T>(&self, f: impl FnOnce() -> Option<T>) -> Option<T> {
        /// Puts back what holds outside, also where the program's own code panics, which makes the elements of a tail.
        struct Limit<'a> {
            context: &'a Context,
            bytes: usize,
            #[cfg(debug_assertions)]
            shortage: super::Shortage,
        }

        impl Drop for Limit<'_> {
            fn drop(&mut self) {
                self.context.limit_bytes.set(self.bytes);
                #[cfg(debug_assertions)]
                self.context.set_shortage(self.shortage);
            }
        }

        let bytes = self.limit_bytes.get();
        let _limit = Limit {
            context: self,
            bytes,
            #[cfg(debug_assertions)]
            shortage: self.set_shortage(super::Shortage::Never),
        };
        self.limit_bytes
            .set(bytes.saturating_add((bytes / RESERVE_DIVISOR).max(1 << 20)));
        f()
    }

    /// Bytes of the cell that [`Context::alloc_sized`] gives.
    pub(crate) fn cell_bytes_for(&self, vtable: &'static VTable, bytes: usize) -> usize {
        let bytes = bytes.next_multiple_of(vtable.align);
        if bytes > MAX_SHARED_BYTES {
            bytes
        } else {
            size_class::bytes_of(size_class::class_of(bytes))
        }
    }

    /// Whether moving from a cell that holds `from` bytes to one for `to` would save memory.
    pub(crate) fn would_shrink(&self, from: usize, to: usize) -> bool {
        match (from > MAX_SHARED_BYTES, to > MAX_SHARED_BYTES) {
            (true, true) => from.div_ceil(PAGE_BYTES / 16) > to.div_ceil(PAGE_BYTES / 16),
            (false, false) => size_class::class_of(from.max(1)) > size_class::class_of(to.max(1)),
            (from_large, _) => from_large,
        }
    }

    /// Frees an object without a destructor at once, where the collector can't be holding it: its only owner has given
    /// it up. Otherwise the cycle frees it.
    pub(crate) fn free_now(&self, object: NonNull<u8>) {
        // SAFETY: the caller has owned the object, so it is one.
        let page = unsafe { PageRef::of(object) };
        let bit = page.bit_of(object);
        if self.barrier.get() && page.is_marked(bit) && !self.may_free_marked(page) {
            return;
        }
        self.free_unseen(object);
    }

    /// Frees a cell at once that holds nothing, or nothing that would have to be dropped, and that neither the collector
    /// nor the program has seen, or of which both have let go.
    pub(crate) fn free_unseen(&self, object: NonNull<u8>) {
        // SAFETY: the caller has owned the object, so it is one.
        let page = unsafe { PageRef::of(object) };
        let bit = page.bit_of(object);
        page.clear_marked(bit);
        page.clear_allocated(bit);
        self.discharge(1, page.cell_bytes);
        self.earn(page.cell_bytes);
        if self.zeal.is_some() {
            // SAFETY: the cell is free.
            unsafe { zeal::poison(object, page.cell_bytes) };
        }
        poison::unused(object, page.cell_bytes);
        let Some(space) = self.space(page.space as usize) else {
            return;
        };
        if space.large {
            self.free_page(space, page);
        } else if space.open.get() == Some(page) {
            space.look_again.set(true);
        } else if self.phase.get() != Phase::Sweeping || page.swept.get() == self.epoch.get() {
            space.offer(page);
        }
    }
}
