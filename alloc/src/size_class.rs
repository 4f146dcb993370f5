//! Size classes: which block size serves a request.
//!
//! Eight classes for each doubling, eight bytes apart at the small end:
//!
//! ```text
//! 8 16 24 … 128 | 144 160 … 256 | 288 … 512 | … | 36 KiB … 64 KiB
//!  step 8          step 16         step 32         step 4 KiB
//! ```
//!
//! Above 64 bytes a block is at most 12.5 % larger than the request. Every class at or above a power of two `2^k` is a
//! multiple of `2^k / 8`, so a request that is rounded up to its alignment lands in a class whose blocks all have that
//! alignment (blocks lie at multiples of their size from a 64 KiB boundary): see [`class_for`].
#![forbid(unsafe_code)]

use core::alloc::Layout;

/// Number of size classes.
pub(crate) const CLASS_COUNT: usize = 88;

/// The largest block that a class serves; what is larger gets a run of slices of its own.
pub(crate) const MAX_SMALL_BYTES: usize = 64 * 1024;

/// The unit of the smallest classes, and the least size of a block.
const GRAIN_BYTES: usize = 8;

/// Requests up to this size find their class in [`SMALL_CLASS`].
const TABLE_BYTES: usize = 1024;

/// Class by number of 8-byte grains, for the sizes that programs ask for most.
static SMALL_CLASS: [u8; TABLE_BYTES / GRAIN_BYTES + 1] = {
    let mut table = [0; TABLE_BYTES / GRAIN_BYTES + 1];
    let mut grains = 1;
    while grains < table.len() {
        table[grains] = class_of(grains * GRAIN_BYTES) as u8;
        grains += 1;
    }
    table
};

/// The class that serves `size_bytes`, which is in `1..=MAX_SMALL_BYTES`.
pub(crate) const fn class_of(size_bytes: usize) -> usize {
    let grains = size_bytes.div_ceil(GRAIN_BYTES);
    if grains <= 16 {
        grains - 1
    } else {
        let below = grains - 1;
        let doubling = (usize::BITS - 1 - below.leading_zeros()) as usize;
        ((doubling - 2) << 3) + ((below >> (doubling - 3)) & 7)
    }
}

/// The block size of a class.
pub(crate) const fn block_bytes(class: usize) -> usize {
    if class < 16 {
        (class + 1) * GRAIN_BYTES
    } else {
        let doubling = class / 8 + 2;
        ((1 << doubling) + (class % 8 + 1) * (1 << (doubling - 3))) * GRAIN_BYTES
    }
}

/// The class for a layout of non-zero size, or `None` when it needs a run of its own.
#[inline(always)]
pub(crate) fn class_for(layout: Layout) -> Option<usize> {
    let mask = layout.align() - 1;
    // A layout's size rounded up to its alignment never overflows `isize`.
    let size_bytes = (layout.size() + mask) & !mask;
    if size_bytes <= TABLE_BYTES {
        Some(SMALL_CLASS[size_bytes.div_ceil(GRAIN_BYTES)] as usize)
    } else if size_bytes <= MAX_SMALL_BYTES {
        Some(class_of(size_bytes))
    } else {
        None
    }
}

/// Slices in a page of this class: enough for at least eight blocks.
pub(crate) const fn page_slices(class: usize) -> usize {
    (block_bytes(class) * 8)
        .div_ceil(crate::arena::SLICE_BYTES)
        .next_power_of_two()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_rise_and_contain_their_sizes() {
        for size in 1..=MAX_SMALL_BYTES {
            let class = class_of(size);
            assert!(class < CLASS_COUNT);
            assert!(block_bytes(class) >= size);
            assert!(
                class == 0 || block_bytes(class - 1) < size,
                "class of {size} is not the least"
            );
        }
        assert_eq!(block_bytes(CLASS_COUNT - 1), MAX_SMALL_BYTES);
    }

    #[test]
    fn waste_is_bounded() {
        for size in 65..=MAX_SMALL_BYTES {
            let waste = block_bytes(class_of(size)) - size;
            assert!(waste * 8 <= size, "{size} wastes {waste}");
        }
    }

    #[test]
    fn alignment_divides_the_block_size() {
        for align in (0..=16).map(|k| 1usize << k) {
            for size in [
                1, 2, 7, 8, 9, 24, 40, 100, 130, 1000, 1025, 3000, 5000, 9000, 33_000, 65_536,
            ] {
                if let Some(class) = class_for(Layout::from_size_align(size, align).unwrap()) {
                    assert_eq!(block_bytes(class) % align, 0, "size {size} align {align}");
                    assert!(block_bytes(class) >= size);
                }
            }
        }
    }

    #[test]
    fn a_page_holds_at_least_eight_blocks() {
        for class in 0..CLASS_COUNT {
            let page = page_slices(class) * crate::arena::SLICE_BYTES;
            assert!(page / block_bytes(class) >= 8);
            assert!(page_slices(class) <= 8);
        }
    }
}
