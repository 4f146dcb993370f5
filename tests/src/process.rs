//! Processes seen from outside, through `/proc`.

use std::fs;

/// Resident memory of a process in bytes, `None` when it has ended.
#[must_use]
pub fn resident_bytes(pid: u32) -> Option<u64> {
    field(&format!("/proc/{pid}/status"), "VmRSS:").map(|kilobytes| kilobytes * 1024)
}

/// How often the threads of a process have gone to sleep of their own will, in the order of their
/// numbers: every wake-up ends in one more.
#[must_use]
pub fn voluntary_switches(pid: u32) -> Vec<(u32, u64)> {
    let mut threads: Vec<(u32, u64)> = entries(&format!("/proc/{pid}/task"))
        .filter_map(|thread| {
            let status = format!("/proc/{pid}/task/{thread}/status");
            Some((thread, field(&status, "voluntary_ctxt_switches:")?))
        })
        .collect();
    threads.sort_unstable();
    threads
}

/// The children of a process whose command line contains `part`.
#[must_use]
pub fn children(pid: u32, part: &str) -> Vec<u32> {
    let is_child = |&candidate: &u32| {
        let command = fs::read_to_string(format!("/proc/{candidate}/cmdline")).unwrap_or_default();
        field(&format!("/proc/{candidate}/status"), "PPid:") == Some(u64::from(pid))
            && command.contains(part)
    };
    entries("/proc").filter(is_child).collect()
}

/// Whether a process exists and has not ended.
#[must_use]
pub fn is_alive(pid: u32) -> bool {
    fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| !stat.contains(") Z "))
}

fn entries(folder: &str) -> impl Iterator<Item = u32> {
    fs::read_dir(folder)
        .into_iter()
        .flatten()
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
}

fn field(path: &str, name: &str) -> Option<u64> {
    let text = fs::read_to_string(path).ok()?;
    let value = text.lines().find_map(|line| line.strip_prefix(name))?;
    value.split_ascii_whitespace().next()?.parse().ok()
}
