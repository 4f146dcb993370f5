//! `glibc-thread`: slots replaced at random, mostly by small blocks.

use crate::block::{get, put};
use crate::list::{Rounds, Size};
use crate::random::Random;
use std::io;
use std::ptr::null_mut;

const SLOTS: usize = 1024;
const STEPS: usize = 3_000_000;
const LEAST_BYTES: f64 = 4.0;
const MOST_BYTES: f64 = 32768.0;

/// A size whose odds fall with its square.
fn bytes(random: &mut Random) -> usize {
    let (low, high) = (1.0 / MOST_BYTES, 1.0 / LEAST_BYTES);
    (1.0 / (low + random.unit() * (high - low))) as usize
}

/// Each thread with its own slots.
pub fn glibc_thread(size: &Size) -> io::Result<Rounds> {
    let steps = size.each(STEPS);
    Ok(Rounds::copies(size, move |lane| {
        let mut random = Random::new(lane as u64);
        let mut slots = vec![(null_mut(), 0); SLOTS];
        for _ in 0..steps {
            let slot = &mut slots[random.below(SLOTS)];
            free(*slot);
            let bytes = bytes(&mut random);
            let block = get(bytes);
            // SAFETY: the block has that many bytes.
            unsafe { block.write_bytes(1, bytes) };
            *slot = (block, bytes);
        }
        slots.into_iter().for_each(free);
    }))
}

fn free((block, bytes): (*mut u8, usize)) {
    if !block.is_null() {
        // SAFETY: a live block of that size; its slot is overwritten or dropped.
        unsafe { put(block, bytes) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_of_the_sizes_are_below_twice_the_least() {
        let mut random = Random::new(1);
        let all: Vec<usize> = (0..10_000).map(|_| bytes(&mut random)).collect();
        assert!(all.iter().all(|b| (4..=32768).contains(b)));
        let small = all.iter().filter(|&&b| b < 8).count();
        assert!((4_800..5_200).contains(&small), "{small}");
    }
}
