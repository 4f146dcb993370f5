//! Waiting for one file descriptor, or for some.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use smallvec::SmallVec;

use super::bell::Bell;
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

/// One of several descriptors to wait for, and what was found of it.
#[derive(Clone, Copy, Debug)]
pub struct Watched<'f> {
    /// The descriptor.
    pub fd: BorrowedFd<'f>,
    /// What it is waited for.
    pub interest: Interest,
    /// Set by the wait: a read would not block (or fail at once).
    pub readable: bool,
    /// Set by the wait: a write would not block (or fail at once).
    pub writable: bool,
}

impl<'f> Watched<'f> {
    /// A descriptor of which nothing is known yet.
    pub fn new(fd: BorrowedFd<'f>, interest: Interest) -> Self {
        Self {
            fd,
            interest,
            readable: false,
            writable: false,
        }
    }
}

impl Sleeper {
    /// Waits until one of `fds` is ready, marks those that are, and returns how many are: 0 when the
    /// timeout has passed. For sets of descriptors that change from wait to wait; for a steady one
    /// [`poll`](Self::poll) costs less.
    ///
    /// # Errors
    ///
    /// As [`wait_fd`](Self::wait_fd); a descriptor that is not open counts as ready.
    pub fn wait_fds<C: Collector>(
        &mut self,
        c: &mut C,
        fds: &mut [Watched<'_>],
        timeout: Option<Duration>,
    ) -> io::Result<usize> {
        let mut site_hash = fds.len() as u64;
        let mut poll_fds = SmallVec::new();
        for watched in fds.iter() {
            site_hash = site_hash.rotate_left(5) ^ watched.fd.as_raw_fd() as u64;
            poll_fds.push(PollFd::from_borrowed_fd(
                watched.fd,
                flags_of(watched.interest),
            ));
        }
        let mut wait = FdsWait { fds: poll_fds };
        let count = self
            .wait_on(c, SiteId::new(Kind::Fds, site_hash), &mut wait, timeout)
            .unwrap_or(Ok(0))?;
        let failed = PollFlags::HUP | PollFlags::ERR | PollFlags::NVAL;
        for (watched, found) in fds.iter_mut().zip(&wait.fds) {
            let found = found.revents();
            let wanted = |interest| [interest, Interest::Both].contains(&watched.interest);
            watched.readable =
                count > 0 && wanted(Interest::Readable) && found.intersects(PollFlags::IN | failed);
            watched.writable = count > 0
                && wanted(Interest::Writable)
                && found.intersects(PollFlags::OUT | failed);
        }
        Ok(count)
    }
}

struct FdsWait<'f> {
    fds: SmallVec<[PollFd<'f>; 8]>,
}

impl FdsWait<'_> {
    fn poll(&mut self, limit: Option<Duration>) -> Option<io::Result<usize>> {
        match poll(&mut self.fds, limit.map(timespec_of).as_ref()) {
            Ok(0) | Err(Errno::INTR) => None,
            Ok(count) => Some(Ok(count)),
            Err(error) => Some(Err(error.into())),
        }
    }

    /// As [`poll`](Self::poll), until the bell is rung.
    fn poll_with(
        &mut self,
        bell: BorrowedFd<'_>,
        limit: Option<Duration>,
    ) -> Option<io::Result<usize>> {
        let mut fds: SmallVec<[PollFd<'_>; 8]> = self.fds.iter().cloned().collect();
        fds.push(PollFd::from_borrowed_fd(bell, PollFlags::IN));
        match poll(&mut fds, limit.map(timespec_of).as_ref()) {
            Ok(0) | Err(Errno::INTR) => None,
            // The bell or another: which of them, is to be found in our own list.
            Ok(_) => self.poll(Some(Duration::ZERO)),
            Err(error) => Some(Err(error.into())),
        }
    }
}

impl Wait for FdsWait<'_> {
    type Event = io::Result<usize>;

    const HEARS: bool = true;

    fn ready(&mut self) -> Option<Self::Event> {
        self.poll(Some(Duration::ZERO))
    }

    fn block(&mut self, limit: Option<Duration>, bell: Option<&Bell>) -> Option<Self::Event> {
        match bell {
            None => self.poll(limit),
            Some(bell) => self.poll_with(bell.fd(), limit),
        }
    }
}

struct FdWait<'f> {
    fd: BorrowedFd<'f>,
    interest: Interest,
}

impl Wait for FdWait<'_> {
    type Event = io::Result<()>;

    const HEARS: bool = true;

    fn ready(&mut self) -> Option<Self::Event> {
        poll_fd(self.fd, self.interest, Some(Duration::ZERO), None)
    }

    fn block(&mut self, limit: Option<Duration>, bell: Option<&Bell>) -> Option<Self::Event> {
        poll_fd(self.fd, self.interest, limit, bell)
    }
}

/// One `ppoll`. `None`: not ready, or interrupted by a signal, or by the bell.
pub(super) fn poll_fd(
    fd: BorrowedFd<'_>,
    interest: Interest,
    limit: Option<Duration>,
    bell: Option<&Bell>,
) -> Option<io::Result<()>> {
    let ours = PollFd::from_borrowed_fd(fd, flags_of(interest));
    let limit = limit.map(timespec_of);
    let mut fds = [
        ours.clone(),
        // A place that is polled only where there is a bell.
        bell.map_or(ours, |bell| {
            PollFd::from_borrowed_fd(bell.fd(), PollFlags::IN)
        }),
    ];
    let used = if bell.is_some() { 2 } else { 1 };
    match poll(&mut fds[..used], limit.as_ref()) {
        Ok(0) | Err(Errno::INTR) => None,
        Ok(_) if fds[0].revents().is_empty() => None,
        Ok(_) if fds[0].revents().contains(PollFlags::NVAL) => Some(Err(Errno::BADF.into())),
        Ok(_) => Some(Ok(())),
        Err(error) => Some(Err(error.into())),
    }
}

fn flags_of(interest: Interest) -> PollFlags {
    match interest {
        Interest::Readable => PollFlags::IN,
        Interest::Writable => PollFlags::OUT,
        Interest::Both => PollFlags::IN | PollFlags::OUT,
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
