//! A thread that collects in the stead of one that can't hear its bell.
//!
//! Whoever waits for a descriptor or for time polls its bell beside it. A wait for a lock, a queue, a condition variable or a
//! file lock has no place for one. Such a thread hangs a [`StandIn`] instead: when it is called, a helper thread takes the
//! interpreter lock and does what the sleeping thread would have done, until what that one waits for has come.
//!
//! | state | what it means | set by |
//! |---|---|---|
//! | `Waiting` | nobody has called | the waiting thread, when it hangs it |
//! | `Called` | the helper has it in its queue | who rings |
//! | `Working` | the helper uses the collector | the helper |
//! | `Over` | the collector is not touched any more | the waiting thread, or the helper if that thread is back |
//!
//! `Waiting → Called → Working → Waiting`, and from each to `Over`. The waiting thread goes there by itself, unless the helper is
//! `Working`: then it waits for that, at most for the lock and for one step.

use std::collections::VecDeque;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use parking_lot::{Condvar, Mutex};

use super::bell::Bell;
use super::sleeper::{Sleeper, Wait};
use super::stats::SleepStats;

/// How to collect behind an interpreter lock, on any thread.
#[derive(Clone, Copy, Debug)]
pub(super) struct Host {
    /// What `collect` is called with.
    pub lock: NonNull<()>,
    /// Takes the lock, collects while there is something to collect and the call is not over, gives the lock up, and hangs the
    /// stand-in again.
    ///
    /// # Safety
    ///
    /// `lock` is what stands beside it, and is alive until this returns.
    pub collect: unsafe fn(NonNull<()>, &mut Sleeper, &Arc<StandIn>),
}

// SAFETY: the pointer is to a lock that any thread may use; who calls `collect` answers for its being alive.
unsafe impl Send for Host {}
// SAFETY: as above.
unsafe impl Sync for Host {}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Waiting,
    Called,
    Working,
    Over,
}

#[derive(Debug)]
struct Inner {
    state: State,
    /// Whether it was called again while it was working.
    again: bool,
    /// Whether it has ever worked.
    worked: bool,
}

/// How it went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ended {
    NotCalled,
    /// The waiting thread was back before the helper had begun.
    InVain,
    Done,
}

/// The place that is hung where a bell would hang.
#[derive(Debug)]
pub(super) struct StandIn {
    host: Host,
    /// The helper's, with what it has learnt behind this lock. Locked by the helper only.
    sleeper: Arc<Mutex<Sleeper>>,
    /// The lock of `changed`; nothing else is locked under it.
    inner: Mutex<Inner>,
    changed: Condvar,
    /// Whether the waiting thread is back. It publishes nothing: what follows is ordered by `inner`.
    back: AtomicBool,
    /// What the helper has done, once it is.
    done: Mutex<Option<SleepStats>>,
}

impl StandIn {
    pub(super) fn new(host: Host, sleeper: Arc<Mutex<Sleeper>>) -> Arc<Self> {
        Arc::new(Self {
            host,
            sleeper,
            inner: Mutex::new(Inner {
                state: State::Waiting,
                again: false,
                worked: false,
            }),
            changed: Condvar::new(),
            back: AtomicBool::new(false),
            done: Mutex::new(None),
        })
    }

    /// Has the helper collect. `false`: the waiting thread is back, or there is no helper.
    pub(super) fn call(self: &Arc<Self>) -> bool {
        if !HELPER.is_there() {
            return false;
        }
        let mut inner = self.inner.lock();
        match inner.state {
            State::Waiting => inner.state = State::Called,
            State::Working => {
                inner.again = true;
                return true;
            }
            State::Called | State::Over => return false,
        }
        drop(inner);
        HELPER.send(Arc::clone(self));
        true
    }

