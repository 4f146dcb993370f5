//! Tables of a workload that the allocator under test never sees: mapped straight from the OS, populated from the
//! start, so that their size can be taken off every figure.

use std::io;
use std::ops::{Deref, DerefMut};

/// Types that are valid as zero bytes and need no destructor.
///
/// # Safety
/// All zero bytes must be a valid value.
pub unsafe trait Zeroable: Copy {}
// SAFETY: zero is a number.
unsafe impl Zeroable for u8 {}
// SAFETY: zero is a number.
unsafe impl Zeroable for u16 {}
// SAFETY: zero is a number.
unsafe impl Zeroable for u32 {}
// SAFETY: zero is a number.
unsafe impl Zeroable for u64 {}
// SAFETY: zero is a number.
unsafe impl Zeroable for usize {}
// SAFETY: null is a pointer.
unsafe impl<T> Zeroable for *mut T {}
// SAFETY: each part is zero.
unsafe impl<A: Zeroable, B: Zeroable> Zeroable for (A, B) {}

/// A slice of zeros in a mapping of its own; unmapped when dropped.
pub struct Mapped<T> {
    start: *mut T,
    len: usize,
    bytes: usize,
}

// SAFETY: the mapping belongs to this value alone, as a `Vec`'s buffer would.
unsafe impl<T: Send> Send for Mapped<T> {}
// SAFETY: shared access gives `&[T]` only.
unsafe impl<T: Sync> Sync for Mapped<T> {}

impl<T: Zeroable> Mapped<T> {
    /// A mapping of `len` zeros, all of it resident.
    ///
    /// # Errors
    /// Those of `mmap`.
    pub fn new(len: usize) -> io::Result<Self> {
        let bytes = (len * size_of::<T>()).next_multiple_of(4096).max(4096);
        // SAFETY: a new private mapping touches nothing that exists.
        let start = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                bytes,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_POPULATE,
                -1,
                0,
            )
        };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        Ok(Self {
            start: start.cast(),
            len,
            bytes,
        })
    }
}

impl<T> Mapped<T> {
    /// What the mapping takes of the resident memory.
    pub fn resident_bytes(&self) -> u64 {
        self.bytes as u64
    }
}

impl<T> Deref for Mapped<T> {
    type Target = [T];
    fn deref(&self) -> &[T] {
        // SAFETY: `len` valid values (zeros are, by `Zeroable`), borrowed with `self`.
        unsafe { std::slice::from_raw_parts(self.start, self.len) }
    }
}

impl<T> DerefMut for Mapped<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: as above, and `self` is borrowed mutably.
        unsafe { std::slice::from_raw_parts_mut(self.start, self.len) }
    }
}

impl<T> Drop for Mapped<T> {
    fn drop(&mut self) {
        // SAFETY: the mapping is ours, and nothing borrows it any more.
        unsafe { libc::munmap(self.start.cast(), self.bytes) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mapping_is_zero_and_writable() {
        let mut table = Mapped::<u32>::new(3000).unwrap();
        assert!(table.iter().all(|&x| x == 0));
        table[2999] = 7;
        assert_eq!(table[2999], 7);
        assert_eq!(table.resident_bytes(), 12288);
    }
}
