//! Waiting for a lock on a file, or on a part of one.

use std::fs::File;
use std::io;
use std::ops::{Bound, RangeBounds};
use std::os::fd::{AsFd, AsRawFd};
use std::time::Duration;

use rustix::fs::{FlockOperation, flock};

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
        self.lock_file(c, f, how, None, timeout)
    }

    /// Locks or unlocks a range of the bytes of `f` (`..`: all of them, and all that will come) as
    /// `fcntl` does and tells whether that is done: `false` when the timeout has passed before.
    ///
    /// The lock belongs to the open file (`F_OFD_SETLK`): another thread that has opened the file by
    /// itself is kept out too, and closing some other descriptor of the file does not give the lock
    /// up. Against locks of other processes it counts like `lockf`'s. As to time limits, see
    /// [`flock`](Self::flock).
    ///
    /// # Errors
    ///
    /// As `fcntl`: among others `EBADF` for a file that is not open for reading (shared) or for
    /// writing (exclusive), and `EINVAL` for a range that is empty or ends beyond 2^63. Signals are
    /// no error.
    pub fn fcntl_lock<C: Collector>(
        &mut self,
        c: &mut C,
        f: &File,
        how: FlockOp,
        range: impl RangeBounds<u64>,
        timeout: Option<Duration>,
    ) -> io::Result<bool> {
        let range = FileRange::of(&range)?;
        self.lock_file(c, f, how, Some(range), timeout)
    }

    fn lock_file<C: Collector>(
        &mut self,
        c: &mut C,
        f: &File,
        how: FlockOp,
        range: Option<FileRange>,
        timeout: Option<Duration>,
    ) -> io::Result<bool> {
        let site = SiteId::new(Kind::FileLock, f.as_raw_fd() as u64);
        let mut wait = FileLockWait {
            file: f,
            how,
            range,
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
    /// `None`: the file as a whole, in the way of `flock`.
    range: Option<FileRange>,
    nap: Duration,
}

impl FileLockWait<'_> {
    fn lock(&self, waits: bool) -> Option<io::Result<()>> {
        let result = match self.range {
            None => flock(self.file.as_fd(), flock_operation(self.how, waits)).map_err(Into::into),
            Some(range) => range.lock(self.file, self.how, waits),
        };
        match result {
            Err(error) if is_busy(&error) => None,
            done => Some(done),
        }
    }
}

/// Somebody else has the lock, or a signal came.
fn is_busy(error: &io::Error) -> bool {
    matches!(
        error.raw_os_error(),
        Some(libc::EAGAIN | libc::EACCES | libc::EINTR)
    )
}

fn flock_operation(how: FlockOp, waits: bool) -> FlockOperation {
    match (how, waits) {
        (FlockOp::Shared, true) => FlockOperation::LockShared,
        (FlockOp::Shared, false) => FlockOperation::NonBlockingLockShared,
        (FlockOp::Exclusive, true) => FlockOperation::LockExclusive,
        (FlockOp::Exclusive, false) => FlockOperation::NonBlockingLockExclusive,
        (FlockOp::Unlock, true) => FlockOperation::Unlock,
        (FlockOp::Unlock, false) => FlockOperation::NonBlockingUnlock,
    }
}

/// Bytes of a file, as the kernel takes them.
#[derive(Clone, Copy)]
struct FileRange {
    start: i64,
    /// 0: to the end, wherever that will be.
    len: i64,
}

impl FileRange {
    fn of(range: &impl RangeBounds<u64>) -> io::Result<Self> {
        let start = match range.start_bound() {
            Bound::Included(&start) => Some(start),
            Bound::Excluded(&before) => before.checked_add(1),
            Bound::Unbounded => Some(0),
        };
        let end = match range.end_bound() {
            Bound::Included(&last) => last.checked_add(1),
            Bound::Excluded(&end) => Some(end),
            Bound::Unbounded => return Self::new(start, Some(0)),
        };
        let len = end
            .zip(start)
            .and_then(|(end, start)| end.checked_sub(start));
        Self::new(start, len.filter(|&len| len > 0))
    }

    fn new(start: Option<u64>, len: Option<u64>) -> io::Result<Self> {
        let (start, len) = start
            .zip(len)
            .and_then(|(start, len)| Some((i64::try_from(start).ok()?, i64::try_from(len).ok()?)))
            .filter(|&(start, len)| start.checked_add(len).is_some())
            .ok_or_else(|| io::Error::from_raw_os_error(libc::EINVAL))?;
        Ok(Self { start, len })
    }

    fn lock(self, file: &File, how: FlockOp, waits: bool) -> io::Result<()> {
        let kind = match how {
            FlockOp::Shared => libc::F_RDLCK,
            FlockOp::Exclusive => libc::F_WRLCK,
            FlockOp::Unlock => libc::F_UNLCK,
        };
        let command = match waits {
            true => libc::F_OFD_SETLKW,
            false => libc::F_OFD_SETLK,
        };
        let lock = libc::flock {
            l_type: kind as libc::c_short,
            l_whence: libc::SEEK_SET as libc::c_short,
            l_start: self.start,
            l_len: self.len,
            // What locks of open files ask for.
            l_pid: 0,
        };
        // SAFETY: the descriptor is open, and the command takes a pointer to a `flock`, which it only reads.
        match unsafe { libc::fcntl(file.as_raw_fd(), command, &raw const lock) } {
            -1 => Err(io::Error::last_os_error()),
            _ => Ok(()),
        }
    }
}

impl Wait for FileLockWait<'_> {
    type Event = io::Result<()>;

    fn ready(&mut self) -> Option<Self::Event> {
        self.lock(false)
    }

    fn block(&mut self, limit: Option<Duration>, _bell: Option<&Bell>) -> Option<Self::Event> {
        let Some(limit) = limit else {
            return self.lock(true);
        };
        nap(limit.min(self.nap));
        self.nap = (self.nap * 2).min(LONGEST_NAP);
        self.ready()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range(range: impl RangeBounds<u64>) -> Option<(i64, i64)> {
        FileRange::of(&range).ok().map(|it| (it.start, it.len))
    }

    #[test]
    fn ranges_are_what_the_kernel_takes() {
        const MAX: u64 = i64::MAX as u64;
        assert_eq!(range(..), Some((0, 0)));
        assert_eq!(range(7..), Some((7, 0)));
        assert_eq!(range(7..9), Some((7, 2)));
        assert_eq!(range(7..=9), Some((7, 3)));
        assert_eq!(range(..1), Some((0, 1)));
        assert_eq!(range(..MAX), Some((0, i64::MAX)));
        assert_eq!(range(7..7), None);
        assert_eq!(range((Bound::Included(9), Bound::Excluded(7))), None);
        assert_eq!(range(..=u64::MAX), None);
        assert_eq!(range(MAX + 1..), None);
        assert_eq!(range(MAX..MAX + 1), None);
    }
}
