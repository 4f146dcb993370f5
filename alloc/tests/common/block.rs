//! Blocks of the process-wide allocator that know what they hold.

use sleepy_alloc::raw;
use std::alloc::Layout;

/// A block of [`raw::alloc`], filled with a pattern of its own. Dropping it leaks it: [`Block::free`] checks and frees.
#[derive(Debug)]
pub struct Block {
    start: *mut u8,
    size: usize,
    seed: u8,
}

// SAFETY: whoever has the block may use its memory, and free it.
unsafe impl Send for Block {}

impl Block {
    /// A block of `size` bytes, or `None` when there is no memory.
    pub fn try_new(size: usize, align: usize, seed: u8) -> Option<Self> {
        let layout = Layout::from_size_align(size, align).ok()?;
        let start = raw::alloc(layout);
        if start.is_null() {
            return None;
        }
        assert!(start.addr().is_multiple_of(align), "{layout:?}");
        let block = Self { start, size, seed };
        block.fill();
        Some(block)
    }

    /// A block of `size` bytes.
    pub fn new(size: usize, seed: u8) -> Self {
        Self::try_new(size, 8, seed).expect("there is memory")
    }

    pub fn address(&self) -> usize {
        self.start.addr()
    }

    pub fn size(&self) -> usize {
        self.size
    }

    /// Bytes that it really takes.
    pub fn usable_bytes(&self) -> usize {
        // SAFETY: the block is live.
        unsafe { raw::usable_bytes(self.start) }
    }

    /// The places that are written and checked: all of a small block, some of a large one, its last one always.
    fn places(&self) -> impl Iterator<Item = usize> + use<> {
        let step = if self.size > 4096 { 509 } else { 1 };
        (0..self.size).step_by(step).chain(self.size.checked_sub(1))
    }

    fn pattern(&self, at: usize) -> u8 {
        (self.seed ^ at as u8 ^ (self.size as u8).rotate_left(3)) | 1
    }

    fn fill(&self) {
        for at in self.places() {
            // SAFETY: inside the block, which is this one's own.
            unsafe { self.start.add(at).write(self.pattern(at)) };
        }
    }

    /// Whether the block still holds what was written. Never panics, allocates or frees.
    pub fn is_whole(&self) -> bool {
        self.places()
            // SAFETY: as in `fill`.
            .all(|at| unsafe { self.start.add(at).read() } == self.pattern(at))
    }

    pub fn check(&self) {
        assert!(self.is_whole(), "{self:?} was overwritten");
    }

    /// Changes the size.
    pub fn resize(&mut self, size: usize) {
        self.check();
        let layout = Layout::from_size_align(size, 8).unwrap();
        // SAFETY: the block is live, and replaced by the result.
        let start = unsafe { raw::realloc(self.start, layout) };
        assert!(!start.is_null());
        let old = Self {
            start,
            size: self.size,
            seed: self.seed,
        };
        for at in old.places().filter(|&at| at < size.min(old.size)) {
            // SAFETY: inside the new block, where the old one's contents were kept.
            let found = unsafe { start.add(at).read() };
            assert_eq!(found, old.pattern(at), "byte {at} of {old:?} for {size}");
        }
        (self.start, self.size) = (start, size);
        self.fill();
    }

    /// Frees the block; false if it was not whole.
    pub fn free_quietly(self) -> bool {
        let is_whole = self.is_whole();
        // SAFETY: the block is live, and gone after this.
        unsafe { raw::free(self.start) };
        is_whole
    }

    pub fn free(self) {
        self.check();
        // SAFETY: as in `free_quietly`.
        unsafe { raw::free(self.start) };
    }
}

/// `count` blocks of `size` bytes.
pub fn blocks(count: usize, size: usize) -> Vec<Block> {
    (0..count).map(|nth| Block::new(size, nth as u8)).collect()
}

/// Frees all but every `keep`-th block; those that stay.
pub fn thin_out(blocks: Vec<Block>, keep: usize) -> Vec<Block> {
    let mut kept = Vec::with_capacity(blocks.len() / keep + 1);
    for (nth, block) in blocks.into_iter().enumerate() {
        if nth % keep == 0 {
            kept.push(block);
        } else {
            block.free();
        }
    }
    kept
}

pub fn free_all(blocks: impl IntoIterator<Item = Block>) {
    blocks.into_iter().for_each(Block::free);
}
