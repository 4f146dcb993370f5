//! Page descriptors: a page is a run of slices that serves one size class, one large block, or a collector.
//!
//! A descriptor lies in the information area, two cache lines: the first is all that allocating and freeing touch.
//! Blocks lie at multiples of the block size from the start of the page. The free list threads through free blocks;
//! blocks beyond `formed` were never made, blocks that overlap a released unit are *holed* and in no list:
//!
//! ```text
//! used + free + holed = formed ≤ limit
//! ```
//!
//! The cells belong to whoever owns the page: its heap's owner, the scavenger while it sweeps, or the thread that has
//! claimed it. What is fixed as long as a block of the page is in use, anybody may read who holds such a block: `back`,
//! `block_bytes` and `class` of a small page, `kind`.

use crate::arena::{self, SLICE_BYTES, Slice, UNIT_BYTES};
use crate::heap::inner::{Figures, Inner};
use crate::poison;
use crate::remote::{List, RemoteWord};
use core::cell::Cell;
use core::ptr::{self, NonNull};
use core::sync::atomic::{AtomicPtr, AtomicU32, Ordering};

/// A free block: the link of the free list is its first word.
#[repr(C)]
pub(crate) struct Block {
    next: *mut Block,
}

/// Blocks of a free list that is being taken apart, in their order.
struct Chain {
    first: *mut Block,
    last: *mut Block,
    blocks: u32,
}

impl Default for Chain {
    fn default() -> Self {
        Self {
            first: ptr::null_mut(),
            last: ptr::null_mut(),
            blocks: 0,
        }
    }
}

impl Chain {
    /// Adds a free block at the end; what it linked to is the caller's to remember.
    fn push(&mut self, block: *mut Block) {
        if self.first.is_null() {
            self.first = block;
        }
        self.end_in(block);
        self.last = block;
        self.blocks += 1;
    }

    /// Has the last block link to `next`.
    fn end_in(&self, next: *mut Block) {
        if !self.last.is_null() {
            // SAFETY: a block of a free list that only the page's owner takes apart, and its first word holds the link.
            unsafe { (*self.last).next = next };
        }
    }
}

/// What a page holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub(crate) enum Kind {
    /// Blocks of one size class. (First: zeroed memory is an empty page of no blocks.)
    Small,
    /// One block with slices of its own.
    Large,
    /// One block with a mapping of its own.
    Huge,
    /// A collector's run: see [`crate::pages`].
    Collector,
}

/// Which list of its heap a small page is in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub(crate) enum Place {
    /// In the list of its class: it has, or may come to have, something to allocate from.
    Open,
    /// Nothing to allocate from; a free brings it back.
    Full,
}

/// The descriptor of a page. Zeroed memory is a valid one.
#[repr(C, align(128))]
pub(crate) struct Page {
    pub(crate) free: Cell<*mut Block>,
    /// The heap that the page belongs to; with [`NO_MORE`] the one that gave it away, and counts it still; null: none.
    /// Relaxed where a thread asks whether it is its own heap, which was written by itself or before it got the heap.
    /// Release publishes a heap to the acquire of those who look at its atomic parts.
    owner: AtomicPtr<Inner>,
    pub(crate) used: Cell<u32>,
    /// A free that brings `used` down to this goes the slow way: 0, or one less than `used` was when the page got full.
    pub(crate) notify_at: Cell<u32>,
    /// Block size of a small page; bytes in use of any other.
    pub(crate) block_bytes: Cell<usize>,
    /// Slices back to the descriptor of the page; 0 in that descriptor itself.
    pub(crate) back: Cell<u32>,
    pub(crate) formed: Cell<u32>,
    pub(crate) limit: Cell<u32>,
    pub(crate) holed: Cell<u32>,
    pub(crate) slices: Cell<u32>,
    pub(crate) class: Cell<u8>,
    pub(crate) kind: Cell<Kind>,
    pub(crate) place: Cell<Place>,
    /// Released units of a small page, those in flight and given back included.
    pub(crate) out_units: Cell<u8>,
    /// The memory was dirty when the page was made, so what lies beyond `formed` is worth giving back.
    pub(crate) dirty_tail: Cell<bool>,

