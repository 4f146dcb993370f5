//! An object of variable size: a length, a header, then elements.
//!
//! ```text
//! | len: u32 | header: H | element 0 | element 1 | … | element len-1 | (room) |
//! ```

use std::cell::Cell;
use std::ptr::NonNull;

/// The fixed part of an object with a tail; the elements follow it in the same cell.
#[repr(C)]
pub struct Tail<H, T> {
    len: Cell<u32>,
    pub(crate) header: H,
    first: [T; 0],
}

impl<H, T> Tail<H, T> {
    /// Where the elements begin, in bytes.
    pub(crate) const FIRST: usize = std::mem::offset_of!(Self, first);

    /// Bytes of an object with room for `cap` elements; `None` where that exceeds what a tail may have.
    #[inline]
    pub(crate) fn bytes_for(cap: usize) -> Option<usize> {
        if cap > u32::MAX as usize {
            return None;
        }
        cap.checked_mul(size_of::<T>())?
            .checked_add(Self::FIRST)
            .filter(|&bytes| bytes <= isize::MAX as usize - (1 << 17))
            .map(|bytes| bytes.max(size_of::<Self>()))
    }

    /// How many elements fit in a cell of so many bytes.
    #[inline]
    pub(crate) fn cap_in(cell_bytes: usize) -> usize {
        let room = cell_bytes - Self::FIRST;
        if size_of::<T>() == 0 {
            u32::MAX as usize
        } else {
            (room / size_of::<T>()).min(u32::MAX as usize)
        }
    }

    /// Writes the fixed part, with no elements yet.
    ///
    /// # Safety
    ///
    /// `cell` is fresh, aligned for `Self`, and has room for it.
    #[inline]
    pub(crate) unsafe fn init(cell: NonNull<u8>, header: H) -> NonNull<Self> {
        let tail = cell.cast::<Self>();
        // SAFETY: the caller's contract.
        unsafe {
            tail.write(Self {
                len: Cell::new(0),
                header,
                first: [],
            });
        }
        tail
    }

    /// Elements that are initialised.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.len.get() as usize
    }

    /// Declares how many elements are initialised.
    ///
    /// # Safety
    ///
    /// The cell has room for `len` elements, and those are initialised.
    #[inline]
    pub(crate) unsafe fn set_len(&self, len: usize) {
        #[allow(
            clippy::cast_possible_truncation,
            reason = "`bytes_for` has refused more than a u32 counts"
        )]
        self.len.set(len as u32);
    }

    /// The place of element `index`, which need not be initialised.
    ///
    /// Takes the pointer and not a reference: the elements lie outside of what a reference to the fixed part covers.
    ///
    /// # Safety
    ///
    /// `this` is an initialised tail and `index` is at most the number of elements that its cell has room for.
    #[inline]
    pub(crate) unsafe fn element(this: NonNull<Self>, index: usize) -> NonNull<T> {
        // SAFETY: the element lies in the cell, or is its end.
        unsafe { this.cast::<u8>().add(Self::FIRST).cast::<T>().add(index) }
    }
}
