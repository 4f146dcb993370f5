//! An incremental garbage collector that works while the program waits.

// The derive macros name this crate by an absolute path, here too.
extern crate self as sleepy_gc;

pub mod arena;
pub mod barrier;
pub mod collect;
mod collect_impls;
mod collect_impls_optional;
pub mod collections;
pub mod ephemeron;
mod error;
pub mod finalize;
mod gc;
mod heap;
pub mod idle;
pub mod lock;
pub mod metrics;
mod mutation;
pub mod pacing;
pub mod roots;
pub mod send_root;
mod static_;
pub mod step;
mod unsize;
mod weak;
pub mod zst;

pub use arena::{__DynRootable, Arena, MarkedArena, ParkedArena, Root, Rootable, rootless_mutate};
pub use collect::{__MustNotImplDrop, Collect};
pub use error::AllocError;
pub use gc::Gc;
pub use heap::set_zeal;
pub use lock::{GcLock, GcOnceLock, GcRefLock, Lock, OnceLock, RefLock};
pub use metrics::Metrics;
pub use mutation::{Finalization, Mutation};
pub use roots::{DynamicRoot, DynamicRootSet, MismatchedRootSet};
pub use send_root::SendRoot;
#[doc(hidden)]
pub use sleepy_gc_derive::__unelide_lifetimes;
pub use sleepy_gc_derive::{Collect, SendRoot};
pub use static_::Static;
pub use step::{Budget, CollectionPhase, Progress};
#[doc(hidden)]
pub use unsize::__Unsize;
pub use weak::GcWeak;
pub use zst::ZstCache;
