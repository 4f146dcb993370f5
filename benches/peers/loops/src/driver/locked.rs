//! Runs the workloads on a plain allocator behind each lock.

use super::cases::{self, Case, Entrant, Outcome};
use crate::Result;
use peers_common::cargo;
use peers_common::record::{Context, Ready};
use peers_common::samples::geometric_mean;
use peers_common::table::Table;
use peers_common::variants::Variant;
use serde_json::json;
use std::fmt::Write;

/// The locks: name, and the setting that chooses it.
const LOCKS: [(&str, &str); 5] = [
    ("sleepy", "sleepy"),
    (YIELDS, "yield"),
    ("the seed: one spins 256 times, then yields", "spin-yield"),
    ("parking_lot", "parking-lot"),
    ("std", "std"),
];
/// What the others are measured against.
const YIELDS: &str = "yields at once";

const WORKLOADS: [(&str, &[u32]); 7] = [
    ("message_one", &[1]),
    ("message_many", &[2, 4]),
    ("churn", &[1, 2, 4]),
    ("list_allocate", &[1, 2, 4]),
    ("tree_allocate", &[1, 2, 4]),
    ("tree_churn", &[1, 2, 4]),
    ("replay", &[1, 2, 4]),
];

/// Runs the driver.
pub fn run(context: &Context) -> Result<String> {
    cargo::build("with-locked")?;
    let peer = Ready {
        variant: Variant {
            name: "locked",
            peer: "locked",
            env: &[],
            note: "a plain allocator behind a lock",
            default: false,
        },
        program: cargo::binary("with-locked")?,
        hello: cargo::binary("hello-locked")?,
    };
    let percent = if context.quick { 2 } else { 20 };
    let mut cases = Vec::new();
    for (workload, threads) in WORKLOADS {
        for threads in threads {
            let arguments = format!("run {workload} --threads {threads} --percent {percent}");
            for (lock, setting) in LOCKS {
                let mut entrant = Entrant::plain(&peer);
                entrant.name = lock.to_owned();
                entrant.env.push(("BENCH_LOCK", setting));
                cases.push(Case::new(
                    &format!("{workload} {threads}"),
                    &entrant,
                    &arguments,
                ));
            }
        }
    }
    let outcomes = cases::run("locked", context.rounds, cases)?;
    let text = text(&outcomes, percent)?;
    context.write("locked", &text, &json!({"outcomes": outcomes}))?;
    Ok(text)
}

fn text(outcomes: &[Outcome], percent: u32) -> Result<String> {
    let mut text = format!(
        "# The workloads ({percent} % of their size) on a plain allocator behind a lock\n\nThe number after a workload is \
         that of its threads; ms; the means are against the lock that yields at once.\n"
    );
    for (title, path) in [
        ("Wall", "wall_ns"),
        ("CPU", "usage/cpu_ns"),
        ("System", "usage/sys_ns"),
    ] {
        let mut head = vec![title.to_owned()];
        head.extend(LOCKS.map(|(lock, _)| lock.to_owned()));
        let mut table = Table::new(head);
        for group in cases::groups(outcomes) {
            let cells = LOCKS.iter().map(|(lock, _)| {
                let ns = find(outcomes, group, lock).and_then(|o| o.mean(path));
                ns.map_or_else(String::new, |ns| cases::short(ns / 1e6))
            });
            table.row(std::iter::once(group.to_owned()).chain(cells));
        }
        if path != "usage/sys_ns" {
            let means = LOCKS.iter().map(|(lock, _)| {
                let ratios: Vec<f64> = cases::groups(outcomes)
                    .into_iter()
                    .filter_map(|group| {
                        let ns = |lock| find(outcomes, group, lock)?.number(path);
                        Some(ns(lock)? / ns(YIELDS)?)
                    })
                    .collect();
                format!("{:.3}", geometric_mean(&ratios))
            });
            table.row(std::iter::once("geometric mean".to_owned()).chain(means));
        }
        write!(text, "\n{table}")?;
    }
    Ok(text)
}

fn find<'o>(outcomes: &'o [Outcome], group: &str, lock: &str) -> Option<&'o Outcome> {
    outcomes
        .iter()
        .find(|o| o.case.group == group && o.case.entrant.name == lock)
}
