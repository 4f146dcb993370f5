//! The rounds: in each of them every peer runs every workload once, in a fresh process.

use crate::plan::{Case, Plan};
use crate::sample::Sample;
use indicatif::{ProgressBar, ProgressStyle};
use peers_common::child::{self, ChildError};
use peers_common::record::Ready;
use peers_common::rounds::order;
use std::time::Duration;

/// The longest that one process may take.
const PATIENCE: Duration = Duration::from_secs(120);

/// What one peer did with one workload.
#[derive(Clone, Debug, Default)]
pub struct Cell {
    /// Its answers, in the order of the rounds.
    pub samples: Vec<Sample>,
    /// What went wrong instead.
    pub failures: Vec<String>,
}

/// Runs the plan; `cells[case][peer]`.
pub fn run(plan: &Plan) -> Vec<Vec<Cell>> {
    let mut cells = vec![vec![Cell::default(); plan.peers.len()]; plan.cases.len()];
    let total = plan.rounds * plan.cases.len() * plan.peers.len();
    let bar = ProgressBar::new(total as u64);
    bar.set_style(
        ProgressStyle::with_template("{bar:30} {pos}/{len} {eta} left: {msg}")
            .unwrap_or_else(|_| ProgressStyle::default_bar()),
    );
    for round in 0..plan.rounds {
        let settle = (round + 1 == plan.rounds).then_some(plan.settle_ms);
        for (c, case) in plan.cases.iter().enumerate() {
            for p in order(plan.peers.len(), round + c) {
                let peer = &plan.peers[p];
                bar.set_message(format!("{}, {}", case.label(), peer.variant.name));
                match once(case, peer, plan.percent, settle) {
                    Ok(sample) => cells[c][p].samples.push(sample),
                    Err(error) => {
                        bar.println(format!(
                            "{} on {}: {error}",
                            case.label(),
                            peer.variant.name
                        ));
                        cells[c][p].failures.push(error.to_string());
                    }
                }
                bar.inc(1);
            }
        }
    }
    bar.finish_and_clear();
    cells
}

fn once(
    case: &Case,
    peer: &Ready,
    percent: usize,
    settle_ms: Option<u64>,
) -> Result<Sample, ChildError> {
    let mut args = vec![
        case.workload.name.to_owned(),
        format!("--threads={}", case.threads),
        format!("--percent={percent}"),
    ];
    if let Some(ms) = settle_ms.filter(|&ms| ms > 0) {
        args.push(format!("--settle-ms={ms}"));
    }
    let program = peer
        .program
        .with_file_name(format!("run-{}", peer.variant.peer));
    let answer = child::run(&program, &args, peer.variant.env, PATIENCE)?;
    let mut sample: Sample = serde_json::from_value(answer.json).map_err(ChildError::NotJson)?;
    sample.process_cpu_ns = answer.usage.cpu_ns;
    Ok(sample)
}
