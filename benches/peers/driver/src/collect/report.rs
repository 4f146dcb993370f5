//! Tables and JSON.

use super::Plan;
use super::limits::{Judged, LIMITS, judge};
use super::sample::{Cell, Measure};
use collectors::Figure;
use peers_common::machine::Machine;
use peers_common::table::{Table, short};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fmt::Write;

/// The tables of figures: a heading and a note for each.
const MEASURES: &[(Measure, &str, &str)] = &[
    (
        Measure::CpuS,
        "CPU time, s",
        "Of the whole workload, building and dropping included; the start of the process left out.",
    ),
    (
        Measure::PeakMb,
        "Peak resident memory, MB",
        "Of the whole process, about 2 MB of code included.",
    ),
    (
        Measure::Own(Figure::ObjectBytes),
        "Resident bytes an object",
        "",
    ),
    (
        Measure::Own(Figure::MarkNs),
        "Marking, ns an object",
        "Everything is alive. Thread CPU time: `full`, trees in the order of allocation, median of three cycles; `steps`, one long list; `array`, leaves in random order.",
    ),
    (
        Measure::Own(Figure::SweepNs),
        "Sweeping, ns an object, everything alive",
        "The same cycles.",
    ),
    (
        Measure::Own(Figure::SweepDeadNs),
        "Sweeping, ns an object, everything dead",
        "Memory given back included, where the collector does so.",
    ),
    (
        Measure::Own(Figure::CollectNs),
        "A whole collection, ns an object",
        "Mark and sweep together, which some do not tell apart.",
    ),
    (
        Measure::Own(Figure::DropNs),
        "Dropping everything, ns an object",
        "",
    ),
    (
        Measure::Own(Figure::MaxStepUs),
        "Longest step as the program runs, µs",
        "Thread CPU time of `collect_debt`. Where the collector runs inside of allocation, that of the batch of operations in which it ran.",
    ),
    (
        Measure::Own(Figure::P99StepUs),
        "p99 of these steps, µs",
        "Of all chances to collect, also those that did nothing.",
    ),
    (
        Measure::Own(Figure::MaxTimedUs),
        "Longest step with a budget of 15 µs, µs",
        "gc-arena has no budgets of time: there, steps with a debt of 100 objects.",
    ),
    (
        Measure::Own(Figure::P99TimedUs),
        "p99 of these steps, µs",
        "",
    ),
    (
        Measure::Own(Figure::PeakOverLive),
        "Peak over live",
        "The largest resident memory, less what the process had before, over the bytes that the program keeps alive: cells without headers, and payload.",
    ),
    (
        Measure::Own(Figure::InCycle),
        "Part of the chances to collect after which a cycle was under way",
        "",
    ),
];

/// Finds what an entrant did with a workload.
fn finder<'c>(
    plan: &'c Plan,
    cells: &'c [Vec<Cell>],
) -> impl Fn(&str, &str) -> Option<&'c Cell> + 'c {
    |workload, entrant| {
        let w = plan.workloads.iter().position(|w| w.name == workload)?;
        let e = plan.entrants.iter().position(|e| e.name == entrant)?;
        Some(&cells[w][e])
    }
}

fn judged(plan: &Plan, cells: &[Vec<Cell>]) -> Vec<Judged> {
    if plan.quick {
        return Vec::new();
    }
    let find = finder(plan, cells);
    LIMITS
        .iter()
        .filter_map(|limit| judge(limit, &find))
        .collect()
}

fn limits(plan: &Plan, cells: &[Vec<Cell>]) -> String {
    let find = finder(plan, cells);
    let mut table = Table::new([
        "what",
        "gc-arena",
        "on mimalloc",
        "Rc",
        "Box",
        "bump",
        "limit",
        "limit here, by",
        "Sleepy",
        "of gc-arena",
        "",
    ]);
    for judged in judged(plan, cells) {
        let limit = judged.limit;
        let value = |entrant| find(limit.workload, entrant)?.value(limit.measure);
        let text = |entrant| value(entrant).map_or_else(|| "–".to_owned(), short);
        let here: Vec<String> = match limit.anchors {
            [] => vec!["the same".to_owned()],
            _ => {
                let scaled = judged.allowed.iter();
                scaled
                    .map(|(name, x)| format!("{} ({name})", short(*x)))
                    .collect()
            }
        };
        table.row([
            format!("{}, {}", limit.what, limit.unit),
            text("gc-arena"),
            text("gc-arena-mi"),
            text("rc"),
            text("box"),
            text("bump"),
            format!("≤ {}", limit.at_most),
            here.join(", "),
            format!("**{}**", short(judged.found)),
            value("gc-arena").map_or_else(String::new, |x| format!("{:.3}", judged.found / x)),
            judged.verdict(),
        ]);
    }
    table.to_string()
}

fn figures(measure: Measure, plan: &Plan, cells: &[Vec<Cell>]) -> Option<Table> {
    let names = plan.entrants.iter().map(|e| e.name);
    let mut table = Table::new(std::iter::once("").chain(names));
    let mut rows = 0;
    for (workload, row) in plan.workloads.iter().zip(cells) {
        let values: Vec<Option<f64>> = row.iter().map(|cell| cell.value(measure)).collect();
        if values.iter().all(Option::is_none) {
            continue;
        }
        let text = |(value, cell): (&Option<f64>, &Cell)| match value {
            Some(x) => short(*x),
            None if cell.failures.is_empty() => "–".to_owned(),
            None => "failed".to_owned(),
        };
        let texts = values.iter().zip(row).map(text);
        table.row(std::iter::once(workload.name.to_owned()).chain(texts));
        rows += 1;
    }
    (rows > 0).then_some(table)
}

