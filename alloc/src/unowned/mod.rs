//! Pages that belong to no heap: those whose thread has ended, and those that are full.
//!
//! A heap whose blocks may be freed by any thread gives a page away as soon as there is nothing left to allocate in it,
//! so that whoever frees the next block, be it the same thread or another, can do with the page what is best: adopt it,
//! let allocations find it, or give its slices back. Nothing is kept for a thread that never comes back.
//!
//! | what happens to an unowned page | by whom |
//! |---|---|
//! | claimed and adopted | a free by a thread whose heap it came from; an allocation that finds it |
//! | pushed to, and mapped | any other free |
//! | claimed and given back | the free that finds that no block is left in use, also by a thread that never allocated |
//! | claimed, swept for holes, let go | the scavenger |
//!
//! A claim is exclusive (see [`crate::remote`]), so its holder uses the page's cells like an owner.
//!
//! A full page stays in the figures of the heap that gave it away, which most often is the one that gets it back; whoever
//! else claims it has it struck off there (`Inner::strike`). Other pages are in the figures of this module.

pub(crate) mod map;

use crate::arena::{self, UNIT_BYTES};
use crate::heap::inner::{Figures, Inner};
use crate::page::{Kind, Page};
use crate::remote::List;
use crate::{fork, hole, poison, purge, scavenger, stats};
use core::ptr::{self, NonNull};
use core::sync::atomic::{AtomicUsize, Ordering};

/// What unowned pages and blocks hold. Relaxed: figures.
static LIVE_BYTES: AtomicUsize = AtomicUsize::new(0);
static COMMITTED_BYTES: AtomicUsize = AtomicUsize::new(0);
static HOLED_BYTES: AtomicUsize = AtomicUsize::new(0);
/// Bytes freed in unowned pages since they were last swept. Sequentially consistent: see [`crate::schedule`].
static DIRT_BYTES: AtomicUsize = AtomicUsize::new(0);
/// Bytes of blocks freed by threads without a heap, and of those taken off the lists of unowned pages. Relaxed: figures.
static FREED_REMOTE_BYTES: AtomicUsize = AtomicUsize::new(0);
static FOLDED_BYTES: AtomicUsize = AtomicUsize::new(0);

/// Figures of everything that belongs to no heap.
pub(crate) fn figures() -> Figures {
    Figures {
        live_bytes: LIVE_BYTES.load(Ordering::Relaxed),
        committed_bytes: COMMITTED_BYTES.load(Ordering::Relaxed),
        holed_bytes: HOLED_BYTES.load(Ordering::Relaxed),
    }
}

/// Bytes freed by threads without a heap, less the bytes that were taken off the lists of unowned pages.
pub(crate) fn freed_less_folded_bytes() -> usize {
    FREED_REMOTE_BYTES
        .load(Ordering::Relaxed)
        .wrapping_sub(FOLDED_BYTES.load(Ordering::Relaxed))
}

/// Bytes that a sweep of the unowned pages may find.
#[inline]
pub(crate) fn dirt_bytes() -> usize {
    DIRT_BYTES.load(Ordering::SeqCst)
}

pub(crate) fn charge(figures: Figures) {
    LIVE_BYTES.fetch_add(figures.live_bytes, Ordering::Relaxed);
    COMMITTED_BYTES.fetch_add(figures.committed_bytes, Ordering::Relaxed);
    HOLED_BYTES.fetch_add(figures.holed_bytes, Ordering::Relaxed);
}

pub(crate) fn discharge(figures: Figures) {
    LIVE_BYTES.fetch_sub(figures.live_bytes, Ordering::Relaxed);
    COMMITTED_BYTES.fetch_sub(figures.committed_bytes, Ordering::Relaxed);
    HOLED_BYTES.fetch_sub(figures.holed_bytes, Ordering::Relaxed);
}

/// Adds to the bytes worth a sweep, and calls the scavenger when they have become many.
fn add_dirt(bytes: usize) {
    let before = DIRT_BYTES.fetch_add(bytes, Ordering::SeqCst);
    if before / purge::PENDING_GATE_BYTES != (before + bytes) / purge::PENDING_GATE_BYTES {
        scavenger::nudge();
    }
}

