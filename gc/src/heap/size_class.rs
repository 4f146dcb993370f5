//! Cell sizes for objects of variable size. Pure.

/// The largest cell that shares a page with others; beyond it an object has a run of slices to itself.
pub(crate) const MAX_SHARED_BYTES: usize = 16 * 1024;

/// The class of objects whose size their type fixes.
pub(crate) const FIXED: usize = 0;

/// The class of objects with a page of their own.
pub(crate) const LARGE: usize = 127;

/// The class of an object of `bytes`, which is from 1 to [`MAX_SHARED_BYTES`]: steps of 8 bytes up to 128, then eight
/// steps to each doubling, so at most an eighth of a cell is wasted.
#[inline]
pub(crate) fn class_of(bytes: usize) -> usize {
    debug_assert!(0 < bytes && bytes <= MAX_SHARED_BYTES);
    if bytes <= 128 {
        return bytes.div_ceil(8);
    }
    let last = bytes - 1;
    let exponent = last.ilog2() as usize;
    17 + (exponent - 7) * 8 + ((last >> (exponent - 3)) & 7)
}

/// The cell size of a class.
#[inline]
pub(crate) fn bytes_of(class: usize) -> usize {
    if class <= 16 {
        return class * 8;
    }
    let (octave, step) = ((class - 17) / 8, (class - 17) % 8);
    (9 + step) << (octave + 4)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_class_holds_its_objects_and_wastes_an_eighth_at_most() {
        for bytes in 1..=MAX_SHARED_BYTES {
            let cell_bytes = bytes_of(class_of(bytes));
            assert!(cell_bytes >= bytes, "{bytes} in {cell_bytes}");
            assert!(
                cell_bytes - bytes <= (bytes / 8).max(7),
                "{bytes} in {cell_bytes}"
            );
            assert_eq!(class_of(cell_bytes), class_of(bytes));
            assert!(class_of(bytes) < LARGE);
        }
    }

    #[test]
    fn cells_keep_the_alignment_of_sizes_that_have_it() {
        for align in [16, 32, 64, 128, 256, 1024, 4096] {
            for bytes in (align..=MAX_SHARED_BYTES).step_by(align) {
                assert_eq!(
                    bytes_of(class_of(bytes)) % align,
                    0,
                    "{bytes} aligned to {align}"
                );
            }
        }
    }
}
