//! What the allocator asks of the operating system; the only place that makes system calls.
//!
//! `posix` holds what every Unix has, `linux` the futex and what `MADV_DONTNEED` promises there, `other` the same for
//! the rest of Unix by way of a mutex and a condition variable; `--cfg sleepy_portable` has Linux use that one, so that
//! all tests can be run on it. Tests put `faulty` in front, which fails the k-th call.
//! Nothing here allocates, panics or keeps a lock over a call; what an allocation or a free may call keeps `errno`.

use core::ffi::CStr;
use core::ptr::NonNull;
use core::sync::atomic::AtomicU32;

mod errno;
mod posix;

#[cfg(all(any(target_os = "linux", target_os = "android"), not(sleepy_portable)))]
mod linux;
#[cfg(all(any(target_os = "linux", target_os = "android"), not(sleepy_portable)))]
use linux as native;

#[cfg(not(all(any(target_os = "linux", target_os = "android"), not(sleepy_portable))))]
mod other;
#[cfg(not(all(any(target_os = "linux", target_os = "android"), not(sleepy_portable))))]
use other as native;

#[cfg(all(
    test,
    any(target_os = "linux", target_os = "android"),
    not(sleepy_portable)
))]
#[expect(dead_code, reason = "built for its own tests only")]
mod other;

#[cfg(test)]
pub(crate) mod faulty;

pub(crate) use native::{name_thread, numa_node, reset_after_fork};
pub(crate) use posix::{
    at_exit, at_fork, at_thread_end, each_variable, has_many_cpus, now_ns, page_bytes,
    write_stderr, yield_now,
};

/// Maps zeroed memory of which nothing is resident yet, at any address.
pub(crate) fn map(bytes: usize) -> Option<NonNull<u8>> {
    #[cfg(test)]
    if faulty::fails(faulty::Call::Map) {
        return None;
    }
    errno::keeping(|| posix::map(None, bytes))
}

/// Maps zeroed memory of which nothing is resident yet, at a multiple of `align_bytes` (a power of two).
pub(crate) fn map_aligned(bytes: usize, align_bytes: usize) -> Option<NonNull<u8>> {
    #[cfg(test)]
    if faulty::fails(faulty::Call::Map) {
        return None;
    }
    errno::keeping(|| posix::map_aligned(bytes, align_bytes))
}

/// Gives a whole mapping back.
///
/// # Safety
/// `ptr` and `bytes` are what one of the map functions returned, and nothing uses that memory any more.
pub(crate) unsafe fn unmap(ptr: NonNull<u8>, bytes: usize) {
    // SAFETY: passed on to the caller.
    errno::keeping(|| unsafe { posix::unmap(ptr, bytes) })
}

/// Gives the memory of a range back and keeps the addresses. True: it is given back, and reads as zero from now on.
///
/// # Safety
/// The range consists of whole OS pages of a mapping of ours, and nothing uses its contents any more.
pub(crate) unsafe fn discard(ptr: NonNull<u8>, bytes: usize) -> bool {
    #[cfg(test)]
    if faulty::fails(faulty::Call::Discard) {
        return false;
    }
    // SAFETY: passed on to the caller.
    errno::keeping(|| unsafe { native::discard(ptr, bytes) })
}

/// Sleeps if the word is still `expected`, until a wake or the timeout. May return for no reason.
pub(crate) fn futex_wait(word: &AtomicU32, expected: u32, timeout_ns: Option<u64>) {
    errno::keeping(|| native::futex_wait(word, expected, timeout_ns));
}

/// Wakes one thread that sleeps on the word.
pub(crate) fn futex_wake_one(word: &AtomicU32) {
    errno::keeping(|| native::futex_wake_one(word));
}

/// Starts a detached thread with every signal blocked but those of faults. False if there can be none.
pub(crate) fn spawn(main: extern "C" fn(*mut libc::c_void) -> *mut libc::c_void) -> bool {
    #[cfg(test)]
    if faulty::fails(faulty::Call::Spawn) {
        return false;
    }
    errno::keeping(|| posix::spawn(main))
}

/// Reads the beginning of a file; `None` if it cannot be read.
pub(crate) fn read_file(path: &CStr, buffer: &mut [u8]) -> Option<usize> {
    errno::keeping(|| posix::read_file(path, buffer))
}

/// Whether there is a file of this name.
pub(crate) fn exists(path: &CStr) -> bool {
    errno::keeping(|| posix::exists(path))
}

/// Has the memory of a mapping of ours taken from this NUMA node as long as it has some. Where the system refuses
/// (containers often forbid it), memory comes from where it is first touched.
pub(crate) fn prefer_node(ptr: NonNull<u8>, bytes: usize, node: u32) {
    errno::keeping(|| native::prefer_node(ptr, bytes, node));
}

/// Ends the process with a message, for errors after which the heap cannot be trusted.
#[cold]
pub(crate) fn die(message: &str) -> ! {
    write_stderr(b"sleepy-alloc: ");
    write_stderr(message.as_bytes());
    write_stderr(b"\n");
    // SAFETY: ends the process.
    unsafe { libc::abort() }
}