    /// The waiting thread is back: returns once nobody uses the collector in its stead. To be called before it takes the
    /// interpreter lock, for which the helper may be waiting. Calling it again changes nothing.
    pub(super) fn end(&self) -> Ended {
        self.back.store(true, Ordering::Relaxed);
        let mut inner = self.inner.lock();
        while inner.state == State::Working {
            // It may be in a pause.
            self.changed.notify_all();
            self.changed.wait(&mut inner);
        }
        let ended = match inner.state {
            _ if inner.worked => Ended::Done,
            State::Called => Ended::InVain,
            _ => Ended::NotCalled,
        };
        if ended != Ended::InVain {
            inner.state = State::Over;
        }
        ended
    }

    /// What the helper has done, once it is over.
    pub(super) fn take_stats(&self) -> Option<SleepStats> {
        self.done.lock().take()
    }

    fn is_back(&self) -> bool {
        self.back.load(Ordering::Relaxed)
    }

    /// On the helper's thread.
    fn work(self: &Arc<Self>) {
        /// Says that it is over also where a collector panics.
        struct Over<'s>(&'s StandIn);
        impl Drop for Over<'_> {
            fn drop(&mut self) {
                self.0.inner.lock().state = State::Over;
                self.0.changed.notify_all();
            }
        }
        {
            let mut inner = self.inner.lock();
            if inner.state != State::Called || self.is_back() {
                return;
            }
            inner.state = State::Working;
            inner.worked = true;
        }
        let over = Over(self);
        let mut sleeper = self.sleeper.lock();
        loop {
            // SAFETY: the waiting thread has borrowed the lock until `end` returns, which it does not while this is `Working`.
            unsafe { (self.host.collect)(self.host.lock, &mut sleeper, self) };
            self.done
                .lock()
                .get_or_insert_default()
                .add_work(&sleeper.take_stats());
            let mut inner = self.inner.lock();
            if self.is_back() {
                break;
            }
            if !std::mem::take(&mut inner.again) {
                inner.state = State::Waiting;
                std::mem::forget(over);
                return;
            }
        }
        drop(over);
    }
}

/// What the helper waits for while the lock is wanted by others: the thread that it stands in for.
impl Wait for &StandIn {
    /// Nothing is left to do.
    type Event = ();

    const CALLED: bool = true;

    fn ready(&mut self) -> Option<()> {
        self.is_back().then_some(())
    }

    fn block(&mut self, limit: Option<Duration>, _bell: Option<&Bell>) -> Option<()> {
        let Some(limit) = limit else {
            // With nothing left to collect the helper goes; it is called again if there is.
            return Some(());
        };
        let mut inner = self.inner.lock();
        if !self.is_back() {
            self.changed.wait_for(&mut inner, limit);
        }
        drop(inner);
        self.ready()
    }
}

/// The thread that works for all locks of the process; started when it is first needed.
struct Helper {
    inner: Mutex<Queue>,
    called: Condvar,
}

struct Queue {
    calls: VecDeque<Arc<StandIn>>,
    /// The process that the thread runs in: a fork's child has none. 0: none.
    process: u32,
}

static HELPER: Helper = Helper {
    inner: Mutex::new(Queue {
        calls: VecDeque::new(),
        process: 0,
    }),
    called: Condvar::new(),
};

impl Helper {
    /// Whether it runs; starts it if it does not.
    fn is_there(&'static self) -> bool {
        let mut inner = self.inner.lock();
        let process = std::process::id();
        if inner.process != process {
            let thread = thread::Builder::new().name("sleepy-helper".into());
            if thread.spawn(|| self.run()).is_err() {
                return false;
            }
            inner.process = process;
            // What a fork's parent had in its queue is its own.
            inner.calls.clear();
        }
        true
    }

    fn send(&self, stand_in: Arc<StandIn>) {
        self.inner.lock().calls.push_back(stand_in);
        self.called.notify_one();
    }

    fn run(&self) {
        loop {
            let mut inner = self.inner.lock();
            let stand_in = loop {
                match inner.calls.pop_front() {
                    Some(stand_in) => break stand_in,
                    None => self.called.wait(&mut inner),
                }
            };
            drop(inner);
            // A panic in a collector has been told by the panic hook; it concerns this call only.
            let _ = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| stand_in.work()));
        }
    }
}
