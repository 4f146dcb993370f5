//! An incremental garbage collector for language runtimes that works while the program waits.
//!
//! An [`Arena`] is a heap with a root. Its objects are named by [`Gc`] pointers, which are one word, `Copy`, and branded
//! with a lifetime `'gc` that no two callbacks share: safe code can neither take a pointer out of its arena nor keep one
//! over a collection. The names and shapes are gc-arena's wherever the concept is the same.
//!
//! ```
//! use sleepy_gc::{Arena, Budget, Collect, Gc, Lock, Rootable};
//! use std::time::Duration;
//!
//! #[derive(Collect)]
//! #[collect(no_drop)]
//! struct Node<'gc> {
//!     name: String,
//!     next: Lock<Option<Gc<'gc, Node<'gc>>>>,
//! }
//!
//! let mut arena = Arena::<Rootable![Gc<'_, Node<'_>>]>::new(|mc| {
//!     Gc::new(mc, Node { name: "first".into(), next: Lock::new(None) })
//! });
//! arena.mutate(|mc, first| {
//!     let second = Gc::new(mc, Node { name: "second".into(), next: Lock::new(Some(*first)) });
//!     // A store into an object passes a write barrier.
//!     sleepy_gc::barrier::unlock!(Gc::write(mc, *first), Node, next).set(Some(second));
//! });
//!
//! // Collection happens between callbacks only, in steps that are as long as they are told to be.
//! arena.start_cycle();
//! while arena.has_work() {
//!     arena.step(Budget::Time(Duration::from_micros(15)));
//! }
//! arena.mutate(|_, first| assert_eq!(first.next.get().unwrap().name, "second"));
//! ```
//!
//! # What is where
//!
//! - [`Arena::mutate`] runs the program, [`Arena::step`] and [`Arena::collect_debt`] collect. A program that allocates asks
//!   [`Arena::debt_due`] (one compare) now and then; [`pacing`] says what it owes.
//! - [`idle`] collects while the program waits, and lends the heap's free memory to the allocator's scavenger.
//! - [`collections`] and [`ephemeron`] hold what would otherwise be one long step or escape the accounting: use them in
//!   place of `Vec` and `HashMap` for anything that can grow large.
//! - [`Collect`] is the contract of what may live in an arena; derive it. [`barrier`] and [`lock`] have interior
//!   mutability; [`dynamic_roots`] has handles that leave the callback.
//! - [`metrics`] counts, for one arena and for all ([`Metrics::report`]); [`Arena::heap_summary`] tells what fills a heap.
//! - [`raw`] is the core for layers with another API.
//!
//! # From gc-arena
//!
//! Everything of gc-arena 0.7 is here under its path, and the package `gc-arena` in `gc/compat` is this crate under that
//! name, for `[patch]`; its documentation lists the few differences. (`gc/compat/v0_5` is 0.5's API, on [`raw`].) What is
//! new is beside it: steps with a [`Budget`], [`idle`], [`collections`], [`ephemeron`], [`finalize`], a heap limit with
//! `try_` operations, arenas that move between threads ([`SendRoot`]).
//!
//! # Features
//!
//! | feature | what it adds |
//! |---|---|
//! | `idle-sweep`, `idle-mark`, `idle-start`, `idle-park` | what waits may do, see [`idle::switches`]; on by default, each can be left out |
//! | `enum-map`, `hashbrown`, `indexmap`, `slotmap` | [`Collect`] for the containers of that crate (`smallvec` is always there) |
//! | `hashbrown-0-14`, `hashbrown-0-15`, `hashbrown-0-16` | the same for earlier versions |
//! | `serde`, `json` | `Serialize` for [`summary`] and [`metrics::Report`]; `to_json` of both |
//! | `tracing` | events of cycles, phases, steps and refused allocations, with the target `sleepy_gc` |
//! | `zeal` | [`Arena::verify`] follows all pointers in optimised builds too, and does so after each step where the environment has `SLEEPY_ZEAL=n`, which makes a step due at each n-th callback |
//!
//! # Limits
//!
//! A `Vec` or a `HashMap` of the standard library inside an object is one unit of work, however large; a
//! [`Sliced`](collections::Sliced) `Vec`, or a [container of your own](collections::Sliced), is not. A destructor is one unit
//! too. Types aligned to more than 64 KiB can't live in an arena.

// In a model only the parts that are modelled are compiled, by `tests/loom.rs`.
#![cfg(not(loom))]

// The derive macros name this crate by an absolute path, here too.
extern crate self as sleepy_gc;

pub mod allocator_api;
pub mod arena;
pub mod barrier;
pub mod collect;
mod collect_impls;
mod collect_impls_optional;
mod collect_slices;
pub mod collections;
pub mod dynamic_roots;
pub mod ephemeron;
mod error;
mod face;
pub mod finalize;
mod gc;
mod heap;
pub mod idle;
pub mod lock;
pub mod metrics;
mod mutation;
pub mod pacing;
pub mod raw;
pub mod send_root;
mod static_;
pub mod step;
pub mod summary;
mod unsize;
mod weak;
pub mod zst_cache;

pub use arena::{__DynRootable, Arena, MarkedArena, ParkedArena, Root, Rootable, rootless_mutate};
pub use collect::{__MustNotImplDrop, Collect};
pub use dynamic_roots::{DynamicRoot, DynamicRootSet, MismatchedRootSet};
pub use error::AllocError;
pub use gc::Gc;
#[cfg(debug_assertions)]
pub use heap::Shortage;
pub use heap::set_zeal;
pub use lock::{ForwardLock, GcLock, GcOnceLock, GcRefLock, Lock, OnceLock, RefLock};
pub use metrics::Metrics;
pub use mutation::{Finalization, Mutation};
pub use send_root::SendRoot;
#[doc(hidden)]
pub use sleepy_gc_derive::__unelide_lifetimes;
pub use sleepy_gc_derive::SendRoot;
pub use static_::Static;
pub use step::{Budget, CollectionPhase, Progress};
pub use summary::HeapSummary;
#[doc(hidden)]
pub use unsize::__Unsize;
pub use weak::GcWeak;
pub use zst_cache::ZstCache;
