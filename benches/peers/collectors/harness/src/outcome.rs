//! What a workload found.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A number that a workload finds beside CPU time and memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Figure {
    /// Marking, in ns for each object.
    MarkNs,
    /// Sweeping a heap in which everything is alive, in ns for each object.
    SweepNs,
    /// Sweeping a heap in which everything is dead, in ns for each object.
    SweepDeadNs,
    /// A whole collection, everything alive, in ns for each object.
    CollectNs,
    /// Dropping everything at once, in ns for each object.
    DropNs,
    /// The longest step of those that the program makes as it runs, in µs.
    MaxStepUs,
    /// The step of those that 99 of 100 are shorter than, in µs.
    P99StepUs,
    /// The longest step of [`STEP_US`](crate::list::STEP_US), in µs.
    MaxTimedUs,
    /// The step of [`STEP_US`](crate::list::STEP_US) that 99 of 100 are shorter than, in µs.
    P99TimedUs,
    /// Resident bytes that an object adds.
    ObjectBytes,
    /// The largest resident memory over the bytes of what the program keeps alive.
    PeakOverLive,
    /// The part of the steps during which a cycle was under way.
    InCycle,
}

/// Why a collector does not do a workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotDone(pub &'static str);

/// What a workload found, or why it is not done.
pub type Result = std::result::Result<Outcome, NotDone>;

/// What a workload found.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// A sum over what was built: the same for all collectors, or they did not do the same work.
    pub check: u64,
    /// Its own figures.
    pub figures: BTreeMap<Figure, f64>,
    /// Bytes of the objects and the payload that the program kept alive, where the peak is to be seen against them.
    pub live_bytes: Option<u64>,
    /// The part of the work that was done, where a slow collector did less: its CPU time is divided by it.
    pub part: Option<f64>,
}

impl Outcome {
    /// An outcome without figures.
    pub fn check(check: u64) -> Self {
        Self {
            check,
            ..Self::default()
        }
    }

    /// Adds a figure.
    #[must_use]
    pub fn with(mut self, figure: Figure, value: f64) -> Self {
        self.figures.insert(figure, value);
        self
    }

    /// Says how many bytes the program kept alive.
    #[must_use]
    pub fn live(mut self, bytes: usize) -> Self {
        self.live_bytes = Some(bytes as u64);
        self
    }
}
