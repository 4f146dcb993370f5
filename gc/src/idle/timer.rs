//! Sleeping for a time.

use std::convert::Infallible;
use std::time::Duration;

use rustix::thread::nanosleep;

use super::bell::Bell;
use super::collector::Collector;
use super::fd::{Interest, poll_fd, timespec_of};
use super::site::{Kind, SiteId};
use super::sleeper::{Sleeper, Wait};

impl Sleeper {
    /// Sleeps for at least `d`. Signals do not shorten it.
    pub fn sleep<C: Collector>(&mut self, c: &mut C, d: Duration) {
        self.wait_for_timeout(c, SiteId::new(Kind::Timer, 0), &mut TimerWait, d);
    }
}

struct TimerWait;

impl Wait for TimerWait {
    /// There is no event: the timeout is all that ends this wait.
    type Event = Infallible;

    const HEARS: bool = true;

    fn ready(&mut self) -> Option<Infallible> {
        None
    }

    fn block(&mut self, limit: Option<Duration>, bell: Option<&Bell>) -> Option<Infallible> {
        match bell {
            None => nap(limit.unwrap_or(Duration::MAX)),
            Some(bell) => {
                poll_fd(bell.fd(), Interest::Readable, limit, None);
            }
        }
        None
    }
}

/// Sleeps once, until the time has passed or a signal has come.
pub(super) fn nap(limit: Duration) {
    let _ = nanosleep(&timespec_of(limit));
}
