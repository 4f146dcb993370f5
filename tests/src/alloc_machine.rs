//! Allocations on several heaps, each block filled with a pattern of its own that is checked before it is freed.

use std::{alloc::Layout, ptr::NonNull, thread};

use allocator_api2::alloc::Allocator;
use sleepy_alloc::Heap;

/// How many heaps there are.
const HEAPS: usize = 3;
/// How many blocks can be alive.
const BLOCKS: usize = 256;

/// One step of a program.
#[derive(Clone, Copy, Debug)]
pub enum AllocOp {
    /// A new block in a place; what was there is freed.
    Alloc {
        /// The block's place.
        at: usize,
        /// Which heap.
        heap: usize,
        /// Bytes.
        bytes: usize,
        /// A power of two.
        align: usize,
        /// Whether the memory must be zero.
        zeroed: bool,
    },
    /// Frees a block.
    Free {
        /// Its place.
        at: usize,
    },
    /// Makes a block larger or smaller.
    Resize {
        /// Its place.
        at: usize,
        /// Bytes.
        bytes: usize,
    },
    /// Moves a heap to another thread, which frees some of its blocks, and back.
    FreeElsewhere {
        /// Which heap.
        heap: usize,
        /// The first place.
        at: usize,
        /// How many.
        count: usize,
    },
    /// Lends a heap and takes it back.
    Park {
        /// Which heap.
        heap: usize,
        /// Whether the guard is forgotten.
        forget: bool,
    },
    /// Gives free memory back to the system.
    Purge,
    /// Checks all blocks.
    Check,
}

struct Block {
    ptr: NonNull<u8>,
    layout: Layout,
    heap: usize,
    seed: u8,
}

// SAFETY: whoever has the block may use its memory; its heap goes with it.
unsafe impl Send for Block {}

impl Block {
    fn pattern(&self, at: usize) -> u8 {
        self.seed.wrapping_add((at / 7) as u8) ^ (at as u8)
    }

    /// The places of a block that are written and checked: all of a small one, some of a large one.
    fn places(&self, bytes: usize) -> impl Iterator<Item = usize> + use<> {
        let step = if bytes > 4096 { 509 } else { 1 };
        (0..bytes).step_by(step).chain(bytes.checked_sub(1))
    }

    fn fill(&self) {
        for at in self.places(self.layout.size()) {
            // SAFETY: the place is in the block, which is ours.
            unsafe { self.ptr.add(at).write(self.pattern(at)) };
        }
    }

    fn check(&self, bytes: usize) {
        for at in self.places(bytes) {
            // SAFETY: the place is in the block, which is ours and was filled.
            let found = unsafe { self.ptr.add(at).read() };
            assert_eq!(found, self.pattern(at), "byte {at} of {:?}", self.layout);
        }
    }
}

fn present(heap: &Option<Heap>) -> &Heap {
    heap.as_ref().expect("it is not away")
}

fn free(heap: &Option<Heap>, block: &Block) {
    block.check(block.layout.size());
    // SAFETY: the block is of this heap and this layout.
    unsafe { present(heap).deallocate(block.ptr, block.layout) };
}

/// Heaps and what is allocated in them.
pub struct AllocMachine {
    /// A heap is absent only while it is away on another thread.
    heaps: [Option<Heap>; HEAPS],
    blocks: Vec<Option<Block>>,
    seed: u8,
}

impl Default for AllocMachine {
    fn default() -> Self {
        Self::new()
    }
}

impl AllocMachine {
    /// Empty heaps.
    ///
    /// # Panics
    /// If there is no memory.
    pub fn new() -> Self {
        Self {
            heaps: std::array::from_fn(|_| Some(Heap::new().expect("there is memory"))),
            blocks: (0..BLOCKS).map(|_| None).collect(),
            seed: 0,
        }
    }

    fn free(&mut self, at: usize) {
        if let Some(block) = self.blocks[at].take() {
            free(&self.heaps[block.heap], &block);
        }
    }

