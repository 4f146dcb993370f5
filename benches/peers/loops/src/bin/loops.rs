//! Runs one of the drivers, or all of them.
//!
//! `cargo run --release -p loops -- all --out ../record/DATE`

use clap::Parser;
use loops::driver::{self, ALL, Driver, Options, PhaseOptions};
use peers_common::cargo;
use peers_common::record::{Context, Ready};
use peers_common::variants::{VARIANTS, Variant, find};
use std::error::Error;
use std::path::PathBuf;
use std::process::ExitCode;

/// Programs that wait, under every allocator.
#[derive(Parser)]
struct Arguments {
    /// Drivers to run; all if none is named.
    drivers: Vec<Driver>,
    /// Folder for tables and JSON.
    #[arg(long, default_value = "target/loops")]
    out: PathBuf,
    /// Small sizes, to see that everything runs.
    #[arg(long)]
    quick: bool,
    /// How often each program runs; some run less often, in proportion.
    #[arg(long)]
    rounds: Option<usize>,
    /// Allocators that take part; all if none is named.
    #[arg(long, value_delimiter = ',')]
    peers: Vec<String>,
    /// Measure requests after gaps of 30 s, too.
    #[arg(long)]
    long_gaps: bool,
    #[command(flatten)]
    phase: PhaseOptions,
}

fn main() -> ExitCode {
    match run(Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("loops: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: Arguments) -> Result<(), Box<dyn Error>> {
    let variants: Vec<Variant> = if arguments.peers.is_empty() {
        VARIANTS.iter().filter(|v| v.default).copied().collect()
    } else {
        let named = arguments.peers.iter();
        named
            .map(|name| {
                find(name)
                    .copied()
                    .ok_or(format!("no peer is called {name}"))
            })
            .collect::<Result<_, _>>()?
    };
    let mut peers = Vec::new();
    for variant in variants {
        cargo::build(&format!("with-{}", variant.peer))?;
        peers.push(Ready {
            variant,
            program: cargo::binary(&format!("with-{}", variant.peer))?,
            hello: cargo::binary(&format!("hello-{}", variant.peer))?,
        });
    }
    let context = Context {
        out: arguments.out,
        quick: arguments.quick,
        rounds: arguments
            .rounds
            .unwrap_or(if arguments.quick { 1 } else { 5 }),
        peers,
    };
    let options = Options {
        phase: arguments.phase,
        long_gaps: arguments.long_gaps,
    };
    let drivers = if arguments.drivers.is_empty() {
        &ALL[..]
    } else {
        &arguments.drivers
    };
    for driver in drivers {
        println!("{}", driver::run(*driver, &context, options)?);
    }
    Ok(())
}
