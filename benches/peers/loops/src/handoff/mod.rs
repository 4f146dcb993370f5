//! What `idle_start` and `idle_end` cost in each state of the hand-off.

mod clock;
mod swept;

use crate::mix::Block;
use crate::usage::{Usage, clock_ns};
use crate::{Result, parse};
use clap::Parser;
use peers_common::peer::Peer;
use rustix::time::ClockId;
use serde_json::{Value, json};
use sleepy_alloc::{idle_end, idle_start, stats};
use std::hint::black_box;
use std::thread;
use std::time::{Duration, Instant};

/// Options of the program.
#[derive(Parser)]
pub struct Options {
    /// Hand-offs that wake the scavenger or find it on its schedule.
    #[arg(long, default_value_t = 30)]
    pub windows: u32,
    /// Hand-offs taken back while the heap is swept.
    #[arg(long, default_value_t = 4000)]
    pub sweeps: u32,
}

/// Pairs of calls with nothing to give.
const PAIRS: u32 = 1_000_000;
/// Pairs of calls within one window of the schedule.
const PAIRS_A_WINDOW: u32 = 2_000;
/// Freed before a hand-off that is to find something to give: 256 buffers of 16 KiB.
const BUFFERS: u32 = 256;
/// More than the scavenger needs to give everything back and go to sleep.
const SETTLE: Duration = Duration::from_millis(450);
/// Less than a window of the schedule.
const SOON: Duration = Duration::from_millis(5);

/// Runs the program; the figures are what it prints.
pub fn run(peer: &Peer, arguments: &[String]) -> Result<Value> {
    let options: Options = parse("handoff", arguments)?;
    if peer.idle_start.is_none() {
        return Err(format!("{} has no hand-off", peer.name).into());
    }
    Ok(json!({
        "clock_ns": clock_cost_ns(),
        "nothing": nothing(),
        "wakes": windows(options.windows)?,
        "swept": swept::run(options.sweeps)?,
    }))
}

/// What reading the clock adds to a figure.
fn clock_cost_ns() -> u64 {
    let mut costs: Vec<u64> = (0..10_000)
        .map(|_| Instant::now().elapsed().as_nanos() as u64)
        .collect();
    costs.sort_unstable();
    costs[costs.len() / 2]
}

/// Waits until the scavenger has taken what there is and sleeps.
fn settle() {
    idle_start();
    thread::sleep(SETTLE);
    idle_end();
}

/// With nothing to give, by batch.
fn nothing() -> Value {
    let _kept = Block::new(64, 0);
    settle();
    let wakes = stats().park_wakes;
    let (mut cpu_ns, mut wall_ns) = (f64::MAX, f64::MAX);
    for _ in 0..7 {
        let (used, start) = (clock_ns(ClockId::ThreadCPUTime), Instant::now());
        for _ in 0..PAIRS {
            black_box(idle_start());
            idle_end();
        }
        let each = |ns: u64| ns as f64 / f64::from(PAIRS);
        wall_ns = wall_ns.min(each(start.elapsed().as_nanos() as u64));
        cpu_ns = cpu_ns.min(each(clock_ns(ClockId::ThreadCPUTime) - used));
    }
    json!({
        "pair_cpu_ns": cpu_ns,
        "pair_wall_ns": wall_ns,
        "wakes": stats().park_wakes - wakes,
    })
}

/// Hand-offs that wake the scavenger, and within the window that this opens, hand-offs that find it on its schedule.
fn windows(windows: u32) -> Result<Value> {
    let mut waking = crate::nanoseconds()?;
    let mut waking_cpu = crate::nanoseconds()?;
    let mut paced = Vec::new();
    let (mut woken, mut lent, mut paced_wakes) = (0, 0, 0);
    for _ in 0..windows {
        settle();
        let mut buffers: Vec<Block> = (0..2 * BUFFERS).map(|n| Block::new(16 * 1024, n)).collect();
        free(&mut buffers, BUFFERS);
        let before = stats().park_wakes;
        let (used, start) = (Usage::of_thread(), Instant::now());
        idle_start();
        let wall_ns = start.elapsed().as_nanos() as u64;
        let cpu_ns = Usage::of_thread().since(used).cpu_ns;
        idle_end();
        // The scavenger may have been told by the frees, and be on its schedule already.
        if stats().park_wakes > before {
            woken += 1;
            waking.saturating_record(wall_ns);
            waking_cpu.saturating_record(cpu_ns);
        }
        idle_start();
        thread::sleep(SOON);
        idle_end();

        free(&mut buffers, BUFFERS);
        let before = stats().park_wakes;
        let used = clock_ns(ClockId::ThreadCPUTime);
        for _ in 0..PAIRS_A_WINDOW {
            lent += u32::from(black_box(idle_start()));
            idle_end();
        }
        let used_ns = clock_ns(ClockId::ThreadCPUTime) - used;
        paced_wakes += stats().park_wakes - before;
        paced.push(used_ns as f64 / f64::from(PAIRS_A_WINDOW));
    }
    paced.sort_by(f64::total_cmp);
    Ok(json!({
        "windows": windows,
        "woken": woken,
        "start_wall_p50_ns": waking.value_at_quantile(0.5),
        "start_cpu_p50_ns": waking_cpu.value_at_quantile(0.5),
        "start_wall_max_ns": waking.max(),
        "paced_pair_cpu_ns": paced.get(paced.len() / 2),
        "paced_lent_share": f64::from(lent) / f64::from(windows * PAIRS_A_WINDOW),
        "paced_wakes": paced_wakes,
    }))
}

fn free(buffers: &mut Vec<Block>, count: u32) {
    for _ in 0..count {
        if let Some(mut buffer) = buffers.pop() {
            buffer.free();
        }
    }
}
