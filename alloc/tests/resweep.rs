//! A thread that stays parked while others free into its pages gets them swept again: memory comes back without the
//! owner doing anything.

#![cfg(not(asan))]

mod common;

use common::block::{Block, blocks, free_all, thin_out};
use common::{rss_bytes, scavenger_sleeps, within};
use sleepy_alloc::{idle_end, idle_start, stats};
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

const MIB: usize = 1 << 20;

#[test]
fn what_others_free_comes_back_while_the_owner_sleeps() {
    let before = rss_bytes();
    let (send, receive) = channel();
    let (end, ended) = channel::<()>();
    let owner = thread::spawn(move || {
        // 64 MB; and a first half freed by the owner, so that its park lends something.
        let made = blocks(16_000, 4000);
        send.send(thin_out(made, 2)).unwrap();
        idle_start();
        ended.recv().unwrap();
        idle_end();
        // It goes on as if nothing had been.
        let made = blocks(3000, 4000);
        made.iter().for_each(Block::check);
        free_all(made);
    });
    let mut left = receive.recv().unwrap();
    // In portions, with time between them for the scavenger to fall asleep. Three quarters of what is left go each time.
    for portion in 0..3 {
        left = thin_out(left, 4);
        let live: usize = left.iter().map(Block::size).sum();
        // An OS page at each end of a block, and what there was.
        let goal = before + live * 3 + 6 * MIB;
        assert!(
            within(common::PATIENCE, || rss_bytes() < goal),
            "portion {portion}: {} MiB resident, {} MiB live",
            (rss_bytes() - before) / MIB,
            live / MIB
        );
        left.iter().for_each(Block::check);
        // Then all is quiet again.
        assert!(
            within(common::PATIENCE, || {
                let sleeps = scavenger_sleeps();
                thread::sleep(Duration::from_millis(300));
                sleeps == scavenger_sleeps()
            }),
            "portion {portion}: the scavenger does not rest"
        );
    }
    end.send(()).unwrap();
    owner.join().unwrap();
    free_all(left);
    assert_eq!(stats().live_bytes, 0);
    assert_eq!(stats().abandoned_pages, 0);
}
