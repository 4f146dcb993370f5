//! CPU time and page faults of the calling thread and of the process.

use rustix::time::{ClockId, clock_gettime};

/// What was used so far, or between two moments.
#[derive(Clone, Copy, Default, Debug)]
pub struct Usage {
    /// CPU time.
    pub cpu_ns: u64,
    /// The part of it that the kernel took, as the kernel estimates it.
    pub system_ns: u64,
    /// Page faults that needed no disk.
    pub minor_faults: u64,
    /// Times that the processor was taken away.
    pub preemptions: u64,
}

impl Usage {
    /// Of the calling thread.
    pub fn of_thread() -> Self {
        Self::read(ClockId::ThreadCPUTime, libc::RUSAGE_THREAD)
    }

    /// Of the process.
    pub fn of_process() -> Self {
        Self::read(ClockId::ProcessCPUTime, libc::RUSAGE_SELF)
    }

    fn read(clock: ClockId, who: libc::c_int) -> Self {
        let usage = rusage(who);
        Self {
            cpu_ns: clock_ns(clock),
            system_ns: timeval_ns(usage.ru_stime),
            minor_faults: usage.ru_minflt as u64,
            preemptions: usage.ru_nivcsw as u64,
        }
    }

    /// What came since `before`.
    pub fn since(self, before: Self) -> Self {
        Self {
            cpu_ns: self.cpu_ns.saturating_sub(before.cpu_ns),
            system_ns: self.system_ns.saturating_sub(before.system_ns),
            minor_faults: self.minor_faults.saturating_sub(before.minor_faults),
            preemptions: self.preemptions.saturating_sub(before.preemptions),
        }
    }
}

/// Minor faults of the children that have been waited for.
pub fn faults_of_children() -> u64 {
    rusage(libc::RUSAGE_CHILDREN).ru_minflt as u64
}

/// What `clock` shows.
pub fn clock_ns(clock: ClockId) -> u64 {
    let now = clock_gettime(clock);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

fn timeval_ns(time: libc::timeval) -> u64 {
    time.tv_sec as u64 * 1_000_000_000 + time.tv_usec as u64 * 1_000
}

fn rusage(who: libc::c_int) -> libc::rusage {
    // SAFETY: all fields are integers, for which zero is a value.
    let mut usage: libc::rusage = unsafe { core::mem::zeroed() };
    // SAFETY: the pointer is to a whole `rusage` that nobody else uses.
    let answer = unsafe { libc::getrusage(who, &raw mut usage) };
    assert_eq!(answer, 0, "getrusage refuses a constant that it knows");
    usage
}
