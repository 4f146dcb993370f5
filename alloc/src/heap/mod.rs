//! First-class heaps: the handle, and the fast half of allocating and freeing.
//!
//! A [`Heap`] has one owner at a time and may move between threads. The handle points at the heap's pages through
//! `active`; while the heap is lent that points at [`inner::LENT`], where no class has a page and no page is found to
//! be its own, so that every call goes the slow way and takes the heap back first. The handle of a thread's default
//! heap points there, too, before the heap is made and after the thread has lost it:
//!
//! | `home` | `active` | the heap |
//! |---|---|---|
//! | null | `LENT` | not made yet (a thread's) |
//! | a heap | the same | in use by its owner |
//! | a heap | `LENT` | lent |
//! | `LENT` | `LENT` | gone: the thread is ending, and uses the [late heap](crate::late) |

mod bin;
#[cfg(any(test, sleepy_check))]
mod check;
mod delegate;
pub(crate) mod inner;
mod large;
mod recent;
mod small;
mod sweep;
#[cfg(test)]
mod tests;

use crate::page::{Kind, Page};
use crate::size_class::class_for;
use crate::{late, options, os, poison, purge, scavenger, stats, thread, unowned};
use allocator_api2::alloc::{AllocError, Allocator};
use core::alloc::Layout;
use core::cell::Cell;
use core::ptr::{self, NonNull};
pub use delegate::SweepHook;
use inner::Inner;
use large::Fresh;

/// Zeroed blocks of at least this size are taken from memory that was never used, if there is some: it is zero already.
const FRESH_BYTES: usize = 2048;

/// A heap of its own: blocks allocated in it through `&Heap`, which is an
/// [`Allocator`], are freed together when it is dropped.
///
/// A heap can move to another thread, but only one thread at a time can use it.
///
/// # Example
/// ```
/// use allocator_api2::vec::Vec;
/// let heap = sleepy_alloc::Heap::new()?;
/// let mut list = Vec::new_in(&heap);
/// list.extend([1, 2, 3]);
/// assert!(heap.live_bytes() >= 12);
/// drop(list);
/// assert_eq!(heap.live_bytes(), 0);
/// # Ok::<(), allocator_api2::alloc::AllocError>(())
/// ```
///
/// It cannot be shared between threads, and what is allocated in it cannot outlive it:
/// ```compile_fail
/// fn is_shared<T: Sync>() {}
/// is_shared::<sleepy_alloc::Heap>();
/// ```
/// ```compile_fail
/// use allocator_api2::vec::Vec;
/// let heap = sleepy_alloc::Heap::new().unwrap();
/// let list: Vec<u32, &sleepy_alloc::Heap> = Vec::new_in(&heap);
/// drop(heap);
/// drop(list);
/// ```
#[repr(C)] // `thread/initial_exec.rs` writes an unmade one out
pub struct Heap {
    /// `home`, or [`inner::LENT`] while the heap is lent.
    active: Cell<*const Inner>,
    home: Cell<*const Inner>,
}

// SAFETY: the state that the handle points at is used through it alone (or by the scavenger while the park word says
// so), and nothing in it belongs to a thread.
unsafe impl Send for Heap {}

impl Heap {
    /// Makes an empty heap.
    ///
    /// # Errors
    /// When the OS gives no memory for it.
    pub fn new() -> Result<Self, AllocError> {
        options::fix();
        let home = inner::obtain(false).ok_or(AllocError)?;
        let heap = Self::unmade();
        heap.set_home(home);
        Ok(heap)
    }

    /// The handle of a heap that will be made when it is needed.
    pub(crate) const fn unmade() -> Self {
        Self {
            active: Cell::new(&raw const inner::LENT.0),
            home: Cell::new(ptr::null()),
        }
    }

    /// Makes this the handle of a heap that nobody else has.
    pub(crate) fn set_home(&self, home: &'static Inner) {
        self.home.set(home);
        self.active.set(home);
    }