/// Leaves a page to whoever frees its blocks, because its heap is gone; it is in no list and counted nowhere.
pub(crate) fn abandon(page: &'static Page) {
    page.orphan.set(true);
    stats::ABANDONED_TOTAL.add(1);
    stats::ABANDONED_PAGES.add(1);
    let has_room = page.has_room();
    let figures = page.figures();
    let_go(page);
    if has_room {
        add_dirt(figures.committed_bytes.saturating_sub(figures.live_bytes));
    }
}

/// Lets a page go that the caller owns and that is in no list; it is counted nowhere, or by a heap that the caller owns.
///
/// Its slices are given back if no block of it is in use.
pub(crate) fn let_go(page: &'static Page) {
    let slice = page.slice();
    let class = page.class.get() as usize;
    let counted_by = page.counted_by();
    let mut folded_bytes = 0;
    loop {
        if let Some(list) = page.remote.take() {
            folded_bytes += dirt_of(list.count, page.block_bytes.get());
            match counted_by {
                Some(heap) => heap.fold(page, list),
                None => fold(page, list),
            }
        }
        let figures = page.figures();
        if page.used.get() == 0 {
            if let Some(heap) = counted_by {
                heap.discharge(figures);
            }
            return retire(page, arena::tick());
        }
        let has_room = page.has_room();
        page.left.store(page.used.get(), Ordering::Relaxed);
        if counted_by.is_none() {
            charge(figures);
        }
        if page.remote.give_away(has_room) {
            // From here on the page may be anybody's.
            if has_room {
                if !map::set(slice, class) {
                    page.remote.set_unmapped();
                }
                // What was pushed while somebody had the page was counted by nobody.
                if folded_bytes != 0 {
                    add_dirt(folded_bytes);
                }
            }
            return;
        }
        if counted_by.is_none() {
            discharge(figures);
        }
    }
}

/// Makes the caller the owner of an unowned page. The page is counted nowhere then, unless it came from `heap`, which the
/// caller owns and which counts it still. False: it is not unowned, or somebody else was faster.
#[inline]
pub(crate) fn claim(page: &'static Page, heap: Option<&Inner>) -> bool {
    let Some(claimed) = page.remote.claim() else {
        return false;
    };
    if claimed.mapped {
        map::clear(page.slice(), page.class.get() as usize);
    }
    match heap {
        Some(heap) if page.came_from(heap) => {
            if claimed.list.count != 0 {
                heap.fold(page, claimed.list);
            }
        }
        _ => {
            match page.counted_by() {
                Some(other) => other.strike(page.figures()),
                None => discharge(page.figures()),
            }
            page.set_owner(ptr::null());
            fold(page, claimed.list);
        }
    }
    true
}

/// The page has a heap again, or is gone.
fn is_no_orphan(page: &Page) {
    if page.orphan.replace(false) {
        stats::ABANDONED_PAGES.sub(1);
    }
}

fn fold(page: &Page, list: List) {
    if list.count != 0 {
        let bytes = list.count as usize * page.block_bytes.get();
        FOLDED_BYTES.fetch_add(bytes, Ordering::Relaxed);
        page.fold(list);
    }
}

/// Gives the slices of a page back that the caller owns, that is in no list, counted nowhere, and has no block in use.
fn retire(page: &'static Page, tick: u32) {
    is_no_orphan(page);
    // SAFETY: no block of the page is in use, and it is in no list.
    unsafe { page.give_back(tick) };
}

/// A page of this class with room in it, claimed for the heap.
#[inline]
pub(crate) fn take(class: usize, heap: &Inner) -> Option<&'static Page> {
    if map::may_have(class) {
        take_slow(class, heap)
    } else {
        None
    }
}

#[cold]
fn take_slow(class: usize, heap: &Inner) -> Option<&'static Page> {
    while let Some(slice) = map::find(class) {
        let page = slice.page();
        if !claim(page, Some(heap)) {
            continue;
        }
        // A bit that stayed behind may name a page that serves another class now.
        if page.class.get() as usize == class && page.used.get() != 0 {
            is_no_orphan(page);
            stats::RECLAIMED_PAGES.add(1);
            return Some(page);
        }
        let_go(page);
    }
    None
}

