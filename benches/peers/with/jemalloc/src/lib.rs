//! Installs jemalloc as the global allocator.

use peers_common::peer::Peer;

#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

/// What this allocator is.
pub static PEER: Peer = Peer {
    name: "jemalloc",
    version,
    idle_start: None,
    idle_end: None,
    stats: None,
};

fn version() -> String {
    let version = tikv_jemalloc_ctl::version::read();
    version.map_or_else(|e| e.to_string(), |v| v.trim_end_matches('\0').to_owned())
}
