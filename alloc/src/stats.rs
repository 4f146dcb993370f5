//! Counters, and the figures made from them.

use crate::heap::inner;
use crate::{arena, os};
use core::sync::atomic::{AtomicU64, Ordering};

/// An event counter. Relaxed: it publishes nothing but itself.
pub(crate) struct Counter(AtomicU64);

impl Counter {
    const fn new() -> Self {
        Self(AtomicU64::new(0))
    }

    pub(crate) fn add(&self, amount: u64) {
        self.0.fetch_add(amount, Ordering::Relaxed);
    }

    pub(crate) fn raise_to(&self, value: u64) {
        self.0.fetch_max(value, Ordering::Relaxed);
    }

    fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

pub(crate) static PARK_WAKES: Counter = Counter::new();
pub(crate) static SCAVENGER_TURNS: Counter = Counter::new();
pub(crate) static PARKED_SWEEPS: Counter = Counter::new();
pub(crate) static ABORTED_SWEEPS: Counter = Counter::new();
pub(crate) static PURGED_BYTES: Counter = Counter::new();
pub(crate) static PURGE_CALLS: Counter = Counter::new();
pub(crate) static RECLAIM_WAIT_MAX_NS: Counter = Counter::new();

/// What the allocator has done and holds, for the whole process.
///
/// Counts of events are exact. Sizes are sums over heaps that may be changing: exact when nobody allocates meanwhile.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
#[non_exhaustive]
pub struct Stats {
    /// Times that a park woke the scavenger.
    pub park_wakes: u64,
    /// Times that the scavenger looked at everything.
    pub scavenger_turns: u64,
    /// Sweeps of parked heaps, the aborted ones included.
    pub parked_sweeps: u64,
    /// Sweeps that stopped because the owner wanted its heap back.
    pub aborted_sweeps: u64,
    /// Bytes given back to the OS.
    pub purged_bytes: u64,
    /// System calls that gave them back.
    pub purge_calls: u64,
    /// Bytes released, given back or about to be, inside pages that are in use.
    pub holed_bytes: u64,
    /// Bytes that heaps hold, or have freed and not given back yet.
    pub committed_bytes: u64,
    /// Bytes in blocks and collectors' pages in use.
    pub live_bytes: u64,
    /// Pages whose heap is gone and whose blocks are not. Always 0 so far: a heap takes its blocks with it.
    pub abandoned_pages: u64,
    /// Bitmaps made to find such pages. Always 0 so far.
    pub abandoned_bitmaps: u64,
    /// Mappings that slices come from.
    pub arenas: u64,
    /// The longest time that an owner waited for a heap that was being swept.
    pub reclaim_wait_max_ns: u64,
}

/// Figures of this moment.
pub fn stats() -> Stats {
    let sum = |figure: fn(&inner::Inner) -> usize| inner::heaps().map(figure).sum::<usize>() as u64;
    Stats {
        park_wakes: PARK_WAKES.get(),
        scavenger_turns: SCAVENGER_TURNS.get(),
        parked_sweeps: PARKED_SWEEPS.get(),
        aborted_sweeps: ABORTED_SWEEPS.get(),
        purged_bytes: PURGED_BYTES.get(),
        purge_calls: PURGE_CALLS.get(),
        holed_bytes: sum(|heap| heap.holed.get()),
        committed_bytes: sum(|heap| heap.committed.get()) + arena::pending_bytes() as u64,
        live_bytes: sum(|heap| heap.live.get()),
        abandoned_pages: 0,
        abandoned_bitmaps: 0,
        arenas: arena::arena_count(),
        reclaim_wait_max_ns: RECLAIM_WAIT_MAX_NS.get(),
    }
}

/// Prints the figures to standard error when the process exits.
pub(crate) fn print_at_exit() {
    extern "C" fn print() {
        let now = stats();
        let lines = [
            ("park wakes", now.park_wakes),
            ("scavenger turns", now.scavenger_turns),
            ("parked sweeps", now.parked_sweeps),
            ("aborted sweeps", now.aborted_sweeps),
            ("purged bytes", now.purged_bytes),
            ("purge calls", now.purge_calls),
            ("holed bytes", now.holed_bytes),
            ("committed bytes", now.committed_bytes),
            ("live bytes", now.live_bytes),
            ("arenas", now.arenas),
            ("longest reclaim wait ns", now.reclaim_wait_max_ns),
        ];
        for (name, value) in lines {
            print_line(name, value);
        }
    }
    // SAFETY: registers a function that can run at any time.
    unsafe {
        libc::atexit(print);
    }
}

/// Writes one line without formatting, which may allocate.
fn print_line(name: &str, value: u64) {
    let mut line = [b' '; 64];
    line[..7].copy_from_slice(b"sleepy ");
    line[7..7 + name.len()].copy_from_slice(name.as_bytes());
    let mut end = line.len() - 1;
    line[end] = b'\n';
    let mut rest = value;
    loop {
        end -= 1;
        line[end] = b'0' + (rest % 10) as u8;
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    os::write_stderr(&line);
}