    /// Neighbours in the list of the class.
    pub(crate) next: Cell<*const Page>,
    pub(crate) prev: Cell<*const Page>,
    /// Neighbours in the list of all pages of the heap.
    pub(crate) all_next: Cell<*const Page>,
    pub(crate) all_prev: Cell<*const Page>,
    /// What the last sweep left: a page that still looks like this has nothing new to give.
    pub(crate) swept_free: Cell<*mut Block>,
    pub(crate) swept_used: Cell<u32>,
    pub(crate) swept_formed: Cell<u32>,
    /// What others have freed, and whether the page belongs to a heap.
    pub(crate) remote: RemoteWord,
    /// Blocks in use of an unowned page: with as many in its list it is free. See [`crate::unowned`].
    pub(crate) left: AtomicU32,
    /// The page is unowned because its heap is gone.
    pub(crate) orphan: Cell<bool>,
}

/// Marks the owner of a page as the one that it used to have.
const NO_MORE: usize = 1;

const _: () = assert!(size_of::<Page>() == 128);

/// The page that a bin without pages points to: nothing to allocate, never written.
pub(crate) struct EmptyPage(pub(crate) Page);

// SAFETY: nobody writes it: an allocation finds no block, and no block lies in it that could be freed.
unsafe impl Sync for EmptyPage {}

pub(crate) static EMPTY_PAGE: EmptyPage = EmptyPage(Page {
    free: Cell::new(ptr::null_mut()),
    owner: AtomicPtr::new(ptr::null_mut()),
    used: Cell::new(0),
    notify_at: Cell::new(0),
    block_bytes: Cell::new(0),
    back: Cell::new(0),
    formed: Cell::new(0),
    limit: Cell::new(0),
    holed: Cell::new(0),
    slices: Cell::new(0),
    class: Cell::new(0),
    kind: Cell::new(Kind::Small),
    place: Cell::new(Place::Open),
    out_units: Cell::new(0),
    dirty_tail: Cell::new(false),
    next: Cell::new(ptr::null()),
    prev: Cell::new(ptr::null()),
    all_next: Cell::new(ptr::null()),
    all_prev: Cell::new(ptr::null()),
    swept_free: Cell::new(ptr::null_mut()),
    swept_used: Cell::new(0),
    swept_formed: Cell::new(0),
    remote: RemoteWord::new(),
    left: AtomicU32::new(0),
    orphan: Cell::new(false),
});

