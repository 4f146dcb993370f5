//! Foreign frees, takings back, exits and drops in the middle of sweeps, with no delay and no interval between sweeps.

mod common;

use allocator_api2::vec::Vec as HeapVec;
use common::block::{Block, blocks, free_all, thin_out};
use common::random::Random;
use sleepy_alloc::{Heap, Options, idle, idle_end, idle_start, purge_now, stats};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

static DONE: AtomicBool = AtomicBool::new(false);

fn is_done() -> bool {
    DONE.load(Ordering::Relaxed)
}

/// Parks between all it does, often while blocks of it are freed by others.
fn parker(seed: u64, out: &SyncSender<Vec<Block>>) {
    let mut random = Random(seed);
    let mut kept: Vec<Block> = Vec::new();
    while !is_done() {
        let size = random.size().min(40_000);
        let mut made = blocks(20 + random.below(200), size);
        kept.append(&mut made.split_off(made.len() / 2));
        idle_start();
        // Blocks until the one that frees has room.
        if let Err(unsent) = out.send(made) {
            free_all(unsent.0);
        }
        match random.below(4) {
            0 => thread::sleep(Duration::from_micros(300)),
            1 => thread::yield_now(),
            2 => idle(|| thread::sleep(Duration::from_micros(50))),
            _ => idle_end(),
        }
        // The heap may still be lent: what follows takes it back.
        kept.iter().for_each(Block::check);
        if random.one_in(8) {
            kept = thin_out(kept, 7);
        }
        for block in &mut kept {
            if random.one_in(30) {
                block.resize(random.size());
            }
        }
        while kept.len() > 2000 {
            let at = random.below(kept.len());
            kept.swap_remove(at).free();
        }
    }
    free_all(kept);
}

/// Frees what parkers made, and parks too.
fn freer(from: &Receiver<Vec<Block>>) {
    for list in from {
        free_all(list);
        idle_start();
    }
}

/// Threads that end in the middle of everything, and heaps that are dropped so.
fn mayfly(seed: u64) {
    let heap = Heap::new().unwrap();
    let mut lists: Vec<HeapVec<u8, &Heap>> = Vec::new();
    for nth in 0..100 {
        let mut list = HeapVec::with_capacity_in(100 * (nth % 60 + 1), &heap);
        list.resize(list.capacity(), seed as u8);
        lists.push(list);
    }
    lists.retain(|list| list.len() % 300 == 0);
    std::mem::forget(heap.park());
    let left = thread::spawn(|| {
        let left = thin_out(blocks(200, 3000), 5);
        idle_start();
        left
    })
    .join()
    .unwrap();
    assert!(lists.iter().flatten().all(|&byte| byte == seed as u8));
    lists.into_iter().for_each(std::mem::forget);
    idle_start();
    free_all(left);
}

#[test]
fn heaps_stay_whole_without_delay_and_interval() {
    let restless = Options {
        purge_delay: Duration::ZERO,
        min_interval: Duration::ZERO,
        start_bytes: 0,
        ..Options::default()
    };
    restless.install().unwrap();
    let millis = std::env::var("SLEEPY_STORM_MS")
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(1500);
    let end = Instant::now() + Duration::from_millis(millis);
    static FLIES: AtomicUsize = AtomicUsize::new(0);

    let before = stats();
    let (send, receive) = sync_channel(4);
    let freer = thread::spawn(move || freer(&receive));
    let mut threads: Vec<_> = (1..4)
        .map(|seed| {
            let send = send.clone();
            thread::spawn(move || parker(seed, &send))
        })
        .collect();
    drop(send);
    threads.push(thread::spawn(|| {
        while !is_done() {
            purge_now();
            thread::yield_now();
        }
    }));
    threads.push(thread::spawn(|| {
        let mut seed = 1;
        while !is_done() {
            thread::spawn(move || mayfly(seed)).join().unwrap();
            FLIES.fetch_add(1, Ordering::Relaxed);
            seed += 1;
        }
    }));
    while Instant::now() < end || FLIES.load(Ordering::Relaxed) < 20 {
        thread::sleep(Duration::from_millis(5));
    }
    DONE.store(true, Ordering::Relaxed);
    for thread in threads {
        thread.join().unwrap();
    }
    freer.join().unwrap();
    let after = stats();
    assert!(after.parked_sweeps > 0 && after.purged_bytes > 0);
    assert_eq!(after.live_bytes, before.live_bytes);
    assert_eq!(after.abandoned_pages, before.abandoned_pages);
}
