//! A memory allocator that lends idle heaps to a scavenger thread.
// A model builds only what it models.
#![cfg_attr(loom, allow(dead_code, missing_docs))]

#[cfg(not(target_pointer_width = "64"))]
compile_error!("sleepy-alloc reserves address space by the gigabyte, and needs a 64-bit target");

#[cfg(not(loom))]
mod arena;
#[cfg(not(loom))]
mod bitmap;
#[cfg(not(loom))]
mod flight;
#[cfg(not(loom))]
mod fork;
#[cfg(not(loom))]
mod heap;
#[cfg(not(loom))]
mod hole;
#[cfg(not(loom))]
mod idle;
pub mod lock;
#[cfg(not(loom))]
mod options;
#[cfg(not(loom))]
mod os;
#[cfg(not(loom))]
mod page;
#[cfg(not(loom))]
pub mod pages;
#[cfg(not(loom))]
mod park;
#[cfg(loom)]
pub mod park;
#[cfg(not(loom))]
mod poison;
#[cfg(not(loom))]
mod purge;
#[cfg(not(loom))]
mod scavenger;
#[cfg(not(loom))]
mod schedule;
#[cfg(loom)]
pub mod schedule;
#[cfg(not(loom))]
mod size_class;
#[cfg(not(loom))]
mod stats;
mod sync;
#[cfg(not(loom))]
mod units;

#[cfg(not(loom))]
pub use heap::{Heap, Parked};
#[cfg(not(loom))]
pub use idle::{idle, idle_end, idle_start, with_thread_heap};
#[cfg(not(loom))]
pub use options::{AlreadyStarted, Options};
#[cfg(not(loom))]
pub use scavenger::purge_now;
#[cfg(not(loom))]
pub use stats::{Stats, stats};
