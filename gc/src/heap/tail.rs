//! An object of variable size: a length, a header, then elements.
//!
//! ```text
//! | len: u32 | cap: u32 | header: H | element 0 | element 1 | … | element len-1 | (room up to cap) |
//! ```

use std::cell::Cell;
use std::ptr::NonNull;

/// The fixed part of an object with a tail; the elements follow it in the same cell.
#[repr(C)]
pub struct Tail<H, T> {
    len: Cell<u32>,
    cap: u32,
    pub(crate) header: H,
    first: [T; 0],
}

impl<H, T> Tail<H, T> {
    /// Bytes of an object with room for `cap` elements; `None` where that exceeds what a tail may have.
    #[inline]
    pub(crate) fn bytes_for(cap: usize) -> Option<usize> {
        if cap > u32::MAX as usize {
            return None;
        }
        cap.checked_mul(size_of::<T>())?
            .checked_add(std::mem::offset_of!(Self, first))
            .filter(|&bytes| bytes <= isize::MAX as usize - (1 << 17))
            .map(|bytes| bytes.max(size_of::<Self>()))
    }

    /// How many elements fit in a cell of so many bytes.
    #[inline]
    pub(crate) fn cap_in(cell_bytes: usize) -> usize {
        let room = cell_bytes - std::mem::offset_of!(Self, first);
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
    /// `cell` is fresh, aligned for `Self`, and has room for `cap` elements.
    #[inline]
    pub(crate) unsafe fn init(cell: NonNull<u8>, cap: usize, header: H) -> NonNull<Self> {
        let tail = cell.cast::<Self>();
        #[allow(
            clippy::cast_possible_truncation,
            reason = "`bytes_for` has refused more"
        )]
        // SAFETY: the caller's contract.
        unsafe {
            tail.write(Self {
                len: Cell::new(0),
                cap: cap as u32,
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

    /// Elements that there is room for.
    #[inline]
    pub(crate) fn cap(&self) -> usize {
        self.cap as usize
    }

    /// Declares how many elements are initialised.
    ///
    /// # Safety
    ///
    /// `len <= cap`, and elements below `len` are initialised.
    #[inline]
    pub(crate) unsafe fn set_len(&self, len: usize) {
        debug_assert!(len <= self.cap());
        #[allow(
            clippy::cast_possible_truncation,
            reason = "at most `cap`, which is a u32"
        )]
        self.len.set(len as u32);
    }

    /// The place of element `index`, which need not be initialised but is at most `cap`.
    ///
    /// Takes the pointer and not a reference: the elements lie outside of what a reference to the fixed part covers.
    ///
    /// # Safety
    ///
    /// `this` is an initialised tail and `index` is at most its `cap`.
    #[inline]
    pub(crate) unsafe fn element(this: NonNull<Self>, index: usize) -> NonNull<T> {
        // SAFETY: the cell has room for `cap` elements behind the fixed part.
        unsafe {
            this.cast::<u8>()
                .add(std::mem::offset_of!(Self, first))
                .cast::<T>()
                .add(index)
        }
    }
}
