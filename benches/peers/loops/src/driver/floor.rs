//! Runs each kind of loop after much memory was freed at once, and watches its resident memory from outside.

use super::cases::{self, Case, Outcome, entrants};
use super::figure::Figures;
use crate::Result;
use peers_common::record::Context;
use peers_common::table::Table;
use serde_json::{Value, json};
use std::fmt::Write;
use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

const KINDS: [(&str, &str); 9] = [
    ("one long poll", "sleep"),
    ("1 ms timer", "timer"),
    ("1 ms timer that churns", "timer --churn"),
    ("9 ms of work, 1 ms timer", "busy --churn"),
    ("empty turns", "empty"),
    ("empty turns that churn", "empty --churn"),
    ("empty turns, 0.5 ms of work", "empty-work --churn"),
    ("no polls, allocates", "compute"),
    (UNREACHABLE, "spin"),
];
/// A thread that never calls its allocator keeps what lies free in its pages.
const UNREACHABLE: &str = "no polls, no allocations";
/// Kinds that the other allocators are watched in, too.
const COMPARED: [&str; 2] = ["1 ms timer that churns", "empty turns that churn"];

const MARKS_S: [f64; 6] = [0.1, 0.3, 0.5, 1.0, 2.0, 5.0];
/// 90 % of the 120 MiB that were freed.
const MOST_BYTES: u64 = 8192 * 16 * 1024 / 16 * 15 / 10 * 9;
const LOOK_EVERY: Duration = Duration::from_millis(10);

/// Runs the driver.
pub fn run(context: &Context) -> Result<String> {
    let secs = if context.quick { 1.2 } else { 5.2 };
    let all = entrants(context);
    let mut cases = Vec::new();
    for (name, kind) in KINDS {
        let arguments = format!("floor --secs {secs} --kind {kind}");
        let compared = COMPARED.contains(&name);
        let entrants = all.iter().filter(|e| compared || e.is_sleepy());
        cases.extend(entrants.map(|entrant| Case::new(name, entrant, &arguments)));
    }
    let outcomes = cases::run_with("floor", context.rounds.div_ceil(2), cases, watch)?;
    let mut figures = Figures::default();
    let judged = |o: &&Outcome| o.case.entrant.told && o.case.group != UNREACHABLE;
    for outcome in outcomes.iter().filter(judged) {
        let what = format!("90 % back: {}", outcome.case.group);
        figures.at_most(&what, outcome.number("t90_ms"), 500.0, " ms");
    }
    let text = text(&outcomes)? + &figures.table();
    let json = json!({"figures": figures, "outcomes": outcomes});
    context.write("floor", &text, &json)?;
    Ok(text)
}

/// Runs the program and looks at its memory until it ends.
fn watch(case: &Case) -> Result<Value> {
    let mut child = Command::new(&case.entrant.peer.program)
        .args(&case.arguments)
        .env_clear()
        .envs(case.entrant.env.iter().copied())
        .stdout(Stdio::piped())
        .spawn()?;
    let mut out = BufReader::new(child.stdout.take().ok_or("no pipe")?);
    let mut line = String::new();
    out.read_line(&mut line)?;
    if line.trim() != "freed" {
        child.wait()?;
        return Err("the program failed".into());
    }
    let start = Instant::now();
    let peak_bytes = rss_bytes(child.id());
    let mut looks: Vec<(f64, u64)> = Vec::new();
    while child.try_wait()?.is_none() {
        let bytes = rss_bytes(child.id());
        // A process that has just ended has no memory.
        if bytes > 0 {
            looks.push((start.elapsed().as_secs_f64(), bytes));
        }
        thread::sleep(LOOK_EVERY);
    }
    line.clear();
    out.read_line(&mut line)?;
    let mut answer: Value = serde_json::from_str(&line)?;
    let low_bytes = peak_bytes.saturating_sub(MOST_BYTES);
    let t90 = looks.iter().find(|(_, bytes)| *bytes <= low_bytes);
    answer["peak_bytes"] = peak_bytes.into();
    answer["t90_ms"] = t90.map(|(seconds, _)| (seconds * 1e3).round()).into();
    answer["after_bytes"] = MARKS_S
        .iter()
        .filter_map(|mark| {
            let look = looks.iter().find(|(seconds, _)| seconds >= mark)?;
            Some((mark.to_string(), Value::from(look.1)))
        })
        .collect();
    Ok(answer)
}

/// Resident memory of another process; 0 when it has ended.
fn rss_bytes(pid: u32) -> u64 {
    let text = fs::read_to_string(format!("/proc/{pid}/statm")).unwrap_or_default();
    let pages = text.split(' ').nth(1).and_then(|pages| pages.parse().ok());
    pages.unwrap_or(0) * rustix::param::page_size() as u64
}

fn text(outcomes: &[Outcome]) -> Result<String> {
    let mut text = "# 8192 buffers of 16 KiB, 15 of 16 freed, then a loop\n\nMB resident, seen from outside; t90: until 90 % \
        of the 126 MB are back.\n"
        .to_owned();
    for group in cases::groups(outcomes) {
        write!(text, "\n## {group}\n\n")?;
        let mut head = vec!["".to_owned(), "peak".to_owned()];
        head.extend(MARKS_S.map(|mark| format!("{mark} s")));
        head.extend(
            [
                "t90 ms",
                "loop CPU ms",
                "helper CPU ms",
                "helper sleeps",
                "wakes by parks",
                "sweeps",
                "calls",
            ]
            .map(str::to_owned),
        );
        let mut table = Table::new(head);
        for row in outcomes.iter().filter(|o| o.case.group == group) {
            let mut cells = vec![row.case.entrant.name.clone(), row.cell("peak_bytes", 1e6)];
            cells.extend(MARKS_S.map(|mark| row.cell(&format!("after_bytes/{mark}"), 1e6)));
            cells.push(row.cell("t90_ms", 1.0));
            cells.push(row.cell("main/cpu_ns", 1e6));
            cells.push(row.cell("helpers/cpu_ns", 1e6));
            cells.push(row.cell("helpers/sleeps", 1.0));
            cells.push(row.cell("stats/park_wakes", 1.0));
            cells.push(row.cell("stats/parked_sweeps", 1.0));
            cells.push(row.cell("stats/purge_calls", 1.0));
            table.row(cells);
        }
        text.push_str(&table.to_string());
    }
    Ok(text)
}
