//! Measures programs that know nothing of the library, on the C library's `malloc`, on ours and on others that are here.
//!
//! `cargo run --release -p sleepy-malloc --example programs [ROUNDS [FILE.json]]`
//!
//! *Work* is a script of the tests, from start to end: the least CPU time, and the medians of peak memory and page
//! faults. *Idle* is a script that drops nearly all that it has and then waits: memory at its peak, and after a second of
//! waiting. All kinds of `malloc` take turns within each round.

#[path = "../tests/common/mod.rs"]
mod common;

use common::{command_with, find, library, waits_library};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use std::{env, fs, thread};

/// Where Debian puts the libraries of others.
const OTHERS: [(&str, &str); 3] = [
    ("jemalloc", "libjemalloc.so.2"),
    ("mimalloc", "libmimalloc.so.2"),
    ("tcmalloc", "libtcmalloc_minimal.so.4"),
];

/// A program: its name, its arguments, the end of the names of its scripts, and what it is told by the environment.
type Program = (
    &'static str,
    &'static [&'static str],
    &'static str,
    &'static [(&'static str, &'static str)],
);

const PROGRAMS: [Program; 6] = [
    ("ruby", &[], "rb", &[]),
    ("python3", &[], "py", &[]),
    // Without Python's own allocator of small objects.
    ("python3", &[], "py", &[("PYTHONMALLOC", "malloc")]),
    ("node", &["--expose-gc"], "js", &[]),
    ("perl", &[], "pl", &[]),
    ("lua5.4", &[], "lua", &[]),
];

/// What is preloaded, by name.
type Kind = (&'static str, Vec<PathBuf>);

/// Figures of one run.
#[derive(Clone, Copy, Default)]
struct Figures {
    cpu_ms: f64,
    peak_mib: f64,
    faults: f64,
    /// What a program that waits has.
    idle_mib: Option<f64>,
}

fn main() {
    let mut arguments = env::args().skip(1);
    let rounds = arguments
        .next()
        .map_or(3, |rounds| rounds.parse().expect("ROUNDS is a number"));
    let file = arguments.next();
    let kinds = kinds();
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut record = Vec::new();
    println!(
        "| program | malloc | CPU ms | peak MiB | idle MiB | faults |\n|---|---|---|---|---|---|"
    );
    for (name, options, ending, variables) in PROGRAMS {
        let Some(program) = find(name) else { continue };
        let name: String = variables
            .iter()
            .map(|(variable, value)| format!("{variable}={value} "))
            .chain([name.to_owned()])
            .collect();
        for (what, script, measure) in [
            (
                "work",
                package.join("tests/scripts/work"),
                work as fn(Command) -> Figures,
            ),
            ("idle", package.join("examples/idle/idle"), idle),
        ] {
            let script = script.with_extension(ending);
            if !script.is_file() {
                continue;
            }
            let mut runs = vec![Vec::new(); kinds.len()];
            for _ in 0..rounds {
                for ((_, libraries), runs) in kinds.iter().zip(&mut runs) {
                    let libraries: Vec<&Path> = libraries.iter().map(PathBuf::as_path).collect();
                    let mut run = command_with(&program, &libraries);
                    run.args(options)
                        .arg(&script)
                        .envs(variables.iter().copied());
                    runs.push(measure(run));
                }
            }
            for ((kind, _), runs) in kinds.iter().zip(&runs) {
                let cpu_ms = runs.iter().map(|run| run.cpu_ms).fold(f64::MAX, f64::min);
                let peak_mib = median(runs.iter().map(|run| run.peak_mib));
                let faults = median(runs.iter().map(|run| run.faults));
                let waiting: Option<Vec<f64>> = runs.iter().map(|run| run.idle_mib).collect();
                let idle_mib = waiting.map(|runs| median(runs.into_iter()));
                let idle = idle_mib.map_or_else(|| "–".to_owned(), |mib| format!("{mib:.1}"));
                println!(
                    "| {name} {what} | {kind} | {cpu_ms:.0} | {peak_mib:.1} | {idle} | {faults:.0} |"
                );
                record.push(json!({
                    "program": name, "what": what, "malloc": kind, "rounds": rounds, "cpu_ms": cpu_ms,
                    "peak_mib": peak_mib, "idle_mib": idle_mib, "faults": faults,
                }));
            }
        }
    }
    if let Some(file) = file {
        fs::write(&file, format!("{:#}\n", Value::from(record)))
            .expect("the record can be written");
    }
}

/// All kinds of `malloc` that are here.
fn kinds() -> Vec<Kind> {
    let folder = format!("/usr/lib/{}-linux-gnu", env::consts::ARCH);
    let mut kinds: Vec<Kind> = vec![("glibc", Vec::new())];
    for (name, file) in OTHERS {
        let file = Path::new(&folder).join(file);
        if file.is_file() {
            kinds.push((name, vec![file]));
        }
    }
    let (ours, waits) = (library().to_owned(), waits_library().to_owned());
    kinds.push(("sleepy", vec![ours.clone()]));
    kinds.push(("sleepy, waits", vec![ours, waits]));
    kinds
}

fn median(figures: impl Iterator<Item = f64>) -> f64 {
    let mut figures: Vec<f64> = figures.collect();
    figures.sort_by(f64::total_cmp);
    figures[figures.len() / 2]
}

/// Runs a program to its end.
fn work(mut run: Command) -> Figures {
    let child = run
        .stdout(Stdio::null())
        .spawn()
        .expect("the program starts");
    used_by(child)
}

/// Runs a program until it has been idle for a second.
fn idle(mut run: Command) -> Figures {
    let mut child = run
        .stdout(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let mut line = String::new();
    let output = child.stdout.take().expect("its output is a pipe");
    BufReader::new(output)
        .read_line(&mut line)
        .expect("it prints a line");
    assert!(line.starts_with("ready"), "it says {line}");
    thread::sleep(Duration::from_secs(1));
    // The program runs under `timeout`.
    let id = child.id();
    let children = fs::read_to_string(format!("/proc/{id}/task/{id}/children")).expect("it runs");
    let program = children.split_whitespace().next().expect("it runs");
    let status = fs::read_to_string(format!("/proc/{program}/status")).expect("it runs");
    let mib = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name));
        let kib = line.and_then(|line| line.split_whitespace().nth(1)?.parse::<f64>().ok());
        kib.expect("the kernel knows its memory") / 1024.0
    };
    let (peak_mib, idle_mib) = (mib("VmHWM"), mib("VmRSS"));
    // SAFETY: a signal to our own child, which passes it on to the program.
    unsafe { libc::kill(id as libc::pid_t, libc::SIGTERM) };
    Figures {
        peak_mib,
        idle_mib: Some(idle_mib),
        ..used_by(child)
    }
}

/// Waits for the end of a program and says what it and its children have used.
fn used_by(child: Child) -> Figures {
    // SAFETY: waits for a child of ours that nobody else waits for, and fills a structure of numbers.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        let mut status = 0;
        assert!(libc::wait4(child.id() as libc::pid_t, &mut status, 0, &mut usage) > 0);
        usage
    };
    let ms = |time: libc::timeval| time.tv_sec as f64 * 1e3 + time.tv_usec as f64 / 1e3;
    Figures {
        cpu_ms: ms(usage.ru_utime) + ms(usage.ru_stime),
        peak_mib: usage.ru_maxrss as f64 / 1024.0,
        faults: usage.ru_minflt as f64,
        idle_mib: None,
    }
}
