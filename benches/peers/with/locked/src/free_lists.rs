//! A list of free blocks for each size class, above a region that is cut up from its start.

use std::alloc::Layout;
use std::ptr;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Address space of the region.
const REGION_BYTES: usize = 8 << 30;
/// Blocks up to here differ by 16 bytes from class to class, larger ones by a factor of two.
const FINE_BYTES: usize = 1024;
const GRAIN_BYTES: usize = 16;
/// Larger blocks are the system's.
const MOST_BYTES: usize = 64 * 1024;
const FINE_CLASSES: usize = FINE_BYTES / GRAIN_BYTES;
const CLASSES: usize = FINE_CLASSES + 6;

/// Start of the region, 0 while there is none. Relaxed: whoever has a block of the region was given it by a thread that
/// had seen the region.
static START: AtomicUsize = AtomicUsize::new(0);

/// Whether a block lies in the region.
pub fn owns(block: *mut u8) -> bool {
    let start = START.load(Ordering::Relaxed);
    start != 0 && block.addr().wrapping_sub(start) < REGION_BYTES
}

/// A free block.
struct Node {
    next: *mut Node,
}

/// See the module's documentation. A process uses one of them, since there is one region.
pub struct FreeLists {
    lists: [*mut Node; CLASSES],
    /// What has not been cut up yet.
    rest: *mut u8,
    rest_bytes: usize,
}

// SAFETY: the blocks that it refers to are its own.
unsafe impl Send for FreeLists {}

impl FreeLists {
    /// Without a region.
    pub const fn new() -> Self {
        Self {
            lists: [ptr::null_mut(); CLASSES],
            rest: ptr::null_mut(),
            rest_bytes: 0,
        }
    }

    /// The class of a layout; `None` for what the system serves.
    #[inline]
    pub fn class(layout: Layout) -> Option<usize> {
        let bytes = layout.size();
        if layout.align() > GRAIN_BYTES || bytes > MOST_BYTES || bytes == 0 {
            None
        } else if bytes <= FINE_BYTES {
            Some((bytes - 1) / GRAIN_BYTES)
        } else {
            let doublings = bytes.next_power_of_two() / FINE_BYTES;
            Some(FINE_CLASSES - 1 + doublings.trailing_zeros() as usize)
        }
    }

    fn bytes(class: usize) -> usize {
        if class < FINE_CLASSES {
            (class + 1) * GRAIN_BYTES
        } else {
            FINE_BYTES << (class + 1 - FINE_CLASSES)
        }
    }

    /// A block of the class, of the alignment 16; null when the region is used up.
    #[inline]
    pub fn take(&mut self, class: usize) -> *mut u8 {
        let node = self.lists[class];
        if node.is_null() {
            return self.cut(Self::bytes(class));
        }
        // SAFETY: a listed block is free memory that `put` has written a node to.
        self.lists[class] = unsafe { (*node).next };
        node.cast()
    }

    #[cold]
    fn cut(&mut self, bytes: usize) -> *mut u8 {
        if self.rest.is_null() && !self.map() {
            return ptr::null_mut();
        }
        if self.rest_bytes < bytes {
            return ptr::null_mut();
        }
        let block = self.rest;
        // SAFETY: the rest has that many bytes.
        self.rest = unsafe { block.add(bytes) };
        self.rest_bytes -= bytes;
        block
    }

    fn map(&mut self) -> bool {
        // SAFETY: a new private mapping, at no fixed address, takes nothing away from anybody.
        let start = unsafe {
            libc::mmap(
                ptr::null_mut(),
                REGION_BYTES,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE,
                -1,
                0,
            )
        };
        if start == libc::MAP_FAILED {
            return false;
        }
        self.rest = start.cast();
        self.rest_bytes = REGION_BYTES;
        START.store(self.rest.addr(), Ordering::Relaxed);
        true
    }

    /// Takes a block back.
    ///
    /// # Safety
    /// - It came from [`FreeLists::take`] with this class.
    /// - Nobody uses it any more.
    #[inline]
    pub unsafe fn put(&mut self, block: *mut u8, class: usize) {
        let node: *mut Node = block.cast();
        // SAFETY: a block has 16 bytes at least and that alignment, and it is ours now.
        unsafe {
            node.write(Node {
                next: self.lists[class],
            });
        }
        self.lists[class] = node;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_class_holds_its_sizes() {
        for bytes in 1..=MOST_BYTES {
            let layout = Layout::from_size_align(bytes, 8).unwrap();
            let class = FreeLists::class(layout).unwrap();
            assert!(class < CLASSES);
            assert!(FreeLists::bytes(class) >= bytes);
            assert!(class == 0 || FreeLists::bytes(class - 1) < bytes);
        }
        let large = Layout::from_size_align(MOST_BYTES + 1, 8).unwrap();
        assert_eq!(FreeLists::class(large), None);
    }

    #[test]
    fn the_address_tells_whose_a_block_is() {
        // This process has the free lists as its allocator.
        let (small, large) = (Box::new([0u8; 48]), vec![0u8; 2 * MOST_BYTES]);
        assert!(owns(small.as_ptr().cast_mut()));
        assert!(!owns(large.as_ptr().cast_mut()));
    }
}
