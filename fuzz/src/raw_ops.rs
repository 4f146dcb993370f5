//! Any bytes as a program of allocations by several threads.

use crate::raw_machine::{Op, Who};

/// A tape of bytes; 0 when it has run out.
struct Tape<'b>(std::slice::Iter<'b, u8>);

impl Tape<'_> {
    fn next(&mut self) -> usize {
        self.0.next().map_or(0, |&byte| usize::from(byte))
    }

    /// Sizes of all magnitudes up to 2 MiB, at the border of a class more often than not.
    fn size(&mut self) -> usize {
        let magnitude = self.next() % 22;
        let within = self.next();
        let size = (1usize << magnitude) + ((within >> 2) << magnitude >> 6);
        match within & 3 {
            0 => size + 1,
            1 => size - 1,
            _ => size,
        }
        .max(1)
    }

    /// Mostly fundamental, up to 2 MiB.
    fn align(&mut self) -> usize {
        match self.next() {
            byte @ 0..192 => 1 << (byte % 5),
            byte => 1 << (byte % 22),
        }
    }

    fn who(&mut self) -> Who {
        match self.next() {
            0..128 => Who::Me,
            128..248 => Who::Helper,
            _ => Who::Stranger,
        }
    }

    fn which(&mut self) -> usize {
        self.next() << 8 | self.next()
    }
}

/// The program that the bytes stand for.
pub fn decode(bytes: &[u8]) -> Vec<Op> {
    let mut tape = Tape(bytes.iter());
    let mut ops = Vec::new();
    while let Some(&op) = tape.0.next() {
        ops.push(match op % 20 {
            0..6 => Op::Alloc {
                zeroed: op & 128 != 0,
                size: tape.size(),
                align: tape.align(),
                who: tape.who(),
            },
            6 | 7 => {
                let size = tape.size();
                let count = (1 + tape.next() * 2).min(1 + 1_000_000 / size);
                let who = tape.who();
                Op::AllocMany { size, count, who }
            }
            8..11 => Op::Free {
                which: tape.which(),
                who: tape.who(),
            },
            11 | 12 => Op::FreeMany {
                which: tape.which(),
                step: 1 + tape.next() % 8,
                who: tape.who(),
            },
            13..16 => Op::Resize {
                which: tape.which(),
                size: tape.size(),
                align: tape.align(),
                who: tape.who(),
            },
            16 => Op::Park(tape.who()),
            17 => Op::Unpark(tape.who()),
            18 => Op::Purge,
            _ if op < 128 => Op::HelperEnds,
            _ => Op::CheckAll,
        });
    }
    ops
}
