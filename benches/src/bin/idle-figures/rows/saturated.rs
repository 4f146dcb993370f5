//! W3: a program that never waits.

use std::process::Command;

use crate::lua::LuaRun;
use crate::measure::{Mode, interleaved, median};
use crate::row::{Limit, Table};
use crate::{Bench, Result};

pub fn w3(bench: &Bench, table: &mut Table) -> Result<()> {
    instructions(bench, table)?;
    let batches = bench.scaled(100, 30).to_string();
    let runs = interleaved(bench.rounds * 3, |mode| {
        bench.lua.run(mode, "saturation.lua", &[&batches, "128"])
    })?;
    table.add(
        "W3",
        "CPU time of a batch against off",
        "x",
        Limit::None,
        runs.ratio(|run| median(run.reports("batch_ms"))),
        None,
    );
    // What a neighbour on the machine does to a batch or two is no part of it: the middle nine tenths.
    let (off, on) = runs.medians(variance);
    table.add(
        "W3",
        "variance of batches against off",
        "x",
        Limit::AtMost(1.1),
        on / off,
        None,
    );
    Ok(())
}

fn variance(run: &LuaRun) -> f64 {
    let mut batches = run.reports("batch_ms");
    batches.sort_by(f64::total_cmp);
    let cut = batches.len() / 20;
    let middle = &batches[cut..batches.len() - cut];
    let mean = middle.iter().sum::<f64>() / middle.len() as f64;
    middle.iter().map(|ms| (ms - mean).powi(2)).sum::<f64>() / middle.len() as f64
}

/// Counts instructions with callgrind; the same program needs the same number each time, but for how its input is cut.
fn instructions(bench: &Bench, table: &mut Table) -> Result<()> {
    if Command::new("valgrind").arg("--version").output().is_err() {
        eprintln!("W3: no valgrind, so instructions are not counted");
        return Ok(());
    }
    let batches = bench.scaled(24, 4).to_string();
    let count = |mode: Mode| -> Result<f64> {
        let folder = tempfile::tempdir()?;
        let log = folder.path().join("log");
        let mut valgrind = Command::new("valgrind");
        let option = |name: &str, path: &std::path::Path| {
            let mut option = std::ffi::OsString::from(name);
            option.push(path);
            option
        };
        valgrind
            .args(["--tool=callgrind", "--trace-children=no"])
            .arg(option("--callgrind-out-file=", &folder.path().join("out")))
            .arg(option("--log-file=", &log));
        let mut running =
            bench
                .lua
                .start_under(valgrind, mode, "saturation.lua", &[&batches, "64"])?;
        running.finish()?;
        let text = std::fs::read_to_string(log)?;
        let line = text
            .lines()
            .find_map(|line| line.split_once("Collected : "));
        let (_, count) = line.ok_or("callgrind has counted nothing")?;
        Ok(count.trim().parse()?)
    };
    let runs = interleaved(bench.rounds.min(2), count)?;
    table.add(
        "W3",
        "instructions against off",
        "x",
        Limit::AtMost(1.003),
        runs.ratio(|n| *n),
        None,
    );
    Ok(())
}
