//! Tells AddressSanitizer which bytes of our mappings may be touched; nothing without `--cfg asan`.
//!
//! A free block stays readable in its first word, where the free list's link lies. Public for collectors, which hand out parts of what
//! they have allocated: to them a cell without an object is `unused`.

use core::ptr::NonNull;

#[cfg(asan)]
mod sanitizer {
    use core::ffi::c_void;
    unsafe extern "C" {
        pub(super) fn __asan_poison_memory_region(address: *const c_void, bytes: usize);
        pub(super) fn __asan_unpoison_memory_region(address: *const c_void, bytes: usize);
    }
}

/// A free block: only its first word may be touched.
#[inline(always)]
pub fn free(block: NonNull<u8>, bytes: usize) {
    #[cfg(asan)]
    // SAFETY: marks bytes of a mapping of ours in the sanitizer's shadow; the block's memory is not touched.
    unsafe {
        sanitizer::__asan_unpoison_memory_region(block.as_ptr().cast(), size_of::<usize>());
        sanitizer::__asan_poison_memory_region(
            block.as_ptr().wrapping_add(size_of::<usize>()).cast(),
            bytes.saturating_sub(size_of::<usize>()),
        );
    }
    #[cfg(not(asan))]
    let _ = (block, bytes);
}

/// A block in use: its first `bytes` bytes may be touched.
#[inline(always)]
pub fn used(block: NonNull<u8>, bytes: usize) {
    #[cfg(asan)]
    // SAFETY: as in `free`.
    unsafe {
        sanitizer::__asan_unpoison_memory_region(block.as_ptr().cast(), bytes);
    }
    #[cfg(not(asan))]
    let _ = (block, bytes);
}

/// Memory that belongs to no block: none of it may be touched.
#[inline(always)]
pub fn unused(start: NonNull<u8>, bytes: usize) {
    #[cfg(asan)]
    // SAFETY: as in `free`.
    unsafe {
        sanitizer::__asan_poison_memory_region(start.as_ptr().cast(), bytes);
    }
    #[cfg(not(asan))]
    let _ = (start, bytes);
}
