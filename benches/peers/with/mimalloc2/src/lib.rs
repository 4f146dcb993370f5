//! Installs mimalloc 2 as the global allocator.

use peers_common::peer::Peer;

#[global_allocator]
static ALLOCATOR: mimalloc_safe::MiMalloc = mimalloc_safe::MiMalloc;

/// What this allocator is.
pub static PEER: Peer = Peer {
    name: "mimalloc2",
    version,
    idle_start: None,
    idle_end: None,
    stats: None,
};

fn version() -> String {
    let v = ALLOCATOR.version();
    format!("{}.{}.{}", v / 10000, v / 100 % 100, v % 100)
}
