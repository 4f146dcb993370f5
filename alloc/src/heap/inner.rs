//! The state of a heap, apart from the handle that its owner holds.
//!
//! It lives in memory straight from the OS that is never unmapped and only ever holds heaps, so the scavenger and
//! `stats` may look at its atomic parts at any time. Everything else belongs to the owner, or to the scavenger while
//! the park word says so.

use super::recent::RecentlyFull;
use crate::Heap;
use crate::hook::Slot;
use crate::lock::RawLock;
use crate::pace::Pace;
use crate::page::{EMPTY_PAGE, Page};
use crate::park::ParkWord;
use crate::remote::List;
use crate::size_class::CLASS_COUNT;
use crate::{hole, options, os, purge, scavenger, stats, unowned};
use core::cell::{Cell, UnsafeCell};
use core::mem::MaybeUninit;
use core::ptr;
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering};
use crossbeam_utils::CachePadded;

/// A figure with one writer at a time, that anybody may read. Relaxed: it publishes nothing but itself.
#[repr(transparent)]
pub(crate) struct Figure(AtomicUsize);

impl Figure {
    const fn new() -> Self {
        Self(AtomicUsize::new(0))
    }

    #[inline(always)]
    pub(crate) fn get(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }

    #[inline(always)]
    pub(crate) fn set(&self, value: usize) {
        self.0.store(value, Ordering::Relaxed);
    }

    #[inline(always)]
    pub(crate) fn add(&self, amount: usize) {
        self.set(self.get().wrapping_add(amount));
    }

    #[inline(always)]
    pub(crate) fn sub(&self, amount: usize) {
        self.set(self.get().wrapping_sub(amount));
    }
}

/// What pages and blocks hold.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Figures {
    /// In blocks and collectors' units in use, by size of the block.
    pub(crate) live_bytes: usize,
    /// In units that are formed or dirty, and not released.
    pub(crate) committed_bytes: usize,
    /// In released units of pages in use.
    pub(crate) holed_bytes: usize,
}

impl Figures {
    /// Those of a block with a run of its own.
    pub(crate) fn of_run(bytes: usize) -> Self {
        Self {
            live_bytes: bytes,
            committed_bytes: bytes,
            holed_bytes: 0,
        }
    }
}

/// See the module's documentation.
#[repr(C, align(128))]
pub(crate) struct Inner {
    /// The pages of each class that may have something to allocate, or [`EMPTY_PAGE`].
    pub(crate) bins: [Cell<*const Page>; CLASS_COUNT],
    /// Bytes in blocks and collectors' units in use, by size of the block.
    pub(crate) live: Figure,
    /// Bytes in units that are formed or dirty, and not released.
    pub(crate) committed: Figure,
    /// Bytes in released units of pages in use.
    pub(crate) holed: Figure,
    /// The least that `committed` has exceeded `live` by since the last complete sweep: what cannot be given back.
    pub(crate) floor: Figure,
    /// Dirt that parks have told of since the last complete sweep. Used by whoever has the heap, as `park` says.
    pub(crate) told: Figure,
    /// Who owns the heap.
    pub(crate) park: CachePadded<ParkWord>,
    /// What the owner leaves to be done while the heap is lent. Used by whoever has the heap, as `park` says.
    pub(crate) hook: Slot<Heap>,
    /// The owner is to sweep a slice itself: the scavenger did not find the heap parked, or had to break off. Relaxed:
    /// a request, which publishes nothing.
    pub(crate) sweep_wanted: AtomicBool,
    /// When it was swept. The scavenger's own.
    pub(crate) pace: Pace,
    /// The next page of a sweep that was broken off; meaningless unless `mid_sweep`.
    pub(crate) cursor: Cell<*const Page>,
    pub(crate) mid_sweep: Cell<bool>,
    /// What the sweep under way has to leave: the free bytes at its beginning without those that it has released. What
    /// was freed since then may lie in pages that the sweep has passed, so it is dirt when the sweep ends.
    pub(crate) left: Cell<usize>,
    /// Complete sweeps so far.
    pub(crate) sweeps: Cell<u32>,
    /// All pages of size classes.
    pub(crate) pages: Cell<*const Page>,
    /// All pages that hold one block, and collectors' runs.
    pub(crate) runs: Cell<*const Page>,
    /// Any thread may free the blocks of this heap. Then a page that is full, and a block with slices of its own, belong
    /// to nobody: see [`crate::unowned`].
    pub(crate) gives_away: bool,
    /// Bytes that other threads have freed in the pages of this heap, in whole units for each page, and that are not
    /// counted as free yet. Sequentially consistent where it is added to: see [`crate::schedule`].
    remote_dirt: AtomicUsize,
    /// What other threads have struck off the three figures above. Relaxed: figures.
    struck_live: AtomicUsize,
    struck_committed: AtomicUsize,
    struck_holed: AtomicUsize,
    /// Blocks that the owner has freed in pages that are not its own, and their bytes, since the process began.
    pub(crate) remote_frees: Figure,
    pub(crate) freed_remote_bytes: Figure,
    /// Bytes that others have freed in pages of this heap and that were counted as free, since the process began.
    pub(crate) folded_bytes: Figure,
    /// Of a heap that gives pages away: those that were full a short while ago.
    pub(super) recent: RecentlyFull,
    /// The heap made before this one; fixed.
    older: AtomicPtr<Inner>,
    /// The next heap that can be used again. Guarded by [`SPARE_LOCK`].
    spare_next: Cell<*const Inner>,
}

