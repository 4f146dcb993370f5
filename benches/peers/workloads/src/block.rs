//! Blocks of the allocator under test.

use std::alloc::{Layout, alloc, dealloc, handle_alloc_error, realloc};
use std::hint::black_box;

/// A block that one thread allocates and another may free.
#[derive(Clone, Copy, Debug)]
pub struct Block(pub *mut u8);

// SAFETY: a block is plain memory; whoever holds the pointer owns it.
unsafe impl Send for Block {}
// SAFETY: shared references to the pointer let nobody touch the block without `unsafe`.
unsafe impl Sync for Block {}

fn layout(bytes: usize) -> Layout {
    // Workloads never ask for more than some megabytes.
    Layout::from_size_align(bytes, 8).expect("a small size")
}

/// A block of `bytes`, not zeroed. The compiler does not know where it comes from, so it cannot take the pair of an
/// allocation and a free away.
#[inline]
pub fn get(bytes: usize) -> *mut u8 {
    // SAFETY: no workload asks for zero bytes.
    let block = unsafe { alloc(layout(bytes)) };
    if block.is_null() {
        handle_alloc_error(layout(bytes));
    }
    black_box(block)
}

/// A block of `bytes` zeros, written by hand as the originals do.
#[inline]
pub fn get_cleared(bytes: usize) -> *mut u8 {
    let block = get(bytes);
    // SAFETY: `block` has `bytes` bytes.
    unsafe { block.write_bytes(0, bytes) };
    block
}

/// Frees a block.
///
/// # Safety
/// - `block` came from [`get`], [`get_cleared`] or [`resize`] with `bytes`.
/// - It is not used again.
#[inline]
pub unsafe fn put(block: *mut u8, bytes: usize) {
    // SAFETY: passed on.
    unsafe { dealloc(black_box(block), layout(bytes)) }
}

/// Makes a block larger or smaller.
///
/// # Safety
/// - `block` came from [`get`], [`get_cleared`] or [`resize`] with `old_bytes`.
/// - It is not used again.
#[inline]
pub unsafe fn resize(block: *mut u8, old_bytes: usize, new_bytes: usize) -> *mut u8 {
    // SAFETY: passed on; no workload asks for zero bytes.
    let block = unsafe { realloc(black_box(block), layout(old_bytes), new_bytes) };
    if block.is_null() {
        handle_alloc_error(layout(new_bytes));
    }
    black_box(block)
}

/// Allocates a `T` and moves `value` there.
#[inline]
pub fn make<T>(value: T) -> *mut T {
    const { assert!(align_of::<T>() <= 8 && size_of::<T>() > 0) };
    let place: *mut T = get(size_of::<T>()).cast();
    // SAFETY: the block is as large as a `T` and aligned to 8.
    unsafe { place.write(value) };
    place
}

/// Moves the value out of a block of [`make`], and frees the block.
///
/// # Safety
/// - `place` came from [`make`].
/// - It is not used again.
#[inline]
pub unsafe fn take<T>(place: *mut T) -> T {
    // SAFETY: `place` holds a `T`, which is not read again.
    let value = unsafe { place.read() };
    // SAFETY: `make` allocated that many bytes.
    unsafe { put(place.cast(), size_of::<T>()) };
    value
}
