//! What a turn does with memory.

use crate::mix::Block;
use clap::ValueEnum;

/// Size of the buffers.
const BUFFER_BYTES: u32 = 16 * 1024;
/// Buffers that a shrinking program holds at its start: 8 MiB.
const BUFFERS: u32 = 512;

/// What each turn does with memory.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum MemoryWork {
    /// Nothing.
    None,
    /// Allocates a buffer and a few small objects and frees them.
    Churn,
    /// Frees one of the buffers that were there at the start.
    Shrink,
}

/// The memory of a program, turn by turn.
pub struct Memory {
    work: MemoryWork,
    buffers: Vec<Block>,
    /// Turns between two buffers that are freed.
    every: u32,
}

impl Memory {
    /// For a program that makes so many turns.
    pub fn new(work: MemoryWork, turns: u32) -> Self {
        let buffers = if work == MemoryWork::Shrink {
            BUFFERS
        } else {
            0
        };
        Self {
            work,
            buffers: (0..buffers).map(|n| Block::new(BUFFER_BYTES, n)).collect(),
            every: turns.div_ceil(BUFFERS).max(1),
        }
    }

    /// Does what a turn does.
    pub fn turn(&mut self, turn: u32) {
        match self.work {
            MemoryWork::None => {}
            MemoryWork::Churn => churn(turn),
            MemoryWork::Shrink => {
                if turn.is_multiple_of(self.every)
                    && let Some(mut buffer) = self.buffers.pop()
                {
                    buffer.free();
                }
            }
        }
    }
}

/// A buffer and a few small objects, made and freed.
pub fn churn(mark: u32) {
    let mut blocks = [Block::NONE; 9];
    for (block, bytes) in blocks
        .iter_mut()
        .zip([BUFFER_BYTES, 24, 32, 48, 64, 96, 128, 256, 512])
    {
        *block = Block::new(bytes, mark);
    }
    for block in &mut blocks {
        block.free();
    }
}
