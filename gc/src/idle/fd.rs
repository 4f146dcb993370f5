//! Waiting for one file descriptor.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

use super::collector::Collector;
use super::site::{Kind, SiteId};
use super::sleeper::{Sleeper, Wait};

/// What a file descriptor is waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interest {
    /// Until a read would not block: data, end of file, a connection to accept.
    Readable,
    /// Until a write would not block: room, or the end of a connection attempt.
    Writable,
    /// Until either.
    Both,
}

impl Sleeper {
    /// Waits until `fd` is ready and tells whether it is: `false` when the timeout has passed. An
    /// error or a hang-up on the other side counts as ready, as it does for `poll`.
    ///
    /// # Errors
    ///
    /// As `ppoll`; a descriptor that is not open is `EBADF`. Signals are no error: the wait goes on
    /// with what is left of its timeout.
    pub fn wait_fd<C: Collector>(
        &mut self,
        c: &mut C,
        fd: BorrowedFd<'_>,
        interest: Interest,
        timeout: Option<Duration>,
    ) -> io::Result<bool> {
        let kind = match interest {
            Interest::Writable => Kind::FdWritable,
            Interest::Readable | Interest::Both => Kind::FdReadable,
        };
        let site = SiteId::new(kind, fd.as_raw_fd() as u64);
        let mut wait = FdWait { fd, interest };
        match self.wait_on(c, site, &mut wait, timeout) {
            Some(event) => event.map(|()| true),
            None => Ok(false),
        }
    }
}

struct FdWait<'f> {
    fd: BorrowedFd<'f>,
    interest: Interest,
}

impl Wait for FdWait<'_> {
    type Event = io::Result<()>;

    fn ready(&mut self) -> Option<Self::Event> {
        poll_fd(self.fd, self.interest, Some(Duration::ZERO))
    }

    fn block(&mut self, limit: Option<Duration>) -> Option<Self::Event> {
        poll_fd(self.fd, self.interest, limit)
    }
}

/// One `ppoll`. `None`: not ready, or interrupted by a signal.
pub(super) fn poll_fd(
    fd: BorrowedFd<'_>,
    interest: Interest,
    limit: Option<Duration>,
) -> Option<io::Result<()>> {
    let flags = match interest {
        Interest::Readable => PollFlags::IN,
        Interest::Writable => PollFlags::OUT,
        Interest::Both => PollFlags::IN | PollFlags::OUT,
    };
    let mut fds = [PollFd::from_borrowed_fd(fd, flags)];
    match poll(&mut fds, limit.map(timespec_of).as_ref()) {
        Ok(0) | Err(Errno::INTR) => None,
        Ok(_) if fds[0].revents().contains(PollFlags::NVAL) => Some(Err(Errno::BADF.into())),
        Ok(_) => Some(Ok(())),
        Err(error) => Some(Err(error.into())),
    }
}

/// A limit as the kernel takes it. One too long for it is cut: the loop blocks again.
pub(super) fn timespec_of(limit: Duration) -> Timespec {
    const LONGEST_SECS: u64 = 1 << 31;
    Timespec {
        tv_sec: limit.as_secs().min(LONGEST_SECS) as i64,
        tv_nsec: i64::from(limit.subsec_nanos()),
    }
}
