//! An incremental garbage collector that works while the program waits.

pub mod arena;
pub mod barrier;
pub mod collect;
mod error;
mod gc;
mod heap;
pub mod idle;
pub mod metrics;
mod mutation;
pub mod step;
mod weak;

pub use arena::{__DynRootable, Arena, MarkedArena, ParkedArena, Root, Rootable, rootless_mutate};
pub use collect::Collect;
pub use error::AllocError;
pub use gc::Gc;
pub use metrics::Metrics;
pub use mutation::{Finalization, Mutation};
pub use step::{Budget, CollectionPhase, Progress};
pub use weak::GcWeak;
