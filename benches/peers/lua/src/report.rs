//! Tables and JSON, and what was to be shown.

use crate::measure::{Cell, Sample, Table};
use crate::peers::{ANCHOR, OURS};
use crate::programs::{Kind, WEIGHTS};
use peers_common::machine::Machine;
use peers_common::samples::geometric_mean;
use peers_common::table::{self, short};
use serde_json::{Value, json};
use std::fmt::Write;
use std::path::Path;
use std::{fs, io};

/// A program that holds more than this on the anchor has a big heap.
const BIG_HEAP_MIB: f64 = 10.0;
/// The largest geometric mean of CPU time against the anchor, and the largest of one program.
const CPU_LIMITS: (f64, f64) = (1.3, 2.0);
/// The same for what is resident at most on big heaps.
const PEAK_LIMIT: f64 = 0.9;
/// How many percent of the peak may stay after the drop.
const KEPT_LIMIT: f64 = 10.0;

type Figure = fn(&Sample) -> f64;

fn printed(sample: &Sample) -> f64 {
    sample.output.parse().unwrap_or(f64::NAN)
}

fn column(table: &Table, name: &str) -> Option<usize> {
    table.peers.iter().position(|peer| peer.name == name)
}

/// The rows of a kind.
fn rows(table: &Table, kind: Kind) -> impl Iterator<Item = (&str, &Vec<Cell>)> {
    let rows = table.programs.iter().zip(&table.cells);
    rows.filter(move |(program, _)| program.kind == kind)
        .map(|(program, row)| (program.name.as_str(), row))
}

/// The ratios of a peer to the anchor, over the programs that `counts` picks by the anchor's figure.
fn ratios(table: &Table, peer: usize, figure: Figure, counts: impl Fn(&Cell) -> bool) -> Vec<f64> {
    let Some(anchor) = column(table, ANCHOR) else {
        return Vec::new();
    };
    rows(table, Kind::Speed)
        .filter(|(_, row)| counts(&row[anchor]))
        .filter_map(|(_, row)| Some(row[peer].median(figure)? / row[anchor].median(figure)?))
        .filter(|ratio| ratio.is_finite() && *ratio > 0.0)
        .collect()
}

fn is_big(cell: &Cell) -> bool {
    cell.median(|sample| sample.peak_mib)
        .is_some_and(|mib| mib > BIG_HEAP_MIB)
}

fn head(table: &Table, first: &str) -> table::Table {
    let names = table.peers.iter().map(|peer| peer.name.clone());
    table::Table::new(std::iter::once(first.to_owned()).chain(names))
}

fn figures(table: &Table, kind: Kind, figure: Figure, first: &str) -> table::Table {
    let mut text = head(table, first);
    for (name, row) in rows(table, kind) {
        let cells = row.iter().map(|cell| match cell.median(figure) {
            Some(figure) => short(figure),
            None if cell.cannot.is_some() => "can't run".to_owned(),
            None => "failed".to_owned(),
        });
        text.row(std::iter::once(name.to_owned()).chain(cells));
    }
    text
}

/// The whole text.
pub fn markdown(table: &Table, machine: &Machine, rounds: usize) -> String {
    let mut text = format!(
        "# Lua interpreters compared\n\n{}. Load average before {}. Medians of {rounds} rounds, each run in a fresh process, in \
         changing order. Every interpreter with its own defaults.\n\n",
        machine.line(),
        machine.load
    );
    let cpu = figures(table, Kind::Speed, |s| s.cpu_s, "CPU time, s");
    let peak = figures(table, Kind::Speed, |s| s.peak_mib, "peak resident, MiB");
    let weight = figures(table, Kind::Weight, printed, "resident bytes of one");
    let kept = figures(
        table,
        Kind::Drop,
        printed,
        "resident after the drop, % of the peak",
    );
    let parts = [cpu, peak, weight, kept];
    for part in parts {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{part}");
    }
    let mut means = head(table, "geometric means, lua5.4 = 1");
    let line = |name: &str, of: &dyn Fn(usize) -> f64| {
        let means = (0..table.peers.len()).map(|peer| match of(peer) {
            mean if mean > 0.0 => short(mean),
            _ => "–".to_owned(),
        });
        std::iter::once(name.to_owned())
            .chain(means)
            .collect::<Vec<_>>()
    };
    means.row(line("CPU time", &|p| {
        geometric_mean(&ratios(table, p, |s| s.cpu_s, |_| true))
    }));
    means.row(line("peak resident, big heaps", &|p| {
        geometric_mean(&ratios(table, p, |s| s.peak_mib, is_big))
    }));
    let _ = writeln!(text, "{means}");
    let _ = writeln!(text, "{}", verdicts(table));
    text.push_str(&lacking(table));
    for program in table.differing() {
        let _ = writeln!(
            text,
            "**`{}` did not print the same everywhere.**",
            program.name
        );
    }
    text
}

