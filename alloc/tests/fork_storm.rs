//! A storm of forks while other threads allocate, free each other's blocks, park, are swept and end: every child finds
//! every lock free and every list whole.

mod common;

use common::block::{Block, blocks, free_all};
use common::child::{fork, wait};
use common::random::Random;
use sleepy_alloc::{Options, idle_end, idle_start, purge_now, stats};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;
use std::time::Duration;

static DONE: AtomicBool = AtomicBool::new(false);

fn is_done() -> bool {
    DONE.load(Ordering::Relaxed)
}

/// Makes blocks for the next thread and frees those of the one before it.
fn worker(seed: u64, from: &Receiver<Vec<Block>>, to: &SyncSender<Vec<Block>>) {
    let mut random = Random(seed);
    while !is_done() {
        let size = random.size();
        let made = blocks(1 + random.below(50), size);
        // A full channel: its reader is slow, or gone.
        if let Err(error) = to.try_send(made) {
            let (std::sync::mpsc::TrySendError::Full(made)
            | std::sync::mpsc::TrySendError::Disconnected(made)) = error;
            free_all(made);
        }
        if random.one_in(3) {
            idle_start();
        }
        from.try_iter().for_each(free_all);
        if random.one_in(2) {
            idle_end();
        }
    }
}

/// What each child does with a heap that may just have been in use by others: 0 if all is well.
fn child(seed: u64) -> i32 {
    let mut random = Random(seed);
    let mut held: Vec<Block> = Vec::new();
    for nth in 0..400 {
        held.push(Block::new(random.size(), nth as u8));
        if random.one_in(2) {
            let at = random.below(held.len());
            if !held.swap_remove(at).free_quietly() {
                return 1;
            }
        }
        if random.one_in(50) {
            idle_start();
        }
        if random.one_in(100) {
            purge_now();
        }
    }
    i32::from(!held.into_iter().all(Block::free_quietly))
}

#[test]
fn children_of_a_busy_process_work() {
    let quick = Options {
        purge_delay: Duration::from_millis(2),
        min_interval: Duration::from_millis(1),
        ..Options::default()
    };
    quick.install().unwrap();
    let before = stats();
    let count = 3;
    let (mut sends, receives): (Vec<_>, Vec<_>) = (0..count).map(|_| sync_channel(8)).unzip();
    sends.rotate_left(1);
    let mut threads: Vec<_> = receives
        .into_iter()
        .zip(sends)
        .zip(1..)
        .map(|((from, to), seed)| {
            thread::spawn(move || {
                worker(seed, &from, &to);
                drop(to);
                // Until the one before it has ended, too.
                from.iter().for_each(free_all);
            })
        })
        .collect();
    threads.push(thread::spawn(|| {
        while !is_done() {
            // Short lives, each with blocks that outlive it.
            let left = thread::spawn(|| blocks(100, 200)).join().unwrap();
            purge_now();
            free_all(left);
        }
    }));
    let rounds = std::env::var("SLEEPY_STORM_FORKS")
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(150);
    for round in 1..=rounds {
        let mine = blocks(50, 100 * (round as usize % 20 + 1));
        if round % 2 == 0 {
            idle_start();
        }
        let code = wait(fork(|| child(round)));
        assert_eq!(code, 0, "round {round}");
        free_all(mine);
    }
    DONE.store(true, Ordering::Relaxed);
    for thread in threads {
        thread.join().unwrap();
    }
    assert_eq!(stats().live_bytes, before.live_bytes);
}
