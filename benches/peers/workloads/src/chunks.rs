//! `medium` and `big`: a lot of memory in larger objects.

use crate::block::{get_cleared, put};
use crate::list::{Rounds, Size};
use crate::random::Random;
use std::io;

const TOTAL_BYTES: usize = 256 << 20;

/// Objects of 1 to 8 KiB.
pub fn medium(size: &Size) -> io::Result<Rounds> {
    fill(size, 1 << 10, 8 << 10)
}

/// Objects of 8 to 128 KiB.
pub fn big(size: &Size) -> io::Result<Rounds> {
    fill(size, 8 << 10, 128 << 10)
}

fn fill(size: &Size, least_bytes: usize, most_bytes: usize) -> io::Result<Rounds> {
    let total = size.each(TOTAL_BYTES);
    Ok(Rounds::copies(size, move |lane| {
        let mut random = Random::new(lane as u64);
        let mut all = Vec::new();
        let mut sum = 0;
        while sum < total {
            let bytes = random.between(least_bytes, most_bytes);
            all.push((get_cleared(bytes), bytes));
            sum += bytes;
        }
        for (block, bytes) in all {
            // SAFETY: allocated above with that size.
            unsafe { put(block, bytes) };
        }
    }))
}
