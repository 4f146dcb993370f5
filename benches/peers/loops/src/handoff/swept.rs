//! Taking a heap back while it is swept.
//!
//! Another thread sweeps without rest. The owner reads that thread's CPU clock right before and right after it takes
//! its heap back: what the sweeper has worked in between is at most the difference, and at most the time that the owner
//! waited. Both bounds hold more than the sweeper's work: the first what it did after it had given the heap up, the
//! second the time that it had to wait for a processor. Where the system allows it each has a processor of its own, and
//! the owner a real-time priority, so that it reads the clock as soon as it can; the work is that of the times when
//! neither lost its processor.

use super::clock::{self, ThreadClock};
use crate::Result;
use crate::mix::Block;
use crate::tasks;
use crate::usage::Usage;
use serde_json::{Value, json};
use sleepy_alloc::{idle_end, idle_start, purge_now, stats};
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

const SWEEPERS_PROCESSOR: usize = 0;
const OWNERS_PROCESSOR: usize = 1;
/// Blocks of the heap, of 48 bytes.
const BLOCKS: usize = 1_000_000;
/// Blocks freed or made between two hand-offs.
const CHANGES: usize = 3_000;
/// How long the heap stays lent.
const LENT: Duration = Duration::from_micros(100);

/// How long the sweeper may take from giving the heap up to counting that.
const COUNTS_WITHIN: Duration = Duration::from_micros(50);

/// Whether a sweep was stopped since there were `before` of those.
fn has_aborted(before: u64) -> bool {
    let start = Instant::now();
    while start.elapsed() < COUNTS_WITHIN {
        if stats().aborted_sweeps > before {
            return true;
        }
    }
    false
}

/// See the module's documentation.
pub fn run(rounds: u32) -> Result<Value> {
    // Relaxed: it only ends the sweeper.
    static DONE: AtomicBool = AtomicBool::new(false);
    // The sweeper's number, 0 before it has started. Release: it has taken its processor by then.
    static SWEEPER: AtomicI32 = AtomicI32::new(0);
    let sweeper = thread::Builder::new().name("worker".into());
    let sweeper = sweeper.spawn(|| {
        clock::stay_on(SWEEPERS_PROCESSOR);
        SWEEPER.store(tasks::own_id(), Ordering::Release);
        while !DONE.load(Ordering::Relaxed) {
            purge_now();
        }
    })?;
    let clock = ThreadClock::of(&sweeper)?;
    while SWEEPER.load(Ordering::Acquire) == 0 {
        thread::yield_now();
    }
    let sweepers_switches = || tasks::preemptions_of(SWEEPER.load(Ordering::Relaxed));
    let is_prompt = clock::stay_on(OWNERS_PROCESSOR) & clock::run_before_others();

    let mut blocks: Vec<Block> = (0..BLOCKS).map(|n| Block::new(48, n as u32)).collect();
    let mut all_waits = crate::nanoseconds()?;
    let mut work = crate::nanoseconds()?;
    let mut waits = crate::nanoseconds()?;
    let mut at = 0;
    for _ in 0..rounds {
        for _ in 0..CHANGES {
            at = (at + 7919) % BLOCKS;
            if blocks[at].is_some() {
                blocks[at].free();
            } else {
                blocks[at] = Block::new(48, at as u32);
            }
        }
        let aborted = stats().aborted_sweeps;
        let switches = (Usage::of_thread().preemptions, sweepers_switches()?);
        idle_start();
        thread::sleep(LENT);
        let before_ns = clock.ns();
        let start = Instant::now();
        idle_end();
        let wait_ns = start.elapsed().as_nanos() as u64;
        let work_ns = clock.ns() - before_ns;
        all_waits.saturating_record(wait_ns);
        if has_aborted(aborted) {
            waits.saturating_record(wait_ns);
            // Where one of the two lost its processor the owner may have slept, and read the clock long after.
            if switches == (Usage::of_thread().preemptions, sweepers_switches()?) {
                work.saturating_record(work_ns.min(wait_ns));
            }
        }
    }
    DONE.store(true, Ordering::Relaxed);
    sweeper.join().map_err(|_| "the sweeper failed")?;
    for block in &mut blocks {
        block.free();
    }
    Ok(json!({
        "rounds": rounds,
        "owner_is_prompt": is_prompt,
        "taken_while_swept": waits.len(),
        "of_them_undisturbed": work.len(),
        "work_p50_ns": work.value_at_quantile(0.5),
        "work_p99_ns": work.value_at_quantile(0.99),
        "work_max_ns": work.max(),
        "wait_p50_ns": waits.value_at_quantile(0.5),
        "wait_p99_ns": waits.value_at_quantile(0.99),
        "wait_max_ns": waits.max(),
        "any_wait_p50_ns": all_waits.value_at_quantile(0.5),
    }))
}
