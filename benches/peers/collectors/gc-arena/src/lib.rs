//! The workloads of collectors on an arena with gc-arena's API.
//!
//! These sources are two packages: `collect-gc-arena`, where `gc_arena` is gc-arena, and `collect-sleepy`, where it is
//! sleepy-gc under that name and the feature `sleepy` is on. What differs is in [`table`] and [`budget`]: arrays, payload,
//! and steps of a given time.

mod array;
mod budget;
mod graph;
mod heap;
mod lists;
mod queue;
mod table;
mod trees;

use collectors::{Collector, NotDone, Result, Size};
use gc_arena::metrics::Pacing;

/// The collector as it comes.
pub const COLLECTOR: Collector = Collector {
    name: if cfg!(feature = "sleepy") {
        "sleepy"
    } else {
        "gc-arena"
    },
    version: if cfg!(feature = "sleepy") {
        env!("CARGO_PKG_VERSION")
    } else {
        "0.7.0"
    },
    run,
    recursive: false,
};

/// The same with its setting for throughput: each cycle in one piece.
pub const STOP_THE_WORLD: Collector = Collector {
    name: if cfg!(feature = "sleepy") {
        "sleepy-stw"
    } else {
        "gc-arena-stw"
    },
    run: run_stw,
    ..COLLECTOR
};

fn run(workload: &str, size: Size) -> Result {
    with(workload, size, Pacing::DEFAULT)
}

fn run_stw(workload: &str, size: Size) -> Result {
    match workload {
        "binary_trees" | "gcbench" | "short_lived" | "list_churn" | "payload_churn" => {
            with(workload, size, Pacing::STOP_THE_WORLD)
        }
        _ => Err(NotDone("its setting for throughput, where that matters")),
    }
}

fn with(workload: &str, size: Size, pacing: Pacing) -> Result {
    Ok(match workload {
        "binary_trees" => trees::binary_trees(size, pacing),
        "gcbench" => trees::gcbench(size, pacing),
        "short_lived" => lists::short_lived(size, pacing),
        "list_churn" => lists::list_churn(size, pacing),
        "payload_churn" => lists::payload_churn(size, pacing),
        "writes" => graph::writes(size, pacing),
        "writes_and_allocates" => graph::writes_and_allocates(size, pacing),
        "writes_in_cycle" => graph::writes_in_cycle(size),
        "payload_16" => heap::payload_16(size),
        "full_1m" | "full_10m" => heap::full(size),
        "steps_1m" | "steps_10m" => queue::steps(size, pacing),
        "array_1m" | "array_10m" => array::array(size, pacing),
        _ => return Err(NotDone("not written for it")),
    })
}
