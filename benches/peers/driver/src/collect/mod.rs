//! The collectors: rounds in which each of them runs each workload once in a fresh process, and the tables.
//!
//! | module | what it owns |
//! |---|---|
//! | [`entrant`] | which collector on which allocator |
//! | [`sample`] | what one process said; what many came to |
//! | [`limits`] | what was asked for, and how it is judged |
//! | [`report`] | tables and JSON |

pub mod entrant;
pub mod limits;
pub mod report;
pub mod sample;

use crate::Error;
use collectors::{WORKLOADS, Workload};
use entrant::Entrant;
use indicatif::{ProgressBar, ProgressStyle};
use peers_common::cargo;
use peers_common::child::{self, ChildError};
use peers_common::machine::{Machine, load};
use peers_common::rounds::order;
use sample::{Answer, Cell};
use std::path::Path;
use std::time::Duration;

/// The longest that one process may take.
const PATIENCE: Duration = Duration::from_secs(240);

/// What is run.
pub struct Plan {
    /// The rows.
    pub workloads: Vec<&'static Workload>,
    /// The columns.
    pub entrants: Vec<Entrant>,
    /// How often each runs, unless it is slow.
    pub rounds: usize,
    /// CPU seconds after which a cell is not run again.
    pub enough_s: f64,
    /// Small sizes.
    pub quick: bool,
}

/// CPU seconds after which a cell is not run again, unless told otherwise.
pub const ENOUGH_S: f64 = 8.0;

impl Plan {
    /// Everything.
    pub fn whole(rounds: usize) -> Self {
        Self {
            workloads: WORKLOADS.iter().collect(),
            entrants: entrant::ENTRANTS.to_vec(),
            rounds,
            enough_s: ENOUGH_S,
            quick: false,
        }
    }

    /// The same with one round of small sizes, which shows that everything runs.
    pub fn quick(self) -> Self {
        Self {
            rounds: 1,
            quick: true,
            ..self
        }
    }
}

/// Builds the binaries.
///
/// # Errors
/// [`Error::Build`].
pub fn build() -> Result<(), Error> {
    let bar = ProgressBar::new_spinner().with_message("building the collectors");
    bar.enable_steady_tick(Duration::from_millis(100));
    cargo::build("collect")?;
    bar.finish_and_clear();
    Ok(())
}

/// The workloads that the filter leaves; an empty one leaves all.
///
/// # Errors
/// [`Error::Nothing`].
pub fn workloads(only: &[String]) -> Result<Vec<&'static Workload>, Error> {
    let all: Vec<&Workload> = WORKLOADS
        .iter()
        .filter(|w| only.is_empty() || only.iter().any(|name| name == w.name))
        .collect();
    if all.is_empty() {
        Err(Error::Nothing)
    } else {
        Ok(all)
    }
}

/// Runs the plan; `cells[workload][entrant]`.
///
/// # Errors
/// [`Error::Build`], where the binaries cannot be found.
pub fn run(plan: &Plan) -> Result<Vec<Vec<Cell>>, Error> {
    let mut cells = vec![vec![Cell::default(); plan.entrants.len()]; plan.workloads.len()];
    let total = plan.rounds * plan.workloads.len() * plan.entrants.len();
    let bar = ProgressBar::new(total as u64);
    bar.set_style(
        ProgressStyle::with_template("{bar:30} {pos}/{len} {elapsed}: {msg}")
            .unwrap_or_else(|_| ProgressStyle::default_bar()),
    );
    for round in 0..plan.rounds {
        for (w, workload) in plan.workloads.iter().enumerate() {
            for e in order(plan.entrants.len(), round + w) {
                let (entrant, cell) = (&plan.entrants[e], &mut cells[w][e]);
                bar.set_message(format!("{}, {}", workload.name, entrant.name));
                if cell.wants_more(plan.enough_s) {
                    match once(workload, entrant, plan.quick)? {
                        Ok(answer) => cell.take(answer),
                        Err(error) => {
                            bar.println(format!("{} on {}: {error}", workload.name, entrant.name));
                            cell.failures.push(error.to_string());
                        }
                    }
                }
                bar.inc(1);
            }
        }
    }
    bar.finish_and_clear();
    Ok(cells)
}

fn once(
    workload: &Workload,
    entrant: &Entrant,
    quick: bool,
) -> Result<Result<Answer, ChildError>, Error> {
    let program = cargo::binary(&format!("collect-{}", entrant.allocator))?;
    let mut args = vec![workload.name, entrant.collector];
    if quick {
        args.push("quick");
    }
    let answer = child::run(&program, &args, entrant.env, PATIENCE)
        .and_then(|answer| serde_json::from_value(answer.json).map_err(ChildError::NotJson));
    Ok(answer)
}

/// Runs the plan and prints its tables; with `out` they are written there too. Returns whether all runs gave answers that
/// agree.
///
/// # Errors
/// [`Error::Build`], [`Error::Write`].
pub fn compare(plan: &Plan, out: Option<&Path>) -> Result<bool, Error> {
    let before = Machine::here();
    let cells = run(plan)?;
    let after_load = load();
    let text = report::markdown(plan, &cells, &before, &after_load);
    print!("{text}");
    if let Some(folder) = out {
        let json = report::json(plan, &cells, &before, &after_load);
        crate::report::write_as(folder, "gc-peers", &text, &json)?;
    }
    let failures = cells.iter().flatten().any(|cell| !cell.failures.is_empty());
    Ok(!failures && report::disagreements(plan, &cells).is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filters_narrow_the_table() {
        assert_eq!(workloads(&[]).unwrap().len(), WORKLOADS.len());
        let some = workloads(&["gcbench".to_owned(), "writes".to_owned()]).unwrap();
        assert_eq!(some.len(), 2);
        assert!(matches!(workloads(&["x".to_owned()]), Err(Error::Nothing)));
    }
}
