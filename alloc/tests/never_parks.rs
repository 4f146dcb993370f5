//! A program that knows nothing of hand-offs gets its memory back all the same, once enough of it lies free: whether it
//! sleeps, works on or lets its threads end.

#![cfg(not(asan))]

mod common;

use common::block::{Block, blocks, free_all, thin_out};
use common::{rss_bytes, scavenger_sleeps, within};
use std::thread;

const MIB: usize = 1 << 20;

fn comes_down(to: usize, what: &str) {
    assert!(
        within(common::PATIENCE, || rss_bytes() < to),
        "{what}: {} MiB over",
        rss_bytes().saturating_sub(to) / MIB
    );
}

#[test]
fn free_memory_comes_back_by_itself() {
    free_all(blocks(10, 4000));
    let before = rss_bytes();
    assert!(scavenger_sleeps().is_none(), "it starts when it is needed");
    // Little free memory starts nobody.
    free_all(blocks(700, 4000));
    assert!(scavenger_sleeps().is_none(), "3 MB start nobody");

    free_all(blocks(16_000, 4000));
    comes_down(before + 10 * MIB, "all freed, and asleep");
    assert!(scavenger_sleeps().is_some());

    let made: Vec<Block> = blocks(60, 1 << 20);
    assert!(made.iter().all(Block::is_whole));
    free_all(made);
    comes_down(before + 10 * MIB, "large blocks");

    let left = thread::spawn(|| blocks(16_000, 4000)).join().unwrap();
    thread::spawn(|| free_all(left)).join().unwrap();
    comes_down(before + 10 * MIB, "threads that have ended");

    // Holes, by a thread that works on in another class and never parks.
    let kept = thin_out(blocks(16_000, 4000), 16);
    let is_back = within(common::PATIENCE, || {
        for _ in 0..200 {
            free_all(blocks(400, 600));
        }
        rss_bytes() < before + 16 * MIB
    });
    assert!(is_back, "{} MiB", (rss_bytes() - before) / MIB);
    kept.iter().for_each(Block::check);
    free_all(kept);
}
