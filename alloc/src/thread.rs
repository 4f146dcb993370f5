//! Each thread's default heap: made at its first allocation, given up when the thread ends.
//!
//! The handle lies in constant thread-local memory without a destructor, so that reaching it is one instruction, at any
//! time in a thread's life. The end of the thread is noticed through a key of the C library, whose destructors run after
//! those of Rust's own thread-local values.

#[cfg(all(
    feature = "initial-exec",
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64")
))]
#[path = "thread/initial_exec.rs"]
mod handle;
#[cfg(not(all(
    feature = "initial-exec",
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64")
)))]
#[path = "thread/general.rs"]
mod handle;

use crate::Heap;
use crate::heap::inner::{self, Inner};
use crate::{options, os};

pub(crate) use handle::with;

/// Makes the calling thread's heap. `None`: there is no memory for it.
#[cold]
pub(crate) fn make(handle: &Heap) -> Option<&'static Inner> {
    options::start();
    // The C library may have allocated for that, and so have made the heap.
    if let Some(heap) = handle.made() {
        return Some(heap);
    }
    let heap = inner::obtain(true)?;
    handle.set_home(heap);
    // After the heap is in place: the C library may allocate for the key.
    os::at_thread_end(ended);
    Some(heap)
}

/// The thread ends: what it has freed goes, what it has not is left to others. From now on it uses the late heap.
extern "C" fn ended(_: *mut libc::c_void) {
    with(|handle| {
        if let Some(heap) = handle.end() {
            heap.abandon_everything();
            inner::give_up(heap);
        }
    });
}
