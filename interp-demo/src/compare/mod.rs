//! `sleepy-lua compare`: what does sleeping save, and what does it cost?
//!
//! Runs a script several times in fresh processes, once a round in each mode, watches their memory
//! from outside, and prints a table; on request also JSON ([`summary`] has its form) and a page with
//! the memory curves ([`page`]). The modes are `off` (neither collects in waits nor gives memory
//! back), `gc` (collects in waits) and `gc+scavenger`, and any other interpreter named by `--peer`.
//!
//! ```text
//!  options ─▶ mode ─▶ child (one process: sampler, report, stats, trace) ─▶ summary ─▶ table
//!                       once for each round and mode                               └─▶ page (chart)
//! ```
//!
//! A script may tell `compare` what it found out: it writes JSON into the file `$SLEEPY_REPORT`
//! ([`report`]). Without a report the standard output stands for the result. Either must be the same
//! in every mode.

mod chart;
mod child;
mod error;
mod interrupt;
mod mode;
mod options;
mod output;
mod page;
mod report;
mod sampler;
mod summary;
mod table;

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

use child::Run;
use error::CompareError;
use mode::Mode;
use options::Options;
use output::OutputFile;

/// All runs of one mode, in the order of the rounds.
struct ModeRuns {
    mode: Mode,
    runs: Vec<Run>,
}

/// Runs the sub-command with the arguments that follow the word `compare`.
///
/// Exit codes: 0 when all runs ended well and agreed, 1 when something failed (the message is on
/// standard error), 2 for a wrong command line, 130 after an interrupt.
#[must_use]
pub fn main(arguments: Vec<OsString>) -> ExitCode {
    let options = match Options::parse(arguments) {
        Ok(options) => options,
        Err(error) => {
            // Nothing is left to be told when even this can't be printed.
            let _ = error.print();
            return ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2));
        }
    };
    match std::env::current_exe()
        .map_err(CompareError::OwnExecutable)
        .and_then(|executable| compare(&options, &executable))
    {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("sleepy-lua compare: {error}");
            ExitCode::from(if matches!(error, CompareError::Interrupted) {
                130
            } else {
                1
            })
        }
    }
}

/// Everything that can be checked is checked before the first run: runs take minutes.
fn compare(options: &Options, executable: &Path) -> Result<(), CompareError> {
    check_script(&options.script)?;
    let modes = mode::all(executable, &options.flags.peers)?;
    let json = options
        .flags
        .json
        .as_deref()
        .map(OutputFile::open)
        .transpose()?;
    let html = options
        .flags
        .html
        .as_deref()
        .map(OutputFile::open)
        .transpose()?;
    interrupt::install()?;

    let all = run_rounds(options, modes, html.is_some())?;
    let summary = summary::summarize(options, &all);
    println!("{}", table::render(&summary));
    if let Some(json) = json {
        json.write(&summary.to_json())?;
    }
    if let Some(html) = html {
        html.write(&page::render(&summary, &all)?)?;
    }
    report::check_agreement(&all)
}

fn check_script(script: &Path) -> Result<(), CompareError> {
    let unreadable = |error: io::Error| CompareError::Script {
        path: script.into(),
        error,
    };
    let file = File::open(script).map_err(unreadable)?;
    if file.metadata().map_err(unreadable)?.is_dir() {
        return Err(unreadable(io::ErrorKind::IsADirectory.into()));
    }
    Ok(())
}

/// Runs each mode once a round. The order turns from round to round, so that no mode always follows
/// the same other one.
fn run_rounds(
    options: &Options,
    modes: Vec<Mode>,
    traced: bool,
) -> Result<Vec<ModeRuns>, CompareError> {
    let mut all: Vec<ModeRuns> = modes
        .into_iter()
        .map(|mode| ModeRuns {
            mode,
            runs: Vec::new(),
        })
        .collect();
    let count = all.len();
    let progress = progress_bar(options.flags.rounds * count);
    for round in 0..options.flags.rounds {
        for turn in 0..count {
            let ModeRuns { mode, runs } = &mut all[(round + turn) % count];
            progress.set_message(format!(
                "round {} of {}: {}",
                round + 1,
                options.flags.rounds,
                mode.name
            ));
            match child::run(mode, options, traced) {
                Ok(run) => runs.push(run),
                Err(error) => {
                    progress.finish_and_clear();
                    return Err(error);
                }
            }
            progress.inc(1);
        }
    }
    progress.finish_and_clear();
    Ok(all)
}

/// A bar on standard error; invisible when that is no terminal.
fn progress_bar(runs: usize) -> ProgressBar {
    let bar = ProgressBar::new(runs as u64);
    if let Ok(style) = ProgressStyle::with_template("{bar:30} {pos}/{len} {msg}, {elapsed} so far")
    {
        bar.set_style(style);
    }
    bar.enable_steady_tick(Duration::from_millis(500));
    bar
}
