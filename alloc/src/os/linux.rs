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

/// Nothing to do in the child of a fork: the kernel's queues are not copied.
pub(crate) fn reset_after_fork() {}

/// Names the calling thread for tools that list threads.
pub(crate) fn name_thread(name: &core::ffi::CStr) {
    // SAFETY: PR_SET_NAME reads a C string.
    unsafe {
        libc::prctl(libc::PR_SET_NAME, name.as_ptr());
    }
}

/// The number of the NUMA node that the calling thread runs on.
pub(crate) fn numa_node() -> Option<u32> {
    let mut node = 0u32;
    // SAFETY: writes one number; the other two pointers may be null.
    let result = unsafe {
        libc::syscall(
            libc::SYS_getcpu,
            core::ptr::null_mut::<u32>(),
            &raw mut node,
            core::ptr::null_mut::<u8>(),
        )
    };
    (result == 0).then_some(node)
}

/// See [`super::prefer_node`].
pub(super) fn prefer_node(ptr: NonNull<u8>, bytes: usize, node: u32) {
    const BITS: u32 = u64::BITS;
    let mut mask = [0u64; 16];
    let Some(word) = mask.get_mut((node / BITS) as usize) else {
        return;
    };
    *word = 1 << (node % BITS);
    // The kernel takes one bit less than it is told there are.
    let mask_bits = mask.len() * BITS as usize + 1;
    // SAFETY: the range is a mapping of ours, and its contents stay; the mask has as many bits as it is said to have.
    unsafe {
        libc::syscall(
            libc::SYS_mbind,
            ptr.as_ptr(),
            bytes,
            libc::MPOL_PREFERRED,
            mask.as_ptr(),
            mask_bits,
            0,
        );
    }
}
