//! Time and memory of each benchmark, from processes of its own.

use std::error::Error;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use serde_json::{Value, json};
use sleepy_benches::machine;

use super::MODES;
use super::workloads::{ALL, SLOW, Workload};

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// How often each mode runs.
const ROUNDS: usize = 5;

/// Runs one benchmark once, and prints what it took as JSON.
pub fn child(name: &str, mode: &str, turns: &str, pause_us: &str) -> Result<()> {
    let workload = ALL.iter().find(|it| it.name == name);
    let workload = workload.ok_or_else(|| format!("there is no benchmark '{name}'"))?;
    let policy = MODES.iter().find(|(it, _)| *it == mode);
    let (_, policy) = policy.ok_or_else(|| format!("there is no mode '{mode}'"))?;
    let priority = libc::sched_param { sched_priority: 1 };
    // SAFETY: the parameters are readable; nothing depends on whether it may.
    unsafe { libc::sched_setscheduler(0, libc::SCHED_RR, &raw const priority) };
    let pause = Duration::from_micros(pause_us.parse()?);
    let time = (workload.run)(policy(), turns.parse()?, pause);
    let figures = json!({
        "wall_ms": time.as_secs_f64() * 1e3,
        "cpu_ms": cpu_ms(),
        "peak_mb": peak_kib()? as f64 / 1024.0,
    });
    println!("{figures}");
    Ok(())
}

/// Runs all of them, off and on in turn, and writes the table to a file, named from the workspace's folder.
pub fn make(file: &str) -> Result<()> {
    let mut text = format!(
        "{}; medians of {ROUNDS} interleaved rounds\n\n\
         Floor: peak resident memory of the same process after one turn.\n\n\
         | benchmark | partner | turns | µs a turn, off | on | CPU ms, off | on | floor MB | peak above it MB, off | on |\n\
         |---|---|---|---|---|---|---|---|---|---|\n",
        machine::description()
    );
    for (at, pause) in [Duration::ZERO, SLOW].into_iter().enumerate() {
        for workload in ALL {
            let line = row(&workload, workload.turns[at], pause)?;
            eprintln!("{line}");
            writeln!(text, "{line}")?;
        }
    }
    print!("{text}");
    // Cargo runs benches in their package's folder.
    fs::write(
        Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(file),
        text,
    )?;
    Ok(())
}

fn row(workload: &Workload, turns: u64, pause: Duration) -> Result<String> {
    let mut runs = [Vec::new(), Vec::new()];
    let mut floors = Vec::new();
    for round in 0..ROUNDS {
        floors.push(run_child(workload.name, "off", 1, pause)?);
        for at in [round % 2, 1 - round % 2] {
            let (mode, _) = MODES[at];
            runs[at].push(run_child(workload.name, mode, turns, pause)?);
        }
    }
    let floor_mb = median(&floors, "peak_mb");
    let [wall, cpu, peak] =
        ["wall_ms", "cpu_ms", "peak_mb"].map(|name| runs.each_ref().map(|it| median(it, name)));
    let turn_us = wall.map(|ms| ms * 1e3 / turns as f64);
    let partner = match pause.is_zero() {
        true => "at once",
        false => "slow",
    };
    Ok(format!(
        "| {} | {partner} | {turns} | {:.2} | {:.2} | {:.0} | {:.0} | {floor_mb:.2} | {:.2} | {:.2} |",
        workload.name,
        turn_us[0],
        turn_us[1],
        cpu[0],
        cpu[1],
        peak[0] - floor_mb,
        peak[1] - floor_mb,
    ))
}

fn run_child(name: &str, mode: &str, turns: u64, pause: Duration) -> Result<Value> {
    let output = Command::new(std::env::current_exe()?)
        .args(["--child", name, mode, &turns.to_string()])
        .arg(pause.as_micros().to_string())
        .output()?;
    if !output.status.success() {
        let message = String::from_utf8_lossy(&output.stderr);
        return Err(format!("{name}, {mode}: {message}").into());
    }
    Ok(serde_json::from_slice(&output.stdout)?)
}

fn median(runs: &[Value], name: &str) -> f64 {
    let mut values: Vec<f64> = runs.iter().filter_map(|run| run[name].as_f64()).collect();
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(0.0)
}

/// User and system time of this process.
fn cpu_ms() -> f64 {
    let mut usage = std::mem::MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: the place is writable; where the call fails it stays zeroed, which is a valid `rusage`.
    let usage = unsafe {
        libc::getrusage(libc::RUSAGE_SELF, usage.as_mut_ptr());
        usage.assume_init()
    };
    let ms = |time: libc::timeval| time.tv_sec as f64 * 1e3 + time.tv_usec as f64 / 1e3;
    ms(usage.ru_utime) + ms(usage.ru_stime)
}

/// The most that was ever resident.
fn peak_kib() -> Result<u64> {
    let text = fs::read_to_string("/proc/self/status")?;
    let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let line = line.ok_or("no peak of resident memory")?;
    Ok(line.trim().trim_end_matches(" kB").parse()?)
}
