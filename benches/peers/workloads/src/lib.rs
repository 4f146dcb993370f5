//! Allocation workloads, written anew from their definitions.
//!
//! The allocator under test is the process's global allocator. A workload makes its own blocks with [`block::get`] and
//! [`block::put`], whose pointers are opaque to the compiler, and its bookkeeping as the originals do: with the same
//! allocator. Only what an original reads from a file is kept out of it ([`replay`]).
//!
//! | module | what it owns |
//! |---|---|
//! | [`list`](mod@list) | the table of workloads |
//! | [`runner`] | one run: warm-up, the timed round, the counters |
//! | [`block`], [`random`], [`pool`] | blocks, numbers, threads |
//! | the others | a workload each, or a few of a kind |

pub mod alloc_test;
pub mod balloon;
pub mod block;
pub mod cache_scratch;
pub mod chunks;
pub mod churn;
pub mod fragment;
pub mod glibc_thread;
pub mod larson;
pub mod linked_list;
pub mod list;
pub mod message;
pub mod mstress;
pub mod pool;
pub mod random;
pub mod replay;
pub mod runner;
pub mod trace;
pub mod tree;
pub mod xmalloc;

pub use list::{WORKLOADS, Workload};
pub use runner::run;
