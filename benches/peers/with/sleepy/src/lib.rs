//! Installs sleepy-alloc as the global allocator.

use peers_common::peer::Peer;

#[global_allocator]
static ALLOCATOR: sleepy_alloc::SleepyAlloc = sleepy_alloc::SleepyAlloc;

/// What this allocator is.
pub static PEER: Peer = Peer {
    name: "sleepy",
    version,
    idle_start: Some(sleepy_alloc::idle_start),
    idle_end: Some(sleepy_alloc::idle_end),
    stats: None,
};

fn version() -> String {
    env!("CARGO_PKG_VERSION").to_owned()
}
