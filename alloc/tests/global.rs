//! The allocator of a whole program: any thread frees, threads end, nothing is lost.

use sleepy_alloc::{SleepyAlloc, idle, purge_now, stats};
use std::collections::HashMap;
use std::sync::mpsc;
use std::thread;

#[global_allocator]
static ALLOCATOR: SleepyAlloc = SleepyAlloc;

/// Blocks of many sizes, each filled with its own number.
fn blocks(count: usize) -> Vec<Vec<u8>> {
    (0..count)
        .map(|nth| vec![nth as u8; 1 + nth * 37 % 5000 + nth % 50 / 49 * 100_000])
        .collect()
}

fn check(blocks: &[Vec<u8>]) {
    for block in blocks {
        let fill = block[0];
        assert!(block.iter().all(|&byte| byte == fill));
    }
}

#[test]
fn blocks_outlive_their_threads_and_are_freed_by_others() {
    let (send, receive) = mpsc::channel();
    let makers: Vec<_> = (0..8)
        .map(|_| {
            let send = send.clone();
            thread::spawn(move || {
                for _ in 0..20 {
                    send.send(blocks(500)).unwrap();
                }
            })
        })
        .collect();
    drop(send);
    let mut kept = Vec::new();
    for (nth, batch) in receive.into_iter().enumerate() {
        check(&batch);
        if nth % 3 == 0 {
            kept.push(batch);
        }
    }
    makers.into_iter().for_each(|maker| maker.join().unwrap());
    thread::spawn(move || {
        kept.iter().for_each(|batch| check(batch));
        drop(kept);
    })
    .join()
    .unwrap();
    purge_now();
    assert!(stats().live_bytes < 4 << 20, "{:?}", stats());
}

#[test]
fn a_map_grows_and_shrinks_while_the_heap_is_lent_again_and_again() {
    let mut map = HashMap::new();
    for round in 0..50u32 {
        for key in 0..2000u32 {
            map.insert(key * round, vec![round; (key % 100) as usize]);
        }
        map.retain(|key, _| key % 7 == round % 7);
        idle(thread::yield_now);
    }
    for (key, value) in &map {
        assert!(value.iter().all(|&round| round == 0 || key % round == 0));
    }
}

#[test]
fn zeroed_means_zero_after_use() {
    for round in 0..200 {
        let mut all: Vec<Vec<u8>> = (0..20).map(|nth| vec![0u8; 700 * (nth + 1)]).collect();
        for block in &mut all {
            assert!(block.iter().all(|&byte| byte == 0), "round {round}");
            block.fill(0xff);
        }
    }
}
