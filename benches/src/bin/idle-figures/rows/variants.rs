//! W12: other ways to wait. What does a wait that finds nothing to collect cost, beside the plain one?

use crate::child;
use crate::child::variants::VARIANTS;
use crate::measure::interleaved;
use crate::row::{Limit, Table};
use crate::{Bench, Result};

pub fn w12(bench: &Bench, table: &mut Table) -> Result<()> {
    let waits = bench.scaled(4000, 300).to_string();
    for variant in VARIANTS {
        let runs = interleaved(bench.rounds, |mode| {
            child::start(mode, &["variant", variant, &waits])
        })?;
        let us =
            |key: &'static str| runs.medians(move |run| run[key].as_f64().unwrap_or(0.0) / 1e3);
        for (key, name, limit) in [
            ("wake_p50_ns", "p50", Limit::None),
            ("wake_p99_ns", "p99", Limit::AtMost(20.0)),
        ] {
            let (off, on) = us(key);
            let figure = format!("{variant}: wake delay {name}, beyond off's {off:.0} µs");
            table.add("W12", figure, "µs", limit, on - off, None);
        }
        let (off, on) = us("cpu_a_wait_ns");
        let figure = format!("{variant}: CPU time a wait");
        table.add("W12", figure, "µs", Limit::None, on, Some(off));
    }
    Ok(())
}
