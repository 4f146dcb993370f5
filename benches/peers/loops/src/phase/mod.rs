//! A phase of work that leaves much free memory, then silence, then the next phase.
//!
//! Small objects are allocated, 15 of 16 of them are freed in random order, then the program sleeps a millisecond at a
//! time and looks at its resident memory; at last it allocates the freed amount again. The program's own tables come
//! from the operating system and are taken off every figure; nothing in the silence allocates unless told to.

mod fill;
mod silence;

use crate::handover::HandOver;
use crate::tasks::Role;
use crate::usage::Usage;
use crate::{Result, counters, parse};
use clap::{Parser, ValueEnum};
use fill::Part;
use peers_common::peer::Peer;
use peers_common::proc;
use serde_json::{Value, json};
use std::io;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

/// Which objects survive.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Survivors {
    /// Each by itself, at random.
    Scattered,
    /// Whole sessions of consecutive allocations.
    Sessions,
    /// None.
    None,
}

/// Who allocates and frees.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Workers {
    /// The thread that ticks afterwards.
    Own,
    /// Two threads that then wait for ever.
    Parked,
    /// Two threads that then end.
    Exited,
}

/// Options of the program.
#[derive(Parser)]
pub struct Options {
    /// Which objects survive.
    #[arg(long, value_enum, default_value = "sessions")]
    pub survivors: Survivors,
    /// Size of a session.
    #[arg(long, default_value_t = 256)]
    pub session_kib: u64,
    /// Who allocates and frees.
    #[arg(long, value_enum, default_value = "own")]
    pub workers: Workers,
    /// Allocate and free a little at each tick.
    #[arg(long)]
    pub tick_alloc: bool,
    /// Tell the allocator of the waits.
    #[arg(long)]
    pub hand_off: bool,
    /// Megabytes of objects.
    #[arg(long, default_value_t = 512)]
    pub mb: u64,
    /// Length of the silence.
    #[arg(long, default_value_t = 10.0)]
    pub secs: f64,
}

/// What a worker has done.
struct Done {
    part: Part,
    live_bytes: u64,
}

/// Runs the program; the figures are what it prints.
pub fn run(peer: &Peer, arguments: &[String]) -> Result<Value> {
    let options: Options = parse("phase", arguments)?;
    let hand_off = HandOver::new(peer, options.hand_off);

    let workers = if options.workers == Workers::Own {
        1
    } else {
        2
    };
    let mut parts = (0..workers)
        .map(|seed| Part::new(seed, options.mb * 1_000_000 / workers))
        .collect::<io::Result<Vec<Part>>>()?;
    let tables_bytes: u64 = parts.iter().map(Part::tables_bytes).sum();
    let base_bytes = proc::rss_bytes();
    let above_base = |bytes: u64| bytes.saturating_sub(base_bytes);

    let mut done = Vec::with_capacity(parts.len());
    if options.workers == Workers::Own {
        let mut part = parts.remove(0);
        let live_bytes = part.work(&options);
        done.push(Done { part, live_bytes });
    } else {
        let (tell, told) = mpsc::channel();
        let mut threads = Vec::new();
        for mut part in parts {
            let tell = tell.clone();
            let (survivors, session_kib) = (options.survivors, options.session_kib);
            let stays = options.workers == Workers::Parked;
            let worker = thread::Builder::new().name("worker".into());
            threads.push(worker.spawn(move || {
                let live_bytes = part.work_with(survivors, session_kib);
                // The main thread ends the program in any case.
                let _ = tell.send(Done { part, live_bytes });
                drop(tell);
                if stays {
                    // Until the main thread ends the program.
                    loop {
                        hand_off.around(|| thread::sleep(Duration::from_secs(3600)));
                    }
                }
            })?);
        }
        drop(tell);
        for _ in 0..workers {
            done.push(told.recv()?);
        }
        if options.workers == Workers::Exited {
            for worker in threads {
                worker.join().map_err(|_| "a worker failed")?;
            }
        }
    }

    let live_bytes: u64 = done.iter().map(|done| done.live_bytes).sum();
    let silence = silence::watch(&options, hand_off)?;
    let lazy_free_bytes = proc::resident().lazy_free_bytes;
    let stats = counters::now(peer);

    let before = Usage::of_process();
    let mut damaged = 0;
    for done in &mut done {
        damaged += done.part.count_damaged();
        done.part.refill();
    }
    let refill = Usage::of_process().since(before);
    if damaged != 0 {
        return Err(format!("{damaged} blocks have lost their contents").into());
    }

    let after: serde_json::Map<String, Value> = silence
        .marks()
        .map(|(seconds, bytes)| (seconds.to_string(), above_base(bytes).into()))
        .collect();
    let helper = |from: &_, to: &crate::tasks::Tasks| to.since(from, Role::Helper);
    Ok(json!({
        "tables_bytes": tables_bytes,
        "base_bytes": base_bytes - tables_bytes,
        "live_bytes": live_bytes,
        "peak_bytes": above_base(silence.start_bytes),
        "after_bytes": after,
        "back_at_ms": silence.first_below(base_bytes + live_bytes + 10_000_000),
        "lazy_free_bytes": lazy_free_bytes,
        "tick_cpu_ns": silence.tick_cpu_ns,
        "helpers": helper(&silence.before, &silence.after),
        "helpers_first_second": helper(&silence.before, &silence.after_1_s),
        "refill_faults": refill.minor_faults,
        "refill_cpu_ns": refill.cpu_ns,
        "stats": stats,
    }))
}
