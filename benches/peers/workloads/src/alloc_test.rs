//! `alloc-test`: many slots, a few of which are hit most of the time.

use crate::block::{get, put};
use crate::list::{Rounds, Size};
use crate::random::Random;
use std::hint::black_box;
use std::io;
use std::ptr::null_mut;

const SLOTS: usize = 1 << 18;
const STEPS: usize = 2_000_000;
const MOST_BYTES: usize = 1024;

/// A slot: of the first fifth of the range in four of five cases, and so on, six times over.
fn place(slots: usize, random: &mut Random) -> usize {
    let (mut start, mut len) = (0, slots);
    for _ in 0..6 {
        let fifth = (len / 5).max(1);
        if random.chance(80) || len == fifth {
            len = fifth;
        } else {
            start += fifth;
            len -= fifth;
        }
    }
    start + random.below(len)
}

/// A size: each doubling half as likely as the one before, up to 1 KiB.
fn bytes(random: &mut Random) -> usize {
    let doublings = random.bits().trailing_zeros().min(6);
    let least = 8usize << doublings;
    random.between(least, (2 * least).min(MOST_BYTES))
}

fn fill(random: &mut Random) -> (*mut u8, usize) {
    let bytes = bytes(random);
    let block = get(bytes);
    // SAFETY: the block has that many bytes.
    unsafe { block.write_bytes(7, bytes) };
    (block, bytes)
}

/// Empty slots are filled, full ones read and freed.
pub fn alloc_test(size: &Size) -> io::Result<Rounds> {
    let (slots, steps) = (size.each(SLOTS), size.each(STEPS));
    Ok(Rounds::copies(size, move |lane| {
        let mut random = Random::new(lane as u64);
        let mut all = vec![(null_mut(), 0); slots];
        for slot in all.iter_mut().step_by(2) {
            *slot = fill(&mut random);
        }
        for _ in 0..steps {
            let slot = &mut all[place(slots, &mut random)];
            if slot.0.is_null() {
                *slot = fill(&mut random);
            } else {
                empty(slot);
            }
        }
        for slot in all.iter_mut().filter(|slot| !slot.0.is_null()) {
            empty(slot);
        }
    }))
}

fn empty(slot: &mut (*mut u8, usize)) {
    let (block, bytes) = std::mem::replace(slot, (null_mut(), 0));
    // SAFETY: a live block of that size, which leaves its slot here.
    unsafe {
        let sum = std::slice::from_raw_parts(block, bytes)
            .iter()
            .fold(0u8, |sum, &b| sum.wrapping_add(b));
        black_box(sum);
        put(block, bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fifth_of_the_slots_gets_four_fifths_of_the_hits() {
        let mut random = Random::new(1);
        let hits = (0..10_000)
            .filter(|_| place(1000, &mut random) < 200)
            .count();
        assert!((7_800..8_200).contains(&hits), "{hits}");
    }

    #[test]
    fn sizes_are_small_and_bounded() {
        let mut random = Random::new(1);
        let all: Vec<usize> = (0..10_000).map(|_| bytes(&mut random)).collect();
        assert!(all.iter().all(|&b| (8..=MOST_BYTES).contains(&b)));
        assert!(all.iter().filter(|&&b| b <= 32).count() > 7000);
    }
}
