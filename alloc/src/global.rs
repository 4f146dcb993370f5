//! The allocator of a whole program.

use crate::raw::{self, pointer};
use crate::thread;
use core::alloc::{GlobalAlloc, Layout};
use core::ptr::NonNull;

/// The allocator of a whole program: every thread allocates in its default heap.
///
/// A block may be freed by any thread. [`idle_start`](crate::idle_start) and [`idle_end`](crate::idle_end) around a wait
/// lend the thread's heap, so that what lies free in it goes back to the OS; whole pages and large blocks go back in any
/// case when they have been free for a while.
///
/// # Example
/// ```
/// #[global_allocator]
/// static ALLOCATOR: sleepy_alloc::SleepyAlloc = sleepy_alloc::SleepyAlloc;
///
/// let words: Vec<String> = "lent while it waits".split(' ').map(str::to_owned).collect();
/// assert_eq!(words.len(), 4);
/// assert!(sleepy_alloc::stats().live_bytes > 0);
/// ```
#[derive(Clone, Copy, Default, Debug)]
pub struct SleepyAlloc;

// SAFETY: blocks are as long and as aligned as their layouts ask, belong to the caller until they are freed, and nothing
// here unwinds.
unsafe impl GlobalAlloc for SleepyAlloc {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        thread::with(|heap| pointer(heap.alloc(layout)))
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        thread::with(|heap| pointer(heap.alloc_zeroed(layout)))
    }

    #[inline]
    unsafe fn dealloc(&self, block: *mut u8, _: Layout) {
        // SAFETY: the caller passes a block of this allocator, and gives it up.
        unsafe { raw::free(block) };
    }

    #[inline]
    unsafe fn realloc(&self, block: *mut u8, old: Layout, new_bytes: usize) -> *mut u8 {
        // SAFETY: the caller sees to it that the size is valid for the alignment, and passes a block of this allocator.
        thread::with(|heap| unsafe {
            let new = Layout::from_size_align_unchecked(new_bytes, old.align());
            pointer(heap.realloc(NonNull::new_unchecked(block), old, new))
        })
    }
}
