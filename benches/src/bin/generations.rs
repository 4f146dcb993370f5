//! Measures what two generations cost and save: the workloads of the comparison of collectors and the Lua programs, each without
//! and with `SLEEPY_GENERATIONAL=1`.
//!
//! `cargo run --release -p sleepy-benches --bin generations -- [--rounds N] [--out FILE] [NAME…]`
//!
//! Builds `sleepy-lua` and the runner of `benches/peers/collectors`. In each round every program runs once each way, in fresh
//! processes, one way first in even rounds and the other in odd ones. Of the CPU times (user and system) the least of each way counts, of the
//! peaks of resident memory the median. What a program prints must be the same both ways, figures of the runner aside.

use std::error::Error;
use std::fmt::Write as _;
use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use serde_json::Value;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// Workloads in which the collector decides when it works.
const WORKLOADS: [&str; 8] = [
    "binary_trees",
    "gcbench",
    "short_lived",
    "list_churn",
    "payload_churn",
    "writes",
    "writes_and_allocates",
    "steps_1m",
];

/// What is run.
struct Program {
    name: String,
    binary: PathBuf,
    arguments: Vec<String>,
    /// What says that two runs came to the same.
    check: fn(&str) -> Option<String>,
}

/// What one process used.
struct Run {
    cpu_s: f64,
    peak_mb: f64,
    check: Option<String>,
}

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("generations: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<()> {
    let (mut rounds, mut out, mut only) = (5, None, Vec::new());
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        match word.as_str() {
            "--rounds" => rounds = words.next().ok_or("--rounds needs a number")?.parse()?,
            "--out" => out = Some(PathBuf::from(words.next().ok_or("--out needs a file")?)),
            option if option.starts_with('-') => {
                return Err(format!("unknown option '{option}'").into());
            }
            _ => only.push(word),
        }
    }
    if rounds == 0 {
        return Err("--rounds is at least 1".into());
    }
    let mut table = String::from(
        "| program | CPU s, one generation | two | ratio | peak MB, one generation | two | ratio |\n|---|---|---|---|---|---|---|\n",
    );
    for program in programs()? {
        if !only.is_empty() && !only.contains(&program.name) {
            continue;
        }
        let row = measure(&program, rounds)?;
        print!("{row}");
        table.push_str(&row);
    }
    if let Some(out) = out {
        fs::write(out, table)?;
    }
    Ok(())
}

/// All programs; builds what they need.
fn programs() -> Result<Vec<Program>> {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .ok_or("no workspace")?;
    let peers = workspace.join("benches/peers");
    cargo(
        workspace,
        &["--package", "interp-demo", "--bin", "sleepy-lua"],
    )?;
    cargo(&peers, &["--package", "collect", "--bin", "collect-glibc"])?;
    let own = std::env::current_exe()?;
    let lua = own.parent().ok_or("no folder")?.join("sleepy-lua");
    let mut programs: Vec<_> = WORKLOADS
        .iter()
        .map(|&workload| Program {
            name: workload.to_owned(),
            binary: peers.join("target/release/collect-glibc"),
            arguments: vec![workload.to_owned(), "sleepy".to_owned()],
            check: |line| {
                let answer: Value = serde_json::from_str(line).ok()?;
                Some(answer.get("check")?.to_string())
            },
        })
        .collect();
    let mut scripts: Vec<_> = fs::read_dir(peers.join("lua/programs"))?
        .map(|entry| Ok(entry?.path()))
        .collect::<Result<_>>()?;
    scripts.sort();
    for script in scripts {
        let name = script.file_name().ok_or("a program without a name")?;
        programs.push(Program {
            name: name.to_string_lossy().into_owned(),
            binary: lua.clone(),
            arguments: vec![script.to_string_lossy().into_owned()],
            check: |printed| Some(printed.to_owned()),
        });
    }
    Ok(programs)
}

fn cargo(folder: &Path, what: &[&str]) -> Result<()> {
    let status = Command::new(env!("CARGO"))
        .args(["build", "--release", "--quiet"])
        .args(what)
        .current_dir(folder)
        .env_remove("CARGO_TARGET_DIR")
        .status()?;
    if status.success() {
        Ok(())
    } else {
        Err(format!("{what:?} can't be built").into())
    }
}

fn measure(program: &Program, rounds: usize) -> Result<String> {
    let mut runs = [Vec::new(), Vec::new()];
    for round in 0..rounds {
        for way in [round % 2, 1 - round % 2] {
            runs[way].push(once(program, way == 1)?);
        }
    }
    let check = &runs[0][0].check;
    if check.is_none() || runs.iter().flatten().any(|run| run.check != *check) {
        return Err(format!("{} does not come to the same each time", program.name).into());
    }
    let cpu = runs
        .each_ref()
        .map(|runs| runs.iter().map(|run| run.cpu_s).fold(f64::MAX, f64::min));
    let peak = runs.each_ref().map(|runs| {
        let mut peaks: Vec<_> = runs.iter().map(|run| run.peak_mb).collect();
        peaks.sort_by(f64::total_cmp);
        peaks[peaks.len() / 2]
    });
    let mut row = String::new();
    writeln!(
        row,
        "| {} | {:.2} | {:.2} | {:.2} | {:.1} | {:.1} | {:.2} |",
        program.name,
        cpu[0],
        cpu[1],
        cpu[1] / cpu[0],
        peak[0],
        peak[1],
        peak[1] / peak[0]
    )?;
    Ok(row)
}

/// Runs a program once, to its end.
fn once(program: &Program, generational: bool) -> Result<Run> {
    let mut child = Command::new(&program.binary)
        .args(&program.arguments)
        .env_clear()
        .env("SLEEPY_GENERATIONAL", if generational { "1" } else { "0" })
        .stdout(Stdio::piped())
        .spawn()?;
    let mut printed = String::new();
    child
        .stdout
        .take()
        .ok_or("no output")?
        .read_to_string(&mut printed)?;
    let mut status = 0;
    // SAFETY: all zeros is a valid `rusage`.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: the child has not been waited for; both places are valid.
    let waited =
        unsafe { libc::wait4(child.id().cast_signed(), &raw mut status, 0, &raw mut usage) };
    if waited == -1 {
        return Err(std::io::Error::last_os_error().into());
    }
    if status != 0 {
        return Err(format!("{} ends with status {status}", program.name).into());
    }
    let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 / 1e6;
    Ok(Run {
        cpu_s: seconds(usage.ru_utime) + seconds(usage.ru_stime),
        peak_mb: usage.ru_maxrss as f64 * 1024.0 / 1e6,
        check: (program.check)(&printed),
    })
}
