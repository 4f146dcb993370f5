//! W11: the first request after a pause.

use crate::measure::{median, side_by_side};
use crate::row::{Limit, Table};
use crate::{Bench, Result};

pub fn w11(bench: &Bench, table: &mut Table) -> Result<()> {
    let mut pauses_s = vec![1; bench.scaled(12, 5) as usize];
    if !bench.quick {
        pauses_s.push(30);
    }
    if bench.long {
        pauses_s.push(180);
    }
    let list: Vec<String> = pauses_s.iter().map(u32::to_string).collect();
    let arguments = [&*list.join(",")];
    let (off, on) = side_by_side(|mode| bench.lua.run(mode, "resume.lua", &arguments))?;
    let mut lengths = pauses_s.clone();
    lengths.dedup();
    for length in lengths {
        let of_length = |name: &str, run: &crate::lua::LuaRun| {
            let figures = run.reports(name).into_iter().zip(&pauses_s);
            median(
                figures
                    .filter(|(_, pause)| **pause == length)
                    .map(|(figure, _)| figure),
            )
        };
        let ms = of_length("request_ms", &on) - of_length("request_ms", &off);
        let figure = format!("request after {length} s, beyond off");
        table.add("W11", figure, "ms", Limit::AtMost(1.0), ms, None);
        let faults = |run| of_length("request_faults", run);
        let limit = match length {
            // Of the pages that the request writes to.
            1 => Limit::AtMost(faults(&off) * 1.05),
            _ => Limit::None,
        };
        let figure = format!("page faults of a request after {length} s");
        table.add("W11", figure, "", limit, faults(&on), Some(faults(&off)));
    }
    Ok(())
}
