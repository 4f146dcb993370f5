//! dumpster for several threads. What changes would be behind a lock: that is not compared.

use collectors::counting::run_owned;
use collectors::{Collector, NotDone, Result, Size};
use dumpster::sync::{Gc, collect};

collectors::owned!(DumpsterSync, Gc, Some(collect), |big| drop(big.clone()),);
crate::traced::owned!();

fn run(workload: &str, size: Size) -> Result {
    if workload.ends_with("_10m") {
        return Err(crate::reference_counts::TOO_LARGE);
    }
    run_owned::<DumpsterSync>(workload, size)
        .map_err(|_| NotDone("objects that change need a lock each"))
}

/// As it comes.
pub const COLLECTOR: Collector = Collector {
    name: "dumpster-sync",
    version: "2.1",
    run,
    recursive: true,
};
