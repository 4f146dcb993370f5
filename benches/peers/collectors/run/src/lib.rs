//! One process, one workload, one collector, one line of JSON.

use collectors::{Collector, run};
use std::process::ExitCode;

/// All collectors, in the order of the tables.
pub const COLLECTORS: &[Collector] = &[
    collect_sleepy::COLLECTOR,
    collect_gc_arena::COLLECTOR,
    collect_gc_arena::STOP_THE_WORLD,
    collect_collected::DUMPSTER,
    collect_collected::DUMPSTER_SYNC,
    collect_collected::GC,
    collect_collected::BOA,
    collect_counted::RC,
    collect_counted::BOX,
    collect_counted::BUMP,
];

/// The main function of the binaries.
pub fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match run(COLLECTORS, &args) {
        Ok(json) => {
            println!("{json}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("collect: {error}");
            ExitCode::FAILURE
        }
    }
}
