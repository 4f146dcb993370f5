//! The calling thread's error number.

use core::ffi::c_int;

/// Says why a request failed.
#[cold]
pub(crate) fn set(error: c_int) {
    // SAFETY: the C library returns a valid pointer to a number that only this thread uses.
    unsafe {
        *libc::__errno_location() = error;
    }
}

/// Null, and the reason that there is no memory for the request.
#[cold]
pub(crate) fn no_memory() -> *mut u8 {
    set(libc::ENOMEM);
    core::ptr::null_mut()
}
