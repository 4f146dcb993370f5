//! Compares Lua interpreters on eighteen programs and on what objects weigh.
//!
//! | module | what it owns |
//! |---|---|
//! | [`programs`] | what is run |
//! | [`peers`] | by whom |
//! | [`measure`] | fresh processes, interleaved |
//! | [`report`] | tables and JSON, and what was to be shown |

mod measure;
mod peers;
mod programs;
mod report;

use clap::Parser;
use peers_common::machine::Machine;
use std::path::PathBuf;
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

/// Runs every program on every interpreter, in fresh processes, interleaved, and writes a table.
#[derive(Parser)]
struct Options {
    /// Only these programs
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
    /// Write lua.md and lua.json there
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
    let programs = programs::select(&options.only)?;
    let peers = peers::ready(&options.also, !options.no_build)?;
    let rounds = if options.quick { 1 } else { options.rounds };
    let before = Machine::here();
    let table = measure::run(&programs, &peers, rounds);
    let text = report::markdown(&table, &before, rounds);
    match &options.out {
        Some(folder) => report::write(folder, &text, &report::json(&table, &before, rounds))
            .map_err(|error| Error::Write(folder.clone(), error))?,
        None => print!("{text}"),
    }
    Ok(table.is_complete())
}
