//! Workloads that are not said in Lua: this program again, as a process of its own that prints one line of JSON.

mod busy;
pub mod shapes;
mod spmc;
mod stepped;
pub mod variants;

use std::process::{Command, Stdio};

use serde_json::Value;

use crate::Result;
use crate::measure::Mode;

/// The variables that turn sleeping off, each a part of it.
const SWITCHES: [&str; 4] = ["SLEEPY_SWEEP", "SLEEPY_MARK", "SLEEPY_START", "SLEEPY_PARK"];

/// Runs a workload in a process of its own, and returns what it printed.
pub fn start(mode: Mode, words: &[&str]) -> Result<Value> {
    let mut command = Command::new(std::env::current_exe()?);
    command.arg("--child").args(words);
    command.stdin(Stdio::null()).stderr(Stdio::inherit());
    if mode == Mode::Off {
        for switch in SWITCHES {
            command.env(switch, "0");
        }
    }
    let output = command.output()?;
    if !output.status.success() {
        return Err(format!("workload {words:?} has failed ({})", output.status).into());
    }
    Ok(serde_json::from_slice(&output.stdout)?)
}

/// Runs the workload of that name here.
pub fn run(words: &[String]) -> Result<()> {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let figures = match words[..] {
        ["busy", seconds] => busy::run(seconds.parse()?),
        ["spmc", who, messages] => spmc::run(who == "remote", messages.parse()?),
        ["shape", shape, events] => {
            stepped::run_first();
            shapes::run(shape, events.parse()?)?
        }
        ["variant", variant, waits] => {
            stepped::run_first();
            variants::run(variant, waits.parse()?)?
        }
        _ => return Err(format!("there is no workload {words:?}").into()),
    };
    println!("{figures}");
    Ok(())
}
