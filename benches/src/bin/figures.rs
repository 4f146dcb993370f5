//! Measures what the first scripts must show, and says which figures are missed.
//!
//! `cargo run --release -p sleepy-benches --bin figures -- [--rounds N] [--out FOLDER] [SCRIPT…]`
//!
//! For each script it calls `sleepy-lua compare` (built by cargo, in the same profile), reads the JSON
//! and prints one row a figure as Markdown. With `--out` the JSON files and the rows go into the
//! folder. With names of scripts only those are measured. Exit code 1 if a figure is missed.

use std::error::Error;
use std::fmt::Write as _;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Command, ExitCode, Stdio};
use std::thread::sleep;
use std::time::Duration;

use serde_json::Value;
use sleepy_benches::interpreter::Interpreter;
use sleepy_benches::machine;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// Measures a script and adds its rows.
type Measure = fn(&mut Figures) -> Result<()>;

/// One line of the result.
struct Row {
    script: String,
    figure: &'static str,
    limit: String,
    measured: String,
    met: bool,
}

/// What the command line asks for, and the rows so far.
struct Figures {
    lua: PathBuf,
    scripts: PathBuf,
    out: PathBuf,
    rounds: usize,
    rows: Vec<Row>,
}

fn main() -> ExitCode {
    match run() {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("figures: {error}");
            ExitCode::from(2)
        }
    }
}

fn run() -> Result<bool> {
    let mut rounds = 3;
    let mut out = None;
    let mut only = Vec::new();
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        match word.as_str() {
            "--rounds" => rounds = words.next().ok_or("--rounds needs a number")?.parse()?,
            "--out" => out = Some(PathBuf::from(words.next().ok_or("--out needs a folder")?)),
            option if option.starts_with('-') => {
                return Err(format!("unknown option '{option}'").into());
            }
            _ => only.push(word),
        }
    }
    let scratch = tempfile::tempdir()?;
    let keep = out.is_some();
    let Interpreter { program, scripts } = Interpreter::build()?;
    let mut figures = Figures {
        lua: program,
        scripts,
        out: out.unwrap_or_else(|| scratch.path().to_owned()),
        rounds,
        rows: Vec::new(),
    };
    fs::create_dir_all(&figures.out)?;
    let all: [(&str, Measure); 6] = [
        ("http_latency", http_latency),
        ("http_urandom", http_urandom),
        ("latency_live", latency_live),
        ("drop_heap", drop_heap),
        ("burst", burst),
        ("timer_idle", timer_idle),
    ];
    for (name, measure) in all {
        if only.is_empty()
            || only
                .iter()
                .any(|wanted| wanted.trim_end_matches(".lua") == name)
        {
            measure(&mut figures)?;
        }
    }
    let table = figures.to_markdown()?;
    print!("{table}");
    if keep {
        fs::write(figures.out.join("figures.md"), table)?;
    }
    Ok(figures.rows.iter().all(|row| row.met))
}

/// Peak above the floor, CPU time; `compare` itself fails when the digests differ.
fn http_latency(figures: &mut Figures) -> Result<()> {
    let floor = figures.compare("http_latency", &["16384"], "http_latency_floor")?;
    let full = figures.compare("http_latency", &[], "http_latency")?;
    let excess = on(&full, "peak_rss_bytes")? - on(&floor, "peak_rss_bytes")?;
    let off_excess = off(&full, "peak_rss_bytes")? - off(&floor, "peak_rss_bytes")?;
    let cpu = on(&full, "cpu_s")? / off(&full, "cpu_s")?;
    let script = "http_latency.lua";
    let measured = format!("{:.2} MB (off {:.2} MB)", excess / 1e6, off_excess / 1e6);
    figures.row(
        script,
        "peak above the floor",
        "≤ 1 MB",
        measured,
        excess <= 1e6,
    );
    figures.row(
        script,
        "CPU against off",
        "≤ 1.10",
        format!("{cpu:.3}"),
        cpu <= 1.10,
    );
    Ok(())
}

/// Two percent of CPU time are less than the noise of a few runs, so there are more of them.
const URANDOM_ROUNDS: usize = 3;

fn http_urandom(figures: &mut Figures) -> Result<()> {
    let rounds = figures.rounds * URANDOM_ROUNDS;
    let full = figures.compare_rounds("http_urandom", &[], "http_urandom", rounds)?;
    let cpu = on(&full, "cpu_s")? / off(&full, "cpu_s")?;
    let (peak, off_peak) = (on(&full, "peak_rss_bytes")?, off(&full, "peak_rss_bytes")?);
    let script = "http_urandom.lua";
    figures.row(
        script,
        "CPU against off",
        "≤ 1.02",
        format!("{cpu:.3}"),
        cpu <= 1.02,
    );
    let limit = format!("≤ {:.2} MB (off)", off_peak / 1e6);
    figures.row(
        script,
        "peak",
        &limit,
        format!("{:.2} MB", peak / 1e6),
        peak <= off_peak,
    );
    Ok(())
}

