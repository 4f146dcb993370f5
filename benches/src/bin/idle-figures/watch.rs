//! Processes seen from outside.

use std::ffi::OsStr;
use std::fs;

use crate::Result;

/// How often the threads of a process have gone to sleep.
pub fn sleeps(pid: u32) -> Result<f64> {
    sleeps_of(pid, |_| true)
}

/// As [`sleeps`], without its first thread.
pub fn sleeps_of_others(pid: u32) -> Result<f64> {
    let main = pid.to_string();
    sleeps_of(pid, |thread| thread != main.as_str())
}

fn sleeps_of(pid: u32, counts: impl Fn(&OsStr) -> bool) -> Result<f64> {
    let mut sleeps = 0.0;
    for thread in fs::read_dir(format!("/proc/{pid}/task"))? {
        let thread = thread?;
        if !counts(&thread.file_name()) {
            continue;
        }
        let status = fs::read_to_string(thread.path().join("status"))?;
        let field = status
            .lines()
            .find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"));
        sleeps += field.ok_or("no count of switches")?.trim().parse::<f64>()?;
    }
    Ok(sleeps)
}

/// The resident memory of a process, in bytes.
pub fn resident_bytes(pid: u32) -> Result<f64> {
    let text = fs::read_to_string(format!("/proc/{pid}/statm"))?;
    let pages = text.split_whitespace().nth(1).ok_or("no resident memory")?;
    Ok(pages.parse::<f64>()? * 4096.0)
}
