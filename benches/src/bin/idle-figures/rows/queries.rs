//! The pg-like case: 10,000 rows a request.

use crate::lua::LuaRun;
use crate::measure::interleaved;
use crate::row::{Limit, Table};
use crate::{Bench, Result};

pub fn pg(bench: &Bench, table: &mut Table) -> Result<()> {
    let requests = bench.scaled(500, 100).to_string();
    let runs = interleaved(bench.rounds, |mode| {
        bench.lua.run(mode, "pg_rows.lua", &[&requests])
    })?;
    let a_second = |run: &LuaRun| run.report("requests_a_second");
    let figure = "10,000 rows a request: requests a second against off";
    table.add(
        "pg",
        figure,
        "x",
        Limit::AtLeast(1.05),
        runs.ratio(a_second),
        None,
    );
    let (off, on) = runs.medians(a_second);
    table.add("pg", "requests a second", "", Limit::None, on, Some(off));
    Ok(())
}
