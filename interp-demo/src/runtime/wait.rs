//! The requests of natives: waits, which collect, and whatever else can't happen inside of the arena.

use std::io;
use std::os::fd::{BorrowedFd, RawFd};
use std::time::Duration;

use sleepy_gc::Gc;
use sleepy_gc::idle::{Interest, Sleeper, Watched};

use super::worker::{Served, Worker};
use super::{End, Held};
use crate::vm::roster::{NoRest, Rest, Woken};
use crate::vm::{Answer, Ctx, Suspend};

/// What a [`CustomWait`](crate::vm::suspend::CustomWait) works with.
pub struct Waiter<'a, 'g> {
    /// How much longer the program may run; none: for ever. A wait ends then at the latest, whatever it answers.
    pub time_left: Option<Duration>,
    /// The thread's sleeper.
    pub sleeper: &'a mut Sleeper,
    /// The arena, which the sleeper collects and lends.
    pub arena: &'a mut Held<'g>,
}

impl Waiter<'_, '_> {
    /// Looks at, or changes, the state, after the wait.
    pub(crate) fn enter<T>(&mut self, f: impl for<'gc> FnOnce(Ctx<'gc>) -> T) -> T {
        self.arena.mutate(|mc, state| {
            f(Ctx {
                mc,
                state: Gc::as_ref(*state),
            })
        })
    }
}

impl Worker<'_> {
    /// Carries out the request that the state holds.
    pub(super) fn serve(&mut self) -> Served {
        let (request, is_alone) = self.enter(|ctx| (ctx.take_request(), ctx.is_alone()));
        self.arena.set_shared(!is_alone);
        let Some(request) = request else {
            return Served::Answered;
        };
        let mut served = Served::Answered;
        let answer = match request {
            Suspend::Sleep(time) => {
                self.sleep(time);
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
            Suspend::Park { ticket, timeout } => {
                let rest = Rest::Parked {
                    ticket: ticket.number(),
                    for_ever: timeout.is_none(),
                };
                match self.rest(rest, &[], self.shortened(timeout)) {
                    Ok((woken, _)) => {
                        served = match woken {
                            Woken::Rung => Served::Rung,
                            Woken::ByItself => Served::Answered,
                            Woken::Deadlocked => Served::Deadlocked,
                        };
                        Answer::Ready(woken == Woken::Rung)
                    }
                    Err(error) => Answer::Failed(error),
                }
            }
            Suspend::StartThread(id) => match self.shared.start(id) {
                Ok(()) => Answer::Done,
                Err(error) => {
                    self.enter(|ctx| crate::stdlib::thread::refused(ctx, id));
                    Answer::Failed(error)
                }
            },
            Suspend::GiveWay => {
                self.give_way();
                Answer::Done
            }
            Suspend::Collect(request) => self.collect(request),
            Suspend::Exit { code, close } => return Served::End(End::Exit { code, close }),
            Suspend::Custom(wait) => {
                let is_seen = self.enter(|ctx| ctx.begin_rest(Rest::Away)).is_ok();
                let answer = wait.run(&mut Waiter {
                    time_left: self.time_left(),
                    sleeper: self.sleeper,
                    arena: &mut self.arena,
                });
                if is_seen {
                    self.enter(|ctx| ctx.end_rest());
                }
                answer
            }
        };
        self.run_some_finalizers();
        self.enter(|ctx| ctx.put_answer(answer));
        served
    }

    /// A timeout, or what is left of the program's time if that is less.
    fn shortened(&self, timeout: Option<Duration>) -> Option<Duration> {
        match (timeout, self.time_left()) {
            (Some(timeout), Some(left)) => Some(timeout.min(left)),
            (timeout, left) => timeout.or(left),
        }
    }

    fn sleep(&mut self, time: Duration) {
        let time = self.shortened(Some(time)).unwrap_or(time);
        let is_alone = self.enter(|ctx| ctx.is_alone());
        // Where the alarm can't be watched the sleep is a plain one.
        if is_alone
            || self
                .rest(Rest::Polling(Vec::new()), &[], Some(time))
                .is_err()
        {
            self.sleeper.sleep(&mut self.arena, time);
        }
    }

    fn wait_fd(
        &mut self,
        fd: RawFd,
        interest: Interest,
        timeout: Option<Duration>,
    ) -> io::Result<bool> {
        if self.enter(|ctx| ctx.is_alone()) {
            let fd = borrow(fd)?;
            return self.sleeper.wait_fd(&mut self.arena, fd, interest, timeout);
        }
        let (woken, ready) = self.rest(Rest::Polling(vec![fd]), &[(fd, interest)], timeout)?;
        // Whoever was rung for looks again.
        Ok(woken == Woken::Rung || !ready.is_empty())
    }

    fn wait_fds(
        &mut self,
        fds: &[(RawFd, Interest)],
        timeout: Option<Duration>,
    ) -> io::Result<Vec<(usize, Interest)>> {
        let all = fds.iter().map(|&(fd, _)| fd).collect();
        Ok(self.rest(Rest::Polling(all), fds, timeout)?.1)
    }

    /// Waits for descriptors, for time to pass, and for other threads that ring. How that has ended, and which descriptors are ready.
    fn rest(
        &mut self,
        rest: Rest,
        fds: &[(RawFd, Interest)],
        timeout: Option<Duration>,
    ) -> io::Result<(Woken, Vec<(usize, Interest)>)> {
        let mut watched = Vec::with_capacity(fds.len() + 1);
        for &(fd, interest) in fds {
            watched.push(Watched::new(borrow(fd)?, interest));
        }
        let alarm = match self.enter(|ctx| ctx.begin_rest(rest)) {
            Ok(alarm) => Some(alarm),
            Err(NoRest::Alone) => None,
            Err(NoRest::Deadlock) => return Ok((Woken::Deadlocked, Vec::new())),
        };
        if let Some(alarm) = &alarm {
            watched.push(Watched::new(alarm.fd(), Interest::Readable));
        }
        let waited = match (watched.is_empty(), timeout) {
            (true, Some(time)) => {
                self.sleeper.sleep(&mut self.arena, time);
                Ok(0)
            }
            _ => self
                .sleeper
                .wait_fds(&mut self.arena, &mut watched, timeout),
        };
        let woken = match alarm {
            Some(_) => self.enter(|ctx| ctx.end_rest()),
            None => Woken::ByItself,
        };
        waited?;
        let ready = watched[..fds.len()].iter().enumerate();
        let ready = ready
            .filter_map(|(i, fd)| match (fd.readable, fd.writable) {
                (true, true) => Some((i, Interest::Both)),
                (true, false) => Some((i, Interest::Readable)),
                (false, true) => Some((i, Interest::Writable)),
                (false, false) => None,
            })
            .collect();
        Ok((woken, ready))
    }
}

fn borrow<'a>(fd: RawFd) -> io::Result<BorrowedFd<'a>> {
    if fd < 0 {
        return Err(io::Error::from_raw_os_error(libc::EBADF));
    }
    // SAFETY: not -1. The native that waits keeps the owner of the descriptor in a slot of its call, so only another thread can
    // close it, which ends the wait (`Ctx::rouse_waiters_of`). The descriptor is only polled: should its number be another's by then,
    // nothing is read from that, and the native, which asks its owner again, finds that it is closed.
    Ok(unsafe { BorrowedFd::borrow_raw(fd) })
}
