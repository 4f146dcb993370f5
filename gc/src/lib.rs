//! An incremental garbage collector that works while the program waits.

pub mod idle;
pub mod step;

pub use step::{Budget, CollectionPhase, Progress};
