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
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering};
use std::thread;
use std::time::Duration;

use parking_lot::{Condvar, Mutex};

use super::bell::Bell;
use super::forks::generation;
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
        let helper = Helper::of_process();
        if !helper.is_there() {
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
        helper.send(Arc::clone(self));
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
        // No other thread of this process locks it: in a fork's child it is a parent's helper that had it, and has it for ever.
        let Some(mut sleeper) = self.sleeper.try_lock() else {
            return;
        };
        {
            let mut inner = self.inner.lock();
            if inner.state != State::Called || self.is_back() {
                return;
            }
            inner.state = State::Working;
            inner.worked = true;
        }
        let over = Over(self);
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
    /// The process, by its generation: its number may be its parent's, in another namespace.
    generation: u32,
    inner: Mutex<Queue>,
    called: Condvar,
}

struct Queue {
    calls: VecDeque<Arc<StandIn>>,
    /// Whether the thread was started.
    runs: bool,
}

/// The helper of the process. In a fork's child it is the parent's until the child needs one: nobody may touch that, since its
/// lock may be held by a thread that is not there, and one may be waiting to be called. What it points to is never freed.
/// Stored with release when it is complete, loaded with acquire.
static HELPER: AtomicPtr<Helper> = AtomicPtr::new(std::ptr::null_mut());

impl Helper {
    fn new(generation: u32) -> Self {
        Self {
            generation,
            inner: Mutex::new(Queue {
                calls: VecDeque::new(),
                runs: false,
            }),
            called: Condvar::new(),
        }
    }

    /// The helper of this process, not of one that it was forked from.
    fn of_process() -> &'static Self {
        let generation = generation();
        let mut current = HELPER.load(Ordering::Acquire);
        loop {
            // SAFETY: null, or a helper that is complete and never freed.
            if let Some(helper) = unsafe { current.as_ref() }
                && helper.generation == generation
            {
                return helper;
            }
            let fresh = Box::into_raw(Box::new(Self::new(generation)));
            match HELPER.compare_exchange(current, fresh, Ordering::AcqRel, Ordering::Acquire) {
                // SAFETY: it was a box, and is never freed from now on.
                Ok(_) => return unsafe { &*fresh },
                Err(other) => {
                    // SAFETY: it was a box, and nobody else has got the pointer.
                    drop(unsafe { Box::from_raw(fresh) });
                    current = other;
                }
            }
        }
    }

    /// Whether it runs; starts it if it does not.
    fn is_there(&'static self) -> bool {
        let mut inner = self.inner.lock();
        if !inner.runs {
            let thread = thread::Builder::new().name("sleepy-helper".into());
            inner.runs = thread.spawn(|| self.run()).is_ok();
        }
        inner.runs
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::idle::Policy;
    use crate::idle::test_fork::in_child;

    /// # Safety
    ///
    /// `flag` is an `AtomicBool` that is never freed.
    unsafe fn collect(flag: NonNull<()>, _: &mut Sleeper, _: &Arc<StandIn>) {
        // SAFETY: the caller's contract.
        let flag = unsafe { flag.cast::<AtomicBool>().as_ref() };
        flag.store(true, Ordering::Release);
    }

    /// Calls the helper, and returns once it has worked.
    fn is_helped(sleeper: &Arc<Mutex<Sleeper>>) {
        let flag: &'static AtomicBool = Box::leak(Box::new(AtomicBool::new(false)));
        let lock = NonNull::from(flag).cast();
        let stand_in = StandIn::new(Host { lock, collect }, Arc::clone(sleeper));
        assert!(stand_in.call());
        while !flag.load(Ordering::Acquire) {
            thread::yield_now();
        }
        assert_eq!(stand_in.end(), Ended::Done);
    }

    fn sleeper() -> Arc<Mutex<Sleeper>> {
        Arc::new(Mutex::new(Sleeper::new(Policy::default())))
    }

    #[test]
    fn a_child_has_a_helper_of_its_own_whatever_the_parents_was_doing() {
        let asleep = sleeper();
        is_helped(&asleep);
        // The helper waits for a call.
        in_child(|| (0..3).for_each(|_| is_helped(&asleep)));
        // A thread of the parent's has its queue locked.
        let queue = Helper::of_process().inner.lock();
        in_child(|| is_helped(&asleep));
        drop(queue);
        // The parent's helper works.
        let busy = sleeper();
        let works = busy.lock();
        in_child(|| {
            let flag = AtomicBool::new(false);
            let lock = NonNull::from(&flag).cast();
            let stand_in = StandIn::new(Host { lock, collect }, Arc::clone(&busy));
            assert!(stand_in.call());
            is_helped(&asleep);
            assert_eq!(stand_in.end(), Ended::InVain);
        });
        drop(works);
        is_helped(&asleep);
    }
}
