//! A memory allocator that lends idle heaps to a scavenger thread.

#[cfg(not(loom))]
mod arena;
#[cfg(not(loom))]
mod bitmap;
#[cfg(not(loom))]
mod heap;
#[cfg(not(loom))]
mod hole;
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
mod poison;
#[cfg(not(loom))]
mod size_class;
mod sync;
#[cfg(not(loom))]
mod units;

#[cfg(not(loom))]
pub use heap::Heap;
