//! Waiting for a child process.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::process::{Child, ExitStatus};
use std::time::Duration;

use rustix::process::{Pid, PidfdFlags, pidfd_open};

use super::bell::Bell;
use super::collector::Collector;
use super::fd::{Interest, poll_fd};
use super::site::{Kind, SiteId};
use super::sleeper::{Sleeper, Wait};
use super::timer::nap;

impl Sleeper {
    /// Waits for `child` to end: `None` when the timeout has passed before.
    ///
    /// Unlike [`Child::wait`] it leaves the child's standard input open. Where the kernel has no
    /// process descriptors (before Linux 5.3) the child is looked at every few milliseconds.
    ///
    /// # Errors
    ///
    /// As [`Child::try_wait`].
    pub fn wait_child<C: Collector>(
        &mut self,
        c: &mut C,
        child: &mut Child,
        timeout: Option<Duration>,
    ) -> io::Result<Option<ExitStatus>> {
        let site = SiteId::new(Kind::Child, u64::from(child.id()));
        let mut wait = ChildWait {
            child,
            watch: Watch::new(),
        };
        self.wait_on(c, site, &mut wait, timeout).transpose()
    }
}

struct ChildWait<'c> {
    child: &'c mut Child,
    watch: Watch,
}

impl Wait for ChildWait<'_> {
    type Event = io::Result<ExitStatus>;

    const HEARS: bool = true;

    fn ready(&mut self) -> Option<Self::Event> {
        self.child.try_wait().transpose()
    }

    fn block(&mut self, limit: Option<Duration>, bell: Option<&Bell>) -> Option<Self::Event> {
        let pid = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw);
        self.watch
            .block(limit, bell, || pidfd_open(pid?, PidfdFlags::empty()).ok());
        self.ready()
    }
}

/// A way to block until a process or a thread ends: by its descriptor, or by naps.
pub(super) struct Watch {
    descriptor: Descriptor,
    nap: Duration,
}

enum Descriptor {
    /// Nobody has blocked yet.
    Unopened,
    Open(OwnedFd),
    Unavailable,
}

const FIRST_NAP: Duration = Duration::from_micros(100);
const LONGEST_NAP: Duration = Duration::from_millis(5);

impl Watch {
    pub(super) fn new() -> Self {
        Self {
            descriptor: Descriptor::Unopened,
            nap: FIRST_NAP,
        }
    }

    /// Blocks until the watched one may have ended, the limit has passed or the bell was rung; `open` is called the
    /// first time.
    pub(super) fn block(
        &mut self,
        limit: Option<Duration>,
        bell: Option<&Bell>,
        open: impl FnOnce() -> Option<OwnedFd>,
    ) {
        if let Descriptor::Unopened = self.descriptor {
            self.descriptor = open().map_or(Descriptor::Unavailable, Descriptor::Open);
        }
        if let Descriptor::Open(fd) = &self.descriptor
            && !matches!(
                poll_fd(fd.as_fd(), Interest::Readable, limit, bell),
                Some(Err(_))
            )
        {
            return;
        }
        nap(limit.map_or(self.nap, |limit| limit.min(self.nap)));
        self.nap = (self.nap * 2).min(LONGEST_NAP);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    /// As on a kernel without process descriptors, or without one to spare.
    #[test]
    fn without_a_descriptor_a_child_is_looked_at_again_and_again() {
        let mut child = Command::new("sleep").arg("0.05").spawn().unwrap();
        let mut watch = Watch::new();
        let mut naps = 0;
        let status = loop {
            if let Some(status) = child.try_wait().unwrap() {
                break status;
            }
            watch.block(None, None, || None);
            naps += 1;
        };
        assert!(status.success());
        // Of 0.1, 0.2, 0.4 … ms, then 5 ms; the sleep may have been over before the first.
        assert!(naps < 50, "{naps}");
    }
}
