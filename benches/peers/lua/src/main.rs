//! Compares Lua interpreters on eighteen programs, on what objects weigh, and as a server on a network.
//!
//! | module | what it owns |
//! |---|---|
//! | [`programs`] | what is run |
//! | [`peers`] | by whom |
//! | [`measure`] | fresh processes, interleaved |
//! | [`report`] | tables and JSON, and what was to be shown |
//! | [`network`] | the server and its clients |

mod measure;
mod network;
mod peers;
mod programs;
mod report;

use clap::Parser;
use peers_common::machine::Machine;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Why there is no table.
#[derive(Debug, thiserror::Error)]
enum Error {
    /// `sleepy-lua` could not be built.
    #[error(transparent)]
    Build(#[from] peers_common::cargo::BuildError),
    /// The folder of programs could not be read.
    #[error("cannot read the folder of programs {0}: {1}")]
    Programs(PathBuf, std::io::Error),
    /// A filter names nothing.
    #[error("no program {0}; there are: {1}")]
    NoProgram(String, String),
    /// A further peer was not given as a name and a path.
    #[error("'{0}' is not of the form NAME=PATH")]
    NotAPeer(String),
    /// The tables could not be written.
    #[error("cannot write to {0}: {1}")]
    Write(PathBuf, std::io::Error),
}

/// The name of the network workload among the programs.
const NETWORK: &str = "network";

/// Runs every program on every interpreter, in fresh processes, interleaved, and writes a table.
#[derive(Parser)]
struct Options {
    /// Only these programs; `network` is the network workload
    #[arg(long, value_delimiter = ',')]
    only: Vec<String>,
    /// One more interpreter, as NAME=PATH; may be given more than once
    #[arg(long)]
    also: Vec<String>,
    /// How often each interpreter runs each program
    #[arg(long, default_value_t = 5)]
    rounds: usize,
    /// One round: does everything run?
    #[arg(long)]
    quick: bool,
    /// Write lua.md, lua-network.md and their JSON there
    #[arg(long)]
    out: Option<PathBuf>,
    /// sleepy-lua is up to date
    #[arg(long)]
    no_build: bool,
}

fn main() -> ExitCode {
    match run(&Options::parse()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(2),
        Err(error) => {
            eprintln!("compare-lua: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Returns whether everything ran, with the same output everywhere.
fn run(options: &Options) -> Result<bool, Error> {
    let (network, only): (Vec<_>, Vec<_>) = options.only.iter().partition(|name| *name == NETWORK);
    let only: Vec<String> = only.into_iter().cloned().collect();
    let peers = peers::ready(&options.also, !options.no_build)?;
    let rounds = if options.quick { 1 } else { options.rounds };
    let mut is_complete = true;
    if network.is_empty() || !only.is_empty() {
        let before = Machine::here();
        let table = measure::run(&programs::select(&only)?, &peers, rounds);
        is_complete &= table.is_complete();
        let text = report::markdown(&table, &before, rounds);
        let json = report::json(&table, &before, rounds);
        publish(options, &text, |folder| report::write(folder, &text, &json))?;
    }
    if options.only.is_empty() || !network.is_empty() {
        let plan = if options.quick {
            network::Plan::QUICK
        } else {
            network::Plan::FULL
        };
        let before = Machine::here();
        let rows = network::run(&network::entrants(&peers), plan, rounds);
        is_complete &= rows.iter().all(|row| row.failures.is_empty());
        let text = network::markdown(&rows, plan, &before, rounds);
        let json = network::json(&rows, plan, &before, rounds);
        publish(options, &text, |folder| {
            network::write(folder, &text, &json)
        })?;
    }
    Ok(is_complete)
}

/// Has the text and its JSON written to the folder that was asked for, or prints the text.
fn publish(
    options: &Options,
    text: &str,
    write: impl FnOnce(&Path) -> std::io::Result<()>,
) -> Result<(), Error> {
    match &options.out {
        Some(folder) => write(folder).map_err(|error| Error::Write(folder.clone(), error)),
        None => {
            print!("{text}");
            Ok(())
        }
    }
}