/// What can't be run, by whom, and why; nothing if all run everything.
fn lacking(table: &Table) -> String {
    let mut text = table::Table::new(["can't run", "by", "why"]);
    let mut any = false;
    for (program, row) in table.programs.iter().zip(&table.cells) {
        for (peer, cell) in table.peers.iter().zip(row) {
            if let Some(why) = &cell.cannot {
                any = true;
                let why = why.lines().next().unwrap_or_default();
                text.row([
                    program.name.clone(),
                    peer.name.clone(),
                    why.replace('|', "/"),
                ]);
            }
        }
    }
    if any {
        format!("{text}\n")
    } else {
        String::new()
    }
}

/// What was to be shown, and whether it is.
fn verdicts(table: &Table) -> table::Table {
    let mut text = table::Table::new(["what", "limit", "measured", ""]);
    let Some(ours) = column(table, OURS) else {
        return text;
    };
    let mut row = |what: &str, limit: f64, measured: f64| {
        let verdict = if measured <= limit {
            "met"
        } else {
            "**missed**"
        };
        text.row([
            what.to_owned(),
            format!("≤ {limit}"),
            short(measured),
            verdict.to_owned(),
        ]);
    };
    let cpu = ratios(table, ours, |s| s.cpu_s, |_| true);
    if !cpu.is_empty() {
        row(
            "CPU time, geometric mean",
            CPU_LIMITS.0,
            geometric_mean(&cpu),
        );
        row(
            "CPU time, worst program",
            CPU_LIMITS.1,
            cpu.iter().copied().fold(0.0, f64::max),
        );
    }
    let peak = ratios(table, ours, |s| s.peak_mib, is_big);
    if !peak.is_empty() {
        row(
            "peak resident, big heaps",
            PEAK_LIMIT,
            geometric_mean(&peak),
        );
    }
    for (name, limit) in WEIGHTS {
        let cell = rows(table, Kind::Weight).find(|(row, _)| *row == name);
        if let Some(bytes) = cell.and_then(|(_, row)| row[ours].median(printed)) {
            row(&format!("resident bytes of `{name}`"), limit, bytes);
        }
    }
    if let Some(kept) = rows(table, Kind::Drop)
        .next()
        .and_then(|(_, row)| row[ours].median(printed))
    {
        row("resident after the drop, % of the peak", KEPT_LIMIT, kept);
    }
    text
}

/// Everything, with each sample.
pub fn json(table: &Table, machine: &Machine, rounds: usize) -> Value {
    let programs: Vec<Value> = table
        .programs
        .iter()
        .zip(&table.cells)
        .map(|(program, row)| {
            let peers: serde_json::Map<String, Value> = table
                .peers
                .iter()
                .zip(row)
                .map(|(peer, cell)| (peer.name.clone(), json!(cell)))
                .collect();
            json!({ "program": program.name, "peers": peers })
        })
        .collect();
    json!({ "machine": machine, "rounds": rounds, "anchor": ANCHOR, "programs": programs })
}

/// Writes `lua.md` and `lua.json` to `folder`.
pub fn write(folder: &Path, text: &str, json: &Value) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    fs::write(folder.join("lua.md"), text)?;
    fs::write(folder.join("lua.json"), format!("{json}\n"))
}
