//! A process that frees and parks is at its memory floor within a second, and then makes no wake-up at all.
#![cfg(not(asan))]

mod common;

use allocator_api2::boxed::Box as HeapBox;
use common::{rss_bytes, scavenger_sleeps, within};
use sleepy_alloc::Heap;
use std::time::Duration;

const MIB: usize = 1 << 20;

#[test]
fn freed_memory_goes_and_then_all_is_quiet() {
    let heap = Heap::new().unwrap();
    let before = rss_bytes();
    // Survivors among the freed: every 16th buffer of 16 KiB, and whole runs of small blocks.
    let mut buffers: Vec<_> = (0..2048)
        .map(|_| HeapBox::new_in([1u8; 16 * 1024], &heap))
        .collect();
    let mut records: Vec<_> = (0..400_000u64)
        .map(|number| HeapBox::new_in([number; 8], &heap))
        .collect();
    let peak = rss_bytes();
    assert!(peak - before > 56 * MIB);
    let mut nth = 0;
    buffers.retain(|_| {
        nth += 1;
        nth % 16 == 0
    });
    nth = 0;
    records.retain(|_| {
        nth += 1;
        nth / 4096 % 16 == 0
    });
    records.shrink_to_fit();

    let parked = heap.park();
    let live = heap.live_bytes();
    let floor = before + live + live / 4 + 2 * MIB;
    assert!(
        within(Duration::from_secs(1), || rss_bytes() < floor),
        "{} MiB are left of {}",
        rss_bytes() / MIB,
        peak / MIB
    );

    assert!(within(Duration::from_secs(2), || {
        let sleeps = scavenger_sleeps();
        std::thread::sleep(Duration::from_millis(400));
        sleeps == scavenger_sleeps()
    }));
    let sleeps = scavenger_sleeps().unwrap();
    std::thread::sleep(Duration::from_secs(2));
    assert_eq!(
        scavenger_sleeps(),
        Some(sleeps),
        "the scavenger woke up with nothing to do"
    );
    drop(parked);

    assert!(
        buffers
            .iter()
            .all(|buffer| buffer.iter().all(|&byte| byte == 1))
    );
    assert!(
        records
            .iter()
            .all(|record| record.iter().all(|&number| number == record[0]))
    );
    // The holes serve again.
    let again: Vec<_> = (0..200_000u64)
        .map(|number| HeapBox::new_in([number; 8], &heap))
        .collect();
    assert!(
        again
            .iter()
            .enumerate()
            .all(|(number, record)| record[7] == number as u64)
    );
    assert!(
        records
            .iter()
            .all(|record| record.iter().all(|&number| number == record[0]))
    );
}
