//! Waiting for many descriptors, through the `polling` crate.

use std::io;
use std::os::fd::AsFd;
use std::time::Duration;

use polling::{Events, Poller};

use super::bell::Bell;
use super::collector::Collector;
use super::fd::{Interest, poll_fd};
use super::site::{Kind, SiteId};
use super::sleeper::{Sleeper, Wait};
use super::switches::Switches;

impl Sleeper {
    /// Waits for events as [`Poller::wait`] does: new events are added to `events`, and the number
    /// there is returned. `Ok(0)`: the timeout has passed, or [`Poller::notify`] was called.
    ///
    /// Whether anything is there is asked of the poller's own descriptor, at the same cost however
    /// many are registered: `Poller::wait` itself with a zero timeout would swallow a notification.
    /// So, unless the switches are off or the timeout is zero, a call costs one `ppoll` on top of
    /// the handful of system calls that `Poller::wait` makes; none where there is nothing to collect, no timeout and
    /// nobody to be rung by. A poller that is waited on here and
    /// with a timeout through `Poller::wait` as well may return `Ok(0)` early once, because the
    /// timer of that other wait still runs.
    ///
    /// # Errors
    ///
    /// As [`Poller::wait`]. Signals are no error.
    pub fn poll<C: Collector>(
        &mut self,
        c: &mut C,
        poller: &Poller,
        events: &mut Events,
        timeout: Option<Duration>,
    ) -> io::Result<usize> {
        if timeout == Some(Duration::ZERO) {
            return poller.wait(events, timeout);
        }
        // The poller goes on after a signal, whoever asks for its end.
        if self.switches() == Switches::OFF && !self.has_interrupt() {
            return c.while_released(|| poller.wait(events, timeout));
        }
        let site = SiteId::new(Kind::Poll, std::ptr::from_ref(poller).addr() as u64);
        let mut wait = PollWait {
            poller,
            events,
            is_uninterrupted: !self.has_interrupt(),
        };
        self.wait_on(c, site, &mut wait, timeout).unwrap_or(Ok(0))
    }
}

struct PollWait<'p> {
    poller: &'p Poller,
    events: &'p mut Events,
    /// No signal is to end the wait: the poller waits again by itself.
    is_uninterrupted: bool,
}

impl PollWait<'_> {
    fn poll(&mut self, limit: Option<Duration>, bell: Option<&Bell>) -> Option<io::Result<usize>> {
        match poll_fd(self.poller.as_fd(), Interest::Readable, limit, bell)? {
            Ok(()) => Some(self.poller.wait(self.events, Some(Duration::ZERO))),
            Err(error) => Some(Err(error)),
        }
    }
}

impl Wait for PollWait<'_> {
    type Event = io::Result<usize>;

    const HEARS: bool = true;

    fn ready(&mut self) -> Option<Self::Event> {
        self.poll(Some(Duration::ZERO), None)
    }

    fn block(&mut self, limit: Option<Duration>, bell: Option<&Bell>) -> Option<Self::Event> {
        match (limit, bell) {
            // Whatever ends that is an event. With a limit its end could not be told from a notification.
            (None, None) if self.is_uninterrupted => Some(self.poller.wait(self.events, None)),
            _ => self.poll(limit, bell),
        }
    }
}
