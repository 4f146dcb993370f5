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

pub mod compare;
pub mod peers;
pub mod plan;
pub mod report;
pub mod sample;
pub mod summary;

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
    /// The tables could not be written.
    #[error("cannot write to {0}: {1}")]
    Write(String, std::io::Error),
}
