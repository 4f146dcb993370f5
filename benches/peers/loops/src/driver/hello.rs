//! Runs an empty program under each allocator: page faults, system calls, threads.

use super::cases::{self, Case, Entrant, Outcome};
use super::figure::Figures;
use crate::Result;
use crate::usage;
use peers_common::record::Context;
use peers_common::table::Table;
use serde_json::{Value, json};
use std::process::{Command, Stdio};
use std::time::Instant;
use std::{env, fs, process};

/// Processes started for one figure of faults and time.
const STARTS: u32 = 20;

/// Runs the driver.
pub fn run(context: &Context) -> Result<String> {
    let has_strace = Command::new("strace")
        .arg("-V")
        .stdout(Stdio::null())
        .status()
        .is_ok_and(|status| status.success());
    let entrants = context.peers.iter().map(Entrant::plain);
    let cases = entrants
        .map(|entrant| Case::new("hello", &entrant, ""))
        .collect();
    let outcomes = cases::run_with("hello", context.rounds.min(5), cases, |case| {
        start(case, has_strace)
    })?;

    let mut table = Table::new([
        "",
        "page faults",
        "system calls",
        "threads",
        "µs from start to end",
    ]);
    let mut figures = Figures::default();
    for outcome in &outcomes {
        table.row([
            outcome.case.entrant.name.clone(),
            outcome.cell("faults", 1.0),
            outcome.cell("calls", 1.0),
            outcome.cell("threads", 1.0),
            outcome.cell("wall_ns", 1e3),
        ]);
        if outcome.case.entrant.is_sleepy() {
            limits(&mut figures, outcome, has_strace);
        }
    }
    let note = if has_strace {
        ""
    } else {
        "\nstrace is not installed: no system calls, no threads.\n"
    };
    let text = format!("# An empty program\n\n{table}{note}{}", figures.table());
    let json = json!({"figures": figures, "outcomes": outcomes});
    context.write("hello", &text, &json)?;
    Ok(text)
}

fn limits(figures: &mut Figures, outcome: &Outcome, has_strace: bool) {
    let name = &outcome.case.entrant.name;
    figures.at_most(
        &format!("{name}: page faults"),
        outcome.number("faults"),
        75.0,
        "",
    );
    if has_strace {
        figures.at_most(
            &format!("{name}: system calls"),
            outcome.number("calls"),
            66.0,
            "",
        );
        figures.at_most(
            &format!("{name}: threads"),
            outcome.number("threads"),
            1.0,
            "",
        );
    }
}

/// Starts the program a few times, and once under strace.
fn start(case: &Case, has_strace: bool) -> Result<Value> {
    let program = &case.entrant.peer.hello;
    let command = |name: &std::path::Path| {
        let mut command = Command::new(name);
        command.env_clear().envs(case.entrant.env.iter().copied());
        command.stdout(Stdio::null());
        command
    };
    let faults = usage::faults_of_children();
    let start = Instant::now();
    for _ in 0..STARTS {
        if !command(program).status()?.success() {
            return Err(format!("{} failed", program.display()).into());
        }
    }
    let wall_ns = start.elapsed().as_nanos() as u64 / u64::from(STARTS);
    let faults = (usage::faults_of_children() - faults) as f64 / f64::from(STARTS);
    let (mut calls, mut threads) = (None, None);
    if has_strace {
        let log = env::temp_dir().join(format!("hello-{}.strace", process::id()));
        let strace = env::split_paths(&env::var_os("PATH").unwrap_or_default())
            .map(|folder| folder.join("strace"))
            .find(|path| path.exists())
            .ok_or("strace has gone")?;
        let status = command(&strace)
            .args(["-f", "-qq", "-o"])
            .args([&log, program])
            .status()?;
        let text = fs::read_to_string(&log)?;
        fs::remove_file(&log)?;
        if !status.success() {
            return Err("strace failed".into());
        }
        let lines = || text.lines().filter(|line| is_call(line));
        calls = Some(lines().count());
        threads = Some(1 + lines().filter(|line| line.contains(" clone")).count());
    }
    Ok(json!({"faults": faults.round(), "wall_ns": wall_ns, "calls": calls, "threads": threads}))
}

/// Whether a line of strace is the start of a call: not a signal, not the rest of a call that was interrupted.
fn is_call(line: &str) -> bool {
    !line.contains(" resumed>") && !line.contains("+++ ") && !line.contains("--- ")
}

#[cfg(test)]
mod tests {
    use super::is_call;

    #[test]
    fn each_call_counts_once() {
        assert!(is_call("123 brk(NULL) = 0x5555"));
        assert!(is_call(
            "123 futex(0x1, FUTEX_WAIT, 0, NULL <unfinished ...>"
        ));
        assert!(!is_call("123 <... futex resumed>) = 0"));
        assert!(!is_call("123 +++ exited with 0 +++"));
        assert!(!is_call("123 --- SIGCHLD {si_signo=SIGCHLD} ---"));
    }
}
