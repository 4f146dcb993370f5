//! Installs the system's allocator as the global allocator.

use peers_common::peer::Peer;

#[global_allocator]
static ALLOCATOR: std::alloc::System = std::alloc::System;

/// What this allocator is.
pub static PEER: Peer = Peer {
    name: "glibc",
    version,
    idle_start: None,
    idle_end: None,
    stats: None,
};

fn version() -> String {
    // SAFETY: returns a constant string of the C library.
    let version = unsafe { std::ffi::CStr::from_ptr(libc::gnu_get_libc_version()) };
    version.to_string_lossy().into_owned()
}