impl Inner {
    pub(crate) const fn new(gives_away: bool) -> Self {
        Self {
            bins: [const { Cell::new(ptr::from_ref(&EMPTY_PAGE.0)) }; CLASS_COUNT],
            live: Figure::new(),
            committed: Figure::new(),
            holed: Figure::new(),
            floor: Figure::new(),
            told: Figure::new(),
            park: CachePadded::new(ParkWord::new()),
            hook: Slot::new(),
            sweep_wanted: AtomicBool::new(false),
            pace: Pace::new(),
            cursor: Cell::new(ptr::null()),
            mid_sweep: Cell::new(false),
            left: Cell::new(0),
            sweeps: Cell::new(0),
            pages: Cell::new(ptr::null()),
            runs: Cell::new(ptr::null()),
            gives_away,
            remote_dirt: AtomicUsize::new(0),
            struck_live: AtomicUsize::new(0),
            struck_committed: AtomicUsize::new(0),
            struck_holed: AtomicUsize::new(0),
            remote_frees: Figure::new(),
            freed_remote_bytes: Figure::new(),
            folded_bytes: Figure::new(),
            recent: RecentlyFull::new(),
            older: AtomicPtr::new(ptr::null_mut()),
            spare_next: Cell::new(ptr::null()),
        }
    }

    /// Forgets what sweeps and the scavenger noted, before another owner gets the heap.
    fn forget_sweeps(&self) {
        // Of a heap that gives pages away: what it goes on counting of those.
        self.floor.set(self.slack());
        self.told.set(0);
        self.sweep_wanted.store(false, Ordering::Relaxed);
        self.pace.reset();
        self.mid_sweep.set(false);
        self.hook.forget();
        self.remote_dirt.store(0, Ordering::Relaxed);
    }

    /// Free bytes in memory that is not released.
    #[inline(always)]
    pub(crate) fn slack(&self) -> usize {
        // What was struck off is neither free nor this heap's. Parts may be out of date, so the sum may be negative.
        let held = self.figures();
        let slack = held.committed_bytes.wrapping_sub(held.live_bytes);
        (slack as isize).max(0) as usize
    }

    /// As [`Self::dirt`], after noting how little slack the heap can do with. For the owner.
    pub(crate) fn dirt_above_lowest(&self) -> usize {
        let slack = self.slack();
        if slack < self.floor.get() {
            self.floor.set(slack);
        }
        slack - self.floor.get() + self.remote_dirt.load(Ordering::SeqCst)
    }

    /// Free bytes above what the last sweep had to leave.
    pub(crate) fn dirt(&self) -> usize {
        self.slack().saturating_sub(self.floor.get()) + self.remote_dirt.load(Ordering::SeqCst)
    }

    /// Adds what a page holds to the heap's figures.
    pub(crate) fn charge(&self, figures: Figures) {
        self.live.add(figures.live_bytes);
        self.committed.add(figures.committed_bytes);
        self.holed.add(figures.holed_bytes);
    }

