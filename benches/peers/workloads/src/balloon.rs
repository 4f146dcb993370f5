//! `balloon`: how fast does a busy process shrink?

use crate::block::{get, get_cleared, put};
use crate::list::{Extra, Rounds, Size};
use peers_common::proc::rss_bytes;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

const BALLOON_BYTES: usize = 100 << 20;
const SHRUNK_BYTES: u64 = 20 << 20;
const OBJECT_BYTES: usize = 1024;
/// How much longer than the first phase the second may take.
const PATIENCE: u32 = 8;

/// Fills a balloon, lets it out, and then allocates and frees steadily until the process has shrunk.
pub fn balloon(size: &Size) -> io::Result<Rounds> {
    let pool = size.pool.clone();
    let objects = size.each(BALLOON_BYTES) / OBJECT_BYTES;
    let steady = size.each(100 * 1024);
    let round = move || {
        let start = Instant::now();
        pool.run(move |_| blow_up(objects));
        let deadline = Instant::now() + PATIENCE * start.elapsed();
        let freed = Instant::now();
        // Set once by lane 0, and read by all: an end, which publishes nothing else.
        let over = Arc::new(AtomicBool::new(false));
        let seen = over.clone();
        // Whether the process has shrunk; written before `run` returns, read after.
        let shrunk = Arc::new(AtomicBool::new(false));
        let result = shrunk.clone();
        pool.run(move |lane| {
            while !seen.load(Ordering::Relaxed) {
                for _ in 0..steady {
                    // SAFETY: just allocated with that size.
                    unsafe { put(get(OBJECT_BYTES), OBJECT_BYTES) };
                }
                if lane == 0 {
                    let small = rss_bytes() < SHRUNK_BYTES;
                    shrunk.store(small, Ordering::Relaxed);
                    seen.store(small || Instant::now() > deadline, Ordering::Relaxed);
                }
            }
        });
        let took_ns = freed.elapsed().as_nanos() as u64;
        let shrunk = result.load(Ordering::Relaxed);
        drop(over);
        Some(Extra::ShrinkNs(shrunk.then_some(took_ns)))
    };
    Ok(Rounds {
        round: Box::new(round),
        table_bytes: 0,
    })
}

fn blow_up(objects: usize) {
    let all: Vec<*mut u8> = (0..objects).map(|_| get_cleared(OBJECT_BYTES)).collect();
    for block in all {
        // SAFETY: allocated above with that size.
        unsafe { put(block, OBJECT_BYTES) };
    }
}
