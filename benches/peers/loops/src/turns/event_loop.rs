//! An event loop around `polling`, which lends its thread's heap for each poll.

use crate::Result;
use crate::handover::HandOver;
use polling::{Events, Poller};
use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// See the module's documentation.
pub struct EventLoop {
    hand_off: HandOver,
    poller: Arc<Poller>,
    events: Events,
}

impl EventLoop {
    /// A loop with nothing registered.
    pub fn new(hand_off: HandOver) -> io::Result<Self> {
        Ok(Self {
            hand_off,
            poller: Arc::new(Poller::new()?),
            events: Events::new(),
        })
    }

    /// What other threads wake the loop with.
    pub fn waker(&self) -> Arc<Poller> {
        self.poller.clone()
    }

    /// Where descriptors are registered.
    pub fn poller(&self) -> &Poller {
        &self.poller
    }

    /// What the last poll brought.
    pub fn events(&self) -> &Events {
        &self.events
    }

    /// One poll, with the heap lent.
    pub fn poll(&mut self, timeout: Option<Duration>) -> io::Result<usize> {
        self.events.clear();
        let (poller, events) = (&self.poller, &mut self.events);
        self.hand_off.around(|| poller.wait(events, timeout))
    }

    /// Polls until `end`.
    pub fn wait_until(&mut self, end: Instant) -> io::Result<()> {
        loop {
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(());
            }
            self.poll(Some(left))?;
        }
    }

    /// Polls until `ready` has something.
    pub fn wait_for<T>(&mut self, mut ready: impl FnMut() -> Option<T>) -> Result<T> {
        loop {
            if let Some(result) = ready() {
                return Ok(result);
            }
            self.poll(None)?;
        }
    }
}
