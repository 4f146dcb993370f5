//! Allocation without layouts that must match, for a face to C and for languages that keep no sizes.
//!
//! The blocks are those of [`SleepyAlloc`](crate::SleepyAlloc): what one allocates the other may free. Nothing here
//! panics, and everything works in any state of a thread. Failure is null.
//!
//! # Example
//! ```
//! use core::alloc::Layout;
//! use sleepy_alloc::raw;
//!
//! let block = raw::alloc(Layout::from_size_align(100, 16).unwrap());
//! assert!(!block.is_null());
//! // SAFETY: the block is live, and given up at the end.
//! unsafe {
//!     assert!(raw::usable_bytes(block) >= 100);
//!     raw::free(block);
//! }
//! ```

use crate::page::Page;
use crate::{arena, options, poison, thread};
use core::alloc::Layout;
use core::ptr::{self, NonNull};

#[inline(always)]
pub(crate) fn pointer(block: Option<NonNull<u8>>) -> *mut u8 {
    block.map_or(ptr::null_mut(), NonNull::as_ptr)
}

/// A layout of no bytes would get a block that need not have its alignment.
#[inline(always)]
fn at_least_a_byte(layout: Layout) -> Layout {
    if layout.size() != 0 {
        return layout;
    }
    // SAFETY: one byte, rounded up to an alignment, is not more than the alignment.
    unsafe { Layout::from_size_align_unchecked(1, layout.align()) }
}

/// A block for the layout, of the least size if it has none; null when there is no memory for it.
#[inline]
pub fn alloc(layout: Layout) -> *mut u8 {
    let layout = at_least_a_byte(layout);
    thread::with(|heap| pointer(heap.alloc(layout)))
}

/// As [`alloc`], with every byte of the layout zero.
#[inline]
pub fn alloc_zeroed(layout: Layout) -> *mut u8 {
    let layout = at_least_a_byte(layout);
    thread::with(|heap| pointer(heap.alloc_zeroed(layout)))
}

/// Frees a block.
///
/// # Safety
/// It came from this allocator, and nobody uses it any more.
#[inline]
pub unsafe fn free(block: *mut u8) {
    // SAFETY: passed on; a block is not null.
    thread::with(|heap| unsafe { heap.free(NonNull::new_unchecked(block)) });
}

/// Bytes that may be used of a block: at least what was asked for.
///
/// # Safety
/// The block is live and came from this allocator.
#[inline]
pub unsafe fn usable_bytes(block: *const u8) -> usize {
    // SAFETY: a live block is not null, and lies in a page.
    let (block, bytes) = unsafe {
        let block = NonNull::new_unchecked(block.cast_mut());
        (block, Page::of(block).block_bytes.get())
    };
    // Whoever asks may use them all from now on.
    poison::used(block, bytes);
    bytes
}

/// Makes a block serve another layout; it may move, and keeps as much of its contents as both sizes have. Null: there is
/// no memory, and the block is as it was.
///
/// # Safety
/// The block is live and came from this allocator. If the result is not null, the block is given up.
#[inline]
pub unsafe fn realloc(block: *mut u8, new: Layout) -> *mut u8 {
    // SAFETY: the block is as long as its usable size, which is valid with the alignment of 1.
    thread::with(|heap| unsafe {
        let new = at_least_a_byte(new);
        let old = Layout::from_size_align_unchecked(usable_bytes(block), 1);
        pointer(heap.realloc(NonNull::new_unchecked(block), old, new))
    })
}

/// Whether an address lies in memory that this allocator gives blocks from.
pub fn is_ours(address: *const u8) -> bool {
    arena::find(address.addr()).is_some()
}

/// Reads the options from the environment, if that was not done yet.
///
/// The first heap does it too, but that may be made before the C library has an environment.
pub fn start() {
    options::start();
}
