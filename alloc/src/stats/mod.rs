//! Counters, and the figures made from them.

mod table;

use crate::heap::inner;
use crate::{arena, os, unowned};
use core::fmt;
use core::sync::atomic::{AtomicU64, Ordering};

/// A count of events, or of things there are. Relaxed: it publishes nothing but itself.
pub(crate) struct Counter(AtomicU64);

impl Counter {
    const fn new() -> Self {
        Self(AtomicU64::new(0))
    }

    pub(crate) fn add(&self, amount: u64) {
        self.0.fetch_add(amount, Ordering::Relaxed);
    }

    pub(crate) fn sub(&self, amount: u64) {
        self.0.fetch_sub(amount, Ordering::Relaxed);
    }

    pub(crate) fn raise_to(&self, value: u64) {
        self.0.fetch_max(value, Ordering::Relaxed);
    }

    fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

pub(crate) static PARK_WAKES: Counter = Counter::new();
pub(crate) static SCAVENGER_STARTS: Counter = Counter::new();
pub(crate) static SCAVENGER_TURNS: Counter = Counter::new();
pub(crate) static SCAVENGER_SLEEPS: Counter = Counter::new();
pub(crate) static PARKED_SWEEPS: Counter = Counter::new();
pub(crate) static ABORTED_SWEEPS: Counter = Counter::new();
pub(crate) static DELEGATED_SWEEPS: Counter = Counter::new();
pub(crate) static DELEGATED_PIECES: Counter = Counter::new();
pub(crate) static INLINE_SLICES: Counter = Counter::new();
pub(crate) static PURGED_BYTES: Counter = Counter::new();
pub(crate) static PURGE_CALLS: Counter = Counter::new();
pub(crate) static RECLAIM_WAIT_MAX_NS: Counter = Counter::new();
pub(crate) static HEAPS: Counter = Counter::new();
/// By threads without a heap; the others count their own.
pub(crate) static REMOTE_FREES: Counter = Counter::new();
pub(crate) static ABANDONED_PAGES: Counter = Counter::new();
pub(crate) static ABANDONED_TOTAL: Counter = Counter::new();
pub(crate) static RECLAIMED_PAGES: Counter = Counter::new();
pub(crate) static ABANDONED_BITMAPS: Counter = Counter::new();

/// What the allocator has done and holds, for the whole process.
///
/// Counts of events are exact. Sizes are sums over heaps that may be changing: exact when nobody allocates meanwhile.
/// Printed with `{}` it is the table that `SLEEPY_STATS=1` prints at exit.
///
/// # Example
/// ```
/// let before = sleepy_alloc::stats();
/// let heap = sleepy_alloc::Heap::new()?;
/// let now = sleepy_alloc::stats();
/// assert_eq!(now.heaps, before.heaps + 1);
/// assert!(now.to_string().contains("park_wakes"));
/// # Ok::<(), allocator_api2::alloc::AllocError>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
#[non_exhaustive]
pub struct Stats {
    /// Times that a park woke the scavenger.
    pub park_wakes: u64,
    /// Scavenger threads started: 0 or 1, and one more for each child of a fork that needs one.
    pub scavenger_starts: u64,
    /// Times that the scavenger looked at everything.
    pub scavenger_turns: u64,
    /// Times that the scavenger went to sleep, with a timeout or without.
    pub scavenger_sleeps: u64,
    /// Sweeps of parked heaps, the aborted ones included.
    pub parked_sweeps: u64,
    /// Sweeps that stopped because the owner wanted its heap back.
    pub aborted_sweeps: u64,
    /// Times that work was done which the owner of a heap had left ([`Heap::park_with`](crate::Heap::park_with)), the aborted ones
    /// included.
    pub delegated_sweeps: u64,
    /// The pieces in which it was done.
    pub delegated_pieces: u64,
    /// Bounded slices of a sweep that owners did themselves.
    pub inline_slices: u64,
    /// Bytes given back to the OS.
    pub purged_bytes: u64,
    /// System calls that gave them back.
    pub purge_calls: u64,
    /// Bytes that are free and not given back yet, outside of what heaps hold.
    pub pending_bytes: u64,
    /// Bytes released, given back or about to be, inside pages that are in use.
    pub holed_bytes: u64,
    /// Bytes that heaps hold, or have freed and not given back yet.
    pub committed_bytes: u64,
    /// Bytes in blocks and collectors' pages in use.
    pub live_bytes: u64,
    /// Heaps in use: those of threads, and those that the program made.
    pub heaps: u64,
    /// Blocks freed by a thread that does not own their page.
    pub remote_frees: u64,
    /// Pages whose thread has ended and that have blocks in use, as far as no other thread has taken them over.
    pub abandoned_pages: u64,
    /// Pages that were ever left so.
    pub abandoned_total: u64,
    /// Pages that a heap has taken over after another had given them up, because they were full or its thread had ended.
    pub reclaimed_pages: u64,
    /// Bitmaps made to find pages that belong to no heap and have room in them.
    pub abandoned_bitmaps: u64,
    /// Mappings that slices come from.
    pub arenas: u64,
    /// The longest time that an owner waited for a heap that was being swept.
    pub reclaim_wait_max_ns: u64,
}

/// Figures of this moment.
///
/// # Example
/// ```
/// let stats = sleepy_alloc::stats();
/// assert!(stats.live_bytes <= stats.committed_bytes);
/// ```
pub fn stats() -> Stats {
    // Parts may be negative while the whole is not: a heap may have been struck off more than it has counted yet.
    let sum = |start: usize, figure: fn(&inner::Inner) -> usize| {
        inner::heaps().fold(start, |sum, heap| sum.wrapping_add(figure(heap)))
    };
    let size = |start: usize, figure: fn(&inner::Inner) -> usize| {
        (sum(start, figure) as isize).max(0) as u64
    };
    let pending_bytes = arena::pending_bytes();
    let others = unowned::figures();
    // What a thread has freed in another's page stays in that page's figures until it is folded.
    let in_lists = sum(unowned::freed_less_folded_bytes(), |heap| {
        heap.freed_remote_bytes
            .get()
            .wrapping_sub(heap.folded_bytes.get())
    });
    Stats {
        park_wakes: PARK_WAKES.get(),
        scavenger_starts: SCAVENGER_STARTS.get(),
        scavenger_turns: SCAVENGER_TURNS.get(),
        scavenger_sleeps: SCAVENGER_SLEEPS.get(),
        parked_sweeps: PARKED_SWEEPS.get(),
        aborted_sweeps: ABORTED_SWEEPS.get(),
        delegated_sweeps: DELEGATED_SWEEPS.get(),
        delegated_pieces: DELEGATED_PIECES.get(),
        inline_slices: INLINE_SLICES.get(),
        purged_bytes: PURGED_BYTES.get(),
        purge_calls: PURGE_CALLS.get(),
        pending_bytes: pending_bytes as u64,
        holed_bytes: size(others.holed_bytes, |heap| heap.figures().holed_bytes),
        committed_bytes: size(others.committed_bytes.wrapping_add(pending_bytes), |heap| {
            heap.figures().committed_bytes
        }),
        live_bytes: size(others.live_bytes.wrapping_sub(in_lists), |heap| {
            heap.figures().live_bytes
        }),
        heaps: HEAPS.get(),
        remote_frees: REMOTE_FREES.get() + sum(0, |heap| heap.remote_frees.get()) as u64,
        abandoned_pages: ABANDONED_PAGES.get(),
        abandoned_total: ABANDONED_TOTAL.get(),
        reclaimed_pages: RECLAIMED_PAGES.get(),
        abandoned_bitmaps: ABANDONED_BITMAPS.get(),
        arenas: arena::arena_count(),
        reclaim_wait_max_ns: RECLAIM_WAIT_MAX_NS.get(),
    }
}

impl fmt::Display for Stats {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(table::of(self).as_str())
    }
}

/// Prints the figures to standard error, as the table that `SLEEPY_STATS=1` gives at exit, without allocating.
///
/// # Example
/// ```
/// sleepy_alloc::print_stats();
/// ```
pub fn print_stats() {
    os::write_stderr(table::of(&stats()).as_bytes());
}

/// Has the figures printed to standard error when the process exits, however it calls `exit`.
///
/// The C library may allocate for this, so it must not be called under a lock of the allocator.
pub(crate) fn print_at_exit() {
    extern "C" fn print() {
        print_stats();
    }
    os::at_exit(print);
}
