//! The two clocks of the idle layer, in nanoseconds.

use rustix::time::{ClockId, clock_gettime};

fn read_ns(clock: ClockId) -> u64 {
    let time = clock_gettime(clock);
    // Neither clock is ever negative, and 2^64 ns are 584 years.
    (time.tv_sec as u64) * 1_000_000_000 + time.tv_nsec as u64
}

/// Wall time that never steps back. Costs no system call on Linux.
pub(super) fn wall_ns() -> u64 {
    read_ns(ClockId::Monotonic)
}

/// CPU time that this thread has used: what a step cost, whatever else ran on its core meanwhile.
pub(super) fn cpu_ns() -> u64 {
    read_ns(ClockId::ThreadCPUTime)
}
