//! gc-arena 0.5's API on the core of `sleepy-gc`: a program that is written for gc-arena 0.5 (piccolo is) runs on it with two
//! lines in its `Cargo.toml`.
//!
//! ```toml
//! [patch.crates-io]
//! gc-arena = { path = "…/sleepy/gc/compat/v0_5" }
//! ```
//!
//! Its own tests run on both: `cargo test --features allocator-api2,hashbrown` here, and in `original` on gc-arena itself.
//!
//! It is a layer on [`sleepy_gc::raw`]: here are `Collect`, `Gc`, `Arena` and the like, there are pages, marks, phases and
//! pacing. The two generations of the API have incompatible `Collect`s, and the same objects underneath.
//!
//! | item | here | why |
//! |---|---|---|
//! | `Metrics::total_gc_allocation`, `allocation_debt` | in bytes of cells | there are no headers and no `malloc` |
//! | `Pacing`'s timing factor | 0 is stop-the-world; above 1.5 nothing changes | a cycle has to end |
//! | `barrier` | `sleepy_gc::barrier` | it is the same, with more in it |
//! | a panicking destructor | the others still run | |
//! | `no_std` | is not supported | |

#[cfg(feature = "allocator-api2")]
pub mod allocator_api;
pub mod arena;
mod collect;
mod collect_impls;
mod dynamic_roots;
mod gc;
mod gc_weak;
#[cfg(feature = "hashbrown")]
mod hashbrown;
pub mod lock;
pub mod metrics;
mod mutation;
mod static_collect;
mod unsize;

pub use arena::{__DynRootable, Arena, CollectionPhase, Root, Rootable, rootless_arena};
pub use collect::{__MustNotImplDrop, Collect, Collection};
pub use dynamic_roots::{DynamicRoot, DynamicRootSet, MismatchedRootSet};
pub use gc::Gc;
pub use gc_arena_derive::{__unelide_lifetimes, Collect};
pub use gc_weak::GcWeak;
pub use mutation::{Finalization, Mutation};
pub use sleepy_gc::barrier;
#[doc(hidden)]
pub use sleepy_gc::{__field, __unlock};
pub use static_collect::StaticCollect;
pub use unsize::__CoercePtrInternal;
