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

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;
    use std::path::PathBuf;

    use super::*;

    /// Stands in for the interpreter: notes what `--stats=json:` and `--gc-trace=json:` ask for, drops
    /// the other options, and gives the script to the shell.
    const STAND_IN: &str = r#"#!/bin/sh
while :; do
  case $1 in
    --stats=json:*) echo '{"cycles":3,"idle_steps":9,"collected_ns":5}' > "${1#*:}" ;;
    --gc-trace=json:*) echo '{"phase":"parked","start_us":0,"end_us":9000000000000000}' > "${1#*:}" ;;
    --*) ;;
    *) exec /bin/sh "$@" ;;
  esac
  shift
done
"#;

    struct Setting {
        folder: tempfile::TempDir,
        executable: PathBuf,
    }

    impl Setting {
        fn new(script: &str) -> Self {
            let folder = tempfile::tempdir().expect("a folder");
            let executable = folder.path().join("stand-in");
            fs::write(&executable, STAND_IN).expect("a write");
            fs::set_permissions(&executable, fs::Permissions::from_mode(0o755)).expect("a mode");
            fs::write(folder.path().join("script"), script).expect("a write");
            Self { folder, executable }
        }

        fn path(&self, name: &str) -> String {
            self.folder.path().join(name).display().to_string()
        }

        fn compare(&self, words: &[&str]) -> Result<(), String> {
            let script = self.path("script");
            let words = words
                .iter()
                .copied()
                .chain([script.as_str()])
                .map(OsString::from);
            let options = Options::parse(words).expect("valid options");
            super::compare(&options, &self.executable).map_err(|error| error.to_string())
        }
    }

    #[test]
    fn a_comparison_writes_json_and_a_page() {
        let setting = Setting::new("sleep 0.05; echo done");
        let (json, html) = (setting.path("json"), setting.path("html"));
        setting
            .compare(&[
                "--rounds", "2", "--peer", "sh", "--json", &json, "--html", &html,
            ])
            .expect("a comparison");
        let json: serde_json::Value =
            serde_json::from_str(&fs::read_to_string(json).expect("a file")).expect("JSON");
        let modes = json["modes"].as_array().expect("modes");
        let names: Vec<&str> = modes
            .iter()
            .filter_map(|mode| mode["name"].as_str())
            .collect();
        assert_eq!(names, ["off", "gc", "gc+scavenger", "sh"]);
        assert_eq!(modes[0]["gc"]["idle_share"]["median"], 1);
        let page = fs::read_to_string(html).expect("a file");
        assert_eq!(
            page.matches("<svg").count(),
            4,
            "memory, and the phases of three modes"
        );
        for colour in &chart::MODE_COLOURS[..4] {
            let curve = format!(
                "stroke=\"{}\" stroke-width=\"2\"",
                chart::colour_name(*colour)
            );
            assert_eq!(page.matches(&curve).count(), 1, "{curve}");
        }
        assert!(
            !page.contains("src=") && !page.contains("href="),
            "the page loads nothing"
        );
    }

    #[test]
    fn a_difference_is_an_error_after_all_was_written() {
        let setting = Setting::new("echo $$");
        let json = setting.path("json");
        let message = setting
            .compare(&["--rounds", "1", "--json", &json])
            .expect_err("a difference");
        assert_eq!(
            message,
            "the results differ: mode 'gc' printed something else than mode 'off'"
        );
        assert!(fs::metadata(json).expect("a file").len() > 0);
    }

    #[test]
    fn what_cannot_work_is_refused_before_the_first_run() {
        let setting = Setting::new("touch $0.ran");
        for (words, part) in [
            (["--peer", "lua5.9"], "cannot run peer 'lua5.9'"),
            (
                ["--json", "/no/such/folder/out"],
                "cannot write '/no/such/folder/out'",
            ),
            (["--html", "/"], "cannot write '/'"),
        ] {
            let message = setting.compare(&words).expect_err("a refusal");
            assert!(message.starts_with(part), "{message}");
        }
        fs::remove_file(setting.path("script")).expect("the script");
        let message = setting.compare(&[]).expect_err("a refusal");
        assert!(message.starts_with("cannot open script '"), "{message}");
        assert!(!Path::new(&setting.path("script.ran")).exists());
    }
}