fn latency_live(figures: &mut Figures) -> Result<()> {
    let floor = figures.compare("latency_live", &["16384"], "latency_live_floor")?;
    let full = figures.compare("latency_live", &[], "latency_live")?;
    let excess = on(&full, "peak_rss_bytes")? - on(&floor, "peak_rss_bytes")?;
    let off_excess = off(&full, "peak_rss_bytes")? - off(&floor, "peak_rss_bytes")?;
    let script = "latency_live.lua";
    let measured = format!("{:.2} MB (off {:.2} MB)", excess / 1e6, off_excess / 1e6);
    figures.row(
        script,
        "excess over the floor",
        "≤ 2 MB",
        measured,
        excess <= 2e6,
    );
    for (quantile, limit_us) in [("p99", 20.0), ("max", 100.0)] {
        let overrun = overrun_us(&full, quantile)?;
        let figure = if quantile == "p99" {
            "step overrun p99"
        } else {
            "step overrun max"
        };
        let limit = format!("≤ {limit_us} µs");
        figures.row(
            script,
            figure,
            &limit,
            format!("{overrun:.1} µs"),
            overrun <= limit_us,
        );
    }
    let (delay, off_delay) = (
        on(&full, "wake_delay_us/p50")?,
        off(&full, "wake_delay_us/p50")?,
    );
    let limit = format!("≤ {off_delay:.1} µs (off)");
    figures.row(
        script,
        "wake delay p50",
        &limit,
        format!("{delay:.1} µs"),
        delay <= off_delay,
    );
    Ok(())
}

fn drop_heap(figures: &mut Figures) -> Result<()> {
    let full = figures.compare("drop_heap", &[], "drop_heap")?;
    let (peak, last) = (on(&full, "peak_rss_bytes")?, on(&full, "final_rss_bytes")?);
    let measured = format!(
        "{:.1} % ({:.2} of {:.2} MB)",
        last / peak * 100.0,
        last / 1e6,
        peak / 1e6
    );
    figures.row(
        "drop_heap.lua",
        "resident 1 s after the drop",
        "≤ 15 % of the peak",
        measured,
        last <= peak * 0.15,
    );
    Ok(())
}

/// How long the silence of `burst.lua` lasts.
const SILENCE_S: f64 = 12.5;

fn burst(figures: &mut Figures) -> Result<()> {
    let script = "burst.lua";
    let silence = SILENCE_S.to_string();
    let floor = figures.compare("burst", &["0.5", "1"], "burst_floor")?;
    let full = figures.compare("burst", &[&silence], "burst")?;
    let mode = mode(&full, "gc+scavenger")?;
    let samples = mode["samples"].as_array().ok_or("no samples")?;
    let sample = |sample: &Value| Some((sample[0].as_f64()?, sample[1].as_f64()?));
    let (end_ms, _) = samples.last().and_then(sample).ok_or("no samples")?;
    let after_1_s = samples
        .iter()
        .filter_map(sample)
        .find(|(at_ms, _)| *at_ms >= end_ms - (SILENCE_S - 1.0) * 1e3);
    let (_, early_bytes) = after_1_s.ok_or("no sample in the silence")?;
    let floor_bytes = on(&floor, "final_rss_bytes")?;
    let limit = format!("≤ {:.2} MB (1 burst) + 2 %", floor_bytes / 1e6);
    let measured = format!("{:.2} MB", early_bytes / 1e6);
    figures.row(
        script,
        "resident 1 s into the silence",
        &limit,
        measured,
        early_bytes <= floor_bytes * 1.02,
    );

    let wakes = wakes_in_silence(figures)?;
    figures.row(
        script,
        "wake-ups in the next 10 s",
        "0",
        wakes.to_string(),
        wakes == 0,
    );
    Ok(())
}

/// Runs `burst.lua` by itself and counts the voluntary switches of all its threads in ten seconds.
fn wakes_in_silence(figures: &Figures) -> Result<u64> {
    let mut child = Command::new(&figures.lua)
        .arg(figures.scripts.join("burst.lua"))
        .arg(SILENCE_S.to_string())
        .stdout(Stdio::piped())
        .spawn()?;
    let mut line = String::new();
    let mut stdout = BufReader::new(child.stdout.take().ok_or("no pipe")?);
    stdout.read_line(&mut line)?;
    sleep(Duration::from_secs(1));
    let before = voluntary_switches(child.id())?;
    sleep(Duration::from_secs(10));
    let after = voluntary_switches(child.id())?;
    if line.trim() != "silent" || !child.wait()?.success() {
        return Err("burst.lua failed".into());
    }
    Ok(after - before)
}