    /// Runs a step.
    ///
    /// # Panics
    /// If a block is not what it was filled with.
    pub fn run(&mut self, op: &AllocOp) {
        match *op {
            AllocOp::Alloc {
                at,
                heap,
                bytes,
                align,
                zeroed,
            } => {
                self.free(at);
                let layout = Layout::from_size_align(bytes, align).expect("it is a layout");
                let heap_ref = present(&self.heaps[heap]);
                let got = if zeroed {
                    heap_ref.allocate_zeroed(layout)
                } else {
                    heap_ref.allocate(layout)
                };
                let Ok(ptr) = got else { return };
                let ptr = ptr.cast::<u8>();
                assert_eq!(ptr.addr().get() % align, 0);
                self.seed = self.seed.wrapping_add(1);
                let block = Block {
                    ptr,
                    layout,
                    heap,
                    seed: self.seed,
                };
                if zeroed {
                    for at in block.places(bytes) {
                        // SAFETY: the place is in the block, which is ours and initialised.
                        assert_eq!(unsafe { ptr.add(at).read() }, 0);
                    }
                }
                block.fill();
                self.blocks[at] = Some(block);
            }
            AllocOp::Free { at } => self.free(at),
            AllocOp::Resize { at, bytes } => {
                let Some(block) = &mut self.blocks[at] else {
                    return;
                };
                let (old, heap) = (block.layout, present(&self.heaps[block.heap]));
                let new = Layout::from_size_align(bytes, old.align()).expect("it is a layout");
                // SAFETY: the block is of this heap and this layout; the new one is on its right side of the old one.
                let got = unsafe {
                    if bytes >= old.size() {
                        heap.grow(block.ptr, old, new)
                    } else {
                        heap.shrink(block.ptr, old, new)
                    }
                };
                let Ok(ptr) = got else { return };
                block.ptr = ptr.cast();
                block.layout = new;
                // What both sizes have in common was kept; the last place of a size is one of its own.
                let common = old.size().min(bytes);
                for at in block.places(common).filter(|at| *at + 1 < common) {
                    // SAFETY: the place is in the block, which is ours.
                    let found = unsafe { block.ptr.add(at).read() };
                    assert!(found == block.pattern(at) || old.size() > 4096 || bytes > 4096);
                }
                block.fill();
            }
            AllocOp::FreeElsewhere { heap, at, count } => {
                let taken = |block: &Block| block.heap == heap;
                let blocks: Vec<Block> = (at..at + count)
                    .filter_map(|at| self.blocks[at % BLOCKS].take_if(|block| taken(block)))
                    .collect();
                let moved = self.heaps[heap].take();
                let visit = thread::spawn(move || {
                    for block in blocks {
                        free(&moved, &block);
                    }
                    moved
                });
                self.heaps[heap] = visit.join().expect("the blocks are whole");
            }
            AllocOp::Park { heap, forget } => {
                let parked = present(&self.heaps[heap]).park();
                if forget {
                    std::mem::forget(parked);
                }
            }
            AllocOp::Purge => {
                sleepy_alloc::purge_now();
            }
            AllocOp::Check => {
                for block in self.blocks.iter().flatten() {
                    block.check(block.layout.size());
                }
            }
        }
    }

    /// Checks and frees everything.
    ///
    /// # Panics
    /// If memory is still counted as used.
    pub fn finish(mut self) {
        for at in 0..BLOCKS {
            self.free(at);
        }
        for heap in &self.heaps {
            assert_eq!(present(heap).live_bytes(), 0);
        }
    }
}

/// The program that the bytes stand for.
pub fn decode(bytes: &[u8]) -> Vec<AllocOp> {
    let mut tape = bytes.iter().map(|byte| usize::from(*byte));
    let mut ops = Vec::new();
    while let Some(op) = tape.next() {
        let mut next = || tape.next().unwrap_or(0);
        let at = next() % BLOCKS;
        ops.push(match op % 16 {
            0..8 => {
                // Sizes of all magnitudes, up to some MiB.
                let magnitude = next() % 22;
                let bytes = (1 << magnitude >> 1) + next() * (1 << magnitude) / 256;
                AllocOp::Alloc {
                    at,
                    heap: next() % HEAPS,
                    bytes,
                    align: 1 << (next() % 13),
                    zeroed: op % 2 == 0,
                }
            }
            8..11 => AllocOp::Free { at },
            11 | 12 => {
                let magnitude = next() % 20;
                AllocOp::Resize {
                    at,
                    bytes: (1 << magnitude >> 1) + next() * (1 << magnitude) / 256,
                }
            }
            13 => AllocOp::Park {
                heap: next() % HEAPS,
                forget: next() % 4 == 0,
            },
            14 if next() % 16 == 0 => AllocOp::FreeElsewhere {
                heap: next() % HEAPS,
                at,
                count: next() % 64,
            },
            14 => AllocOp::Check,
            _ => AllocOp::Purge,
        });
    }
    ops
}
