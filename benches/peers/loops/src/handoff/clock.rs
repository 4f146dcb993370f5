//! The CPU clock of another thread, and a priority that lets it be read at once.

use rustix::thread::{CpuSet, sched_setaffinity};
use std::io;
use std::os::unix::thread::JoinHandleExt;
use std::thread::JoinHandle;

/// See the module's documentation.
pub struct ThreadClock(libc::clockid_t);

impl ThreadClock {
    /// The clock of a thread that still runs.
    pub fn of<T>(thread: &JoinHandle<T>) -> io::Result<Self> {
        let mut clock = 0;
        // SAFETY: the handle has not been joined, so the thread's identity is valid; the pointer is to a local.
        let error = unsafe { libc::pthread_getcpuclockid(thread.as_pthread_t(), &raw mut clock) };
        match error {
            0 => Ok(Self(clock)),
            error => Err(io::Error::from_raw_os_error(error)),
        }
    }

    /// CPU time of the thread so far; 0 once it has ended.
    pub fn ns(&self) -> u64 {
        let mut now = libc::timespec {
            tv_sec: 0,
            tv_nsec: 0,
        };
        // SAFETY: the pointer is to a local; an identity that is valid no more is answered with an error.
        unsafe { libc::clock_gettime(self.0, &raw mut now) };
        now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
    }
}

/// Keeps the calling thread on one processor; false if there is no such one.
pub fn stay_on(processor: usize) -> bool {
    let mut processors = CpuSet::new();
    processors.set(processor);
    sched_setaffinity(None, &processors).is_ok()
}

/// Gives the calling thread a real-time priority; false if the system does not allow it.
pub fn run_before_others() -> bool {
    let lowest = libc::sched_param { sched_priority: 1 };
    // SAFETY: 0 means the calling thread; the pointer is to a local.
    unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO, &raw const lowest) == 0 }
}
