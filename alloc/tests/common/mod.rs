//! What the tests share: what the kernel says about this process, blocks that know their contents, random numbers,
//! processes of their own.
#![allow(dead_code, reason = "each test file uses a part of this")]

pub mod block;
pub mod child;
pub mod random;

use std::fs;
use std::sync::{Mutex, MutexGuard};
use std::time::{Duration, Instant};

/// How long something may take that has to come sometime: long enough for a machine with much else to do.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// Keeps the tests of a file apart that look at figures of the whole process.
pub fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// Resident bytes of this process.
pub fn rss_bytes() -> usize {
    let statm = fs::read_to_string("/proc/self/statm").unwrap();
    statm.split(' ').nth(1).unwrap().parse::<usize>().unwrap() * 4096
}

/// How often the scavenger thread has gone to sleep, or `None` when there is none.
pub fn scavenger_sleeps() -> Option<u64> {
    fs::read_dir("/proc/self/task")
        .unwrap()
        .flatten()
        .find_map(|task| {
            let status = fs::read_to_string(task.path().join("status")).ok()?;
            if !status.lines().next()?.ends_with("sleepy-scavenge") {
                return None;
            }
            let line = status
                .lines()
                .find(|line| line.starts_with("voluntary_ctxt_switches"))?;
            line.split_whitespace().nth(1)?.parse().ok()
        })
}

/// Waits until `done` says so; false if it does not within `limit`.
pub fn within(limit: Duration, mut done: impl FnMut() -> bool) -> bool {
    let start = Instant::now();
    while start.elapsed() < limit {
        if done() {
            return true;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    done()
}
