//! Runs every peer in fresh processes, interleaved, and writes the tables.
//!
//! | module | what it owns |
//! |---|---|
//! | [`peers`] | building the binaries |
//! | [`plan`] | which workloads, with how many threads, on which peers, how often |
//! | [`sample`] | what one process said |
//! | [`compare`] | the rounds |
//! | [`summary`] | what many samples come to, and the means |
//! | [`report`] | tables and JSON |
//! | [`collect`] | the same for collectors |

pub mod collect;
pub mod compare;
pub mod peers;
pub mod plan;
pub mod report;
pub mod sample;
pub mod summary;

use peers_common::machine::{Machine, load};
use std::path::Path;

/// Why there is no table.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A peer could not be built.
    #[error(transparent)]
    Build(#[from] peers_common::cargo::BuildError),
    /// There is no such peer.
    #[error("no peer {0}; there are: {1}")]
    NoPeer(String, String),
    /// The filters leave nothing.
    #[error("no workload is left to run")]
    Nothing,
    /// A part of `loops` failed.
    #[error("loops: {0}")]
    Loops(Box<dyn std::error::Error>),
    /// The tables could not be written.
    #[error("cannot write to {0}: {1}")]
    Write(String, std::io::Error),
}

/// Runs the plan and writes its tables to `out`, or to the standard output without one. Returns whether every run gave an
/// answer.
///
/// # Errors
/// [`Error::Write`].
pub fn compare_to(plan: &plan::Plan, out: Option<&Path>) -> Result<bool, Error> {
    let before = Machine::here();
    let cells = compare::run(plan);
    let after_load = load();
    let text = report::markdown(plan, &cells, &before, &after_load);
    match out {
        Some(folder) => {
            let json = report::json(plan, &cells, &before, &after_load);
            report::write(folder, &text, &json)?;
        }
        None => print!("{text}"),
    }
    Ok(cells.iter().flatten().all(|cell| cell.failures.is_empty()))
}
