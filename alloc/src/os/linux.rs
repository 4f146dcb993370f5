//! Linux: the futex, and `MADV_DONTNEED`, after which private anonymous memory reads as zero.

use core::ptr::NonNull;
use core::sync::atomic::AtomicU32;

/// See [`super::discard`].
pub(super) unsafe fn discard(ptr: NonNull<u8>, bytes: usize) -> bool {
    // SAFETY: the caller owns the range, which lies inside one of our own mappings.
    unsafe { libc::madvise(ptr.as_ptr().cast(), bytes, libc::MADV_DONTNEED) == 0 }
}

/// See [`super::futex_wait`].
pub(super) fn futex_wait(word: &AtomicU32, expected: u32, timeout_ns: Option<u64>) {
    let limit = timeout_ns.map(super::posix::timespec);
    let limit_ptr = limit
        .as_ref()
        .map_or(core::ptr::null(), core::ptr::from_ref);
    // SAFETY: the word outlives the call, the timeout is null or a valid timespec; FUTEX_WAIT takes four arguments.
    unsafe {
        libc::syscall(
            libc::SYS_futex,
            word.as_ptr(),
            libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG,
            expected,
            limit_ptr,
        );
    }
}

/// See [`super::futex_wake_one`].
pub(super) fn futex_wake_one(word: &AtomicU32) {
    // SAFETY: a wake only looks the address up.
    unsafe {
        libc::syscall(
            libc::SYS_futex,
            word.as_ptr(),
            libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG,
            1,
        );
    }
}

/// Names the calling thread for tools that list threads.
pub(crate) fn name_thread(name: &core::ffi::CStr) {
    // SAFETY: PR_SET_NAME reads a C string.
    unsafe {
        libc::prctl(libc::PR_SET_NAME, name.as_ptr());
    }
}
