//! W10: four programs that sleep, beside one that is busy.

use std::process::Stdio;

use crate::child;
use crate::measure::{Mode, interleaved};
use crate::row::{Limit, Table};
use crate::{Bench, Result};

const SLEEPERS: usize = 4;

pub fn w10(bench: &Bench, table: &mut Table) -> Result<()> {
    let seconds = bench.scaled(8, 3);
    // 3 ms a chunk, and some for the start.
    let bytes = ((seconds + 3) * 1000 / 3 * 16 * 1024).to_string();
    let turns = |mode: Mode| -> Result<f64> {
        let mut sleepers = Vec::new();
        for _ in 0..SLEEPERS {
            sleepers.push(
                bench
                    .lua
                    .start(mode, "latency_live.lua", &[&bytes], Stdio::null())?,
            );
        }
        std::thread::sleep(std::time::Duration::from_secs(1));
        let figures = child::start(Mode::Off, &["busy", &seconds.to_string()])?;
        Ok(figures["turns"].as_f64().unwrap_or(0.0))
    };
    let runs = interleaved(bench.rounds, turns)?;
    let slower = (1.0 - runs.ratio(|turns| *turns)) * 100.0;
    table.add(
        "W10",
        "a busy process beside four sleepers: slower by",
        "%",
        Limit::AtMost(1.0),
        slower,
        None,
    );
    Ok(())
}
