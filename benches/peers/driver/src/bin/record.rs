//! Makes the whole record: the workloads, everything about waits, then the collectors.

use clap::Parser;
use driver::{Error, collect, compare_to, peers, plan};
use peers_common::record::Context;
use std::path::PathBuf;
use std::process::ExitCode;

/// Compares the allocators in everything, and the collectors, and writes tables and JSON.
#[derive(Parser)]
struct Options {
    /// The folder for tables and JSON
    #[arg(long)]
    out: PathBuf,
    /// Only these peers
    #[arg(long, value_delimiter = ',')]
    peers: Vec<String>,
    /// How often each peer runs each workload
    #[arg(long, default_value_t = 5)]
    rounds: usize,
    /// How often each peer runs each program that waits
    #[arg(long, default_value_t = 3)]
    loop_rounds: usize,
    /// How often each collector runs each workload
    #[arg(long, default_value_t = 3)]
    collector_rounds: usize,
    /// One round of tiny sizes: does everything run?
    #[arg(long)]
    quick: bool,
    /// The binaries are up to date
    #[arg(long)]
    no_build: bool,
}

fn main() -> ExitCode {
    match run(&Options::parse()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(2),
        Err(error) => {
            eprintln!("record: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Returns whether every run of the workloads gave an answer, and the collectors' the same.
fn run(options: &Options) -> Result<bool, Error> {
    let variants = peers::select(&options.peers)?;
    let ready = peers::ready(&variants, !options.no_build)?;
    let mut plan = plan::Plan {
        cases: plan::cases(&[], &[])?,
        peers: ready.clone(),
        rounds: options.rounds,
        percent: 100,
        settle_ms: 300,
    };
    if options.quick {
        plan = plan.quick();
    }
    let complete = compare_to(&plan, Some(&options.out))?;
    loops::record(&Context {
        out: options.out.clone(),
        quick: options.quick,
        rounds: options.loop_rounds,
        peers: ready,
    })
    .map_err(Error::Loops)?;
    if !options.no_build {
        collect::build()?;
    }
    let mut plan = collect::Plan::whole(options.collector_rounds);
    if options.quick {
        plan = plan.quick();
    }
    Ok(collect::compare(&plan, Some(&options.out))? && complete)
}
