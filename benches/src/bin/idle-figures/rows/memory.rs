//! W7 and W9: memory that is freed by other threads, and heaps of programs that never wait.

use crate::child;
use crate::measure::{Mode, median};
use crate::row::{Limit, Table};
use crate::{Bench, Result};

pub fn w7(bench: &Bench, table: &mut Table) -> Result<()> {
    let messages = bench.scaled(200_000, 40_000).to_string();
    let mut peaks = [Vec::new(), Vec::new()];
    for _ in 0..bench.rounds {
        for (who, peaks) in ["local", "remote"].into_iter().zip(&mut peaks) {
            let figures = child::start(Mode::On, &["spmc", who, &messages])?;
            peaks.push(figures["grown_bytes"].as_f64().unwrap_or(0.0) / 1e6);
        }
    }
    let [local, remote] = peaks.map(median);
    let figure = "one producer, four consumers: growth, beyond that of local frees";
    // The classes that four more threads hold pages of.
    table.add("W7", figure, "MB", Limit::AtMost(1.0), remote - local, None);
    table.add(
        "W7",
        "growth with local frees; with remote ones",
        "MB",
        Limit::None,
        remote,
        Some(local),
    );
    Ok(())
}

pub fn w9(bench: &Bench, table: &mut Table) -> Result<()> {
    let made_mb = bench.scaled(2000, 300).to_string();
    for kind in ["objects", "bytes"] {
        let mut times = Vec::new();
        for _ in 0..bench.rounds {
            let run = bench
                .lua
                .run(Mode::On, "pressure.lua", &[kind, "20", &made_mb])?;
            times.push(run.report("times_live"));
        }
        let figure = format!("never idle, {kind}: largest heap, times what is alive");
        table.add("W9", figure, "x", Limit::AtMost(2.0), median(times), None);
    }
    Ok(())
}
