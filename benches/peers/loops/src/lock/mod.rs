//! One lock, a few threads: throughput, the tail of the wait, system time, fairness.
//!
//! Each thread repeats: take the lock, work on shared data for a while, give it up, work on its own for a while. Every
//! sixteenth acquisition is timed. The work is a chain of dependent multiplications, so that it takes the same time
//! whatever the compiler does around it.

mod contenders;
mod work;

use crate::usage::Usage;
use crate::{Result, parse};
use clap::{Parser, ValueEnum};
pub use contenders::{Contender, OneSpinnerYield, YieldAtOnce};
use hdrhistogram::Histogram;
use peers_common::peer::Peer;
use serde_json::{Value, json};
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};
use work::{Chain, links_in};

/// Which lock.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Kind {
    /// `sleepy_alloc::lock::Mutex`.
    Sleepy,
    /// Tries once, then yields until it has the lock.
    Yield,
    /// The seed: one thread at a time tries 256 times, then yields; the others yield at once.
    SpinYield,
    /// `parking_lot::Mutex`.
    ParkingLot,
    /// `std::sync::Mutex`.
    Std,
}

/// Options of the program.
#[derive(Parser)]
pub struct Options {
    /// Which lock.
    #[arg(long, value_enum)]
    pub kind: Kind,
    /// Threads.
    #[arg(long, default_value_t = 4)]
    pub threads: usize,
    /// Work with the lock held.
    #[arg(long, default_value_t = 85)]
    pub held_ns: u64,
    /// Work between two acquisitions.
    #[arg(long, default_value_t = 1000)]
    pub outside_ns: u64,
    /// Length of the run.
    #[arg(long, default_value_t = 250)]
    pub run_ms: u64,
}

/// One acquisition of so many is timed.
const TIMED_ONE_IN: u64 = 16;

/// What one thread did.
struct Lane {
    operations: u64,
    used: Usage,
    waits: Histogram<u64>,
}

/// Runs the program; the figures are what it prints.
pub fn run(_peer: &Peer, arguments: &[String]) -> Result<Value> {
    let options: Options = parse("lock", arguments)?;
    match options.kind {
        Kind::Sleepy => contend::<sleepy_alloc::lock::Mutex<Chain>>(&options),
        Kind::Yield => contend::<YieldAtOnce<Chain>>(&options),
        Kind::SpinYield => contend::<OneSpinnerYield<Chain>>(&options),
        Kind::ParkingLot => contend::<parking_lot::Mutex<Chain>>(&options),
        Kind::Std => contend::<std::sync::Mutex<Chain>>(&options),
    }
}

fn contend<L: Contender<Chain>>(options: &Options) -> Result<Value> {
    let held = links_in(options.held_ns);
    let outside = links_in(options.outside_ns);
    let lock = L::new(Chain::new(1));
    // Relaxed: it only ends the lanes.
    let done = AtomicBool::new(false);
    let ready = Barrier::new(options.threads + 1);
    let run = Duration::from_millis(options.run_ms);
    let mut waits = crate::nanoseconds()?;
    let histograms = vec![waits.clone(); options.threads];

    let (lanes, seconds) = thread::scope(|scope| {
        let course = Course {
            lock: &lock,
            held,
            outside,
            ready: &ready,
            done: &done,
        };
        let lanes: Vec<_> = histograms
            .into_iter()
            .enumerate()
            .map(|(seed, waits)| scope.spawn(move || course.run(seed as u64, waits)))
            .collect();
        ready.wait();
        let start = Instant::now();
        thread::sleep(run);
        done.store(true, Ordering::Relaxed);
        let seconds = start.elapsed().as_secs_f64();
        let lanes: Result<Vec<Lane>> = lanes
            .into_iter()
            .map(|lane| lane.join().map_err(|_| "a lane failed".into()))
            .collect();
        (lanes, seconds)
    });
    let lanes = lanes?;
    for lane in &lanes {
        waits.add(&lane.waits)?;
    }
    let sum = |field: fn(&Lane) -> u64| lanes.iter().map(field).sum::<u64>() as f64;
    let operations = sum(|lane| lane.operations);
    let least = lanes.iter().map(|lane| lane.operations).min();
    let most = lanes.iter().map(|lane| lane.operations).max();
    Ok(json!({
        "mops": operations / seconds / 1e6,
        "cpu_ns": sum(|lane| lane.used.cpu_ns) / operations,
        "system_ns": sum(|lane| lane.used.system_ns) / operations,
        "wait_p50_ns": waits.value_at_quantile(0.5),
        "wait_p99_9_ns": waits.value_at_quantile(0.999),
        "wait_max_ns": waits.max(),
        "fairness": least.unwrap_or(0) as f64 / most.unwrap_or(1).max(1) as f64,
    }))
}

/// What every lane does.
struct Course<'c, L> {
    lock: &'c L,
    /// Links of work with the lock held.
    held: u64,
    /// Links of work between two acquisitions.
    outside: u64,
    ready: &'c Barrier,
    done: &'c AtomicBool,
}

impl<L> Clone for Course<'_, L> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<L> Copy for Course<'_, L> {}

impl<L: Contender<Chain>> Course<'_, L> {
    fn run(self, seed: u64, mut waits: Histogram<u64>) -> Lane {
        let mut own = Chain::new(seed + 2);
        let mut operations: u64 = 0;
        self.ready.wait();
        let used = Usage::of_thread();
        while !self.done.load(Ordering::Relaxed) {
            if operations.is_multiple_of(TIMED_ONE_IN) {
                let start = Instant::now();
                let wait = self.lock.with(|chain| {
                    let wait = start.elapsed();
                    chain.run(self.held);
                    wait
                });
                waits.saturating_record(wait.as_nanos() as u64);
            } else {
                self.lock.with(|chain| chain.run(self.held));
            }
            own.run(self.outside);
            operations += 1;
        }
        Lane {
            operations,
            used: Usage::of_thread().since(used),
            waits,
        }
    }
}
