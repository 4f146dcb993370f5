//! Blocks with an alignment of the caller's choice.

use crate::{errno, request};
use core::ffi::{c_int, c_void};
use core::ptr;
use sleepy_alloc::raw;

/// A block at a multiple of `align`, or null without a word.
fn block(align: usize, size_bytes: usize) -> *mut c_void {
    match request::aligned(align, size_bytes) {
        Some(layout) => raw::alloc(layout).cast(),
        None => ptr::null_mut(),
    }
}

/// The same, with `ENOMEM` when there is none.
fn block_or_errno(align: usize, size_bytes: usize) -> *mut c_void {
    let block = block(align, size_bytes);
    if block.is_null() {
        return errno::no_memory().cast();
    }
    block
}

/// Null, for an alignment that nobody can ask for.
#[cold]
fn invalid() -> *mut c_void {
    errno::set(libc::EINVAL);
    ptr::null_mut()
}

/// A block of `size` bytes at a multiple of `align`, or null with `ENOMEM`, or with `EINVAL` when `align` is no power
/// of two. The size need not be a multiple of the alignment.
#[unsafe(no_mangle)]
pub extern "C" fn aligned_alloc(align: usize, size: usize) -> *mut c_void {
    if !align.is_power_of_two() {
        return invalid();
    }
    block_or_errno(align, size)
}

/// Stores a block of `size` bytes at a multiple of `align` into `out` and returns 0; or returns `EINVAL` or `ENOMEM`
/// and leaves `out` and `errno` alone.
///
/// # Safety
/// `out` may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn posix_memalign(out: *mut *mut c_void, align: usize, size: usize) -> c_int {
    if !request::is_posix_alignment(align) {
        return libc::EINVAL;
    }
    let block = block(align, size);
    if block.is_null() {
        return libc::ENOMEM;
    }
    // SAFETY: promised by the caller.
    unsafe { out.write(block) };
    0
}

/// A block at a multiple of `align` rounded up to a power of two, or null with `ENOMEM`, or with `EINVAL` when there is
/// no such power.
#[unsafe(no_mangle)]
pub extern "C" fn memalign(align: usize, size: usize) -> *mut c_void {
    match request::rounded_alignment(align) {
        Some(align) => block_or_errno(align, size),
        None => invalid(),
    }
}

/// A block at the start of an OS page, or null with `ENOMEM`.
#[unsafe(no_mangle)]
pub extern "C" fn valloc(size: usize) -> *mut c_void {
    block_or_errno(page_bytes(), size)
}

/// A block of whole OS pages, or null with `ENOMEM`.
#[unsafe(no_mangle)]
pub extern "C" fn pvalloc(size: usize) -> *mut c_void {
    let page_bytes = page_bytes();
    match request::whole_pages(size, page_bytes) {
        Some(size_bytes) => block_or_errno(page_bytes, size_bytes),
        None => errno::no_memory().cast(),
    }
}

fn page_bytes() -> usize {
    // SAFETY: sysconf only reads.
    let found = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    // No Linux has smaller pages, and none fails to know.
    usize::try_from(found).unwrap_or(4096)
}
