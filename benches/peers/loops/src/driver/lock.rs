//! Runs the locks against each other.

use super::cases::{self, Case, Entrant, Outcome};
use super::figure::Figures;
use crate::Result;
use peers_common::record::Context;
use peers_common::table::Table;
use serde_json::json;
use std::fmt::Write;

/// The locks: name and argument.
const LOCKS: [(&str, &str); 5] = [
    ("sleepy", "sleepy"),
    ("yields at once", "yield"),
    ("the seed: one spins 256 times, then yields", "spin-yield"),
    ("parking_lot", "parking-lot"),
    ("std", "std"),
];

/// Threads, work with the lock held, work between two acquisitions.
const LOADS: [(u32, u32, u32); 7] = [
    (1, 15, 15),
    (2, 15, 15),
    (4, 85, 85),
    (2, 15, 200),
    (4, 15, 200),
    (2, 85, 1000),
    (4, 85, 1000),
];

/// Runs the driver.
pub fn run(context: &Context) -> Result<String> {
    let run_ms = if context.quick { 50 } else { 500 };
    let peer = context.peers.first().ok_or("no peers")?;
    let mut cases = Vec::new();
    for (threads, held_ns, outside_ns) in LOADS {
        let group = name(threads, held_ns, outside_ns);
        for (lock, kind) in LOCKS {
            let mut entrant = Entrant::plain(peer);
            entrant.name = lock.to_owned();
            let arguments = format!(
                "lock --kind {kind} --threads {threads} --held-ns {held_ns} --outside-ns {outside_ns} --run-ms {run_ms}"
            );
            cases.push(Case::new(&group, &entrant, &arguments));
        }
    }
    let outcomes = cases::run("lock", context.rounds, cases)?;
    let mut figures = Figures::default();
    let judged = outcomes
        .iter()
        .find(|o| o.case.entrant.name == "sleepy" && o.case.group == name(4, 85, 1000));
    let us = judged
        .and_then(|o| o.number("wait_p99_9_ns"))
        .map(|ns| ns / 1e3);
    figures.at_most("4 threads, 85 ns held: wait p99.9", us, 1.0, " µs");
    let system_ns = judged.and_then(|o| o.mean("system_ns"));
    figures.at_most("the same: system time an operation", system_ns, 10.0, " ns");
    let text = text(&outcomes)? + &figures.table();
    let json = json!({"figures": figures, "outcomes": outcomes});
    context.write("lock", &text, &json)?;
    Ok(text)
}

fn name(threads: u32, held_ns: u32, outside_ns: u32) -> String {
    let s = if threads == 1 { "" } else { "s" };
    format!("{threads} thread{s}, {held_ns} ns held, {outside_ns} ns between")
}

fn text(outcomes: &[Outcome]) -> Result<String> {
    let mut text = "# Locks\n\nTimes in ns; operations in millions a second; fairness: the least a thread got over the most.\n"
        .to_owned();
    for group in cases::groups(outcomes) {
        write!(text, "\n## {group}\n\n")?;
        let mut table = Table::new([
            "",
            "Mops",
            "CPU an op",
            "system an op",
            "wait p50",
            "p99.9",
            "longest",
            "fairness",
        ]);
        for row in outcomes.iter().filter(|o| o.case.group == group) {
            table.row([
                row.case.entrant.name.clone(),
                row.cell("mops", 1.0),
                row.cell("cpu_ns", 1.0),
                row.mean("system_ns").map_or_else(String::new, cases::short),
                row.cell("wait_p50_ns", 1.0),
                row.cell("wait_p99_9_ns", 1.0),
                row.cell("wait_max_ns", 1.0),
                row.cell("fairness", 1.0),
            ]);
        }
        text.push_str(&table.to_string());
    }
    Ok(text)
}
