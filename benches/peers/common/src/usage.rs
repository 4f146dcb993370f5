//! What this process has used so far: CPU time, faults, switches.

use serde::{Deserialize, Serialize};
use std::time::Instant;

/// Counters of the whole process, all threads included, also those that have ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// CPU time, exact.
    pub cpu_ns: u64,
    /// The part of it in user mode, as the kernel estimates it.
    pub user_ns: u64,
    /// The part of it in the kernel, as the kernel estimates it.
    pub sys_ns: u64,
    /// Page faults without input or output.
    pub minor_faults: u64,
    /// Page faults with input or output.
    pub major_faults: u64,
    /// Sleeps.
    pub voluntary_switches: u64,
    /// Preemptions.
    pub involuntary_switches: u64,
}

impl Usage {
    /// What was used until now.
    pub fn now() -> Self {
        // SAFETY: all zeros is a valid `rusage`.
        let mut r: libc::rusage = unsafe { std::mem::zeroed() };
        // SAFETY: `r` is writable.
        unsafe { libc::getrusage(libc::RUSAGE_SELF, &mut r) };
        let mut own = Self::from_rusage(&r);
        let mut cpu = libc::timespec {
            tv_sec: 0,
            tv_nsec: 0,
        };
        // SAFETY: `cpu` is writable.
        unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &mut cpu) };
        own.cpu_ns = cpu.tv_sec as u64 * 1_000_000_000 + cpu.tv_nsec as u64;
        own
    }

    /// What `wait4` or `getrusage` says; here `cpu_ns` is the sum of the two estimates.
    pub fn from_rusage(r: &libc::rusage) -> Self {
        let ns = |t: libc::timeval| t.tv_sec as u64 * 1_000_000_000 + t.tv_usec as u64 * 1000;
        Self {
            cpu_ns: ns(r.ru_utime) + ns(r.ru_stime),
            user_ns: ns(r.ru_utime),
            sys_ns: ns(r.ru_stime),
            minor_faults: r.ru_minflt as u64,
            major_faults: r.ru_majflt as u64,
            voluntary_switches: r.ru_nvcsw as u64,
            involuntary_switches: r.ru_nivcsw as u64,
        }
    }

    /// What was used since `before`.
    pub fn since(&self, before: &Self) -> Self {
        Self {
            cpu_ns: self.cpu_ns.saturating_sub(before.cpu_ns),
            user_ns: self.user_ns.saturating_sub(before.user_ns),
            sys_ns: self.sys_ns.saturating_sub(before.sys_ns),
            minor_faults: self.minor_faults - before.minor_faults,
            major_faults: self.major_faults - before.major_faults,
            voluntary_switches: self.voluntary_switches - before.voluntary_switches,
            involuntary_switches: self.involuntary_switches - before.involuntary_switches,
        }
    }
}

/// Runs `work` and says what it used, and how long it took on the wall clock, in nanoseconds.
pub fn measure<R>(work: impl FnOnce() -> R) -> (R, Usage, u64) {
    let (before, start) = (Usage::now(), Instant::now());
    let result = work();
    let wall_ns = start.elapsed().as_nanos() as u64;
    (result, Usage::now().since(&before), wall_ns)
}
