//! Pointers that are collected without an arena.

mod boa;
mod manishearth;
mod reference_counts;
mod reference_counts_sync;
mod traced;

pub use boa::COLLECTOR as BOA;
pub use manishearth::COLLECTOR as GC;
pub use reference_counts::COLLECTOR as DUMPSTER;
pub use reference_counts_sync::COLLECTOR as DUMPSTER_SYNC;
