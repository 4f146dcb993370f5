//! Runs each kind of turn of an event loop.

use super::cases::{self, Case, Outcome, entrants};
use super::figure::Figures;
use crate::Result;
use peers_common::record::Context;
use peers_common::table::Table;
use serde_json::json;
use std::fmt::Write;

/// A kind of turn: the name, the program, and the same for a quick look.
const KINDS: [(&str, &str, &str); 11] = [
    (
        "empty turn",
        "turns --kind empty --turns 20000",
        "turns --kind empty --turns 2000",
    ),
    (
        "empty turn that churns",
        "turns --kind empty --turns 20000 --memory churn",
        "turns --kind empty --turns 2000 --memory churn",
    ),
    (
        "empty turn, 50 µs of work",
        "turns --kind empty --turns 5000 --work-us 50 --memory churn",
        "turns --kind empty --turns 500 --work-us 50 --memory churn",
    ),
    (
        "empty turn, 500 µs of work",
        "turns --kind empty --turns 1000 --work-us 500 --memory churn",
        "turns --kind empty --turns 100 --work-us 500 --memory churn",
    ),
    (
        TIMER_NOTHING,
        "turns --kind timer --turns 500",
        "turns --kind timer --turns 100",
    ),
    (
        TIMER_CHURN,
        "turns --kind timer --turns 500 --memory churn",
        "turns --kind timer --turns 100 --memory churn",
    ),
    (
        TIMER_SHRINK,
        "turns --kind timer --turns 500 --memory shrink",
        "turns --kind timer --turns 100 --memory shrink",
    ),
    (
        "file stat",
        "turns --kind stat --turns 2000 --memory churn",
        "turns --kind stat --turns 200 --memory churn",
    ),
    (
        "job of the pool",
        "turns --kind job --turns 2000 --memory churn",
        "turns --kind job --turns 200 --memory churn",
    ),
    (
        SERVER_STATIC,
        "server --answer static --requests 20000",
        "server --answer static --requests 1000",
    ),
    (
        SERVER_HANDLER,
        "server --answer handler --requests 20000",
        "server --answer handler --requests 1000",
    ),
];

const TIMER_NOTHING: &str = "1 ms timer, nothing freed";
const TIMER_CHURN: &str = "1 ms timer that churns";
const TIMER_SHRINK: &str = "1 ms timer, 16 KiB more free each turn";
const SERVER_STATIC: &str = "server under load, static";
const SERVER_HANDLER: &str = "server under load, handler";
const IDLE: &str = "idle server, never asked";
const IDLE_AFTER: &str = "idle server, from its last request on";
/// An idle server is quiet enough for one look.
const IDLE_SECS: u32 = 40;

/// Runs the driver.
pub fn run(context: &Context) -> Result<String> {
    let mut all = entrants(context);
    let told = all.iter().find(|entrant| entrant.told).cloned();
    if let Some(told) = &told {
        all.push(told.with("no scavenger", "SLEEPY_SCAVENGER", "0"));
    }
    let mut cases = Vec::new();
    for (name, arguments, quick) in KINDS {
        let arguments = if context.quick { quick } else { arguments };
        cases.extend(
            all.iter()
                .map(|entrant| Case::new(name, entrant, arguments)),
        );
    }
    let mut outcomes = cases::run("turns", context.rounds, cases)?;
    let secs = if context.quick { 3 } else { IDLE_SECS };
    let with_helpers = |name: &str| name.contains("sleepy") || name.contains("-bg");
    let mut cases = Vec::new();
    for (name, requests) in [(IDLE, 0), (IDLE_AFTER, 1000)] {
        let idle = format!("server --warm-up 0 --requests {requests} --idle-secs {secs}");
        let watched = all.iter().filter(|entrant| with_helpers(&entrant.name));
        cases.extend(watched.map(|entrant| Case::new(name, entrant, &idle)));
    }
    outcomes.extend(cases::run("idle server", 1, cases)?);

    let figures = figures(&outcomes, secs);
    let text = text(&outcomes)? + &figures.table();
    let json = json!({"figures": figures, "outcomes": outcomes});
    context.write("turns", &text, &json)?;
    Ok(text)
}

fn text(outcomes: &[Outcome]) -> Result<String> {
    let mut text = "# Turns of an event loop\n\nCPU per turn or request in µs; sleeps, wakes, turns and sweeps of the \
        scavenger in the whole run. \"told\": `idle_start` and `idle_end` around the polls.\n"
        .to_owned();
    for group in cases::groups(outcomes) {
        let rows: Vec<&Outcome> = outcomes.iter().filter(|o| o.case.group == group).collect();
        write!(text, "\n## {group} × {}\n\n", rows[0].cell("turns", 1.0))?;
        let mut table = Table::new([
            "",
            "loop CPU",
            "pool CPU",
            "helper CPU",
            "helper sleeps",
            "wakes by parks",
            "scavenger turns",
            "sweeps",
            "aborted",
            "purged MB",
            "loop sleeps",
        ]);
        for row in rows {
            let turns = row.number("turns").unwrap_or(1.0).max(1.0);
            table.row([
                row.case.entrant.name.clone(),
                row.cell("main/cpu_ns", turns * 1e3),
                row.cell("own/cpu_ns", turns * 1e3),
                row.cell("helpers/cpu_ns", turns * 1e3),
                row.cell("helpers/sleeps", 1.0),
                row.cell("stats/park_wakes", 1.0),
                row.cell("stats/scavenger_turns", 1.0),
                row.cell("stats/parked_sweeps", 1.0),
                row.cell("stats/aborted_sweeps", 1.0),
                row.cell("stats/purged_bytes", 1e6),
                row.cell("main/sleeps", 1.0),
            ]);
        }
        text.push_str(&table.to_string());
    }
    Ok(text)
}

fn figures(outcomes: &[Outcome], idle_secs: u32) -> Figures {
    let mut figures = Figures::default();
    let told = |group: &str| {
        outcomes
            .iter()
            .find(|o| o.case.group == group && o.case.entrant.told)
    };
    for (group, limit) in [
        (TIMER_NOTHING, 0.0),
        (TIMER_CHURN, 8.0),
        (TIMER_SHRINK, 8.0),
    ] {
        let sleeps = told(group).and_then(|o| o.number("helpers/sleeps"));
        figures.at_most(
            &format!("sleeps of the scavenger: {group}"),
            sleeps,
            limit,
            "",
        );
    }
    for group in [SERVER_STATIC, SERVER_HANDLER] {
        let wakes =
            told(group).and_then(|o| Some(o.number("stats/park_wakes")? / o.number("turns")?));
        figures.at_most(&format!("wakes a request: {group}"), wakes, 0.0005, "");
    }
    for group in [IDLE, IDLE_AFTER] {
        let sleeps = told(group).and_then(|o| o.number("helpers/sleeps"));
        let what = format!("sleeps of the scavenger in {idle_secs} s: {group}");
        figures.at_most(&what, sleeps, 2.0, "");
    }
    figures
}
