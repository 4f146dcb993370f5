//! W8: heaps of unkind shapes. How late can a wait be for a step?

use crate::child;
use crate::child::shapes::SHAPES;
use crate::measure::{Mode, median};
use crate::row::{Limit, Table};
use crate::{Bench, Result};

pub fn w8(bench: &Bench, table: &mut Table) -> Result<()> {
    let events = bench.scaled(3000, 200).to_string();
    for shape in SHAPES {
        let mut runs = Vec::new();
        for _ in 0..bench.rounds {
            runs.push(child::start(Mode::On, &["shape", shape, &events])?);
        }
        let us = |key: &str| {
            median(
                runs.iter()
                    .map(|run| run[key].as_f64().unwrap_or(0.0) / 1e3),
            )
        };
        for (key, name, limit) in [
            ("overrun_p99_ns", "p99", Limit::AtMost(20.0)),
            ("overrun_max_ns", "max", Limit::AtMost(100.0)),
            ("step_max_ns", "of any step", Limit::None),
        ] {
            let figure = format!("{shape}: step overrun {name}, CPU time");
            table.add("W8", figure, "µs", limit, us(key), None);
        }
    }
    Ok(())
}
