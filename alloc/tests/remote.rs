//! Blocks freed by other threads than those that made them: nothing is lost, and the figures are exact.

mod common;

use common::block::{Block, blocks, free_all};
use common::random::Random;
use sleepy_alloc::{idle_end, idle_start, stats};
use std::sync::mpsc::{Receiver, Sender, channel, sync_channel};
use std::sync::{Arc, Barrier};
use std::thread;

/// Runs `f`, after which every block has to be counted as free; with all its threads gone, no page is left either.
fn leaves_nothing(f: impl FnOnce()) {
    let _alone = common::alone();
    let before = stats();
    f();
    let after = stats();
    assert_eq!(after.live_bytes, before.live_bytes, "live bytes");
    assert_eq!(
        after.abandoned_pages, before.abandoned_pages,
        "abandoned pages"
    );
}

fn produce(seed: u64, count: usize, mut out: impl FnMut(Block)) {
    let mut random = Random(seed);
    for nth in 0..count {
        out(Block::new(random.size(), nth as u8));
    }
}

#[test]
fn one_produces_and_one_consumes() {
    leaves_nothing(|| {
        let (send, receive) = sync_channel(100);
        let consumer = thread::spawn(move || free_all(receive));
        produce(1, 20_000, |block| send.send(block).unwrap());
        drop(send);
        consumer.join().unwrap();
    });
}

#[test]
fn many_produce_for_one() {
    leaves_nothing(|| {
        let (send, receive) = sync_channel(100);
        let producers: Vec<_> = (1..5)
            .map(|seed| {
                let send = send.clone();
                thread::spawn(move || produce(seed, 5000, |block| send.send(block).unwrap()))
            })
            .collect();
        drop(send);
        free_all(receive);
        for producer in producers {
            producer.join().unwrap();
        }
    });
}

#[test]
fn one_produces_for_many() {
    leaves_nothing(|| {
        let (sends, consumers): (Vec<_>, Vec<_>) = (0..4)
            .map(|_| {
                let (send, receive) = sync_channel(100);
                (send, thread::spawn(move || free_all(receive)))
            })
            .unzip();
        let mut nth = 0;
        produce(7, 20_000, |block| {
            nth += 1;
            sends[nth % sends.len()].send(block).unwrap();
        });
        drop(sends);
        for consumer in consumers {
            consumer.join().unwrap();
        }
    });
}

/// A thread of a ring: it frees what comes, and sends as much of its own to the next.
fn link(seed: u64, rounds: usize, from: Receiver<Vec<Block>>, to: Sender<Vec<Block>>) {
    let mut random = Random(seed);
    for round in 0..rounds {
        let size = random.size().min(20_000);
        to.send(blocks(1 + random.below(60), size)).unwrap();
        if round % 3 == 0 {
            idle_start();
        }
        let came = from.recv().unwrap();
        if round % 2 == 0 {
            idle_end();
        }
        free_all(came);
    }
}

#[test]
fn each_frees_what_the_one_before_it_made() {
    leaves_nothing(|| {
        let count = 5;
        let (sends, receives): (Vec<_>, Vec<_>) = (0..count).map(|_| channel()).unzip();
        let mut sends: Vec<_> = sends.into_iter().collect();
        sends.rotate_left(1);
        let threads: Vec<_> = receives
            .into_iter()
            .zip(sends)
            .zip(1..)
            .map(|((from, to), seed)| thread::spawn(move || link(seed, 400, from, to)))
            .collect();
        for thread in threads {
            thread.join().unwrap();
        }
    });
}

#[test]
fn two_free_into_the_same_pages_at_once() {
    leaves_nothing(|| {
        let start = Arc::new(Barrier::new(3));
        for round in 0..60 {
            let (mut even, mut odd) = (Vec::new(), Vec::new());
            for (nth, block) in blocks(3000, 16 + 8 * (round % 9)).into_iter().enumerate() {
                [&mut even, &mut odd][nth % 2].push(block);
            }
            let frees = |blocks: Vec<Block>| {
                let start = start.clone();
                thread::spawn(move || {
                    start.wait();
                    free_all(blocks);
                })
            };
            let threads = [frees(even), frees(odd)];
            start.wait();
            // The owner goes on in the same pages.
            free_all(blocks(1000, 16 + 8 * (round % 9)));
            for thread in threads {
                thread.join().unwrap();
            }
        }
    });
}

#[test]
fn what_others_resize_moves_to_them() {
    leaves_nothing(|| {
        let mut here = blocks(2000, 100);
        here.extend(blocks(40, 30_000));
        here.extend(blocks(10, 300_000));
        let mut there = thread::spawn(move || {
            for block in &mut here {
                let size = block.size();
                block.resize(size * 2);
                block.resize(size / 3);
                block.resize(size * 4);
            }
            here
        })
        .join()
        .unwrap();
        for block in &mut there {
            block.resize(50);
        }
        free_all(there);
    });
}

#[test]
fn what_others_free_serves_again() {
    let _alone = common::alone();
    // The owner's pages must be found again, or memory grows with each round.
    let mut committed = Vec::new();
    for _ in 0..50 {
        let made = blocks(4000, 256);
        thread::spawn(move || free_all(made)).join().unwrap();
        committed.push(stats().committed_bytes);
    }
    let (early, late) = (committed[5], *committed.last().unwrap());
    assert!(
        late <= early + (1 << 20),
        "{early} bytes after 5 rounds, {late} after 50"
    );
}
