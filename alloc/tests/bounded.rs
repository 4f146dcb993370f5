//! Memory stays in proportion to what lives, however long a program goes on: threads that come and go while blocks pass
//! from hand to hand, sizes that change with the phases of a program, one thread that frees what others make.

mod common;

use common::block::{Block, blocks, free_all};
use common::random::Random;
use sleepy_alloc::{purge_now, stats};
use std::sync::mpsc::sync_channel;
use std::thread;

const MIB: u64 = 1 << 20;

/// What the allocator holds, given back or not: freed memory that nobody uses again counts, too.
fn held_bytes() -> u64 {
    stats().committed_bytes
}

/// Runs `round` many times; what it holds at the end of each must not grow after the first few.
fn stays_bounded(rounds: usize, slack: u64, mut round: impl FnMut(usize)) {
    let mut early = 0;
    for nth in 0..rounds {
        round(nth);
        if nth < rounds / 5 {
            early = early.max(held_bytes());
        }
    }
    let late = held_bytes();
    assert!(
        late <= early + early / 2 + slack,
        "{} KiB at most in the first {} rounds, {} KiB after {rounds}",
        early / 1024,
        rounds / 5,
        late / 1024
    );
}

/// Objects of mixed sizes that are replaced at random.
fn stir(table: &mut [Option<Block>], random: &mut Random, steps: usize) {
    for _ in 0..steps {
        let at = random.below(table.len());
        if let Some(old) = table[at].take() {
            old.free();
        }
        table[at] = Some(Block::new(random.size().min(5000), at as u8));
    }
}

#[test]
fn one_thread_after_the_other_stirs_what_the_last_one_left() {
    let _alone = common::alone();
    let mut shared: Vec<Option<Block>> = (0..2000).map(|_| None).collect();
    stays_bounded(60, 4 * MIB, |nth| {
        let mut table = std::mem::take(&mut shared);
        table = thread::spawn(move || {
            let mut random = Random(nth as u64 + 1);
            let mut own: Vec<Option<Block>> = (0..500).map(|_| None).collect();
            for _ in 0..5 {
                stir(&mut table, &mut random, 800);
                stir(&mut own, &mut random, 400);
            }
            free_all(own.into_iter().flatten());
            table
        })
        .join()
        .unwrap();
        // The main thread frees half of it, and makes none.
        for slot in table.iter_mut().step_by(2) {
            if let Some(block) = slot.take() {
                block.free();
            }
        }
        shared = table;
    });
    free_all(shared.into_iter().flatten());
}

#[test]
fn phases_of_other_sizes_use_the_memory_of_those_before() {
    let _alone = common::alone();
    let mut kept: Vec<Block> = Vec::new();
    stays_bounded(60, 8 * MIB, |nth| {
        let size = [40, 3000, 200, 30_000, 700, 120][nth % 6];
        let made = blocks(4_000_000 / size, size);
        // A few survive into the next phase but one.
        for (at, block) in made.into_iter().enumerate() {
            if at % 500 == 0 {
                kept.push(block);
            } else {
                block.free();
            }
        }
        if nth % 2 == 1 {
            free_all(kept.drain(..kept.len() / 2));
        }
        if nth % 3 == 0 {
            purge_now();
        }
    });
    free_all(kept);
}

#[test]
fn one_makes_and_one_frees_for_ever() {
    let _alone = common::alone();
    let (send, receive) = sync_channel::<Vec<Block>>(2);
    let consumer = thread::spawn(move || receive.into_iter().for_each(free_all));
    let mut random = Random(9);
    stays_bounded(300, 8 * MIB, |_| {
        let size = random.size().min(3000);
        send.send(blocks(300, size)).unwrap();
    });
    drop(send);
    consumer.join().unwrap();
    assert_eq!(stats().abandoned_pages, 0);
}

#[test]
fn two_threads_swap_all_they_have_again_and_again() {
    let _alone = common::alone();
    let (to_left, left) = sync_channel::<Vec<Block>>(1);
    let (to_right, right) = sync_channel::<Vec<Block>>(1);
    let other = thread::spawn(move || {
        for came in right {
            let size = came[0].size();
            free_all(came);
            to_left.send(blocks(1000, size)).unwrap();
        }
    });
    stays_bounded(200, 8 * MIB, |nth| {
        to_right.send(blocks(1000, 16 + nth % 40 * 16)).unwrap();
        free_all(left.recv().unwrap());
    });
    drop(to_right);
    other.join().unwrap();
}

#[test]
fn a_thread_that_only_frees_does_not_hoard_pages() {
    let _alone = common::alone();
    // It has something in this class, and could use the pages.
    let own = blocks(10, 64);
    stays_bounded(60, 4 * MIB, |_| {
        let made = thread::spawn(|| blocks(8000, 64)).join().unwrap();
        let (mine, theirs): (Vec<_>, Vec<_>) = (0..).zip(made).partition(|(nth, _)| nth % 400 == 0);
        free_all(mine.into_iter().map(|(_, block)| block));
        thread::spawn(|| free_all(theirs.into_iter().map(|(_, block)| block)))
            .join()
            .unwrap();
    });
    free_all(own);
}
