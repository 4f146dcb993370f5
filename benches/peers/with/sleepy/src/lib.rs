//! Installs sleepy-alloc as the global allocator.

use peers_common::peer::{Counter, Peer};

#[global_allocator]
static ALLOCATOR: sleepy_alloc::SleepyAlloc = sleepy_alloc::SleepyAlloc;

/// What this allocator is.
pub static PEER: Peer = Peer {
    name: "sleepy",
    version,
    idle_start: Some(sleepy_alloc::idle_start),
    idle_end: Some(sleepy_alloc::idle_end),
    stats: Some(stats),
};

fn version() -> String {
    env!("CARGO_PKG_VERSION").to_owned()
}

/// Names each counter and its value.
macro_rules! counters {
    ($stats:expr, $($name:ident)*) => {
        vec![$((stringify!($name), $stats.$name)),*]
    };
}

fn stats() -> Vec<Counter> {
    let now = sleepy_alloc::stats();
    counters!(now,
        park_wakes scavenger_starts scavenger_turns scavenger_sleeps parked_sweeps aborted_sweeps delegated_sweeps delegated_pieces inline_slices
        purged_bytes purge_calls pending_bytes holed_bytes committed_bytes live_bytes heaps remote_frees
        abandoned_pages abandoned_total reclaimed_pages abandoned_bitmaps arenas reclaim_wait_max_ns
    )
}
