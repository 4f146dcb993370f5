//! Much memory freed at once, then a loop that keeps turning: how soon does the memory go back?
//!
//! The driver watches resident memory from outside, from the line on that says `freed`.

use crate::handover::HandOver;
use crate::mix::Block;
use crate::turns::{EventLoop, Report, churn, spin};
use crate::{Result, parse};
use clap::{Parser, ValueEnum};
use peers_common::peer::Peer;
use serde_json::Value;
use std::io::Write;
use std::time::{Duration, Instant};

/// What the loop does after the free.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Kind {
    /// One long poll.
    Sleep,
    /// Polls of a millisecond.
    Timer,
    /// 9 ms of work, then a poll of a millisecond.
    Busy,
    /// Polls that do not wait.
    Empty,
    /// Polls that do not wait, each after 0.5 ms of work.
    EmptyWork,
    /// Works without polling, allocating now and then.
    Compute,
    /// Works without polling and without using the allocator.
    Spin,
}

/// Options of the program.
#[derive(Parser)]
pub struct Options {
    /// What the loop does after the free.
    #[arg(long, value_enum)]
    pub kind: Kind,
    /// Buffers.
    #[arg(long, default_value_t = 8192)]
    pub buffers: u32,
    /// How long it turns.
    #[arg(long, default_value_t = 5.5)]
    pub secs: f64,
    /// Let each turn allocate and free a little.
    #[arg(long)]
    pub churn: bool,
    /// Tell the allocator of the waits.
    #[arg(long)]
    pub hand_off: bool,
}

/// Size of a buffer.
const BUFFER_BYTES: u32 = 16 * 1024;
/// One of this many buffers survives.
const SURVIVES_ONE_IN: usize = 16;

/// Runs the program; the figures are what it prints.
pub fn run(peer: &Peer, arguments: &[String]) -> Result<Value> {
    let options: Options = parse("floor", arguments)?;
    let mut events = EventLoop::new(HandOver::new(peer, options.hand_off))?;
    let mut buffers: Vec<Block> = (0..options.buffers)
        .map(|n| Block::new(BUFFER_BYTES, n))
        .collect();
    for (n, buffer) in buffers.iter_mut().enumerate() {
        if !n.is_multiple_of(SURVIVES_ONE_IN) {
            buffer.free();
        }
    }
    let report = Report::start(peer)?;
    let mut out = std::io::stdout().lock();
    out.write_all(b"freed\n")?;
    out.flush()?;

    let end = Instant::now() + Duration::from_secs_f64(options.secs);
    let mut turns = 0;
    while let Some(left) = end.checked_duration_since(Instant::now()) {
        if options.churn {
            churn(0);
        }
        match options.kind {
            Kind::Sleep => events.wait_until(end)?,
            Kind::Timer => events.wait_until(Instant::now() + Duration::from_millis(1))?,
            Kind::Busy => {
                spin(Duration::from_millis(9).min(left));
                events.wait_until(Instant::now() + Duration::from_millis(1))?;
            }
            Kind::Empty => {
                events.poll(Some(Duration::ZERO))?;
            }
            Kind::EmptyWork => {
                spin(Duration::from_micros(500).min(left));
                events.poll(Some(Duration::ZERO))?;
            }
            Kind::Compute => {
                churn(0);
                spin(Duration::from_micros(50).min(left));
            }
            Kind::Spin => spin(Duration::from_millis(1).min(left)),
        }
        turns += 1;
    }
    let figures = report.finish(peer, turns)?;
    for (n, buffer) in buffers.iter().enumerate() {
        if buffer.is_some() && !buffer.holds(n as u32) {
            return Err("a buffer has lost its contents".into());
        }
    }
    Ok(figures)
}
