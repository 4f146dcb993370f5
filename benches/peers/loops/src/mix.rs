//! Sizes of blocks, and blocks that know their number.

use peers_common::mapped::Zeroable;
use rand::Rng;
use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::ptr;

/// A size of the mix: half 16–64 bytes, 35 % 80–192, the rest 224–512; 123 bytes on average.
pub fn size_bytes(rng: &mut impl Rng) -> u32 {
    match rng.random_range(0..100) {
        0..50 => 16 * rng.random_range(1..=4),
        50..85 => 16 * rng.random_range(5..=12),
        _ => 16 * rng.random_range(14..=32),
    }
}

/// A block of the allocator that is measured, or none.
#[derive(Clone, Copy)]
pub struct Block {
    at: *mut u8,
    bytes: u32,
}

// SAFETY: all zeros are a null pointer and no size: no block.
unsafe impl Zeroable for Block {}

// SAFETY: a block is used by whoever has it, like a box.
unsafe impl Send for Block {}

impl Block {
    /// No block.
    pub const NONE: Self = Self {
        at: ptr::null_mut(),
        bytes: 0,
    };

    /// A new block, each byte of it written, with `mark` in its first four bytes. Holds 16 bytes at least.
    pub fn new(bytes: u32, mark: u32) -> Self {
        let bytes = bytes.max(16);
        let layout = Self::layout(bytes);
        // SAFETY: the size is not zero.
        let at = unsafe { alloc(layout) };
        if at.is_null() {
            handle_alloc_error(layout);
        }
        // SAFETY: the block has that many bytes, 16 or more, and the alignment of 16.
        unsafe {
            at.write_bytes(0x5a, bytes as usize);
            at.cast::<u32>().write(mark);
        }
        Self { at, bytes }
    }

    fn layout(bytes: u32) -> Layout {
        Layout::from_size_align(bytes as usize, 16).expect("16 is a power of two")
    }

    /// Whether there is a block.
    pub fn is_some(&self) -> bool {
        !self.at.is_null()
    }

    /// Bytes asked for.
    pub fn bytes(&self) -> u64 {
        u64::from(self.bytes)
    }

    /// Whether first and last bytes are what [`Block::new`] wrote.
    pub fn holds(&self, mark: u32) -> bool {
        if !self.is_some() {
            return false;
        }
        // SAFETY: the block is alive: `free` has not been called on it, or it would be NONE.
        unsafe {
            self.at.cast::<u32>().read() == mark
                && self.at.add(self.bytes as usize - 1).read() == 0x5a
        }
    }

    /// Frees the block, if there is one.
    pub fn free(&mut self) {
        if self.is_some() {
            // SAFETY: it came from `alloc` with this layout, and is forgotten at once.
            unsafe { dealloc(self.at, Self::layout(self.bytes)) };
            *self = Self::NONE;
        }
    }
}
