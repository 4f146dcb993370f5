//! A queue between threads, bounded or not, whose two ends can be waited for.

use std::collections::VecDeque;
use std::time::Duration;

use parking_lot::{Condvar, Mutex};

use super::bell::Bell;
use super::collector::Collector;
use super::site::{Kind, SiteId};
use super::sleeper::{Sleeper, Wait};

/// A first-in first-out queue for any number of senders and receivers.
#[derive(Debug)]
pub struct Queue<T> {
    /// The only lock here; nothing else is locked and no user code runs while it is held.
    state: Mutex<State<T>>,
    /// Notified when an item comes or the queue is closed.
    filled: Condvar,
    /// Notified when an item goes or the queue is closed.
    drained: Condvar,
    limit: usize,
}

#[derive(Debug)]
struct State<T> {
    items: VecDeque<T>,
    closed: bool,
}

/// Why nothing was received.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RecvError {
    /// The timeout has passed and the queue is empty.
    #[error("nothing was sent in time")]
    Timeout,
    /// The queue is closed and empty.
    #[error("the queue is closed")]
    Closed,
}

/// Why an item was not sent; the item comes back.
#[derive(Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SendError<T> {
    /// The timeout has passed and the queue is full.
    #[error("there was no room in time")]
    Timeout(T),
    /// The queue is closed.
    #[error("the queue is closed")]
    Closed(T),
}

impl<T> std::fmt::Debug for SendError<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Timeout(_) => "Timeout(..)",
            Self::Closed(_) => "Closed(..)",
        })
    }
}

impl<T> Queue<T> {
    /// A queue that takes any number of items.
    pub fn unbounded() -> Self {
        Self::with_limit(usize::MAX)
    }

    /// A queue that holds at most `limit` items, and at least one.
    pub fn bounded(limit: usize) -> Self {
        Self::with_limit(limit.max(1))
    }

    fn with_limit(limit: usize) -> Self {
        Self {
            state: Mutex::new(State {
                items: VecDeque::new(),
                closed: false,
            }),
            filled: Condvar::new(),
            drained: Condvar::new(),
            limit,
        }
    }

    /// Adds an item without waiting.
    ///
    /// # Errors
    ///
    /// [`SendError::Timeout`] when the queue is full, [`SendError::Closed`] when it is closed.
    pub fn try_send(&self, item: T) -> Result<(), SendError<T>> {
        let mut state = self.state.lock();
        if state.closed {
            return Err(SendError::Closed(item));
        }
        if state.items.len() >= self.limit {
            return Err(SendError::Timeout(item));
        }
        state.items.push_back(item);
        drop(state);
        self.filled.notify_one();
        Ok(())
    }

    /// Takes the oldest item without waiting.
    ///
    /// # Errors
    ///
    /// [`RecvError::Timeout`] when the queue is empty, [`RecvError::Closed`] when it is closed too.
    pub fn try_recv(&self) -> Result<T, RecvError> {
        let mut state = self.state.lock();
        let item = state.take()?;
        drop(state);
        self.drained.notify_one();
        Ok(item)
    }

    /// Closes the queue: nothing more can be sent, and what is in it can still be received.
    pub fn close(&self) {
        self.state.lock().closed = true;
        self.filled.notify_all();
        self.drained.notify_all();
    }

    /// Whether the queue was closed.
    pub fn is_closed(&self) -> bool {
        self.state.lock().closed
    }

    /// How many items are in the queue.
    pub fn len(&self) -> usize {
        self.state.lock().items.len()
    }

    /// Whether there is no item in the queue.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn address(&self) -> u64 {
        std::ptr::from_ref(self).addr() as u64
    }

    /// Waits until `blocked` holds no more.
    fn park(
        &self,
        condvar: &Condvar,
        limit: Option<Duration>,
        blocked: impl Fn(&State<T>) -> bool,
    ) {
        let mut state = self.state.lock();
        match limit {
            None => condvar.wait_while(&mut state, |state| blocked(state)),
            Some(limit) => {
                condvar.wait_while_for(&mut state, |state| blocked(state), limit);
            }
        }
    }
}

impl<T> State<T> {
    fn take(&mut self) -> Result<T, RecvError> {
        match self.items.pop_front() {
            Some(item) => Ok(item),
            None if self.closed => Err(RecvError::Closed),
            None => Err(RecvError::Timeout),
        }
    }
}

impl Sleeper {
    /// Takes the oldest item of `q`, and waits for one if there is none.
    ///
    /// # Errors
    ///
    /// [`RecvError::Timeout`] when none came in time, [`RecvError::Closed`] when none can come.
    pub fn recv<C: Collector, T>(
        &mut self,
        c: &mut C,
        q: &Queue<T>,
        timeout: Option<Duration>,
    ) -> Result<T, RecvError> {
        let site = SiteId::new(Kind::QueueEmpty, q.address());
        self.wait_on(c, site, &mut RecvWait { queue: q }, timeout)
            .unwrap_or(Err(RecvError::Timeout))
    }

    /// Adds `v` to `q`, and waits for room if it is full.
    ///
    /// # Errors
    ///
    /// [`SendError::Timeout`] when there was no room in time, [`SendError::Closed`] when the queue is
    /// closed.
    pub fn send<C: Collector, T>(
        &mut self,
        c: &mut C,
        q: &Queue<T>,
        v: T,
        timeout: Option<Duration>,
    ) -> Result<(), SendError<T>> {
        let site = SiteId::new(Kind::QueueFull, q.address());
        let mut wait = SendWait {
            queue: q,
            item: Some(v),
        };
        match self.wait_on(c, site, &mut wait, timeout) {
            Some(sent) => sent,
            None => match wait.item {
                Some(item) => Err(SendError::Timeout(item)),
                None => Ok(()),
            },
        }
    }
}

struct RecvWait<'q, T> {
    queue: &'q Queue<T>,
}

impl<T> Wait for RecvWait<'_, T> {
    type Event = Result<T, RecvError>;

    const LOOKS_FREELY: bool = true;

    fn ready(&mut self) -> Option<Self::Event> {
        match self.queue.try_recv() {
            Err(RecvError::Timeout) => None,
            done => Some(done),
        }
    }

    fn block(&mut self, limit: Option<Duration>, _bell: Option<&Bell>) -> Option<Self::Event> {
        let queue = self.queue;
        queue.park(&queue.filled, limit, |state| {
            state.items.is_empty() && !state.closed
        });
        self.ready()
    }
}

struct SendWait<'q, T> {
    queue: &'q Queue<T>,
    /// There until it was sent or the queue found closed.
    item: Option<T>,
}

impl<T> Wait for SendWait<'_, T> {
    type Event = Result<(), SendError<T>>;

    const LOOKS_FREELY: bool = true;

    fn ready(&mut self) -> Option<Self::Event> {
        match self.queue.try_send(self.item.take()?) {
            Err(SendError::Timeout(item)) => {
                self.item = Some(item);
                None
            }
            done => Some(done),
        }
    }

    fn block(&mut self, limit: Option<Duration>, _bell: Option<&Bell>) -> Option<Self::Event> {
        let queue = self.queue;
        queue.park(&queue.drained, limit, |state| {
            state.items.len() >= queue.limit && !state.closed
        });
        self.ready()
    }
}
