//! Work of a known length.

use std::hint::black_box;
use std::time::Instant;

/// A chain of multiplications, each of which needs the result of the one before.
pub struct Chain(u64);

impl Chain {
    /// A chain of its own for each `seed`.
    pub fn new(seed: u64) -> Self {
        Self(seed | 1)
    }

    /// Adds so many links.
    #[inline(always)]
    pub fn run(&mut self, links: u64) {
        for _ in 0..links {
            self.0 = black_box(self.0.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 1);
        }
    }
}

/// Links of the calibration.
const LINKS: u64 = 200_000;

/// How many links take `ns`, on this machine when nobody else runs: the fastest of many tries tells.
pub fn links_in(ns: u64) -> u64 {
    let mut chain = Chain::new(3);
    let fastest = (0..50).map(|_| {
        let start = Instant::now();
        chain.run(LINKS);
        start.elapsed().as_nanos() as u64
    });
    let fastest_ns = fastest.min().unwrap_or(1).max(1);
    (ns * LINKS / fastest_ns).max(1)
}
