//! Compares collectors on the workloads.

use clap::Parser;
use driver::{Error, collect};
use std::path::PathBuf;
use std::process::ExitCode;

/// Runs every workload on every collector, in fresh processes, interleaved, and writes a table.
#[derive(Parser)]
struct Options {
    /// Only these workloads
    #[arg(long, value_delimiter = ',')]
    only: Vec<String>,
    /// Only these collectors
    #[arg(long, value_delimiter = ',')]
    peers: Vec<String>,
    /// How often each collector runs each workload
    #[arg(long, default_value_t = 3)]
    rounds: usize,
    /// What has used so many CPU seconds is not run again
    #[arg(long, default_value_t = collect::ENOUGH_S)]
    enough_s: f64,
    /// One round of small sizes: does everything run?
    #[arg(long)]
    quick: bool,
    /// Write gc-peers.md and gc-peers.json there
    #[arg(long)]
    out: Option<PathBuf>,
    /// The binaries are up to date
    #[arg(long)]
    no_build: bool,
}

fn main() -> ExitCode {
    match run(&Options::parse()) {
        Ok(complete) if complete => ExitCode::SUCCESS,
        Ok(_) => ExitCode::from(2),
        Err(error) => {
            eprintln!("compare-collectors: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Returns whether every run gave an answer, and all the same.
fn run(options: &Options) -> Result<bool, Error> {
    let mut plan = collect::Plan {
        workloads: collect::workloads(&options.only)?,
        entrants: collect::entrant::select(&options.peers)?,
        rounds: options.rounds,
        enough_s: options.enough_s,
        quick: false,
    };
    if options.quick {
        plan = plan.quick();
    }
    if !options.no_build {
        collect::build()?;
    }
    collect::compare(&plan, options.out.as_deref())
}
