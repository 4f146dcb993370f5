//! Processes seen from outside.

use std::fs;
use std::process::Child;

use crate::Result;

/// Waits for the end of a child, and returns its status (0: it has succeeded) and how often it and its own children went to sleep.
pub fn wait(child: &mut Child) -> Result<(i32, f64)> {
    let mut status = 0;
    // SAFETY: an all-zero `rusage` is valid.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    let pid = i32::try_from(child.id())?;
    loop {
        // SAFETY: both places are writable, and the child was not waited for: nobody else does.
        if unsafe { libc::wait4(pid, &mut status, 0, &mut usage) } == pid {
            return Ok((status, usage.ru_nvcsw as f64));
        }
        let error = std::io::Error::last_os_error();
        if error.kind() != std::io::ErrorKind::Interrupted {
            return Err(error.into());
        }
    }
}

/// How often the threads of a process have gone to sleep.
pub fn sleeps(pid: u32) -> Result<f64> {
    let mut sleeps = 0.0;
    for thread in fs::read_dir(format!("/proc/{pid}/task"))? {
        let status = fs::read_to_string(thread?.path().join("status"))?;
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
