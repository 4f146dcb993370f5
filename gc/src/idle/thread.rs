//! Waiting for a thread.

use std::os::fd::OwnedFd;
use std::os::unix::thread::JoinHandleExt;
use std::thread::JoinHandle;
use std::time::Duration;

use rustix::process::{Pid, PidfdFlags, pidfd_open};

use super::bell::Bell;
use super::child::Watch;
use super::collector::Collector;
use super::site::{Kind, SiteId};
use super::sleeper::{Sleeper, Wait};

impl Sleeper {
    /// Waits for a thread to finish and tells whether it has: `false` when the timeout has passed
    /// before. After `true`, [`JoinHandle::join`] returns at once.
    ///
    /// Where the kernel has no thread descriptors (before Linux 6.9) the thread is looked at every
    /// few milliseconds.
    pub fn join<C: Collector, T>(
        &mut self,
        c: &mut C,
        h: &JoinHandle<T>,
        timeout: Option<Duration>,
    ) -> bool {
        let site = SiteId::new(Kind::Thread, h.as_pthread_t());
        let mut wait = ThreadWait {
            handle: h,
            watch: Watch::new(),
        };
        self.wait_on(c, site, &mut wait, timeout).is_some()
    }
}

struct ThreadWait<'h, T> {
    handle: &'h JoinHandle<T>,
    watch: Watch,
}

impl<T> Wait for ThreadWait<'_, T> {
    type Event = ();

    const LOOKS_FREELY: bool = true;

    const HEARS: bool = true;

    fn ready(&mut self) -> Option<()> {
        self.handle.is_finished().then_some(())
    }

    fn block(&mut self, limit: Option<Duration>, bell: Option<&Bell>) -> Option<()> {
        let handle = self.handle;
        self.watch.block(limit, bell, || thread_descriptor(handle));
        self.ready()
    }
}

/// A descriptor that becomes readable when the thread ends.
fn thread_descriptor<T>(handle: &JoinHandle<T>) -> Option<OwnedFd> {
    /// `PIDFD_THREAD`: the descriptor is of one thread, not of its process.
    const THREAD: PidfdFlags = PidfdFlags::from_bits_retain(0o200);

    let mut clock: libc::clockid_t = 0;
    // SAFETY: the thread was not joined, since its handle is still there, so its `pthread_t` is
    // valid; `clock` is writable.
    let error = unsafe { libc::pthread_getcpuclockid(handle.as_pthread_t(), &mut clock) };
    if error != 0 {
        return None;
    }
    // The clock of a thread carries its kernel id, inverted, above three bits of flags.
    let id = Pid::from_raw(!(clock >> 3))?;
    let descriptor = pidfd_open(id, THREAD).ok()?;
    // A thread that still runs had this id all the while; the id of one that has ended may be
    // another's by now.
    (!handle.is_finished()).then_some(descriptor)
}