impl Page {
    /// The page that a block lies in.
    ///
    /// # Safety
    /// `block` is a live block of this allocator: of a size class, or the start of a larger one.
    #[inline(always)]
    pub(crate) unsafe fn of(block: NonNull<u8>) -> &'static Self {
        // SAFETY: a live block lies in a mapped arena, larger blocks start in its first GiB.
        let slice = unsafe { Slice::of(block.addr().get()) };
        let here = slice.page();
        let back = here.back.get() as usize;
        if back == 0 {
            return here;
        }
        // Pages of several slices hold the larger classes, which are rarer.
        core::hint::cold_path();
        Slice {
            index: slice.index - back,
            ..slice
        }
        .page()
    }

    /// The slice that the page starts in.
    pub(crate) fn slice(&self) -> Slice {
        let address = ptr::from_ref(self).addr();
        // SAFETY: descriptors lie in the information area of a mapped arena.
        let information = unsafe { Slice::of(address) };
        Slice {
            index: information.arena.page_index(address),
            ..information
        }
    }

    /// Where the blocks start.
    pub(crate) fn start(&self) -> NonNull<u8> {
        self.slice().start()
    }

    /// Bytes of the page's slices.
    pub(crate) fn bytes(&self) -> usize {
        self.slices.get() as usize * SLICE_BYTES
    }

    /// Makes this the descriptor of `slices` slices and clears everything else.
    pub(crate) fn reset(&self, owner: *const Inner, kind: Kind, slices: usize, block_bytes: usize) {
        self.free.set(ptr::null_mut());
        self.set_owner(owner);
        self.used.set(0);
        self.notify_at.set(0);
        self.block_bytes.set(block_bytes);
        self.back.set(0);
        self.formed.set(0);
        self.limit.set(0);
        self.holed.set(0);
        self.slices.set(slices as u32);
        self.class.set(0);
        self.kind.set(kind);
        self.place.set(Place::Open);
        self.out_units.set(0);
        self.dirty_tail.set(false);
        self.swept_free.set(ptr::null_mut());
        self.swept_used.set(0);
        self.swept_formed.set(0);
        self.remote.reset();
        self.orphan.set(false);
    }

    /// Whether the page belongs to this heap.
    #[inline(always)]
    pub(crate) fn is_of(&self, heap: *const Inner) -> bool {
        ptr::eq(self.owner.load(Ordering::Relaxed), heap)
    }

    /// The heap that the page belongs to, if it belongs to one.
    pub(crate) fn owner(&self) -> Option<&'static Inner> {
        let owner = self.owner.load(Ordering::Acquire);
        if owner.addr() & NO_MORE != 0 {
            return None;
        }
        // SAFETY: heaps are never unmapped, and the acquire above makes this one initialised.
        unsafe { owner.as_ref() }
    }

    pub(crate) fn set_owner(&self, heap: *const Inner) {
        self.owner.store(heap.cast_mut(), Ordering::Release);
    }

    /// Notes that the page belongs to this heap no more, which goes on counting it.
    pub(crate) fn set_origin(&self, heap: *const Inner) {
        self.set_owner(heap.map_addr(|address| address | NO_MORE));
    }

    /// The heap in whose figures the page is counted, if it is in one's.
    pub(crate) fn counted_by(&self) -> Option<&'static Inner> {
        let owner = self.owner.load(Ordering::Acquire);
        // SAFETY: heaps are never unmapped, and the acquire above makes this one initialised.
        unsafe { owner.map_addr(|address| address & !NO_MORE).as_ref() }
    }

    /// Whether this heap gave the page away.
    pub(crate) fn came_from(&self, heap: *const Inner) -> bool {
        self.is_of(heap.map_addr(|address| address | NO_MORE))
    }

    /// What a small page adds to the figures of whoever it belongs to.
    pub(crate) fn figures(&self) -> Figures {
        let holed_bytes = self.out_units.get() as usize * UNIT_BYTES;
        Figures {
            live_bytes: self.used.get() as usize * self.block_bytes.get(),
            committed_bytes: self.touched_units() * UNIT_BYTES - holed_bytes,
            holed_bytes,
        }
    }

    /// Whether blocks can be allocated in the page, now or when what is in flight has landed.
    pub(crate) fn has_room(&self) -> bool {
        !self.free.get().is_null() || self.formed.get() < self.limit.get() || self.holed.get() != 0
    }

    /// Takes over blocks that others have freed: they are free now.
    pub(crate) fn fold(&self, list: List) {
        #[cfg(any(debug_assertions, sleepy_check))]
        self.check_list(list);
        self.used.set(self.used.get() - list.count);
        let head = ptr::with_exposed_provenance_mut::<Block>(list.head);
        if !self.free.get().is_null() {
            let mut last = head;
            // SAFETY: the list's blocks are free, and threaded through their first words; the last has null.
            unsafe {
                while !(*last).next.is_null() {
                    last = (*last).next;
                }
                (*last).next = self.free.get();
            }
        }
        self.free.set(head);
    }

    /// Makes the descriptor of a run that holds one block, or a collector's cells, of which `bytes` are in use.
    ///
    /// # Safety
    /// The run was claimed or mapped just now, and nobody else knows it.
    pub(crate) unsafe fn of_run(
        start: NonNull<u8>,
        owner: *const Inner,
        kind: Kind,
        slices: usize,
        bytes: usize,
    ) -> &'static Self {
        // SAFETY: the caller passes the start of a run.
        let page = unsafe { Slice::of(start.addr().get()) }.page();
        page.reset(owner, kind, slices, bytes);
        page.used.set(1);
        page
    }

    /// Gives the slices or the mapping of a page back, as free since `tick`.
    ///
    /// # Safety
    /// No block of the page is in use any more, and it is in no list.
    pub(crate) unsafe fn give_back(&self, tick: u32) {
        let start = self.start();
        if self.slice().arena.is_huge() {
            poison::used(start, self.block_bytes.get());
            // SAFETY: the block is given up; nobody touches the descriptor after this.
            unsafe { arena::huge::give_up(start) };
        } else {
            poison::unused(start, self.bytes());
            // SAFETY: the run is given up and in no list.
            unsafe { arena::give_back(start, self.slices.get() as usize, tick) };
        }
    }

    /// Units at the front of the page that were written to, or may have been by whoever had the memory before.
    pub(crate) fn touched_units(&self) -> usize {
        if self.dirty_tail.get() {
            self.bytes() / UNIT_BYTES
        } else {
            (self.formed.get() as usize * self.block_bytes.get()).div_ceil(UNIT_BYTES)
        }
    }

    /// Takes a block off the free list.
    #[inline(always)]
    pub(crate) fn pop(&self) -> Option<NonNull<u8>> {
        let block = NonNull::new(self.free.get())?;
        // SAFETY: a block in the free list is ours, and its first word holds the link.
        self.free.set(unsafe { block.as_ref().next });
        self.used.set(self.used.get() + 1);
        Some(block.cast())
    }

    /// Puts a block on the free list without counting it.
    ///
    /// # Safety
    /// The block belongs to this page, is used by nobody and in no list, and no unit of it is released.
    #[inline(always)]
    pub(crate) unsafe fn thread(&self, block: NonNull<u8>) {
        let block = block.cast::<Block>();
        // SAFETY: the caller gives the block up; it is at least a word long and aligned to one.
        unsafe {
            block.write(Block {
                next: self.free.get(),
            })
        };
        self.free.set(block.as_ptr());
    }

    /// The address of block `index`.
    pub(crate) fn block(&self, start: NonNull<u8>, index: usize) -> NonNull<u8> {
        // SAFETY: blocks below `limit` lie inside the page.
        unsafe { start.add(index * self.block_bytes.get()) }
    }

    /// Calls `f` with the offset of each free block; stops early, and says so, when `f` returns false.
    pub(crate) fn each_free(&self, mut f: impl FnMut(usize) -> bool) -> bool {
        let start = self.start().addr().get();
        let mut block = self.free.get();
        while !block.is_null() {
            if !f(block.addr() - start) {
                return false;
            }
            // SAFETY: a block in the free list is ours, and its first word holds the link.
            block = unsafe { (*block).next };
        }
        true
    }

    /// Takes the blocks whose offset `keep` does not accept out of the free list, and gives their number.
    ///
    /// `None`: `should_stop`, asked before each block, said so. Then the list has all its blocks still, though in
    /// another order.
    pub(crate) fn retain_free(
        &self,
        keep: impl Fn(usize) -> bool,
        mut should_stop: impl FnMut() -> bool,
    ) -> Option<u32> {
        let start = self.start().addr().get();
        let mut kept = Chain::default();
        let mut dropped = Chain::default();
        let mut block = self.free.get();
        while !block.is_null() {
            if should_stop() {
                dropped.end_in(block);
                let rest = if dropped.first.is_null() {
                    block
                } else {
                    dropped.first
                };
                kept.end_in(rest);
                self.free.set(if kept.first.is_null() {
                    rest
                } else {
                    kept.first
                });
                return None;
            }
            // SAFETY: as in `each_free`.
            let next = unsafe { (*block).next };
            let chain = if keep(block.addr() - start) {
                &mut kept
            } else {
                &mut dropped
            };
            chain.push(block);
            block = next;
        }
        kept.end_in(ptr::null_mut());
        self.free.set(kept.first);
        Some(dropped.blocks)
    }

    /// Forms blocks up to number `end`, which lie in units that are not released.
    pub(crate) fn form(&self, end: u32) {
        let start = self.start();
        let from = self.formed.get();
        // Backwards, so that the list hands them out by rising address.
        for index in (from..end).rev() {
            let block = self.block(start, index as usize);
            poison::free(block, self.block_bytes.get());
            // SAFETY: a block that was never formed is in no list and nobody's.
            unsafe { self.thread(block) };
        }
        self.formed.set(end);
    }

    /// Remembers what a sweep leaves.
    pub(crate) fn set_swept(&self) {
        self.swept_free.set(self.free.get());
        self.swept_used.set(self.used.get());
        self.swept_formed.set(self.formed.get());
    }

    /// Whether the page seems to be as the last sweep left it.
    pub(crate) fn is_as_swept(&self) -> bool {
        self.swept_used.get() == self.used.get()
            && self.swept_formed.get() == self.formed.get()
            && self.swept_free.get() == self.free.get()
    }

    /// Walks the page and checks that its counts add up.
    #[cfg(any(test, sleepy_check))]
    pub(crate) fn check(&self) {
        let mut free = 0;
        let whole = self.each_free(|offset| {
            free += 1;
            offset % self.block_bytes.get() == 0
                && offset / self.block_bytes.get() < self.formed.get() as usize
        });
        assert!(whole, "a free block lies where none was formed");
        assert_eq!(
            self.used.get() + free + self.holed.get(),
            self.formed.get(),
            "used + free + holed = formed"
        );
        assert_eq!(self.holed.get(), crate::hole::holed_blocks(self), "holed");
        assert!(self.formed.get() <= self.limit.get());
    }
}
