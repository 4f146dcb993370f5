//! W4: bursts, then silence. How soon is the heap at its floor, and what is resident?

use std::io::{BufRead, BufReader};
use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::measure::{Mode, median};
use crate::row::{Limit, Table};
use crate::{Bench, Result, watch};

/// What a run has shown, from the moment at which the silence begins.
struct Silence {
    /// Until memory was within 2 % of where it stayed.
    resident_ms: f64,
    /// Until the collector was done.
    collector_ms: f64,
    /// How often any of its threads woke up after the first second.
    sleeps: f64,
    /// What was resident in the end.
    end_bytes: f64,
}

pub fn w4(bench: &Bench, table: &mut Table) -> Result<()> {
    let silence_s = match (bench.long, bench.quick) {
        (true, _) => 40.0,
        (_, true) => 3.0,
        _ => 6.0,
    };
    let mut off = Vec::new();
    let mut on = Vec::new();
    for _ in 0..bench.rounds {
        off.push(run(bench, Mode::Off, 3.0)?);
        on.push(run(bench, Mode::On, silence_s)?);
    }
    let all = |of: fn(&Silence) -> f64| median(on.iter().map(of));
    let figure = "to the collector's floor after the burst";
    table.add(
        "W4",
        figure,
        "ms",
        Limit::AtMost(100.0),
        all(|it| it.collector_ms),
        None,
    );
    let figure = "to the floor of resident memory";
    table.add(
        "W4",
        figure,
        "ms",
        Limit::AtMost(1000.0),
        all(|it| it.resident_ms),
        None,
    );
    let off_end = median(off.iter().map(|it| it.end_bytes / 1e6));
    let figure = "resident in the silence";
    table.add(
        "W4",
        figure,
        "MB",
        Limit::None,
        all(|it| it.end_bytes / 1e6),
        Some(off_end),
    );
    let figure = format!("wake-ups in the silence, {:.0} s", silence_s - 1.5);
    table.add(
        "W4",
        figure,
        "",
        Limit::AtMost(0.0),
        all(|it| it.sleeps),
        None,
    );
    Ok(())
}

fn run(bench: &Bench, mode: Mode, silence_s: f64) -> Result<Silence> {
    let bursts = bench.scaled(10, 5).to_string();
    let arguments = [&*silence_s.to_string(), &bursts];
    let mut running = bench.lua.start_traced(mode, "burst.lua", &arguments)?;
    let pid = running.child.id();
    let mut line = String::new();
    let stdout = running.child.stdout.take().ok_or("no pipe")?;
    let mut stdout = BufReader::new(stdout);
    while line.trim() != "silent" {
        line.clear();
        if stdout.read_line(&mut line)? == 0 {
            return Err("burst.lua has ended without a silence".into());
        }
    }
    let begun = Instant::now();
    let (begun_us, end_s) = (monotonic_us(), silence_s - 0.5);
    let mut samples = Vec::new();
    let mut sleeps_at_1_s = None;
    while begun.elapsed().as_secs_f64() < end_s {
        samples.push((
            begun.elapsed().as_secs_f64() * 1e3,
            watch::resident_bytes(pid)?,
        ));
        if begun.elapsed().as_secs_f64() >= 1.0 && sleeps_at_1_s.is_none() {
            sleeps_at_1_s = Some(watch::sleeps(pid)?);
        }
        sleep(Duration::from_millis(5));
    }
    let sleeps = watch::sleeps(pid)? - sleeps_at_1_s.unwrap_or(0.0);
    running.finish()?;
    let end_bytes = samples.last().map_or(0.0, |sample| sample.1);
    let above = samples
        .iter()
        .rposition(|sample| sample.1 > end_bytes * 1.02);
    let resident_ms = above.map_or(0.0, |at| samples[(at + 1).min(samples.len() - 1)].0);
    let end_us = begun_us + end_s * 1e6;
    let worked_us = running.last_step_us(begun_us, end_us)?.unwrap_or(begun_us);
    Ok(Silence {
        resident_ms,
        collector_ms: (worked_us - begun_us) / 1e3,
        sleeps,
        end_bytes,
    })
}

/// The clock of the interpreter's trace.
fn monotonic_us() -> f64 {
    let mut now = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the place is writable, and the clock exists.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut now) };
    now.tv_sec as f64 * 1e6 + now.tv_nsec as f64 / 1e3
}
