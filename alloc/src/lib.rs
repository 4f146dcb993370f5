//! A memory allocator for programs that wait: fast while they work, and while they sleep a scavenger thread gives back
//! what they do not use.
//!
//! A program that waits holds memory that it does not use. Its thread could give that back before it waits, but then
//! the next request would wait for the kernel. So the thread *lends* its heap for the time of the wait: [`idle_start`]
//! and [`idle_end`] around it, for the default heap of the thread, or [`Heap::park`] for a heap of its own. The
//! scavenger sweeps what is lent, and the owner takes it back in nanoseconds, whenever it likes.
//!
//! - Lending costs a few loads when there is nothing to give, and never wakes anybody then.
//! - The owner never waits for the kernel: a sweep only unlinks memory, and stops as soon as the owner wants the heap;
//!   the system calls come when it is given up.
//! - Memory that was free for 100 ms goes, in units of 4 KiB, also from inside pages that are in use.
//! - With nothing left to give back the scavenger sleeps without a timeout: an idle process makes no wake-ups at all.
//! - A program that never lends anything, or never blocks, gets its memory back, too.
//! - A heap in use pays nothing for this: allocating and freeing are a handful of instructions without atomics.
//!
//! # Example
//! As the allocator of a program, with a loop that lends its heap:
//! ```
//! use sleepy_alloc::SleepyAlloc;
//!
//! #[global_allocator]
//! static ALLOCATOR: SleepyAlloc = SleepyAlloc;
//!
//! # fn poll() {}
//! fn main() {
//!     for _ in 0..3 {
//!         let request = b"GET / HTTP/1.1".repeat(1000);
//!         drop(request);
//!         sleepy_alloc::idle_start();
//!         poll(); // the scavenger may take what the request left behind
//!         sleepy_alloc::idle_end();
//!     }
//! }
//! ```
//! With a heap of its own, whose blocks go with it:
//! ```
//! use allocator_api2::vec::Vec;
//! use sleepy_alloc::Heap;
//!
//! # fn poll() {}
//! let heap = Heap::new()?;
//! let mut list = Vec::new_in(&heap);
//! list.extend([1, 2, 3]);
//! let parked = heap.park();
//! poll();
//! drop(parked);
//! # Ok::<(), allocator_api2::alloc::AllocError>(())
//! ```
//!
//! [`Options`] change its ways, in the program or in the environment; [`stats()`] counts what it does. The C library's
//! `malloc` is replaced by the crate `sleepy-malloc`, which stands on this one.
//!
//! # Layers
//! A layer uses only what stands below it.
//!
//! | module | what it owns |
//! |---|---|
//! | `global`, [`raw`], `idle` | the faces: Rust's allocator, one without layouts, lending around a wait |
//! | `thread`, `late` | each thread's default heap, and the one for threads that have lost theirs |
//! | `scavenger`, `fork` | the thread that sweeps and purges; what a fork must find |
//! | `purge`, `pace` | policy: what is old enough, when to come next (pure); what it remembers from turn to turn |
//! | `heap` | first-class heaps: fast paths, pages of a class, large blocks, sweeps |
//! | [`pages`] | runs of slices for collectors |
//! | `flight` | giving released units back, in runs |
//! | `unowned`, `remote`, `lazy` | pages that belong to no heap; blocks freed by other threads |
//! | `hole`, `page` | free units inside used pages; descriptors and free lists |
//! | `arena`, `units`, `bitmap` | address space, slices, the state of each unit |
//! | `park`, `schedule`, [`lock`] | the words on which threads agree, checked with loom |
//! | `hook` | what the owner of a lent heap leaves to be done, checked with them |
//! | `options`, `numa`, `stats` | what the program and the environment chose; which memory is near; counters |
//! | `os` | system calls |
//!
//! # Limits
//! 64-bit Unix; Linux is what it is measured on, and other Unix stands on one file (`os/other.rs`). Blocks of a [`Heap`]
//! are freed through that heap, and go with it when it is dropped; those of [`SleepyAlloc`] are freed by any thread.
// A model builds only what it models.
#![cfg_attr(loom, allow(dead_code, missing_docs))]

#[cfg(not(target_pointer_width = "64"))]
compile_error!("sleepy-alloc reserves address space by the gigabyte, and needs a 64-bit target");

#[cfg(not(loom))]
mod arena;
#[cfg(not(loom))]
mod bitmap;
#[cfg(not(loom))]
mod demand;
#[cfg(all(test, not(loom)))]
mod faults;
#[cfg(not(loom))]
mod flight;
#[cfg(not(loom))]
mod fork;
#[cfg(not(loom))]
mod global;
#[cfg(not(loom))]
mod heap;
#[cfg(not(loom))]
mod hole;
#[cfg(not(loom))]
mod hook;
#[cfg(loom)]
pub mod hook;
#[cfg(not(loom))]
mod idle;
#[cfg(not(loom))]
mod late;
#[cfg(not(loom))]
mod lazy;
#[cfg(loom)]
pub mod lazy;
pub mod lock;
#[cfg(all(not(loom), any(debug_assertions, sleepy_check)))]
mod misuse;
#[cfg(not(loom))]
mod numa;
#[cfg(not(loom))]
mod options;
#[cfg(not(loom))]
mod os;
#[cfg(not(loom))]
mod pace;
#[cfg(not(loom))]
mod page;
#[cfg(not(loom))]
pub mod pages;
#[cfg(not(loom))]
mod park;
#[cfg(loom)]
pub mod park;
#[cfg(not(loom))]
#[doc(hidden)]
pub mod poison;
#[cfg(not(loom))]
mod purge;
#[cfg(not(loom))]
pub mod raw;
#[cfg(not(loom))]
mod remote;
#[cfg(loom)]
pub mod remote;
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
mod text;
#[cfg(not(loom))]
mod thread;
#[cfg(not(loom))]
mod units;
#[cfg(not(loom))]
mod unowned;

#[cfg(not(loom))]
pub use global::SleepyAlloc;
#[cfg(not(loom))]
pub use heap::{Heap, Parked, SweepHook};
#[cfg(not(loom))]
pub use idle::{idle, idle_end, idle_start, with_thread_heap};
#[cfg(not(loom))]
pub use options::{AlreadyStarted, Options};
#[cfg(not(loom))]
pub use scavenger::{has_scavenger, purge_now};
#[cfg(not(loom))]
pub use stats::{Stats, print_stats, stats};

/// The examples of the README are tested with those of the documentation.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
