//! `malloc`, `free` and their kin.

use crate::{errno, request};
use core::ffi::c_void;
use core::ptr;
use sleepy_alloc::raw;

/// A block of at least `size` bytes, or null with `ENOMEM`.
#[unsafe(no_mangle)]
pub extern "C" fn malloc(size: usize) -> *mut c_void {
    let block = request::with_plain(size, raw::alloc);
    if block.is_null() {
        return errno::no_memory().cast();
    }
    block.cast()
}

/// A zeroed block for `count` objects of `size` bytes, or null with `ENOMEM`.
#[unsafe(no_mangle)]
pub extern "C" fn calloc(count: usize, size: usize) -> *mut c_void {
    let Some(bytes) = count.checked_mul(size) else {
        return errno::no_memory().cast();
    };
    let block = request::with_plain(bytes, raw::alloc_zeroed);
    if block.is_null() {
        return errno::no_memory().cast();
    }
    block.cast()
}

/// Frees a block; null is none.
///
/// # Safety
/// `block` is null or came from this library and was not freed since. Nothing uses it any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn free(block: *mut c_void) {
    if !block.is_null() {
        // SAFETY: a block of ours that the caller gives up.
        unsafe { raw::free(block.cast()) }
    }
}

/// A block of at least `size` bytes with the contents of `block`, which is freed; or null with `ENOMEM`, and `block` is
/// as it was. For a size of 0 `block` is freed and the result is null.
///
/// # Safety
/// As for [`free`], but when the result is null and `size` is not 0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn realloc(block: *mut c_void, size: usize) -> *mut c_void {
    if block.is_null() {
        return malloc(size);
    }
    if size == 0 {
        // SAFETY: passed on to the caller.
        unsafe { free(block) }
        return ptr::null_mut();
    }
    // SAFETY: a block of ours that the caller gives up if there is another.
    let moved = request::with_plain(size, |layout| unsafe { raw::realloc(block.cast(), layout) });
    if moved.is_null() {
        return errno::no_memory().cast();
    }
    moved.cast()
}

/// [`realloc`] to `count` objects of `size` bytes.
///
/// # Safety
/// As for [`realloc`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn reallocarray(
    block: *mut c_void,
    count: usize,
    size: usize,
) -> *mut c_void {
    match count.checked_mul(size) {
        // SAFETY: passed on to the caller.
        Some(bytes) => unsafe { realloc(block, bytes) },
        None => errno::no_memory().cast(),
    }
}

/// The old name of [`free`].
///
/// # Safety
/// As for [`free`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cfree(block: *mut c_void) {
    // SAFETY: passed on to the caller.
    unsafe { free(block) }
}

/// [`free`] by a caller who knows the size that was asked for. We know it too.
///
/// # Safety
/// As for [`free`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn free_sized(block: *mut c_void, _size: usize) {
    // SAFETY: passed on to the caller.
    unsafe { free(block) }
}

/// [`free`] by a caller who knows the alignment and the size that were asked for.
///
/// # Safety
/// As for [`free`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn free_aligned_sized(block: *mut c_void, _align: usize, _size: usize) {
    // SAFETY: passed on to the caller.
    unsafe { free(block) }
}

/// The bytes that may be used of a block, at least as many as were asked for; 0 of null.
///
/// # Safety
/// `block` is null or came from this library and was not freed since.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn malloc_usable_size(block: *mut c_void) -> usize {
    if block.is_null() {
        return 0;
    }
    // SAFETY: a block of ours.
    unsafe { raw::usable_bytes(block.cast()) }
}
