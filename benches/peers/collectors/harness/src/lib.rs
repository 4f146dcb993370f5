//! What the benches of collectors share.
//!
//! A *workload* is defined here by its name and its sizes, and implemented for each collector in a package of its own
//! (`collect-NAME`). A process runs one workload on one collector and says what it cost.
//!
//! | module | what it owns |
//! |---|---|
//! | [`list`](mod@list) | the table of workloads and their sizes |
//! | [`outcome`] | what a workload found; the names of its figures |
//! | [`steps`] | the times of steps, by the thread's CPU clock |
//! | [`counting`] | the workloads for pointers that are shared or owned, generic over what such a pointer must offer |
//! | [`runner`] | one run: the counters before and after |

pub mod counting;
pub mod list;
pub mod outcome;
pub mod runner;
mod stack;
pub mod steps;

pub use list::{Size, WORKLOADS, Workload};
pub use outcome::{Figure, NotDone, Outcome, Result};
pub use runner::{Collector, run};
