//! Waiting for a lock on a file.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::time::Duration;

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

use super::bell::Bell;
use super::collector::Collector;
use super::site::{Kind, SiteId};
use super::sleeper::{Sleeper, Wait};
use super::timer::nap;

/// What to do with the lock on a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlockOp {
    /// Lock it beside others who do the same.
    Shared,
    /// Lock it alone.
    Exclusive,
    /// Give the lock up; never waits.
    Unlock,
}

impl Sleeper {
    /// Locks or unlocks `f` as `flock` does and tells whether that is done: `false` when the timeout
    /// has passed before.
    ///
    /// The kernel knows no `flock` with a time limit, so a wait with a timeout looks at the lock
    /// every few milliseconds; one without blocks.
    ///
    /// # Errors
    ///
    /// As `flock`. Signals are no error.
    pub fn flock<C: Collector>(
        &mut self,
        c: &mut C,
        f: &File,
        how: FlockOp,
        timeout: Option<Duration>,
    ) -> io::Result<bool> {
        let site = SiteId::new(Kind::FileLock, f.as_raw_fd() as u64);
        let mut wait = FileLockWait {
            file: f,
            how,
            nap: FIRST_NAP,
        };
        match self.wait_on(c, site, &mut wait, timeout) {
            Some(done) => done.map(|()| true),
            None => Ok(false),
        }
    }
}

const FIRST_NAP: Duration = Duration::from_micros(100);
const LONGEST_NAP: Duration = Duration::from_millis(5);

struct FileLockWait<'f> {
    file: &'f File,
    how: FlockOp,
    nap: Duration,
}

impl FileLockWait<'_> {
    fn flock(&self, how: FlockOperation) -> Option<io::Result<()>> {
        match flock(self.file.as_fd(), how) {
            Ok(()) => Some(Ok(())),
            Err(Errno::AGAIN | Errno::INTR) => None,
            Err(error) => Some(Err(error.into())),
        }
    }
}

impl Wait for FileLockWait<'_> {
    type Event = io::Result<()>;

    fn ready(&mut self) -> Option<Self::Event> {
        self.flock(match self.how {
            FlockOp::Shared => FlockOperation::NonBlockingLockShared,
            FlockOp::Exclusive => FlockOperation::NonBlockingLockExclusive,
            FlockOp::Unlock => FlockOperation::NonBlockingUnlock,
        })
    }

    fn block(&mut self, limit: Option<Duration>, _bell: Option<&Bell>) -> Option<Self::Event> {
        let Some(limit) = limit else {
            return self.flock(match self.how {
                FlockOp::Shared => FlockOperation::LockShared,
                FlockOp::Exclusive => FlockOperation::LockExclusive,
                FlockOp::Unlock => FlockOperation::Unlock,
            });
        };
        nap(limit.min(self.nap));
        self.nap = (self.nap * 2).min(LONGEST_NAP);
        self.ready()
    }
}
