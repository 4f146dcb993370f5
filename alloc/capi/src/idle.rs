//! What a C program can ask of this allocator and of no other; `include/sleepy_malloc.h` declares it.

use sleepy_alloc::Stats;

/// The counters of [`Stats`] as C has them; new ones are added at the end.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
#[allow(non_camel_case_types, reason = "the name that C programs use")]
pub struct sleepy_stats_t {
    /// See [`Stats::park_wakes`].
    pub park_wakes: u64,
    /// See [`Stats::scavenger_starts`].
    pub scavenger_starts: u64,
    /// See [`Stats::scavenger_turns`].
    pub scavenger_turns: u64,
    /// See [`Stats::scavenger_sleeps`].
    pub scavenger_sleeps: u64,
    /// See [`Stats::parked_sweeps`].
    pub parked_sweeps: u64,
    /// See [`Stats::aborted_sweeps`].
    pub aborted_sweeps: u64,
    /// See [`Stats::inline_slices`].
    pub inline_slices: u64,
    /// See [`Stats::purged_bytes`].
    pub purged_bytes: u64,
    /// See [`Stats::purge_calls`].
    pub purge_calls: u64,
    /// See [`Stats::pending_bytes`].
    pub pending_bytes: u64,
    /// See [`Stats::holed_bytes`].
    pub holed_bytes: u64,
    /// See [`Stats::committed_bytes`].
    pub committed_bytes: u64,
    /// See [`Stats::live_bytes`].
    pub live_bytes: u64,
    /// See [`Stats::heaps`].
    pub heaps: u64,
    /// See [`Stats::remote_frees`].
    pub remote_frees: u64,
    /// See [`Stats::abandoned_pages`].
    pub abandoned_pages: u64,
    /// See [`Stats::abandoned_total`].
    pub abandoned_total: u64,
    /// See [`Stats::reclaimed_pages`].
    pub reclaimed_pages: u64,
    /// See [`Stats::abandoned_bitmaps`].
    pub abandoned_bitmaps: u64,
    /// See [`Stats::arenas`].
    pub arenas: u64,
    /// See [`Stats::reclaim_wait_max_ns`].
    pub reclaim_wait_max_ns: u64,
}

impl From<Stats> for sleepy_stats_t {
    fn from(stats: Stats) -> Self {
        Self {
            park_wakes: stats.park_wakes,
            scavenger_starts: stats.scavenger_starts,
            scavenger_turns: stats.scavenger_turns,
            scavenger_sleeps: stats.scavenger_sleeps,
            parked_sweeps: stats.parked_sweeps,
            aborted_sweeps: stats.aborted_sweeps,
            inline_slices: stats.inline_slices,
            purged_bytes: stats.purged_bytes,
            purge_calls: stats.purge_calls,
            pending_bytes: stats.pending_bytes,
            holed_bytes: stats.holed_bytes,
            committed_bytes: stats.committed_bytes,
            live_bytes: stats.live_bytes,
            heaps: stats.heaps,
            remote_frees: stats.remote_frees,
            abandoned_pages: stats.abandoned_pages,
            abandoned_total: stats.abandoned_total,
            reclaimed_pages: stats.reclaimed_pages,
            abandoned_bitmaps: stats.abandoned_bitmaps,
            arenas: stats.arenas,
            reclaim_wait_max_ns: stats.reclaim_wait_max_ns,
        }
    }
}

/// Lends the calling thread's heap, before a wait. False: nothing was lent.
#[unsafe(no_mangle)]
pub extern "C" fn sleepy_idle_start() -> bool {
    sleepy_alloc::idle_start()
}

/// Takes the calling thread's heap back, after a wait; one call too many does nothing.
#[unsafe(no_mangle)]
pub extern "C" fn sleepy_idle_end() {
    sleepy_alloc::idle_end();
}

/// Gives all free memory back to the OS that can be given at once; returns the bytes.
#[unsafe(no_mangle)]
pub extern "C" fn sleepy_purge_now() -> usize {
    sleepy_alloc::purge_now()
}

/// Writes the figures of this moment into the first `out_bytes` bytes of `out`, and zero into what it does not know.
///
/// So a program that was compiled with an older or a newer header gets the figures that both know.
///
/// # Safety
/// `out_bytes` bytes at `out` may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sleepy_stats(out: *mut sleepy_stats_t, out_bytes: usize) {
    let stats = sleepy_stats_t::from(sleepy_alloc::stats());
    let known_bytes = out_bytes.min(size_of::<sleepy_stats_t>());
    // SAFETY: `known_bytes` are within both, and the rest within the caller's.
    unsafe {
        let out = out.cast::<u8>();
        out.copy_from_nonoverlapping((&raw const stats).cast(), known_bytes);
        out.add(known_bytes).write_bytes(0, out_bytes - known_bytes);
    }
}
