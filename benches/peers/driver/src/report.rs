//! Tables and JSON.

use crate::Error;
use crate::compare::Cell;
use crate::plan::Plan;
use crate::summary::{Against, Measure, against};
use peers_common::machine::Machine;
use peers_common::table::{Table, short};
use peers_common::variants::ANCHOR;
use serde_json::{Map, Value, json};
use std::fmt::Write;
use std::fs;
use std::path::Path;
use workloads::list::Kind;

fn title(measure: Measure) -> &'static str {
    match measure {
        Measure::CpuMs => "CPU time of a round, ms (least)",
        Measure::WallMs => "Wall time of a round, ms (median)",
        Measure::PeakMb => "Peak resident memory, MB (median)",
        Measure::PeakAnonMb => "Peak without code and other files, MB (median)",
        Measure::EndMb => "Resident memory after the rounds, MB (median)",
        Measure::SettledMb => "Resident memory after a wait, MB",
        Measure::Faults => "Page faults of a round (median)",
        Measure::ShrinkMs => "Balloon: until the process had shrunk, ms (median)",
    }
}

fn anchor(plan: &Plan) -> Option<usize> {
    plan.peers.iter().position(|p| p.variant.name == ANCHOR)
}

fn means(measure: Measure, plan: &Plan, cells: &[Vec<Cell>]) -> Option<Vec<Against>> {
    let anchor = anchor(plan)?;
    let all = (0..plan.peers.len()).map(|p| against(measure, plan, cells, p, anchor));
    Some(all.collect())
}

fn table(measure: Measure, plan: &Plan, cells: &[Vec<Cell>]) -> Option<String> {
    let shrink = measure == Measure::ShrinkMs;
    let names = plan.peers.iter().map(|p| p.variant.name.to_owned());
    let head = std::iter::once("workload, threads".to_owned()).chain(names);
    let mut table = Table::new(head);
    let mut rows = 0;
    for (case, row) in plan.cases.iter().zip(cells) {
        if shrink != (case.workload.kind == Kind::Until) && (shrink || measure == Measure::Faults) {
            continue;
        }
        let figures: Vec<Option<f64>> = row.iter().map(|cell| measure.value(cell)).collect();
        if !shrink && figures.iter().all(Option::is_none) {
            continue;
        }
        let text = |(figure, cell): (&Option<f64>, &Cell)| match figure {
            Some(x) => short(*x),
            None if !cell.failures.is_empty() => "failed".to_owned(),
            None if shrink => "not in time".to_owned(),
            None => String::new(),
        };
        let texts = figures.iter().zip(row).map(text);
        table.row(std::iter::once(case.label()).chain(texts));
        rows += 1;
    }
    if rows == 0 {
        return None;
    }
    if !shrink && let Some(all) = means(measure, plan, cells) {
        let line = |name: &str, text: &dyn Fn(&Against) -> String| {
            std::iter::once(name.to_owned())
                .chain(all.iter().map(text))
                .collect::<Vec<_>>()
        };
        let of = all.first().map_or(0, |a| a.cases);
        table.row(line(
            &format!("**geometric mean of {of}, against {ANCHOR}**"),
            &|a| format!("**{:.2}**", a.mean),
        ));
        table.row(line("worst", &|a| {
            format!("{:.2} ({})", a.worst, a.worst_case)
        }));
    }
    Some(format!("## {}\n\n{table}\n", title(measure)))
}

/// The whole text.
pub fn markdown(plan: &Plan, cells: &[Vec<Cell>], before: &Machine, after_load: &str) -> String {
    let mut text = String::from("# Allocators compared\n\n");
    // Writing to a string cannot fail.
    let _ = writeln!(
        text,
        "{}. Load average before {}, after {after_load}. {} rounds at {} % of the full sizes, each peer once a round in \
         a fresh process, in changing order; a process does one round to warm up and one that counts, but \
         `balloon` only the latter.\n",
        before.line(),
        before.load,
        plan.rounds,
        plan.percent
    );
    let mut table = Table::new(["peer", "version", "settings", ""]);
    for (p, peer) in plan.peers.iter().enumerate() {
        let env: Vec<String> = peer
            .variant
            .env
            .iter()
            .map(|(key, value)| format!("`{key}={value}`"))
            .collect();
        table.row([
            peer.variant.name.to_owned(),
            version(cells, p),
            env.join(" "),
            peer.variant.note.to_owned(),
        ]);
    }
    let _ = writeln!(text, "{table}");
    for measure in Measure::ALL {
        text.extend(table_of(measure, plan, cells));
    }
    text
}