/// Frees a block of a page that the calling thread does not own. `from`: the thread's heap, if it has one.
///
/// # Safety
/// `block` is a live block of the small page, and given up.
pub(crate) unsafe fn push(page: &'static Page, block: NonNull<u8>, from: Option<&Inner>) {
    // All that is needed of the page is read before the push: after it, the page may be given back.
    let block_bytes = page.block_bytes.get();
    let class = page.class.get() as usize;
    let slice = page.slice();
    let owner = page.owner();
    poison::free(block, block_bytes);
    #[cfg(any(debug_assertions, sleepy_check))]
    page.check_remote_free(block);
    match from {
        Some(heap) => {
            heap.remote_frees.add(1);
            heap.freed_remote_bytes.add(block_bytes);
        }
        None => {
            stats::REMOTE_FREES.add(1);
            FREED_REMOTE_BYTES.fetch_add(block_bytes, Ordering::Relaxed);
        }
    }
    // SAFETY: the caller gives the block up; its first word holds the link.
    let pushed = page.remote.push(block.addr().get(), |next| unsafe {
        block
            .cast::<*mut u8>()
            .write(ptr::with_exposed_provenance_mut(next));
    });
    let dirt = dirt_of(pushed.count, block_bytes) - dirt_of(pushed.count - 1, block_bytes);
    if !pushed.unowned {
        if dirt != 0
            && let Some(owner) = owner
        {
            owner.add_remote_dirt(dirt);
        }
        return;
    }
    if dirt != 0 {
        add_dirt(dirt);
    }
    if pushed.to_map && !map::set(slice, class) {
        page.remote.set_unmapped();
    }
    // Relaxed: the push has acquired what giving the page away released, so `left` is of then, unless the page was
    // claimed since; and whoever claimed it has seen the block in its list.
    if pushed.count == page.left.load(Ordering::Relaxed) && claim(page, None) {
        let_go(page);
        scavenger::nudge();
    }
}

/// What the first `count` blocks in a list count for as dirt: whole units, so that not every free has to count.
pub(crate) fn dirt_of(count: u32, block_bytes: usize) -> usize {
    count as usize * block_bytes / UNIT_BYTES * UNIT_BYTES
}

/// Makes the descriptor of a run that holds one block and belongs to nobody: whoever frees the block gives it back.
pub(crate) fn new_run(
    start: NonNull<u8>,
    kind: Kind,
    slices: usize,
    bytes: usize,
) -> &'static Page {
    // SAFETY: the run was claimed or mapped just now.
    let page = unsafe { Page::of_run(start, ptr::null(), kind, slices, bytes) };
    charge(Figures::of_run(bytes));
    page
}

/// Frees a block that has a run or a mapping of its own, and no owner.
///
/// # Safety
/// The block is live and given up.
#[cold]
pub(crate) unsafe fn free_run(page: &'static Page) {
    discharge(Figures::of_run(page.block_bytes.get()));
    page.used.set(0);
    // SAFETY: passed on.
    unsafe { page.give_back(arena::tick()) };
    scavenger::nudge();
}

/// Releases the holes of the unowned pages that can be found, and gives the empty ones back; stops when `limit_pages` had
/// something new.
pub(crate) fn sweep(limit_pages: usize) {
    let mut worked_on = 0;
    let dirt_bytes = DIRT_BYTES.swap(0, Ordering::SeqCst);
    let tick = arena::tick().wrapping_sub(purge::AGE_TICKS);
    for slice in map::all() {
        if worked_on == limit_pages || fork::is_wanted() {
            DIRT_BYTES.fetch_add(dirt_bytes, Ordering::SeqCst);
            return;
        }
        let _working = fork::work();
        let page = slice.page();
        if !claim(page, None) {
            continue;
        }
        if page.used.get() == 0 {
            retire(page, tick);
            continue;
        }
        if !page.is_as_swept() {
            worked_on += 1;
            hole::release_free(&hole::Uncounted, page, tick, &|| false);
            page.set_swept();
        }
        let_go(page);
    }
}
