//! What a C request means: sizes and alignments that are checked and rounded, or refused (pure).
#![forbid(unsafe_code)]

use core::alloc::Layout;

/// The alignment of every block that is large enough for an object that needs it: `alignof(max_align_t)`.
const MALLOC_ALIGN: usize = 16;

/// A block of at most this size holds no object that needs more than the size's alignment.
const SMALL_BYTES: usize = 8;

/// What a request for at most [`SMALL_BYTES`] asks for.
const SMALL: Layout = match Layout::from_size_align(SMALL_BYTES, SMALL_BYTES) {
    Ok(layout) => layout,
    Err(_) => unreachable!(),
};

/// What `f` makes of the layout that `malloc(size_bytes)` asks for, or null when no object can be that large.
///
/// A request for nothing gets a block of its own, as its address must be unlike all others. Both calls are of an
/// alignment that the compiler knows, which makes the way to a size class short.
#[inline(always)]
pub(crate) fn with_plain(size_bytes: usize, f: impl Fn(Layout) -> *mut u8) -> *mut u8 {
    if size_bytes <= SMALL_BYTES {
        return f(SMALL);
    }
    match Layout::from_size_align(size_bytes, MALLOC_ALIGN) {
        Ok(layout) => f(layout),
        Err(_) => core::ptr::null_mut(),
    }
}

/// What a request with an alignment asks for. No block is aligned less than one of `malloc`.
pub(crate) fn aligned(align: usize, size_bytes: usize) -> Option<Layout> {
    let least = if size_bytes <= SMALL_BYTES {
        SMALL_BYTES
    } else {
        MALLOC_ALIGN
    };
    Layout::from_size_align(size_bytes.max(1), align.max(least)).ok()
}

/// Whether `posix_memalign` takes this alignment: a power of two and a multiple of a pointer's size.
pub(crate) fn is_posix_alignment(align: usize) -> bool {
    align.is_power_of_two() && align.is_multiple_of(size_of::<*const ()>())
}

/// The alignment that `memalign` makes of any number: the next power of two. `None`: there is none.
pub(crate) fn rounded_alignment(align: usize) -> Option<usize> {
    align.checked_next_power_of_two()
}

/// The size that `pvalloc` makes of a request: whole OS pages, at least one. `None`: there is none so large.
pub(crate) fn whole_pages(size_bytes: usize, page_bytes: usize) -> Option<usize> {
    size_bytes.max(1).checked_next_multiple_of(page_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LARGEST: usize = isize::MAX as usize;

    /// The layout that `malloc` asks for.
    fn plain(size_bytes: usize) -> Option<Layout> {
        let asked = core::cell::Cell::new(None);
        with_plain(size_bytes, |layout| {
            asked.set(Some(layout));
            core::ptr::null_mut()
        });
        asked.get()
    }

    #[test]
    fn what_can_hold_an_aligned_object_is_aligned_for_it() {
        for size_bytes in 0..=8 {
            let layout = plain(size_bytes).unwrap();
            assert_eq!((layout.size(), layout.align()), (8, 8));
        }
        for size_bytes in [9, 16, 24, 40, 1 << 20] {
            let layout = plain(size_bytes).unwrap();
            assert_eq!((layout.size(), layout.align()), (size_bytes, 16));
        }
    }

    #[test]
    fn no_object_is_larger_than_a_difference_of_pointers() {
        assert!(plain(LARGEST - MALLOC_ALIGN).is_some());
        for size_bytes in [LARGEST + 1, usize::MAX - 1, usize::MAX] {
            assert_eq!(plain(size_bytes), None);
            assert_eq!(aligned(64, size_bytes), None);
        }
        assert_eq!(aligned(4096, LARGEST), None);
    }

    #[test]
    fn alignments_below_that_of_malloc_are_that_of_malloc() {
        for align in [1, 2, 4, 8, 16] {
            assert_eq!(aligned(align, 24), plain(24));
        }
        assert_eq!(aligned(16, 1).map(|layout| layout.align()), Some(16));
        assert_eq!(aligned(4096, 0).map(|layout| layout.align()), Some(4096));
    }

    #[test]
    fn posix_alignments_are_powers_of_two_of_at_least_a_pointer() {
        let taken: Vec<usize> = (0..200)
            .filter(|&align| is_posix_alignment(align))
            .collect();
        assert_eq!(taken, [8, 16, 32, 64, 128]);
    }

    #[test]
    fn odd_alignments_are_rounded_up() {
        let rounded = [0, 1, 3, 24, 4097].map(rounded_alignment);
        assert_eq!(rounded, [1, 1, 4, 32, 8192].map(Some));
        assert_eq!(rounded_alignment(LARGEST + 2), None);
    }

    #[test]
    fn pages_are_whole() {
        assert_eq!(whole_pages(0, 4096), Some(4096));
        assert_eq!(whole_pages(4096, 4096), Some(4096));
        assert_eq!(whole_pages(4097, 4096), Some(8192));
        assert_eq!(whole_pages(usize::MAX, 4096), None);
    }
}