fn table_of(measure: Measure, plan: &Plan, cells: &[Vec<Cell>]) -> Option<String> {
    let text = table(measure, plan, cells)?;
    let note = match measure {
        Measure::CpuMs | Measure::WallMs => {
            "Of all threads, the allocator's own included. `balloon` goes on until the process has shrunk or the time is \
             over, and has no part in the mean.\n\n"
        }
        Measure::SettledMb => {
            "One sample, from the last round. All threads wait as programs wait; where the allocator has a call for that, \
             with their heaps lent.\n\n"
        }
        Measure::PeakMb => {
            "Of the whole process: some 2.2 MB of it are the code of the program and the C library. Tables that are not the \
             allocator's are taken off.\n\n"
        }
        _ => "",
    };
    Some(text + note)
}

fn version(cells: &[Vec<Cell>], peer: usize) -> String {
    cells
        .iter()
        .find_map(|row| row[peer].samples.first())
        .map_or_else(String::new, |s| s.version.clone())
}

/// Everything, with each sample.
pub fn json(plan: &Plan, cells: &[Vec<Cell>], before: &Machine, after_load: &str) -> Value {
    let peers: Vec<Value> = plan
        .peers
        .iter()
        .enumerate()
        .map(|(p, peer)| json!({ "variant": peer.variant, "version": version(cells, p) }))
        .collect();
    let cases: Vec<Value> = plan
        .cases
        .iter()
        .zip(cells)
        .map(|(case, row)| {
            let by_peer: Map<String, Value> = plan
                .peers
                .iter()
                .zip(row)
                .map(|(peer, cell)| {
                    let figures: Map<String, Value> = Measure::ALL
                        .iter()
                        .map(|&m| (name(m), json!(m.value(cell))))
                        .collect();
                    let value = json!({
                        "figures": figures,
                        "samples": cell.samples,
                        "failures": cell.failures,
                    });
                    (peer.variant.name.to_owned(), value)
                })
                .collect();
            json!({
                "workload": case.workload.name,
                "threads": case.threads,
                "about": case.workload.about,
                "peers": by_peer,
            })
        })
        .collect();
    let means: Map<String, Value> = Measure::ALL
        .iter()
        .filter_map(|&m| {
            let all = means(m, plan, cells)?;
            let by_peer: Map<String, Value> = plan
                .peers
                .iter()
                .zip(all)
                .map(|(peer, against)| (peer.variant.name.to_owned(), json!(against)))
                .collect();
            Some((name(m), by_peer.into()))
        })
        .collect();
    json!({
        "machine": before,
        "load_after": after_load,
        "rounds": plan.rounds,
        "percent": plan.percent,
        "anchor": ANCHOR,
        "peers": peers,
        "means": means,
        "cases": cases,
    })
}

fn name(measure: Measure) -> String {
    serde_json::to_value(measure)
        .ok()
        .and_then(|v| v.as_str().map(str::to_owned))
        .unwrap_or_default()
}

/// Writes `alloc-peers.md` and `alloc-peers.json` to `folder`.
///
/// # Errors
/// [`Error::Write`].
pub fn write(folder: &Path, text: &str, json: &Value) -> Result<(), Error> {
    write_as(folder, "alloc-peers", text, json)
}

/// Writes `NAME.md` and `NAME.json` to `folder`.
///
/// # Errors
/// [`Error::Write`].
pub fn write_as(folder: &Path, name: &str, text: &str, json: &Value) -> Result<(), Error> {
    let fail = |e| Error::Write(folder.display().to_string(), e);
    fs::create_dir_all(folder).map_err(fail)?;
    fs::write(folder.join(format!("{name}.md")), text).map_err(fail)?;
    fs::write(folder.join(format!("{name}.json")), format!("{json}\n")).map_err(fail)
}
