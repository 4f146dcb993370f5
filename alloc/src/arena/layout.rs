//! Where everything lies in the information area of an arena, counted from the start of the mapping.
//!
//! ```text
//! 0             128 KiB         192 KiB              HEAD_AT                               FIRST slices
//! | slice words | bitmaps, rest | ...     <- unit words | header | page descriptors -> ... | blocks …
//! ```
//!
//! Tables that are written by a program with a handful of blocks meet on one OS page, at [`HEAD_AT`]: the header, the
//! unit words of the first slices (which go downwards from it) and their descriptors (which go upwards). So such a
//! program pays one page fault for all of them. What is touched by frees and by collectors only lies apart.
#![forbid(unsafe_code)]

use super::{Arena, Rest, SLICE_BYTES};
use crate::page::Page;
use crate::units::UnitWord;
use core::sync::atomic::AtomicPtr;

/// Bytes of the largest arena; all start at a multiple of it.
pub(super) const ARENA_BYTES: usize = 1 << 30;
/// Slices of the largest arena.
pub(super) const MAX_SLICES: usize = ARENA_BYTES / SLICE_BYTES;
/// The first slice that holds blocks.
pub(super) const FIRST: usize = 37;

const SLICE_WORD_BYTES: usize = size_of::<AtomicPtr<()>>();
const UNIT_WORD_BYTES: usize = size_of::<UnitWord>();
const PAGE_BYTES: usize = size_of::<Page>();

/// Where the collectors' words end and what is touched by frees only begins.
pub(super) const REST_AT: usize = MAX_SLICES * SLICE_WORD_BYTES;
/// The OS page that a small program touches.
const HEAD_AT: usize = 5 * SLICE_BYTES;
/// Unit words on the page of the header.
const UNIT_WORDS_BESIDE: usize = 32;
/// Where the header lies, behind them.
pub(super) const ARENA_AT: usize = HEAD_AT + UNIT_WORDS_BESIDE * UNIT_WORD_BYTES;
/// The descriptor of slice [`FIRST`].
const PAGES_AT: usize = (ARENA_AT + size_of::<Arena>()).next_multiple_of(align_of::<Page>());
/// Where the descriptor of slice 0 would lie, if it had one.
const PAGE_ZERO_AT: usize = PAGES_AT - FIRST * PAGE_BYTES;
/// Where the unit word of slice 0 would lie, if it had one.
const UNIT_WORD_ZERO_AT: usize = ARENA_AT - UNIT_WORD_BYTES + FIRST * UNIT_WORD_BYTES;

const _: () = {
    let slices = MAX_SLICES - FIRST;
    assert!(PAGES_AT + slices * PAGE_BYTES <= FIRST * SLICE_BYTES);
    assert!(REST_AT + size_of::<Rest>() <= ARENA_AT - slices * UNIT_WORD_BYTES);
    // Descriptors of eight slices, at least, beside the header.
    assert!(PAGES_AT + 8 * PAGE_BYTES <= HEAD_AT + 4096);
    assert!(
        ARENA_AT.is_multiple_of(align_of::<Arena>()) && REST_AT.is_multiple_of(align_of::<Rest>())
    );
};

/// The collector's word of a slice.
#[inline(always)]
pub(super) const fn slice_word(index: usize) -> usize {
    index * SLICE_WORD_BYTES
}

/// The unit word of a data slice.
#[inline(always)]
pub(super) const fn unit_word(index: usize) -> usize {
    UNIT_WORD_ZERO_AT - index * UNIT_WORD_BYTES
}

/// The descriptor of a data slice.
#[inline(always)]
pub(super) const fn page(index: usize) -> usize {
    PAGE_ZERO_AT + index * PAGE_BYTES
}

/// The data slice whose descriptor lies here.
#[inline(always)]
pub(super) const fn page_index(offset: usize) -> usize {
    (offset - PAGE_ZERO_AT) / PAGE_BYTES
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_do_not_meet() {
        let last = MAX_SLICES - 1;
        assert!(slice_word(last) + SLICE_WORD_BYTES <= REST_AT);
        assert!(REST_AT + size_of::<Rest>() <= unit_word(last));
        assert_eq!(unit_word(FIRST) + UNIT_WORD_BYTES, ARENA_AT);
        assert!(ARENA_AT + size_of::<Arena>() <= page(FIRST));
        assert!(page(last) + PAGE_BYTES <= FIRST * SLICE_BYTES);
    }

    #[test]
    fn the_tables_of_a_small_program_share_an_os_page() {
        let os_page = |offset: usize| offset / 4096;
        for slice in FIRST..FIRST + 8 {
            assert_eq!(os_page(unit_word(slice)), os_page(ARENA_AT));
            assert_eq!(os_page(page(slice)), os_page(ARENA_AT));
        }
    }

    #[test]
    fn a_descriptor_knows_its_slice() {
        for slice in [FIRST, FIRST + 1, MAX_SLICES - 1] {
            assert_eq!(page_index(page(slice)), slice);
        }
    }
}
