//! Runs the program that measures what `idle_start` and `idle_end` cost.

use super::cases::{self, Case, Entrant};
use super::figure::Figures;
use crate::Result;
use peers_common::record::Context;
use peers_common::table::Table;
use serde_json::json;

/// Runs the driver.
pub fn run(context: &Context) -> Result<String> {
    let (windows, sweeps) = if context.quick { (4, 400) } else { (30, 6000) };
    let entrants = context.peers.iter().map(Entrant::plain);
    let arguments = format!("handoff --windows {windows} --sweeps {sweeps}");
    let cases = entrants
        .filter(Entrant::is_sleepy)
        .map(|entrant| Case::new("handoff", &entrant, &arguments))
        .collect();
    let outcomes = cases::run("handoff", context.rounds.div_ceil(2), cases)?;
    let mut figures = Figures::default();
    let mut table = Table::new(["state", "figure", "ns"]);
    for outcome in &outcomes {
        for (state, figure, path) in [
            (
                "nothing to give",
                "`idle_start` + `idle_end`, CPU",
                "nothing/pair_cpu_ns",
            ),
            (
                "on the schedule",
                "`idle_start` + `idle_end`, CPU",
                "wakes/paced_pair_cpu_ns",
            ),
            (
                "wakes the scavenger",
                "`idle_start`, CPU, median",
                "wakes/start_cpu_p50_ns",
            ),
            ("", "wall, median", "wakes/start_wall_p50_ns"),
            ("", "wall, longest", "wakes/start_wall_max_ns"),
            (
                "taken back while swept",
                "sweeper's work, median",
                "swept/work_p50_ns",
            ),
            ("", "p99", "swept/work_p99_ns"),
            ("", "longest", "swept/work_max_ns"),
            ("", "owner's wait, median", "swept/wait_p50_ns"),
            ("", "p99", "swept/wait_p99_ns"),
            ("", "longest", "swept/wait_max_ns"),
        ] {
            table.row([state, figure, &outcome.cell(path, 1.0)]);
        }
        let us = |path: &str| outcome.number(path).map(|ns| ns / 1e3);
        let most_us = outcome.most("swept/work_max_ns").map(|ns| ns / 1e3);
        figures.at_most(
            "`idle_start` + `idle_end`, nothing to give",
            outcome.number("nothing/pair_cpu_ns"),
            12.0,
            " ns",
        );
        figures.at_most(
            "wakes by hand-offs with nothing to give",
            outcome.number("nothing/wakes"),
            0.0,
            "",
        );
        figures.at_most(
            "wakes by hand-offs on the schedule",
            outcome.number("wakes/paced_wakes"),
            0.0,
            "",
        );
        figures.at_most(
            "sweeper's work after the owner wants its heap, p99",
            us("swept/work_p99_ns"),
            5.0,
            " µs",
        );
        figures.at_most("the same, longest of all rounds", most_us, 100.0, " µs");
    }
    let text = format!(
        "# The cost of the hand-off in each state\n\n{table}{}",
        figures.table()
    );
    let json = json!({"figures": figures, "outcomes": outcomes});
    context.write("handoff", &text, &json)?;
    Ok(text)
}
