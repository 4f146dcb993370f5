//! The table of the network workload, and its JSON.

use super::{Plan, Row, Sample};
use crate::peers::{ANCHOR, OURS};
use peers_common::machine::Machine;
use peers_common::table::{Table, short};
use serde_json::{Value, json};
use std::path::Path;
use std::{fs, io};

/// The most of the anchor's mean that may be resident in the mean, and of its CPU time that a request may take.
const LIMITS: (f64, f64) = (0.55, 1.1);

type Figure = fn(&Sample) -> f64;

const FIGURES: [(&str, Figure); 5] = [
    ("mean resident, MiB", |s| s.mean_mib),
    ("peak resident, MiB", |s| s.peak_mib),
    ("CPU a request, µs", |s| s.cpu_us_per_request),
    ("answer p50, µs", |s| s.answer_p50_us),
    ("answer p99, µs", |s| s.answer_p99_us),
];

fn find<'r>(rows: &'r [Row], name: &str) -> Option<&'r Row> {
    rows.iter().find(|row| row.entrant.name == name)
}

/// The whole text.
pub fn markdown(rows: &[Row], plan: Plan, machine: &Machine, rounds: usize) -> String {
    let mut head = vec!["interpreter".to_owned()];
    head.extend(FIGURES.iter().map(|(name, _)| (*name).to_owned()));
    head.extend(["mean / lua5.4".to_owned(), "CPU / lua5.4".to_owned()]);
    let mut table = Table::new(head);
    let anchor = find(rows, ANCHOR);
    let ratio = |row: &Row, figure: Figure| {
        let of_anchor = anchor.and_then(|anchor| anchor.median(figure));
        let ratio = row.median(figure).zip(of_anchor).map(|(a, b)| a / b);
        ratio.map_or(String::new(), short)
    };
    for row in rows {
        let mut cells = vec![row.entrant.name.clone()];
        cells.extend(
            FIGURES
                .iter()
                .map(|(_, figure)| row.median(figure).map_or("failed".to_owned(), short)),
        );
        cells.push(ratio(row, |s| s.mean_mib));
        cells.push(ratio(row, |s| s.cpu_us_per_request));
        table.row(cells);
    }
    let mut verdicts = Table::new(["what", "limit", "measured", ""]);
    if let (Some(ours), Some(anchor)) = (find(rows, OURS), anchor) {
        let figures: [(&str, f64, Figure); 2] = [
            ("mean resident / lua5.4", LIMITS.0, |s| s.mean_mib),
            ("CPU a request / lua5.4", LIMITS.1, |s| s.cpu_us_per_request),
        ];
        for (what, limit, figure) in figures {
            if let (Some(a), Some(b)) = (ours.median(figure), anchor.median(figure)) {
                let verdict = if a / b <= limit { "met" } else { "**missed**" };
                verdicts.row([
                    what.to_owned(),
                    format!("≤ {limit}"),
                    short(a / b),
                    verdict.to_owned(),
                ]);
            }
        }
    }
    format!(
        "# The network workload\n\n{}. Load average before {}. Medians of {rounds} rounds, in changing order. A server in Lua \
         (`network/server.lua`) keeps the last 500 documents of four clients that are 1 to 5 ms away; {} requests are measured \
         after {}.\n\n{table}\n{verdicts}\n",
        machine.line(),
        machine.load,
        plan.requests,
        plan.warm_up
    )
}

/// Everything, with each sample.
pub fn json(rows: &[Row], plan: Plan, machine: &Machine, rounds: usize) -> Value {
    json!({ "machine": machine, "rounds": rounds, "anchor": ANCHOR, "plan": plan, "interpreters": rows })
}

/// Writes `lua-network.md` and `lua-network.json` to `folder`.
pub fn write(folder: &Path, text: &str, json: &Value) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    fs::write(folder.join("lua-network.md"), text)?;
    fs::write(folder.join("lua-network.json"), format!("{json}\n"))
}
