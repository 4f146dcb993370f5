//! The network workload: a server in Lua that keeps 500 documents, and four clients that are 1 to 5 ms away.
//!
//! | module | what it owns |
//! |---|---|
//! | [`document`] | what a client sends, and the answer that it must get |
//! | [`load`] | the clients |
//! | [`server`] | one process that serves them, and what it holds meanwhile |
//! | [`report`] | the table and the JSON |

mod document;
mod load;
mod report;
mod server;

use crate::peers::{ANCHOR, OURS, Peer};
use peers_common::rounds::order;
use peers_common::samples::median;
use serde::Serialize;

pub use report::{json, markdown, write};

/// How much is measured.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Plan {
    /// Requests of all clients before anything is measured: they fill the store more than once.
    pub warm_up: u32,
    /// Requests of all clients that are measured.
    pub requests: u32,
}

impl Plan {
    /// Some ten seconds a run.
    pub const FULL: Plan = Plan {
        warm_up: 1_500,
        requests: 10_000,
    };
    /// Does everything run?
    pub const QUICK: Plan = Plan {
        warm_up: 600,
        requests: 600,
    };
}

/// An interpreter with its settings.
#[derive(Clone, Debug, Serialize)]
pub struct Entrant {
    /// Its name in the table.
    pub name: String,
    /// Its interpreter.
    #[serde(skip)]
    pub peer: Peer,
    /// What the server is told to do about garbage.
    pub mode: &'static str,
}

/// What one run used.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Sample {
    /// The mean of what was resident while requests were measured.
    pub mean_mib: f64,
    /// The most that was resident from the start on.
    pub peak_mib: f64,
    /// CPU time of all threads of the server for each measured request.
    pub cpu_us_per_request: f64,
    /// The time from a request to its answer, at the client: the median.
    pub answer_p50_us: f64,
    /// The same, 99 of 100.
    pub answer_p99_us: f64,
}

/// All runs of an entrant.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    /// Whose.
    pub entrant: Entrant,
    /// Those that ended well.
    pub samples: Vec<Sample>,
    /// Why others did not.
    pub failures: Vec<String>,
}

impl Row {
    /// The median of a figure; none where no run ended well.
    pub fn median(&self, figure: impl Fn(&Sample) -> f64) -> Option<f64> {
        let figures: Vec<f64> = self.samples.iter().map(figure).collect();
        (!figures.is_empty()).then(|| median(&figures))
    }
}

/// Ours as it comes, and the anchor with each way to collect that it has.
pub fn entrants(peers: &[Peer]) -> Vec<Entrant> {
    let mut entrants = Vec::new();
    for peer in peers {
        let modes: &[&str] = match peer.name.as_str() {
            OURS => &["default"],
            ANCHOR => &["default", "pause110", "generational", "steps"],
            _ => continue,
        };
        entrants.extend(modes.iter().map(|&mode| Entrant {
            name: match mode {
                "default" => peer.name.clone(),
                mode => format!("{} {mode}", peer.name),
            },
            peer: peer.clone(),
            mode,
        }));
    }
    entrants
}

/// Runs all entrants `rounds` times, in changing order.
pub fn run(entrants: &[Entrant], plan: Plan, rounds: usize) -> Vec<Row> {
    let mut rows: Vec<Row> = entrants
        .iter()
        .map(|entrant| Row {
            entrant: entrant.clone(),
            samples: Vec::new(),
            failures: Vec::new(),
        })
        .collect();
    let progress = indicatif::ProgressBar::new((entrants.len() * rounds) as u64);
    for round in 0..rounds {
        for at in order(entrants.len(), round) {
            match server::measure(&entrants[at], plan, round as u64) {
                Ok(sample) => rows[at].samples.push(sample),
                Err(error) => rows[at].failures.push(error.to_string()),
            }
            progress.inc(1);
        }
    }
    progress.finish_and_clear();
    rows
}
