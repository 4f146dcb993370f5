//! What the library does when it is loaded.

/// Reads the options, now that the C library has the environment for certain: it may not have had it at the first
/// allocation, which can come before any library is initialised.
extern "C" fn start() {
    sleepy_alloc::raw::start();
}

/// Called by the dynamic linker.
#[used]
#[unsafe(link_section = ".init_array")]
static START: extern "C" fn() = start;
