//! Runs the phase program in all its modes.

use super::cases::{self, Case, Entrant, Outcome, entrants};
use super::figure::Figures;
use crate::Result;
use peers_common::record::Context;
use peers_common::table::Table;
use serde_json::json;
use std::fmt::Write;

/// How the phase program runs.
#[derive(Clone, Copy, Default, Debug, clap::Args)]
pub struct PhaseOptions {
    /// Megabytes of objects: 512 if not said, 64 with `--quick`.
    #[arg(long)]
    pub mb: Option<u64>,
    /// Length of every silence; if not said 10 s for three modes and 2.5 s for the others.
    #[arg(long)]
    pub secs: Option<f64>,
}

/// One way to run it.
struct Mode {
    name: &'static str,
    arguments: &'static str,
    /// Whether its silence is long.
    long: bool,
}

const fn mode(name: &'static str, arguments: &'static str, long: bool) -> Mode {
    Mode {
        name,
        arguments,
        long,
    }
}

const MODES: [Mode; 10] = [
    mode("256 KiB sessions, own thread", "--survivors sessions", true),
    mode(
        "256 KiB sessions, parked workers",
        "--survivors sessions --workers parked",
        true,
    ),
    mode("all freed, own thread", "--survivors none", true),
    mode(
        "all freed, parked workers",
        "--survivors none --workers parked",
        false,
    ),
    mode(
        "all freed, workers gone",
        "--survivors none --workers exited",
        false,
    ),
    mode(
        "256 KiB sessions, workers gone",
        "--survivors sessions --workers exited",
        false,
    ),
    mode(
        "1 MiB sessions, own thread",
        "--survivors sessions --session-kib 1024",
        false,
    ),
    mode("scattered, own thread", "--survivors scattered", false),
    mode(
        "256 KiB sessions, own thread that allocates",
        "--survivors sessions --tick-alloc",
        false,
    ),
    mode(
        "all freed, own thread that allocates",
        "--survivors none --tick-alloc",
        false,
    ),
];

const MARKS: [&str; 7] = ["0.1", "0.25", "0.5", "1", "2", "5", "10"];
/// One run is enough unless the user asks for more: resident memory and faults hardly differ from run to run.
const ROUNDS: usize = 1;
const MB: f64 = 1e6;

/// Runs the driver.
pub fn run(context: &Context, options: PhaseOptions) -> Result<String> {
    let mb = options.mb.unwrap_or(if context.quick { 64 } else { 512 });
    let mut all = entrants(context);
    let undelayed = all
        .iter()
        .find(|entrant| entrant.name == "mimalloc3")
        .map(|entrant| entrant.with("no delay", "MIMALLOC_PURGE_DELAY", "0"));
    all.extend(undelayed);

    let mut cases = Vec::new();
    for mode in &MODES {
        let secs = options.secs.unwrap_or(match (context.quick, mode.long) {
            (true, _) => 1.2,
            (false, true) => 10.0,
            (false, false) => 2.5,
        });
        for entrant in &all {
            let arguments = format!("phase --mb {mb} --secs {secs} {}", mode.arguments);
            cases.push(Case::new(mode.name, entrant, &arguments));
        }
    }
    let outcomes = cases::run("phase", ROUNDS.max(context.rounds / 5), cases)?;
    let figures = figures(&outcomes, &all);
    let text = text(&outcomes, mb)? + &figures.table();
    let json = json!({"figures": figures, "outcomes": outcomes});
    context.write("phase", &text, &json)?;
    Ok(text)
}

fn text(outcomes: &[Outcome], mb: u64) -> Result<String> {
    let mut text = format!("# {mb} MB of small objects, most of them freed, then silence\n");
    text.push_str(
        "\nMB above the start; the program's tables are taken off. \"told\": `idle_start` and `idle_end` around the waits, \
         which the others do not have.\n",
    );
    for group in cases::groups(outcomes) {
        let rows: Vec<&Outcome> = outcomes.iter().filter(|o| o.case.group == group).collect();
        let live = rows[0].cell("live_bytes", MB);
        write!(text, "\n## {group} ({live} MB live)\n\n")?;
        let marks: Vec<&str> = MARKS
            .into_iter()
            .filter(|mark| rows[0].number(&format!("after_bytes/{mark}")).is_some())
            .collect();
        let mut head = vec!["".to_owned(), "peak".to_owned()];
        head.extend(marks.iter().map(|mark| format!("{mark} s")));
        head.extend(
            [
                "× live at the end",
                "of it lazily free",
                "ms to live + 10 MB",
                "tick CPU ms",
                "helper CPU ms",
                "helper wakes, 1st s",
                "all",
                "refill faults",
            ]
            .map(str::to_owned),
        );
        let mut table = Table::new(head);
        for row in rows {
            let mut cells = vec![row.case.entrant.name.clone(), row.cell("peak_bytes", MB)];
            cells.extend(
                marks
                    .iter()
                    .map(|mark| row.cell(&format!("after_bytes/{mark}"), MB)),
            );
            let last = marks.last().and_then(|mark| times_live(row, mark));
            cells.push(last.map_or_else(|| "–".to_owned(), cases::short));
            cells.push(row.cell("lazy_free_bytes", MB));
            cells.push(row.cell("back_at_ms", 1.0));
            cells.push(row.cell("tick_cpu_ns", 1e6));
            cells.push(row.cell("helpers/cpu_ns", 1e6));
            cells.push(row.cell("helpers_first_second/sleeps", 1.0));
            cells.push(row.cell("helpers/sleeps", 1.0));
            cells.push(row.cell("refill_faults", 1.0));
            table.row(cells);
        }
        text.push_str(&table.to_string());
    }
    Ok(text)
}

fn times_live(outcome: &Outcome, mark: &str) -> Option<f64> {
    let live = outcome.number("live_bytes").filter(|live| *live > 0.0)?;
    Some(outcome.number(&format!("after_bytes/{mark}"))? / live)
}

fn figures(outcomes: &[Outcome], entrants: &[Entrant]) -> Figures {
    let mut figures = Figures::default();
    for entrant in entrants.iter().filter(|entrant| entrant.is_sleepy()) {
        let of = |group: &str| {
            outcomes
                .iter()
                .find(|o| o.case.group == group && o.case.entrant.name == entrant.name)
        };
        let name = &entrant.name;
        for group in ["own thread", "parked workers", "workers gone"] {
            let outcome = of(&format!("all freed, {group}"));
            let back_ms = outcome.and_then(|o| o.number("back_at_ms"));
            let what = format!("{name}: all freed, {group}: back at the start + 10 MB");
            figures.at_most(&what, back_ms, 250.0, " ms");
        }
        for (group, limit) in [
            ("1 MiB sessions, own thread", 1.15),
            ("256 KiB sessions, own thread", 1.35),
        ] {
            let times = of(group).and_then(|o| times_live(o, "1"));
            figures.at_most(
                &format!("{name}: {group}, after 1 s"),
                times,
                limit,
                "× live",
            );
        }
        let idle = of("all freed, own thread");
        let first = idle.and_then(|o| o.number("helpers_first_second/sleeps"));
        let all = idle.and_then(|o| o.number("helpers/sleeps"));
        figures.at_most(
            &format!("{name}: helper wakes in the first second"),
            first,
            12.0,
            "",
        );
        let later = first.zip(all).map(|(first, all)| all - first);
        figures.at_most(&format!("{name}: helper wakes after it"), later, 0.0, "");
    }
    figures
}
