//! Runs a server with gaps between the requests: what a gap adds to the request after it.

use super::cases::{self, Case, Outcome, entrants};
use super::figure::Figures;
use crate::Result;
use peers_common::record::Context;
use peers_common::table::Table;
use serde_json::json;

/// A gap: its name, its length, and the requests after such gaps.
const GAPS: [(&str, u64, u64); 4] = [
    ("none", 0, 200),
    ("250 ms", 250, 12),
    ("1 s", 1000, 8),
    ("30 s", 30_000, 4),
];

/// Runs the driver.
pub fn run(context: &Context, long_gaps: bool) -> Result<String> {
    let gaps = match (long_gaps, context.quick) {
        (true, _) => &GAPS[..],
        (false, false) => &GAPS[..3],
        (false, true) => &GAPS[..2],
    };
    let all = entrants(context);
    let mut cases = Vec::new();
    for (name, gap_ms, requests) in gaps {
        let arguments = format!(
            "server --answer heavy --connections 1 --warm-up 100 --requests {requests} --gap-ms {gap_ms}"
        );
        cases.extend(
            all.iter()
                .map(|entrant| Case::new(name, entrant, &arguments)),
        );
    }
    let outcomes = cases::run("refault", context.rounds.div_ceil(2), cases)?;
    let text = text(&outcomes, gaps);
    let json = json!({"figures": Figures::default(), "outcomes": outcomes});
    context.write("refault", &text, &json)?;
    Ok(text)
}

fn text(outcomes: &[Outcome], gaps: &[(&str, u64, u64)]) -> String {
    let mut head = vec!["".to_owned()];
    for (name, ..) in gaps {
        head.push(format!("gap {name}: faults"));
        head.push("CPU µs".to_owned());
        head.push("client's µs".to_owned());
        if *name != "none" {
            head.push("faults added".to_owned());
            head.push("CPU µs added".to_owned());
        }
    }
    let mut table = Table::new(head);
    for base in outcomes.iter().filter(|o| o.case.group == "none") {
        let mut cells = vec![base.case.entrant.name.clone()];
        for (name, ..) in gaps {
            let Some(row) = outcomes
                .iter()
                .find(|o| o.case.group == *name && o.case.entrant.name == base.case.entrant.name)
            else {
                continue;
            };
            cells.push(row.cell("request/minor_faults", 1.0));
            cells.push(row.cell("request/cpu_ns", 1e3));
            cells.push(row.cell("client/latency_p50_ns", 1e3));
            if *name != "none" {
                cells.push(added(row, base, "request/minor_faults", 1.0));
                cells.push(added(row, base, "request/cpu_ns", 1e3));
            }
        }
        table.row(cells);
    }
    format!(
        "# A request after a gap\n\nEach request makes and frees 64 buffers of 16 KiB and 4096 small objects. Medians; CPU \
         of the server's thread.\n\n{table}"
    )
}

fn added(row: &Outcome, base: &Outcome, path: &str, unit: f64) -> String {
    let added = row.number(path).zip(base.number(path));
    added.map_or_else(
        || "–".to_owned(),
        |(with, without)| cases::short((with - without) / unit),
    )
}
