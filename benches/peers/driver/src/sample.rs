//! What one process said.

use peers_common::usage::Usage;
use serde::{Deserialize, Serialize};

/// The answer of `with-PEER run`, and what the parent saw.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Sample {
    /// What the timed round used.
    pub usage: Usage,
    /// How long it took.
    pub wall_ns: u64,
    /// The largest resident memory of both rounds.
    pub peak_bytes: u64,
    /// The part of the resident memory that comes from files, most of it code.
    pub file_bytes: u64,
    /// The resident memory right after them.
    pub end_bytes: u64,
    /// The part of it that the kernel may take without asking.
    pub end_lazy_free_bytes: u64,
    /// The resident memory after a wait, where there was one.
    pub settled_bytes: Option<u64>,
    /// The part of it that the kernel may take without asking.
    pub settled_lazy_free_bytes: Option<u64>,
    /// How long it took until the process had shrunk, where that is the question.
    pub shrink_ns: Option<u64>,
    /// The version of the allocator.
    pub version: String,
    /// The CPU time of the whole process, as its parent saw it: start, both rounds, end, and what the allocator does
    /// behind the program's back.
    #[serde(default)]
    pub process_cpu_ns: u64,
}