    /// Parts the handle from its heap for good, and gives that if there is one, taken back.
    pub(crate) fn end(&self) -> Option<&'static Inner> {
        let heap = self.made().map(|_| self.own());
        self.home.set(&raw const inner::LENT.0);
        self.active.set(&raw const inner::LENT.0);
        heap
    }

    /// The heap behind the handle, lent or not, unless it is not made yet or gone.
    #[inline]
    pub(crate) fn made(&self) -> Option<&'static Inner> {
        let home = self.home.get();
        if ptr::eq(home, &raw const inner::LENT.0) {
            return None;
        }
        // SAFETY: heaps are never unmapped.
        unsafe { home.as_ref() }
    }

    /// The heap behind the handle of a `Heap` that somebody else can name, which is made.
    #[inline(always)]
    fn home(&self) -> &'static Inner {
        // SAFETY: `Heap::new` and `with_thread_heap` give out handles of made heaps only.
        unsafe { &*self.home.get() }
    }

    /// Bytes in blocks that are allocated and not freed, by the size that each really takes.
    pub fn live_bytes(&self) -> usize {
        self.home().figures().live_bytes
    }

    /// Bytes of memory that this heap holds and has not marked to be given back: `live_bytes` and what lies free
    /// around it.
    pub fn committed_bytes(&self) -> usize {
        self.home().figures().committed_bytes
    }

    /// Lends the heap to the scavenger, if it has something to give back, until the guard is dropped.
    ///
    /// Lending costs a few loads when there is nothing to give; it never wakes anybody then. The heap may be used while
    /// it is lent: whatever is done with it takes it back first. A forgotten guard, a second park or guards dropped in
    /// odd order do no harm.
    ///
    /// # Example
    /// ```
    /// # fn wait_for_the_next_request() {}
    /// let heap = sleepy_alloc::Heap::new()?;
    /// let parked = heap.park();
    /// wait_for_the_next_request();
    /// drop(parked);
    /// # Ok::<(), allocator_api2::alloc::AllocError>(())
    /// ```
    #[inline]
    pub fn park(&self) -> Parked<'_> {
        self.lend();
        Parked { heap: self }
    }

    /// Lends the heap if it has something to give back; true if it did so now.
    #[inline]
    pub(crate) fn lend(&self) -> bool {
        self.lend_if(false)
    }

    /// The heap's state, if it is in the owner's hand.
    #[inline]
    fn in_use(&self) -> Option<&'static Inner> {
        let home = self.home.get();
        let in_use = ptr::eq(self.active.get(), home) && !ptr::eq(home, &raw const inner::LENT.0);
        in_use.then(|| self.home())
    }

    /// Lends the heap if it has something to give back, or if the caller says so; true if it did so now.
    #[inline]
    fn lend_if(&self, has_more: bool) -> bool {
        let Some(heap) = self.in_use() else {
            return false;
        };
        let has_something = heap.dirt_above_lowest() >= purge::GATE_BYTES
            || scavenger::purgeable_bytes() >= purge::PENDING_GATE_BYTES
            || has_more;
        // The handle is emptied first: to start the scavenger the C library may allocate on this thread.
        has_something && scavenger::lend(heap, || self.active.set(&raw const inner::LENT.0))
    }

    /// The heap's state, after taking it back if it is lent.
    #[inline(always)]
    pub(crate) fn own(&self) -> &'static Inner {
        if !ptr::eq(self.active.get(), self.home.get()) {
            self.take_back_slow();
        }
        self.home()
    }

    /// The heap's state, made or taken back if need be. `None`: there is no memory for a heap, or it is gone for good.
    #[inline]
    pub(crate) fn own_or_make(&self) -> Option<&'static Inner> {
        if self.home.get().is_null() {
            return thread::make(self);
        }
        self.made().map(|_| self.own())
    }

    #[cold]
    fn take_back_slow(&self) {
        let heap = self.home();
        // A heap that nobody sweeps comes back at once, and the clock is not read for it.
        if !heap.park.try_take_back() {
            let asked_ns = os::now_ns();
            heap.park.take_back();
            stats::RECLAIM_WAIT_MAX_NS.raise_to(os::now_ns() - asked_ns);
        }
        heap.hook.forget();
        self.active.set(heap);
    }

    /// What the fast paths work on.
    #[inline(always)]
    fn active(&self) -> &Inner {
        // SAFETY: `active` is `home` or a static.
        unsafe { &*self.active.get() }
    }

    /// Allocates a block, of the least size if the layout has none.
    #[inline(always)]
    pub(crate) fn alloc(&self, layout: Layout) -> Option<NonNull<u8>> {
        match class_for(layout) {
            Some(class) => {
                let heap = self.active();
                let page = heap.head(class);
                let block = match page.pop() {
                    Some(block) => {
                        heap.live.add(page.block_bytes.get());
                        block
                    }
                    None => self.alloc_small_slow(class)?,
                };
                poison::used(block, layout.size());
                Some(block)
            }
            None => self.alloc_large(layout).map(|fresh| fresh.block),
        }
    }

    #[cold]
    #[inline(never)]
    fn alloc_small_slow(&self, class: usize) -> Option<NonNull<u8>> {
        match self.own_or_make() {
            Some(heap) => heap.alloc_small(class),
            None => late::with(|heap| heap.alloc_small(class)),
        }
    }

    #[cold]
    #[inline(never)]
    fn alloc_large(&self, layout: Layout) -> Option<Fresh> {
        match self.own_or_make() {
            Some(heap) => heap.alloc_large(layout),
            None => late::with(|heap| heap.alloc_large(layout)),
        }
    }

    pub(crate) fn alloc_zeroed(&self, layout: Layout) -> Option<NonNull<u8>> {
        let fresh = match class_for(layout) {
            Some(class) => self.alloc_fresh(class, layout)?,
            None => self.alloc_large(layout)?,
        };
        if !fresh.zeroed {
            // SAFETY: the block is at least this long, and new.
            unsafe { fresh.block.write_bytes(0, layout.size()) };
        }
        Some(fresh.block)
    }

    /// Allocates a block of a class, and prefers one that is known to be zero where that saves much.
    fn alloc_fresh(&self, class: usize, layout: Layout) -> Option<Fresh> {
        if layout.size() >= FRESH_BYTES
            && let Some(heap) = self.own_or_make()
            && let Some(block) = heap.alloc_unformed(class)
        {
            poison::used(block, layout.size());
            return Some(Fresh {
                block,
                zeroed: true,
            });
        }
        Some(Fresh {
            block: self.alloc(layout)?,
            zeroed: false,
        })
    }

    /// # Safety
    /// As for [`Allocator::deallocate`] with a layout of non-zero size; a thread's default heap also takes blocks of the
    /// default heaps of others.
    #[inline(always)]
    pub(crate) unsafe fn free(&self, block: NonNull<u8>) {
        #[cfg(any(debug_assertions, sleepy_check))]
        crate::misuse::check_pointer(block);
        // SAFETY: the caller passes a live block.
        let page = unsafe { Page::of(block) };
        let heap = self.active();
        if page.is_of(heap) {
            // SAFETY: it is a live block of the page, which is given up.
            unsafe { free_local(heap, page, block) };
        } else {
            // SAFETY: passed on.
            unsafe { self.free_slow(page, block) };
        }
    }

    /// A free while the heap is lent, or of a block that is not the heap's.
    ///
    /// # Safety
    /// As for [`Self::free`].
    #[cold]
    #[inline(never)]
    unsafe fn free_slow(&self, page: &'static Page, block: NonNull<u8>) {
        if let Some(home) = self.made()
            && page.is_of(home)
        {
            // SAFETY: the heap is taken back, and the block is one of its own.
            return unsafe { free_local(self.own(), page, block) };
        }
        match page.owner() {
            Some(owner) if !owner.gives_away => {
                os::die("a block was freed into a heap that it does not belong to")
            }
            // SAFETY: the caller gives the block up.
            None if page.kind.get() != Kind::Small => unsafe { unowned::free_run(page) },
            // SAFETY: the page is a small one, and the rest as above.
            _ => unsafe { self.free_foreign(page, block) },
        }
    }

    /// Frees a block of a size class whose page is not this heap's.
    ///
    /// # Safety
    /// As for [`Self::free`].
    unsafe fn free_foreign(&self, page: &'static Page, block: NonNull<u8>) {
        let home = self.made().filter(|heap| heap.gives_away);
        while page.remote.is_unowned()
            && let Some(heap) = home
            && page.came_from(heap)
        {
            let heap = self.own();
            if unowned::claim(page, Some(heap)) {
                heap.adopt(page);
                // SAFETY: the page is the heap's now, and the block is in use until now.
                return unsafe { free_local(heap, page, block) };
            }
        }
        // SAFETY: passed on.
        unsafe { unowned::push(page, block, home) };
    }

    /// Makes a block serve another layout without moving it, where its page allows.
    ///
    /// # Safety
    /// `block` is a live block of this heap of non-zero size.
    unsafe fn resize(&self, block: NonNull<u8>, new: Layout) -> bool {
        // SAFETY: the caller passes a live block.
        let page = unsafe { Page::of(block) };
        if new.size() == 0 || !block.addr().get().is_multiple_of(new.align()) {
            return false;
        }
        if page.kind.get() != Kind::Small {
            return self
                .own_or_make()
                .is_some_and(|heap| heap.resize_large(page, new));
        }
        let block_bytes = page.block_bytes.get();
        // A block that is less than half used had better move to a smaller class.
        let fits = new.size() <= block_bytes
            && (new.size() >= block_bytes / 2 || class_for(new) == Some(page.class.get() as usize));
        if fits {
            poison::free(block, block_bytes);
            poison::used(block, new.size());
        }
        fits
    }

    /// # Safety
    /// As for [`Allocator::grow`] and [`Allocator::shrink`].
    pub(crate) unsafe fn realloc(
        &self,
        block: NonNull<u8>,
        old: Layout,
        new: Layout,
    ) -> Option<NonNull<u8>> {
        // SAFETY: a block of non-zero size is a live block of this heap.
        if old.size() != 0 && unsafe { self.resize(block, new) } {
            return Some(block);
        }
        let moved = if new.size() == 0 {
            dangling(new)
        } else {
            self.alloc(new)?
        };
        if old.size() != 0 {
            // SAFETY: both blocks are live, different, and at least as long as the shorter layout; the old one is
            // given up.
            unsafe {
                ptr::copy_nonoverlapping(
                    block.as_ptr(),
                    moved.as_ptr(),
                    old.size().min(new.size()),
                );
                self.free(block);
            }
        }
        Some(moved)
    }
}

