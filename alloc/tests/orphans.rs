//! Blocks that outlive their thread: they stay whole, and their memory goes back when the last one is freed, whoever
//! frees it.

mod common;

use common::block::{Block, blocks, free_all, thin_out};
use sleepy_alloc::{Stats, idle_end, idle_start, purge_now, stats};
use std::thread;

const MIB: u64 = 1 << 20;
const SIZES: [usize; 8] = [8, 48, 200, 1000, 4096, 20_000, 65_536, 300_000];

/// Blocks of many sizes, of a thread that has ended.
fn left_behind() -> Vec<Block> {
    thread::spawn(|| {
        SIZES
            .iter()
            .flat_map(|&size| blocks(1 + 1_000_000 / size.max(64), size))
            .collect()
    })
    .join()
    .unwrap()
}

/// Nothing is left of what came after `before`, once free memory is given back.
fn all_gone(before: Stats) {
    let now = stats();
    assert_eq!(now.live_bytes, before.live_bytes, "live bytes");
    assert_eq!(now.abandoned_pages, before.abandoned_pages, "pages");
    purge_now();
    let now = stats();
    assert!(
        now.committed_bytes <= before.committed_bytes + MIB,
        "{} KiB committed of {} before",
        now.committed_bytes / 1024,
        before.committed_bytes / 1024
    );
}

#[test]
fn their_pages_are_counted_until_the_last_is_freed() {
    let _alone = common::alone();
    let before = stats();
    let left = left_behind();
    assert!(stats().abandoned_pages > before.abandoned_pages);
    let kept = thin_out(left, 50);
    assert!(stats().abandoned_pages > before.abandoned_pages);
    kept.iter().for_each(Block::check);
    free_all(kept);
    all_gone(before);
}

#[test]
fn a_thread_that_never_allocated_frees_them() {
    let _alone = common::alone();
    let before = stats();
    let left = left_behind();
    thread::spawn(|| free_all(left)).join().unwrap();
    all_gone(before);
}

#[test]
fn many_threads_free_them_at_once() {
    let _alone = common::alone();
    let before = stats();
    for _ in 0..10 {
        let mut parts: [Vec<Block>; 4] = Default::default();
        for (nth, block) in left_behind().into_iter().enumerate() {
            parts[nth % 4].push(block);
        }
        let threads = parts.map(|part| thread::spawn(|| free_all(part)));
        for thread in threads {
            thread.join().unwrap();
        }
    }
    all_gone(before);
}

#[test]
fn a_new_thread_uses_their_pages() {
    let _alone = common::alone();
    let before = stats();
    let survivors = thin_out(left_behind(), 40);
    purge_now();
    let held = stats();
    // As much again fits between the survivors, but for what each page loses at its end.
    let kept = thread::spawn(|| {
        let all: Vec<Block> = SIZES
            .iter()
            .flat_map(|&size| blocks(9 * (1_000_000 / size.max(64)) / 10, size))
            .collect();
        let reused = stats();
        (all, reused)
    });
    let (all, reused) = kept.join().unwrap();
    assert!(
        reused.abandoned_pages < held.abandoned_pages,
        "no page was adopted: {} of {}",
        reused.abandoned_pages,
        held.abandoned_pages
    );
    survivors.iter().for_each(Block::check);
    free_all(all);
    free_all(survivors);
    all_gone(before);
}

#[test]
fn holes_between_them_go_back_too() {
    let _alone = common::alone();
    let before = stats();
    let left = thread::spawn(|| blocks(8000, 4000)).join().unwrap();
    let full = stats();
    let survivors = thin_out(left, 16);
    purge_now();
    let expected = before.committed_bytes + (full.committed_bytes - before.committed_bytes) / 3;
    // The scavenger may have them in hand, and gives them back then.
    assert!(
        common::within(common::PATIENCE, || {
            purge_now();
            stats().committed_bytes <= expected
        }),
        "{} MiB committed of {}",
        stats().committed_bytes / MIB,
        full.committed_bytes / MIB
    );
    survivors.iter().for_each(Block::check);
    free_all(survivors);
    all_gone(before);
}

#[test]
fn generations_of_threads_hand_blocks_down() {
    let _alone = common::alone();
    let before = stats();
    let mut heirloom: Vec<Block> = Vec::new();
    let mut most = 0;
    for generation in 0..60 {
        heirloom = thread::spawn(move || {
            let mut all = heirloom;
            all.extend(blocks(400, 16 << (generation % 7)));
            if generation % 2 == 0 {
                idle_start();
            }
            let kept = thin_out(all, 2);
            if generation % 4 == 0 {
                idle_end();
            }
            kept
        })
        .join()
        .unwrap();
        most = most.max(stats().abandoned_pages);
    }
    assert!(
        most < before.abandoned_pages + 400,
        "{most} pages were left"
    );
    free_all(heirloom);
    all_gone(before);
}
