//! W5 and W6: programs that do little or nothing, and a heap that may be large.

use std::io::{BufRead, BufReader};
use std::process::Stdio;
use std::thread::sleep;
use std::time::Duration;

use crate::lua::LuaRun;
use crate::measure::{Mode, side_by_side};
use crate::row::{Limit, Table};
use crate::{Bench, Result, watch};

/// What the layer below decides by, in milliseconds: the shortest wait that starts a cycle, a timeout that tells something, a
/// long wait, the scavenger's period, and for how long a look at the machine holds.
const THRESHOLDS_MS: [f64; 5] = [0.05, 1.0, 50.0, 100.0, 1000.0];

pub fn w5(bench: &Bench, table: &mut Table) -> Result<()> {
    let live_mb = bench.scaled(300, 100).to_string();
    let mut periods_ms: Vec<f64> = THRESHOLDS_MS
        .iter()
        .flat_map(|at| [at / 2.0, *at, at * 2.0])
        .collect();
    periods_ms.sort_by(f64::total_cmp);
    periods_ms.dedup();
    if bench.quick {
        periods_ms.retain(|ms| [50.0, 1000.0].contains(ms));
    }
    for period_ms in periods_ms {
        let window_s = match period_ms {
            500.0.. => 10.0,
            _ => 4.0,
        };
        // Neither more requests than tell something, nor fewer.
        let requests = (window_s * 1e3 / f64::max(period_ms, 0.2)).ceil().max(5.0);
        let arguments = [&*live_mb, &period_ms.to_string(), &requests.to_string()];
        let (off, on) = side_by_side(|mode| bench.lua.run(mode, "steady.lua", &arguments))?;
        let percent = |run: &LuaRun| run.report("cpu_percent");
        let is_the_case = period_ms == 1000.0;
        if is_the_case {
            let figure = format!("a request a second, {live_mb} MB alive: CPU time");
            table.add(
                "W5",
                figure,
                "% of a core",
                Limit::AtMost(0.5),
                percent(&on),
                Some(percent(&off)),
            );
        } else {
            let figure = format!("a request in {period_ms} ms: CPU time beyond off");
            let limit = Limit::AtMost(0.5);
            table.add(
                "W5",
                figure,
                "% of a core",
                limit,
                percent(&on) - percent(&off),
                None,
            );
        }
    }
    Ok(())
}

pub fn w6(bench: &Bench, table: &mut Table) -> Result<()> {
    let ticks = bench.scaled(6000, 500);
    for bytes in [0, 40] {
        let (off, on) = side_by_side(|mode| quiet(bench, mode, ticks, bytes))?;
        let a_minute = |(run, others): &(LuaRun, f64)| {
            (run.report("extra_sleeps").max(0.0) + others) * 6000.0 / f64::from(ticks)
        };
        let what = match bytes {
            0 => "no allocation",
            _ => "40 bytes a tick",
        };
        let figure = format!("{what}: extra wake-ups a minute");
        let limit = Limit::AtMost(0.0);
        table.add("W6", figure, "", limit, a_minute(&on), Some(a_minute(&off)));
        let cycles = on.0.stat("cycles_by_cause/idle");
        let figure = format!("{what}: cycles");
        table.add("W6", figure, "", Limit::AtMost(5.0), cycles, None);
    }
    Ok(())
}

/// What the script says, and how often threads beside the main one woke up after it had settled.
fn quiet(bench: &Bench, mode: Mode, ticks: u32, bytes: u32) -> Result<(LuaRun, f64)> {
    let arguments = [&*ticks.to_string(), &bytes.to_string()];
    let mut running = bench
        .lua
        .start(mode, "quiet.lua", &arguments, Stdio::piped())?;
    let pid = running.child.id();
    let mut line = String::new();
    let stdout = running.child.stdout.take().ok_or("no pipe")?;
    let mut stdout = BufReader::new(stdout);
    stdout.read_line(&mut line)?;
    if line.trim() != "quiet" {
        return Err("quiet.lua has ended early".into());
    }
    let before = watch::sleeps_of_others(pid)?;
    // A little less than the ticks take.
    sleep(Duration::from_millis(u64::from(ticks) * 95 / 10));
    let others = watch::sleeps_of_others(pid)? - before;
    Ok((running.finish()?, others))
}
