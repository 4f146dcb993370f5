//! The kinds of turn that an event loop makes, and what each costs the threads of the process.

mod client;
mod event_loop;
mod http;
mod pool;
mod report;
mod server;
mod work;

pub use client::run as run_client;
pub(crate) use event_loop::EventLoop;
pub(crate) use report::Report;
pub use server::run as run_server;
pub use work::MemoryWork;
pub(crate) use work::churn;

use crate::handover::HandOver;
use crate::{Result, parse};
use clap::{Parser, ValueEnum};
use peers_common::peer::Peer;
use pool::Pool;
use serde_json::Value;
use std::hint::black_box;
use std::time::{Duration, Instant};
use work::Memory;

/// A kind of turn.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Kind {
    /// A poll that does not wait.
    Empty,
    /// A poll that waits for a timer.
    Timer,
    /// A file's metadata, looked up on the pool.
    Stat,
    /// A computation on the pool.
    Job,
}

/// Options of the program.
#[derive(Parser)]
pub struct Options {
    /// The kind of turn.
    #[arg(long, value_enum)]
    pub kind: Kind,
    /// How many turns.
    #[arg(long, default_value_t = 500)]
    pub turns: u32,
    /// Length of the timer.
    #[arg(long, default_value_t = 1)]
    pub timer_ms: u64,
    /// CPU time that each turn spends before it polls.
    #[arg(long, default_value_t = 0)]
    pub work_us: u64,
    /// What each turn does with memory.
    #[arg(long, value_enum, default_value = "none")]
    pub memory: MemoryWork,
    /// Tell the allocator of the waits.
    #[arg(long)]
    pub hand_off: bool,
}

/// Runs the program; the figures are what it prints.
pub fn run(peer: &Peer, arguments: &[String]) -> Result<Value> {
    let options: Options = parse("turns", arguments)?;
    let hand_off = HandOver::new(peer, options.hand_off);
    let mut events = EventLoop::new(hand_off)?;
    let mut memory = Memory::new(options.memory, options.turns);
    let pool = Pool::new(hand_off, events.waker())?;

    // What the start left behind is not the turns' doing.
    for _ in 0..20 {
        events.poll(Some(Duration::from_millis(10)))?;
    }
    let report = Report::start(peer)?;
    for turn in 0..options.turns {
        memory.turn(turn);
        spin(Duration::from_micros(options.work_us));
        match options.kind {
            Kind::Empty => {
                events.poll(Some(Duration::ZERO))?;
            }
            Kind::Timer => {
                let end = Instant::now() + Duration::from_millis(options.timer_ms);
                events.wait_until(end)?;
            }
            Kind::Stat => {
                let path = "/proc/self/exe".to_owned();
                pool.post(move || std::fs::metadata(path).map_or(0, |found| found.len()));
                events.wait_for(|| pool.take_result())?;
            }
            Kind::Job => {
                let words: Vec<u64> = (0..512).collect();
                pool.post(move || {
                    words
                        .iter()
                        .fold(0, |sum, word| sum ^ word.wrapping_mul(sum + 3))
                });
                black_box(events.wait_for(|| pool.take_result())?);
            }
        }
    }
    Ok(report.finish(peer, u64::from(options.turns))?)
}

/// Keeps the processor busy.
pub(crate) fn spin(time: Duration) {
    if time.is_zero() {
        return;
    }
    let start = Instant::now();
    while start.elapsed() < time {
        std::hint::spin_loop();
    }
}
