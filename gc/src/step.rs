//! The words in which a bounded piece of collection is asked for and reported.

use std::time::Duration;

/// How much a single collection step may do.
#[derive(Clone, Copy, Debug)]
pub enum Budget {
    /// Stop when this much time has passed (the clock is read every few microseconds of work).
    Time(Duration),
    /// Stop when this many bytes of objects and payload have been marked or swept.
    Work(usize),
    /// Do not stop before the cycle has ended: for an explicit full collection only.
    Unlimited,
}

/// Where a collector stands in its cycle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub enum CollectionPhase {
    /// No cycle is under way; the next one starts when enough has been allocated.
    Sleeping,
    /// Reachable objects are being marked.
    Marking,
    /// Everything reachable is marked; weak pointers and finalizers are being decided.
    Marked,
    /// Unmarked objects are being freed.
    Sweeping,
}

/// What a collection step has done.
#[non_exhaustive]
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// The phase in which the step left the collector.
    pub phase: CollectionPhase,
    /// Bytes of objects and payload that the step marked or swept.
    pub work_bytes: usize,
    /// Bytes that the step found dead and freed.
    pub freed_bytes: usize,
    /// Those of them that the scavenger has freed, while the arena was parked before this step.
    pub delegated_bytes: usize,
    /// Whether a cycle came to its end in this step.
    pub finished_cycle: bool,
}

impl Progress {
    /// A report for a collector that is not ours; the fields are public to read, not to construct.
    pub fn new(
        phase: CollectionPhase,
        work_bytes: usize,
        freed_bytes: usize,
        finished_cycle: bool,
    ) -> Self {
        Self {
            phase,
            work_bytes,
            freed_bytes,
            delegated_bytes: 0,
            finished_cycle,
        }
    }
}
