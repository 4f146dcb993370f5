//! What a C request means: sizes and alignments that are checked and rounded, or refused (pure).
#![forbid(unsafe_code)]

use core::alloc::Layout;

/// The alignment of every block that is large enough for an object that needs it: `alignof(max_align_t)`.
const MALLOC_ALIGN: usize = 16;

/// A block of at most this size holds no object that needs more than the size's alignment.
const SMALL_BYTES: usize = 8;

/// The alignment of a block that nobody asked for another: what any object of this size may need.
#[inline(always)]
fn natural_alignment(size_bytes: usize) -> usize {
    if size_bytes <= SMALL_BYTES {
        SMALL_BYTES
    } else {
        MALLOC_ALIGN
    }
}

/// What `malloc(size_bytes)` asks for, or `None` when no object can be that large.
///
/// A request for nothing gets a block of its own, as its address must be unlike all others.
#[inline(always)]
pub(crate) fn plain(size_bytes: usize) -> Option<Layout> {
    Layout::from_size_align(size_bytes.max(1), natural_alignment(size_bytes)).ok()
}

/// What a request with an alignment asks for. No block is aligned less than one of `malloc`.
pub(crate) fn aligned(align: usize, size_bytes: usize) -> Option<Layout> {
    let align = align.max(natural_alignment(size_bytes));
    Layout::from_size_align(size_bytes.max(1), align).ok()
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

    #[test]
    fn what_can_hold_an_aligned_object_is_aligned_for_it() {
        for size_bytes in 0..=8 {
            let layout = plain(size_bytes).unwrap();
            assert_eq!((layout.size(), layout.align()), (size_bytes.max(1), 8));
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
