//! Ten thousand threads that live and die: heaps are used again, so memory stays where it was.

mod common;

use common::block::{Block, blocks, free_all};
use common::rss_bytes;
use sleepy_alloc::{idle_start, purge_now, stats};
use std::sync::mpsc::sync_channel;
use std::thread;

const MIB: usize = 1 << 20;
const THREADS: usize = 10_000;
/// That are alive at once.
const AT_ONCE: usize = 16;

/// A life: blocks of its own, blocks from others, blocks for others.
fn life(nth: usize, inherited: Vec<Block>) -> Vec<Block> {
    let own = blocks(50, 16 + nth % 3000);
    if nth.is_multiple_of(5) {
        idle_start();
    }
    free_all(inherited);
    let left = blocks(20, 16 + nth % 700);
    free_all(own);
    if nth.is_multiple_of(7) {
        idle_start();
    }
    left
}

#[test]
fn ten_thousand_threads_leave_nothing() {
    let before = stats();
    let (send, receive) = sync_channel(AT_ONCE);
    for _ in 0..AT_ONCE {
        send.send(Vec::new()).unwrap();
    }
    let mut early_rss = 0;
    let mut threads = Vec::new();
    for nth in 0..THREADS {
        let inherited = receive.recv().unwrap();
        let send = send.clone();
        threads.push(thread::spawn(move || {
            // The receiver is gone when the last lives end.
            if let Err(unsent) = send.send(life(nth, inherited)) {
                free_all(unsent.0);
            }
        }));
        if threads.len() == AT_ONCE {
            for thread in threads.drain(..) {
                thread.join().unwrap();
            }
        }
        if nth == THREADS / 10 {
            purge_now();
            early_rss = rss_bytes();
        }
    }
    for thread in threads {
        thread.join().unwrap();
    }
    receive.try_iter().for_each(free_all);
    purge_now();
    let after = stats();
    assert_eq!(after.live_bytes, before.live_bytes);
    assert_eq!(after.abandoned_pages, before.abandoned_pages);
    assert!(
        after.committed_bytes <= before.committed_bytes + MIB as u64,
        "{} KiB are committed",
        after.committed_bytes / 1024
    );
    if cfg!(not(asan)) {
        let rss = rss_bytes();
        assert!(
            rss < early_rss + 4 * MIB,
            "{} KiB resident after {} threads, {} KiB after {THREADS}",
            early_rss / 1024,
            THREADS / 10,
            rss / 1024
        );
    }
}