/// A heap that is lent, if it had something to give back; dropping this takes it back.
#[must_use = "dropping this takes the heap back"]
#[derive(Debug)]
pub struct Parked<'h> {
    heap: &'h Heap,
}

impl Drop for Parked<'_> {
    #[inline]
    fn drop(&mut self) {
        self.heap.own();
    }
}

impl Drop for Heap {
    fn drop(&mut self) {
        if let Some(heap) = self.end() {
            heap.free_everything();
            inner::give_up(heap);
        }
    }
}

impl core::fmt::Debug for Heap {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Heap")
            .field("live_bytes", &self.live_bytes())
            .field("committed_bytes", &self.committed_bytes())
            .finish_non_exhaustive()
    }
}

/// Puts a block on its page's free list, and goes on in the slow half if the page asked for that.
///
/// # Safety
/// `block` is a live block of `page`, which is a page of `heap`.
#[inline(always)]
unsafe fn free_local(heap: &Inner, page: &'static Page, block: NonNull<u8>) {
    #[cfg(any(debug_assertions, sleepy_check))]
    page.check_free(block);
    heap.live.sub(page.block_bytes.get());
    poison::free(block, page.block_bytes.get());
    // SAFETY: the caller gives the block up; units of a block in use are not released.
    unsafe { page.thread(block) };
    let used = page.used.get().wrapping_sub(1);
    page.used.set(used);
    if used == page.notify_at.get() {
        heap.freed_slow(page);
    }
}

