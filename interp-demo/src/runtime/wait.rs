//! The requests of natives: waits, which collect, and whatever else can't happen inside of the arena.

use std::io;
use std::os::fd::{BorrowedFd, RawFd};
use std::time::Duration;

use sleepy_gc::idle::{Interest, Sleeper, Watched};

use super::{End, FINALIZERS_AT_ONCE, Runtime, WatchedArena};
use crate::vm::{Answer, Suspend};

/// What a [`CustomWait`](crate::vm::suspend::CustomWait) works with.
pub struct Waiter<'a> {
    /// How much longer the program may run; none: for ever. A wait ends then at the latest, whatever it answers.
    pub time_left: Option<Duration>,
    /// The thread's sleeper.
    pub sleeper: &'a mut Sleeper,
    /// The arena, which the sleeper collects and lends.
    pub arena: &'a mut WatchedArena,
}

impl Runtime {
    /// Carries out the request that the state holds. `Some`: the program has asked to end.
    pub(super) fn serve(&mut self) -> Option<End> {
        let request = self.enter(|ctx| ctx.take_request())?;
        let answer = match request {
            Suspend::Sleep(time) => {
                let time = self.shortened(Some(time)).unwrap_or(time);
                self.sleeper.sleep(&mut self.arena, time);
                Answer::Done
            }
            Suspend::WaitFd {
                fd,
                interest,
                timeout,
            } => match self.wait_fd(fd, interest, self.shortened(timeout)) {
                Ok(ready) => Answer::Ready(ready),
                Err(error) => Answer::Failed(error),
            },
            Suspend::Poll { fds, timeout } => match self.wait_fds(&fds, self.shortened(timeout)) {
                Ok(ready) => Answer::ReadyFds(ready),
                Err(error) => Answer::Failed(error),
            },
            Suspend::Collect(request) => self.collect(request),
            Suspend::Exit { code, close } => return Some(End::Exit { code, close }),
            Suspend::Custom(wait) => wait.run(&mut Waiter {
                time_left: self.time_left(),
                sleeper: &mut self.sleeper,
                arena: &mut self.arena,
            }),
        };
        self.run_finalizers(FINALIZERS_AT_ONCE);
        self.enter(|ctx| ctx.put_answer(answer));
        None
    }

    /// A timeout, or what is left of the program's time if that is less.
    fn shortened(&self, timeout: Option<Duration>) -> Option<Duration> {
        match (timeout, self.time_left()) {
            (Some(timeout), Some(left)) => Some(timeout.min(left)),
            (timeout, left) => timeout.or(left),
        }
    }

    fn wait_fd(
        &mut self,
        fd: RawFd,
        interest: Interest,
        timeout: Option<Duration>,
    ) -> io::Result<bool> {
        let fd = borrow(fd)?;
        self.sleeper.wait_fd(&mut self.arena, fd, interest, timeout)
    }

    fn wait_fds(
        &mut self,
        fds: &[(RawFd, Interest)],
        timeout: Option<Duration>,
    ) -> io::Result<Vec<(usize, Interest)>> {
        let mut watched = Vec::with_capacity(fds.len());
        for &(fd, interest) in fds {
            watched.push(Watched::new(borrow(fd)?, interest));
        }
        self.sleeper
            .wait_fds(&mut self.arena, &mut watched, timeout)?;
        let ready = watched.iter().enumerate();
        Ok(ready
            .filter_map(|(i, fd)| match (fd.readable, fd.writable) {
                (true, true) => Some((i, Interest::Both)),
                (true, false) => Some((i, Interest::Readable)),
                (false, true) => Some((i, Interest::Writable)),
                (false, false) => None,
            })
            .collect())
    }
}

fn borrow<'a>(fd: RawFd) -> io::Result<BorrowedFd<'a>> {
    if fd < 0 {
        return Err(io::Error::from_raw_os_error(libc::EBADF));
    }
    // SAFETY: not -1. The native that waits keeps the owner of the descriptor in a slot of its call, and nothing runs that
    // could close it until the wait is over; a descriptor that is closed all the same makes the wait fail.
    Ok(unsafe { BorrowedFd::borrow_raw(fd) })
}
