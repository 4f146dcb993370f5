//! Tells AddressSanitizer which cells may be touched; nothing without `--cfg asan`.
//!
//! | a cell | may be touched |
//! |---|---|
//! | free, reserved, or dropped and held by a weak pointer | no |
//! | handed out | yes |

use std::ptr::NonNull;

#[cfg(asan)]
mod sanitizer {
    use std::ffi::c_void;
    unsafe extern "C" {
        pub(super) fn __asan_poison_memory_region(address: *const c_void, bytes: usize);
        pub(super) fn __asan_unpoison_memory_region(address: *const c_void, bytes: usize);
    }
}

/// Memory that holds no object.
#[inline(always)]
pub(super) fn free(start: NonNull<u8>, bytes: usize) {
    #[cfg(asan)]
    // SAFETY: marks bytes of a run of ours in the sanitizer's shadow; the memory is not touched.
    unsafe {
        sanitizer::__asan_poison_memory_region(start.as_ptr().cast(), bytes);
    }
    #[cfg(not(asan))]
    let _ = (start, bytes);
}

/// A cell that is handed out.
#[inline(always)]
pub(super) fn used(cell: NonNull<u8>, bytes: usize) {
    #[cfg(asan)]
    // SAFETY: as in `free`.
    unsafe {
        sanitizer::__asan_unpoison_memory_region(cell.as_ptr().cast(), bytes);
    }
    #[cfg(not(asan))]
    let _ = (cell, bytes);
}