/// The block of an allocation of no bytes.
#[inline]
fn dangling(layout: Layout) -> NonNull<u8> {
    NonNull::without_provenance(
        core::num::NonZero::new(layout.align()).unwrap_or(core::num::NonZero::<usize>::MIN),
    )
}

/// The block as the slice that the trait wants.
#[inline(always)]
fn sized(block: Option<NonNull<u8>>, layout: Layout) -> Result<NonNull<[u8]>, AllocError> {
    block
        .map(|block| NonNull::slice_from_raw_parts(block, layout.size()))
        .ok_or(AllocError)
}

// SAFETY: a block stays where it is, and its own, until it is freed through the same heap or the heap is dropped; the
// reference borrows the heap that long. Copies of the reference name the same heap.
unsafe impl Allocator for &Heap {
    #[inline]
    fn allocate(&self, layout: Layout) -> Result<NonNull<[u8]>, AllocError> {
        let block = if layout.size() == 0 {
            Some(dangling(layout))
        } else {
            self.alloc(layout)
        };
        sized(block, layout)
    }

    #[inline]
    fn allocate_zeroed(&self, layout: Layout) -> Result<NonNull<[u8]>, AllocError> {
        if layout.size() == 0 {
            return self.allocate(layout);
        }
        sized(self.alloc_zeroed(layout), layout)
    }

    #[inline]
    unsafe fn deallocate(&self, block: NonNull<u8>, layout: Layout) {
        if layout.size() != 0 {
            // SAFETY: passed on.
            unsafe { self.free(block) };
        }
    }

    unsafe fn grow(
        &self,
        block: NonNull<u8>,
        old: Layout,
        new: Layout,
    ) -> Result<NonNull<[u8]>, AllocError> {
        // SAFETY: passed on.
        sized(unsafe { self.realloc(block, old, new) }, new)
    }

    unsafe fn grow_zeroed(
        &self,
        block: NonNull<u8>,
        old: Layout,
        new: Layout,
    ) -> Result<NonNull<[u8]>, AllocError> {
        // SAFETY: passed on.
        let grown = unsafe { self.realloc(block, old, new) };
        if let Some(grown) = grown {
            // SAFETY: the block is as long as the new layout, which is at least as long as the old one.
            unsafe {
                grown
                    .add(old.size())
                    .write_bytes(0, new.size() - old.size())
            };
        }
        sized(grown, new)
    }

    unsafe fn shrink(
        &self,
        block: NonNull<u8>,
        old: Layout,
        new: Layout,
    ) -> Result<NonNull<[u8]>, AllocError> {
        // SAFETY: passed on.
        sized(unsafe { self.realloc(block, old, new) }, new)
    }
}