fn voluntary_switches(pid: u32) -> Result<u64> {
    let mut switches = 0;
    for thread in fs::read_dir(format!("/proc/{pid}/task"))? {
        let status = fs::read_to_string(thread?.path().join("status"))?;
        let field = status
            .lines()
            .find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"));
        switches += field.ok_or("no count of switches")?.trim().parse::<u64>()?;
    }
    Ok(switches)
}

fn timer_idle(figures: &mut Figures) -> Result<()> {
    for (bytes_a_turn, limit) in [("16384", 8.0), ("0", 0.0)] {
        let name = format!("timer_idle_{bytes_a_turn}");
        let full = figures.compare("timer_idle", &["1", "500", bytes_a_turn], &name)?;
        let turns = mode(&full, "gc+scavenger")?
            .pointer("/scavenger/turns/max")
            .and_then(Value::as_f64);
        let turns = turns.ok_or("no turns")?;
        let script = format!("timer_idle.lua 1 500 {bytes_a_turn}");
        figures.row(
            &script,
            "turns of the scavenger",
            &format!("≤ {limit}"),
            turns.to_string(),
            turns <= limit,
        );
    }
    Ok(())
}

impl Figures {
    /// Compares a script and returns the JSON, which also stays in the folder under `name`.
    fn compare(&self, script: &str, arguments: &[&str], name: &str) -> Result<Value> {
        self.compare_rounds(script, arguments, name, self.rounds)
    }

    fn compare_rounds(
        &self,
        script: &str,
        arguments: &[&str],
        name: &str,
        rounds: usize,
    ) -> Result<Value> {
        let json = self.out.join(name).with_extension("json");
        let mut command = Command::new(&self.lua);
        command
            .args(["compare", "--rounds", &rounds.to_string(), "--json"])
            .arg(&json);
        command
            .arg(self.scripts.join(script).with_extension("lua"))
            .args(arguments);
        eprintln!("{name}: {command:?}");
        let output = command.stderr(Stdio::inherit()).output()?;
        eprint!("{}", String::from_utf8_lossy(&output.stdout));
        if !output.status.success() {
            return Err(format!("{script}.lua: compare failed").into());
        }
        Ok(serde_json::from_str(&fs::read_to_string(json)?)?)
    }

    fn row(
        &mut self,
        script: &str,
        figure: &'static str,
        limit: &str,
        measured: String,
        met: bool,
    ) {
        let row = Row {
            script: script.to_owned(),
            figure,
            limit: limit.to_owned(),
            measured,
            met,
        };
        self.rows.push(row);
    }

    fn to_markdown(&self) -> Result<String> {
        let mut text = format!("{}\n\n", machine::description());
        writeln!(
            text,
            "| script | figure | limit | measured, median of {} | |",
            self.rounds
        )?;
        writeln!(text, "|---|---|---|---|---|")?;
        for Row {
            script,
            figure,
            limit,
            measured,
            met,
        } in &self.rows
        {
            let verdict = if *met { "met" } else { "**missed**" };
            writeln!(
                text,
                "| `{script}` | {figure} | {limit} | {measured} | {verdict} |"
            )?;
        }
        Ok(text)
    }
}

fn mode<'a>(comparison: &'a Value, name: &str) -> Result<&'a Value> {
    let modes = comparison["modes"].as_array().ok_or("no modes")?;
    Ok(modes
        .iter()
        .find(|mode| mode["name"] == name)
        .ok_or_else(|| format!("no mode {name}"))?)
}

/// The median of a figure with sleeping on.
fn on(comparison: &Value, figure: &str) -> Result<f64> {
    median(mode(comparison, "gc+scavenger")?, figure)
}

/// The median of a figure with sleeping off.
fn off(comparison: &Value, figure: &str) -> Result<f64> {
    median(mode(comparison, "off")?, figure)
}

/// A quantile of the step overrun with sleeping on; 0 where no wait ended in a step.
fn overrun_us(comparison: &Value, quantile: &str) -> Result<f64> {
    let median = &mode(comparison, "gc+scavenger")?["step_overrun_us"][quantile]["median"];
    Ok(median.as_f64().unwrap_or(0.0))
}

fn median(mode: &Value, figure: &str) -> Result<f64> {
    let median = mode
        .pointer(&format!("/{figure}/median"))
        .and_then(Value::as_f64);
    Ok(median.ok_or_else(|| format!("no {figure} in mode {}", mode["name"]))?)
}
