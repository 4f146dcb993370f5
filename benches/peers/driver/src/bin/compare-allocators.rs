//! Compares allocators on the workloads.

use clap::Parser;
use driver::{Error, peers, plan};
use std::path::PathBuf;
use std::process::ExitCode;

/// Runs every workload on every allocator, in fresh processes, interleaved, and writes a table.
#[derive(Parser)]
struct Options {
    /// Only these workloads
    #[arg(long, value_delimiter = ',')]
    only: Vec<String>,
    /// Only these peers
    #[arg(long, value_delimiter = ',')]
    peers: Vec<String>,
    /// Only these numbers of threads
    #[arg(long, value_delimiter = ',')]
    threads: Vec<usize>,
    /// How often each peer runs each workload
    #[arg(long, default_value_t = 5)]
    rounds: usize,
    /// How much of the full sizes
    #[arg(long, default_value_t = 100)]
    percent: usize,
    /// In the last round, wait so long before looking at the memory once more; 0: do not
    #[arg(long, default_value_t = 300)]
    settle_ms: u64,
    /// One round of tiny sizes: does everything run?
    #[arg(long)]
    quick: bool,
    /// Write alloc-peers.md and alloc-peers.json there
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
            eprintln!("compare-allocators: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Returns whether every run gave an answer.
fn run(options: &Options) -> Result<bool, Error> {
    let variants = peers::select(&options.peers)?;
    let cases = plan::cases(&options.only, &options.threads)?;
    let mut plan = plan::Plan {
        cases,
        peers: peers::ready(&variants, !options.no_build)?,
        rounds: options.rounds,
        percent: options.percent,
        settle_ms: options.settle_ms,
    };
    if options.quick {
        plan = plan.quick();
    }
    driver::compare_to(&plan, options.out.as_deref())
}
