//! Heaps that park and unpark, are used while lent and move between threads, while scavengers sweep without rest.
//!
//! `SLEEPY_STORM_MS` makes it longer.

use allocator_api2::vec::Vec as HeapVec;
use sleepy_alloc::{Heap, Options, purge_now, stats};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::sync_channel;
use std::time::{Duration, Instant};

/// A small generator of numbers that are random enough.
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % end as u64) as usize
    }
}

fn size(random: &mut Random) -> usize {
    match random.below(100) {
        0..70 => 1 + random.below(600),
        70..90 => 1 + random.below(9000),
        90..98 => 1 + random.below(70_000),
        _ => 1 + random.below(400_000),
    }
}

/// Fills, checks, grows and frees blocks of one heap, parking between.
fn churn(heap: &Heap, random: &mut Random, rounds: usize) {
    let mut blocks: Vec<HeapVec<u8, &Heap>> = Vec::new();
    for _ in 0..rounds {
        for _ in 0..random.below(80) {
            let len = size(random);
            let mut block = HeapVec::with_capacity_in(len, heap);
            block.resize(len, len as u8);
            blocks.push(block);
        }
        let parked = (random.below(3) != 0).then(|| heap.park());
        match random.below(4) {
            0 => std::thread::yield_now(),
            1 => std::thread::sleep(Duration::from_micros(200)),
            _ => {}
        }
        // Half of the time the rest happens while the heap is lent.
        let parked = if random.below(2) == 0 { parked } else { None };
        for _ in 0..random.below(90).min(blocks.len()) {
            let block = blocks.swap_remove(random.below(blocks.len()));
            assert!(
                block.iter().all(|&byte| byte == block.len() as u8),
                "a block was overwritten"
            );
        }
        if !blocks.is_empty() {
            let which = random.below(blocks.len());
            let block = &mut blocks[which];
            let fill = block[0];
            assert!(block.iter().all(|&byte| byte == fill));
            let len = size(random);
            block.resize(len, len as u8);
            block.fill(len as u8);
        }
        drop(parked);
    }
    for block in &blocks {
        assert!(block.iter().all(|&byte| byte == block.len() as u8));
    }
}

#[test]
fn heaps_stay_whole_in_a_storm_of_sweeps() {
    let quick = Options {
        purge_delay: Duration::ZERO,
        min_interval: Duration::from_millis(1),
        ..Options::default()
    };
    quick.install().unwrap();
    let millis = std::env::var("SLEEPY_STORM_MS")
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(1500);
    let end = Instant::now() + Duration::from_millis(millis);
    static DONE: AtomicBool = AtomicBool::new(false);

    let purger = std::thread::spawn(|| {
        while !DONE.load(Ordering::Relaxed) {
            purge_now();
            std::thread::yield_now();
        }
    });
    // Heaps go round from thread to thread.
    let count = 3;
    let (senders, receivers): (Vec<_>, Vec<_>) =
        (0..count).map(|_| sync_channel::<Heap>(8)).unzip();
    for sender in &senders {
        sender.send(Heap::new().unwrap()).unwrap();
        sender.send(Heap::new().unwrap()).unwrap();
    }
    let workers: Vec<_> = receivers
        .into_iter()
        .enumerate()
        .map(|(nth, heaps)| {
            let next = senders[(nth + 1) % count].clone();
            std::thread::spawn(move || {
                let mut random = Random(0x9e37_79b9 + nth as u64);
                while Instant::now() < end {
                    let Ok(heap) = heaps.recv_timeout(Duration::from_millis(50)) else {
                        continue;
                    };
                    churn(&heap, &mut random, 20);
                    assert_eq!(heap.live_bytes(), 0);
                    if random.below(4) == 0 {
                        std::mem::forget(heap.park());
                    }
                    let heap = if random.below(8) == 0 {
                        Heap::new().unwrap()
                    } else {
                        heap
                    };
                    if next.send(heap).is_err() {
                        break;
                    }
                }
            })
        })
        .collect();
    drop(senders);
    for worker in workers {
        worker.join().unwrap();
    }
    DONE.store(true, Ordering::Relaxed);
    purger.join().unwrap();
    let stats = stats();
    assert!(
        stats.parked_sweeps > 0 && stats.purged_bytes > 0,
        "{stats:?}"
    );
    assert_eq!(stats.live_bytes, 0);
}
