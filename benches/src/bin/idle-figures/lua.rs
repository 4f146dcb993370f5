//! Scripts under `sleepy-lua`: each run is a process, and what it says of itself.

use std::ffi::OsString;
use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use serde_json::Value;
use sleepy_benches::interpreter::Interpreter;

use crate::Result;
use crate::measure::Mode;

/// The file of the collector's trace, a line of JSON for each stretch of work.
const TRACE: &str = "trace";

/// The interpreter, as it is run here.
#[derive(Debug)]
pub struct Lua(pub Interpreter);

/// What a run has shown.
#[derive(Debug)]
pub struct LuaRun {
    /// The interpreter's figures (`interp-demo/src/stats.rs`).
    stats: Value,
    /// The script's (`interp-demo/scripts/lib/report.lua`).
    report: Value,
}

/// A script that runs.
pub struct Running {
    pub child: Child,
    folder: tempfile::TempDir,
}

impl Drop for Running {
    fn drop(&mut self) {
        if matches!(self.child.try_wait(), Ok(None)) {
            // It may have ended by now; nothing else can go wrong.
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}

impl Lua {
    /// Adds the arguments for a script to the command. What it reports goes into `folder`.
    fn set_up(
        &self,
        command: &mut Command,
        mode: Mode,
        script: &str,
        arguments: &[&str],
        folder: &Path,
    ) {
        match mode {
            Mode::Off => {
                command.args(["--no-sleepy", "--no-scavenger"]);
            }
            Mode::On => {}
            Mode::OneGeneration => {
                command.env("SLEEPY_GENERATIONAL", "0");
            }
        }
        let mut stats = OsString::from("--stats=json:");
        stats.push(folder.join("stats"));
        command
            .arg(stats)
            .arg(self.0.scripts.join(script))
            .args(arguments)
            .env("SLEEPY_REPORT", folder.join("report"))
            .stdin(Stdio::null());
    }

    /// Starts a script.
    pub fn start(
        &self,
        mode: Mode,
        script: &str,
        arguments: &[&str],
        stdout: Stdio,
    ) -> Result<Running> {
        let folder = tempfile::tempdir()?;
        let mut command = Command::new(&self.0.program);
        self.set_up(&mut command, mode, script, arguments, folder.path());
        let child = command.stdout(stdout).spawn()?;
        Ok(Running { child, folder })
    }

    /// Starts a script whose output is read, and whose collector keeps a trace.
    pub fn start_traced(&self, mode: Mode, script: &str, arguments: &[&str]) -> Result<Running> {
        let folder = tempfile::tempdir()?;
        let mut command = Command::new(&self.0.program);
        let mut trace = OsString::from("--gc-trace=json:");
        trace.push(folder.path().join(TRACE));
        command.arg(trace);
        self.set_up(&mut command, mode, script, arguments, folder.path());
        let child = command.stdout(Stdio::piped()).spawn()?;
        Ok(Running { child, folder })
    }

    /// Starts a script under another program, which `wrapper` runs.
    pub fn start_under(
        &self,
        mut wrapper: Command,
        mode: Mode,
        script: &str,
        arguments: &[&str],
    ) -> Result<Running> {
        let folder = tempfile::tempdir()?;
        wrapper.arg(&self.0.program);
        self.set_up(&mut wrapper, mode, script, arguments, folder.path());
        let child = wrapper.stdout(Stdio::null()).spawn()?;
        Ok(Running { child, folder })
    }

    /// Runs a script to its end.
    pub fn run(&self, mode: Mode, script: &str, arguments: &[&str]) -> Result<LuaRun> {
        self.start(mode, script, arguments, Stdio::null())?.finish()
    }
}

impl Running {
    /// Waits for its end.
    pub fn finish(&mut self) -> Result<LuaRun> {
        let status = self.child.wait()?;
        if !status.success() {
            return Err(format!("a script has failed ({status})").into());
        }
        let read = |name: &str| -> Result<Value> {
            let text = fs::read_to_string(self.folder.path().join(name))?;
            Ok(serde_json::from_str(&text)?)
        };
        Ok(LuaRun {
            stats: read("stats")?,
            report: read("report")?,
        })
    }
}

impl Running {
    /// When the last step of a collection ended that was made between two moments, in microseconds of the monotonic clock.
    pub fn last_step_us(&self, from_us: f64, to_us: f64) -> Result<Option<f64>> {
        let mut last_us = None;
        for line in fs::read_to_string(self.folder.path().join(TRACE))?.lines() {
            let span: Value = serde_json::from_str(line)?;
            let end_us = number(&span, "end_us");
            if span["phase"] != "parked" && (from_us..to_us).contains(&end_us) {
                last_us = Some(end_us);
            }
        }
        Ok(last_us)
    }
}

impl LuaRun {
    /// A figure of the interpreter, by its path ("step_overrun/max_ns"); 0 where it has none.
    pub fn stat(&self, path: &str) -> f64 {
        number(&self.stats, path)
    }

    /// A figure of the script.
    pub fn report(&self, path: &str) -> f64 {
        number(&self.report, path)
    }

    /// Figures of the script.
    pub fn reports(&self, path: &str) -> Vec<f64> {
        let list = self.report.get(path).and_then(Value::as_array);
        list.map(|list| list.iter().filter_map(Value::as_f64).collect())
            .unwrap_or_default()
    }
}

fn number(value: &Value, path: &str) -> f64 {
    value
        .pointer(&format!("/{path}"))
        .and_then(Value::as_f64)
        .unwrap_or(0.0)
}
