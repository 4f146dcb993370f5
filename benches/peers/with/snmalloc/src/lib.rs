//! Installs snmalloc as the global allocator.

use peers_common::peer::Peer;

#[global_allocator]
static ALLOCATOR: snmalloc_rs::SnMalloc = snmalloc_rs::SnMalloc;

/// What this allocator is.
pub static PEER: Peer = Peer {
    name: "snmalloc",
    version,
    idle_start: None,
    idle_end: None,
    stats: None,
};

fn version() -> String {
    "of the crate snmalloc-rs 0.7.6".to_owned()
}