    /// Takes what a page holds off the heap's figures.
    pub(crate) fn discharge(&self, figures: Figures) {
        self.live.sub(figures.live_bytes);
        self.committed.sub(figures.committed_bytes);
        self.holed.sub(figures.holed_bytes);
    }

    /// Another thread has freed something in a page that was this heap's just now. If nobody works on the heap, the
    /// scavenger is to know when it has become much.
    pub(crate) fn add_remote_dirt(&self, bytes: usize) {
        let before = self.remote_dirt.fetch_add(bytes, Ordering::SeqCst);
        if before / purge::GATE_BYTES != (before + bytes) / purge::GATE_BYTES {
            scavenger::tell_of_frees(self);
        }
    }

    /// A sweep begins, which will count what others have freed so far. What was added here for pages that were another
    /// heap's by then, or after their lists were folded, would stay for ever otherwise.
    pub(super) fn forget_remote_dirt(&self) {
        self.remote_dirt.store(0, Ordering::SeqCst);
    }

    /// A page that this heap gave away and went on counting is counted by somebody else now. Any thread may say so.
    pub(crate) fn strike(&self, figures: Figures) {
        self.struck_live
            .fetch_add(figures.live_bytes, Ordering::Relaxed);
        self.struck_committed
            .fetch_add(figures.committed_bytes, Ordering::Relaxed);
        self.struck_holed
            .fetch_add(figures.holed_bytes, Ordering::Relaxed);
    }

    /// What the heap counts, without what was struck off.
    pub(crate) fn figures(&self) -> Figures {
        let less = |figure: &Figure, struck: &AtomicUsize| {
            figure.get().wrapping_sub(struck.load(Ordering::Relaxed))
        };
        Figures {
            live_bytes: less(&self.live, &self.struck_live),
            committed_bytes: less(&self.committed, &self.struck_committed),
            holed_bytes: less(&self.holed, &self.struck_holed),
        }
    }

    /// What others have freed in a page of this heap is counted as free from now on; false if it is nothing.
    #[inline]
    pub(crate) fn fold_page(&self, page: &Page) -> bool {
        let list = page.remote.take();
        list.inspect(|&list| self.fold(page, list)).is_some()
    }

    /// Counts the blocks of a list as free that was taken off a page of this heap.
    pub(crate) fn fold(&self, page: &Page, list: List) {
        let block_bytes = page.block_bytes.get();
        let bytes = list.count as usize * block_bytes;
        self.live.sub(bytes);
        self.folded_bytes.add(bytes);
        // What was added for another heap that the page belonged to is not here; then there is less than that.
        let counted =
            unowned::dirt_of(list.count, block_bytes).min(self.remote_dirt.load(Ordering::Relaxed));
        self.remote_dirt.fetch_sub(counted, Ordering::Relaxed);
        page.fold(list);
    }
}

/// What the handle of a lent heap points at: no class has a page, and no page is its own, so that every allocation and
/// every free goes the slow way and takes the heap back. The fast paths pay nothing for it.
#[repr(transparent)]
pub(crate) struct LentInner(pub(crate) Inner);

// SAFETY: nobody writes it: it has no pages, and its figures change only with blocks of its pages.
unsafe impl Sync for LentInner {}

pub(crate) static LENT: LentInner = LentInner(Inner::new(false));

/// Guards the list of heaps to use again, and the memory for new ones.
static SPARE_LOCK: RawLock = RawLock::new();
/// Heaps to use again: those that own all their blocks, and those that give pages away, which may count pages still.
/// Guarded by [`SPARE_LOCK`].
static SPARE: [AtomicPtr<Inner>; 2] = [const { AtomicPtr::new(ptr::null_mut()) }; 2];
/// All heaps ever made, newest first. Release publishes a new one to the acquire of those who walk the list.
static NEWEST: AtomicPtr<Inner> = AtomicPtr::new(ptr::null_mut());

/// Memory for the first heap of the process, so that a program with one thread maps none for it.
struct FirstInner(UnsafeCell<MaybeUninit<Inner>>);

// SAFETY: handed out once, by `make`, under the lock.
unsafe impl Sync for FirstInner {}