/// Workloads of which not all entrants found the same sum: they did not do the same work.
pub fn disagreements(plan: &Plan, cells: &[Vec<Cell>]) -> Vec<String> {
    let mut all = Vec::new();
    for (workload, row) in plan.workloads.iter().zip(cells) {
        let whole = row
            .iter()
            .flat_map(|cell| &cell.samples)
            .filter(|s| s.part == 1.0);
        let mut sums: Vec<u64> = whole.map(|s| s.check).collect();
        sums.sort_unstable();
        sums.dedup();
        if sums.len() > 1 {
            all.push(format!(
                "{}: not all did the same work, {sums:?}",
                workload.name
            ));
        }
    }
    all
}

/// The whole text.
pub fn markdown(plan: &Plan, cells: &[Vec<Cell>], before: &Machine, after_load: &str) -> String {
    let mut text = String::from("# Collectors compared\n\n");
    // Writing to a string cannot fail.
    let _ = writeln!(
        text,
        "{}. Load average before {}, after {after_load}. {} rounds{}; in each of them each collector runs each workload once, \
         in a fresh process, in changing order. Medians. What has used {} s of CPU time in all is not run again.\n",
        before.line(),
        before.load,
        plan.rounds,
        if plan.quick {
            " of small sizes, which show that everything runs and nothing else"
        } else {
            ""
        },
        plan.enough_s,
    );
    let mut table = Table::new(["column", "version", "allocator", ""]);
    for (e, entrant) in plan.entrants.iter().enumerate() {
        let version = cells
            .iter()
            .map(|row| row[e].version.clone())
            .find(|v| !v.is_empty());
        table.row([
            entrant.name,
            &version.unwrap_or_default(),
            entrant.allocator,
            entrant.note,
        ]);
    }
    let _ = writeln!(text, "{table}");
    if !plan.quick {
        let _ = writeln!(
            text,
            "## Limits\n\nLimits of seconds and of ns are scaled: what the peer in brackets took here, over what it took where the \
             limit was written.\n\n{}",
            limits(plan, cells)
        );
    }
    for (measure, title, note) in MEASURES {
        if let Some(table) = figures(*measure, plan, cells) {
            let note = if note.is_empty() {
                String::new()
            } else {
                format!("{note}\n\n")
            };
            let _ = writeln!(text, "## {title}\n\n{note}{table}");
        }
    }
    for (title, lines) in [
        ("Not the same work", disagreements(plan, cells)),
        ("Failures", failures(plan, cells)),
    ] {
        if !lines.is_empty() {
            let _ = writeln!(text, "## {title}\n\n- {}\n", lines.join("\n- "));
        }
    }
    let _ = writeln!(text, "## The workloads\n\n{}", legend(plan, cells));
    text
}

fn failures(plan: &Plan, cells: &[Vec<Cell>]) -> Vec<String> {
    let mut all = Vec::new();
    for (workload, row) in plan.workloads.iter().zip(cells) {
        for (entrant, cell) in plan.entrants.iter().zip(row) {
            let lines = cell.failures.iter();
            all.extend(lines.map(|f| format!("{} on {}: {f}", workload.name, entrant.name)));
        }
    }
    all
}

fn legend(plan: &Plan, cells: &[Vec<Cell>]) -> String {
    let mut text = String::new();
    for (workload, row) in plan.workloads.iter().zip(cells) {
        let _ = write!(text, "- `{}`: {}.", workload.name, workload.what);
        let mut reasons: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for (entrant, cell) in plan.entrants.iter().zip(row) {
            if let Some(reason) = &cell.not_done {
                reasons.entry(reason).or_default().push(entrant.name);
            }
        }
        for (reason, names) in reasons {
            let _ = write!(text, " {}: –, {reason}.", names.join(", "));
        }
        text.push('\n');
    }
    text
}

/// Everything, with each sample.
pub fn json(plan: &Plan, cells: &[Vec<Cell>], before: &Machine, after_load: &str) -> Value {
    let workloads: Vec<Value> = plan
        .workloads
        .iter()
        .zip(cells)
        .map(|(w, row)| {
            let entrants = plan.entrants.iter().zip(row);
            let by_name: serde_json::Map<String, Value> = entrants
                .map(|(e, cell)| (e.name.to_owned(), json!(cell)))
                .collect();
            json!({ "name": w.name, "what": w.what, "cells": by_name })
        })
        .collect();
    let limits: Vec<Value> = judged(plan, cells)
        .iter()
        .map(|j| {
            json!({
                "what": j.limit.what,
                "workload": j.limit.workload,
                "unit": j.limit.unit,
                "limit": j.limit.at_most,
                "limit_here": j.allowed,
                "found": j.found,
                "missed_by": j.missed(),
            })
        })
        .collect();
    json!({
        "machine": before,
        "load_after": after_load,
        "rounds": plan.rounds,
        "quick": plan.quick,
        "entrants": plan.entrants,
        "limits": limits,
        "workloads": workloads,
    })
}