static FIRST: FirstInner = FirstInner(UnsafeCell::new(MaybeUninit::uninit()));

/// Memory for heaps that were never made, and its bytes. Guarded by [`SPARE_LOCK`].
static FRESH: AtomicPtr<u8> = AtomicPtr::new(ptr::null_mut());
static FRESH_BYTES: AtomicUsize = AtomicUsize::new(0);

/// Bytes of a mapping that heaps are made from.
const CHUNK_BYTES: usize = 64 * 1024;

impl hole::Ledger for Inner {
    fn released(&self, bytes: usize) {
        self.committed.sub(bytes);
        self.holed.add(bytes);
    }

    fn taken_back(&self, bytes: usize) {
        self.committed.add(bytes);
        self.holed.sub(bytes);
    }
}

/// A heap without pages, or `None` when the OS gives no memory for one. `gives_away`: see [`Inner::gives_away`].
pub(crate) fn obtain(gives_away: bool) -> Option<&'static Inner> {
    options::start();
    SPARE_LOCK.lock();
    let list = &SPARE[usize::from(gives_away)];
    // SAFETY: heaps are never unmapped.
    let spare: Option<&'static Inner> = unsafe { list.load(Ordering::Relaxed).as_ref() };
    if let Some(heap) = spare {
        list.store(heap.spare_next.get().cast_mut(), Ordering::Relaxed);
    }
    let heap = spare.or_else(|| make(gives_away));
    SPARE_LOCK.unlock();
    stats::HEAPS.add(u64::from(heap.is_some()));
    heap
}

/// Lets a heap without pages be used again.
pub(crate) fn give_up(heap: &'static Inner) {
    heap.forget_sweeps();
    stats::HEAPS.sub(1);
    SPARE_LOCK.lock();
    let list = &SPARE[usize::from(heap.gives_away)];
    heap.spare_next.set(list.load(Ordering::Relaxed));
    list.store(ptr::from_ref(heap).cast_mut(), Ordering::Relaxed);
    SPARE_LOCK.unlock();
}

/// Makes another heap. Needs the lock.
#[cold]
fn make(gives_away: bool) -> Option<&'static Inner> {
    let place = if NEWEST.load(Ordering::Relaxed).is_null() {
        FIRST.0.get().cast::<Inner>()
    } else {
        fresh_place()?
    };
    // SAFETY: the place is aligned, has room for a heap, and is nobody's yet.
    let heap = unsafe {
        place.write(Inner::new(gives_away));
        &*place
    };
    heap.older
        .store(NEWEST.load(Ordering::Relaxed), Ordering::Relaxed);
    NEWEST.store(place, Ordering::Release);
    Some(heap)
}

/// A place for a heap in a mapping that is never unmapped. Needs the lock.
fn fresh_place() -> Option<*mut Inner> {
    if FRESH_BYTES.load(Ordering::Relaxed) < size_of::<Inner>() {
        FRESH.store(os::map(CHUNK_BYTES)?.as_ptr(), Ordering::Relaxed);
        FRESH_BYTES.store(CHUNK_BYTES, Ordering::Relaxed);
    }
    // The mapping starts at an OS page, so every heap in it is aligned.
    let place = FRESH.load(Ordering::Relaxed).cast::<Inner>();
    FRESH.store(place.wrapping_add(1).cast(), Ordering::Relaxed);
    FRESH_BYTES.fetch_sub(size_of::<Inner>(), Ordering::Relaxed);
    Some(place)
}

/// All heaps that were ever made, those that are not in use included. Only their atomic parts may be looked at.
pub(crate) fn heaps() -> impl Iterator<Item = &'static Inner> {
    let mut next = NEWEST.load(Ordering::Acquire);
    core::iter::from_fn(move || {
        // SAFETY: heaps are initialised before they are published, and never unmapped.
        let heap = unsafe { next.as_ref() }?;
        next = heap.older.load(Ordering::Relaxed);
        Some(heap)
    })
}

/// Keeps the list of heaps to use again as it is while the process forks.
pub(crate) fn lock_for_fork() {
    SPARE_LOCK.lock();
}

/// Ends [`lock_for_fork`], in parent and child.
pub(crate) fn unlock_after_fork() {
    SPARE_LOCK.unlock();
}
