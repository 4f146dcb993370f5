//! Waiting for a mutex and for a condition variable of `parking_lot`.

use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex, MutexGuard};

use super::bell::Bell;
use super::collector::Collector;
use super::site::{Kind, SiteId};
use super::sleeper::{Sleeper, Wait};

impl Sleeper {
    /// Locks `m`. Nothing is collected where it can be locked at once, nor once it is locked.
    pub fn lock<'m, C: Collector, T>(&mut self, c: &mut C, m: &'m Mutex<T>) -> MutexGuard<'m, T> {
        let site = SiteId::new(Kind::Mutex, std::ptr::from_ref(m).addr() as u64);
        loop {
            if let Some(guard) = self.wait_on(c, site, &mut LockWait { mutex: m }, None) {
                return guard;
            }
        }
    }

    /// Waits for a notification of `v`, with the mutex of `g` unlocked meanwhile, and tells whether
    /// one came: `false` when the timeout has passed.
    ///
    /// A condition variable cannot be asked whether it was notified, and what is notified while
    /// nobody waits is lost. So at most one step is made here, with the mutex still locked, before
    /// the wait. Where the condition can be said as a closure, [`wait_while`](Self::wait_while)
    /// collects until it holds.
    pub fn wait<C: Collector, T>(
        &mut self,
        c: &mut C,
        v: &Condvar,
        g: &mut MutexGuard<'_, T>,
        timeout: Option<Duration>,
    ) -> bool {
        let site = SiteId::new(Kind::Condvar, std::ptr::from_ref(v).addr() as u64);
        let deadline = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
        let mut wait = NotifyWait {
            condvar: v,
            guard: g,
            deadline,
        };
        self.wait_on(c, site, &mut wait, timeout).unwrap_or(false)
    }

    /// Waits on `v` for as long as `condition` holds, with the mutex of `g` unlocked meanwhile, and
    /// tells whether it holds no more: `false` when the timeout has passed before.
    ///
    /// The mutex is unlocked during a step too, so that whoever ends the wait is not kept from it.
    pub fn wait_while<C: Collector, T>(
        &mut self,
        c: &mut C,
        v: &Condvar,
        g: &mut MutexGuard<'_, T>,
        condition: impl FnMut(&mut T) -> bool,
        timeout: Option<Duration>,
    ) -> bool {
        let site = SiteId::new(Kind::Condvar, std::ptr::from_ref(v).addr() as u64);
        let deadline = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
        let mutex = MutexGuard::mutex(g);
        let mut condition = condition;
        // Whoever gets the mutex before us may make the condition hold again.
        while condition(g) {
            let left = deadline.map(|at| at.saturating_duration_since(Instant::now()));
            if left == Some(Duration::ZERO) {
                return false;
            }
            let mut wait = ConditionWait {
                condvar: v,
                mutex,
                condition: &mut condition,
            };
            MutexGuard::unlocked(g, || self.wait_on(c, site, &mut wait, left));
        }
        true
    }
}

struct LockWait<'m, T> {
    mutex: &'m Mutex<T>,
}

impl<'m, T> Wait for LockWait<'m, T> {
    type Event = MutexGuard<'m, T>;

    fn ready(&mut self) -> Option<Self::Event> {
        self.mutex.try_lock()
    }

    fn block(&mut self, limit: Option<Duration>, _bell: Option<&Bell>) -> Option<Self::Event> {
        match limit {
            None => Some(self.mutex.lock()),
            Some(limit) => self.mutex.try_lock_for(limit),
        }
    }
}

struct NotifyWait<'w, 'm, T> {
    condvar: &'w Condvar,
    guard: &'w mut MutexGuard<'m, T>,
    deadline: Option<Instant>,
}

impl<T> Wait for NotifyWait<'_, '_, T> {
    type Event = bool;

    const LIMITED: bool = false;
    const MAX_STEPS: u32 = 1;

    /// There is nothing to look at.
    fn ready(&mut self) -> Option<bool> {
        None
    }

    fn block(&mut self, _limit: Option<Duration>, _bell: Option<&Bell>) -> Option<bool> {
        match self.deadline {
            None => {
                self.condvar.wait(self.guard);
                Some(true)
            }
            Some(deadline) => Some(!self.condvar.wait_until(self.guard, deadline).timed_out()),
        }
    }
}

struct ConditionWait<'w, T, F> {
    condvar: &'w Condvar,
    mutex: &'w Mutex<T>,
    condition: &'w mut F,
}

impl<T, F: FnMut(&mut T) -> bool> Wait for ConditionWait<'_, T, F> {
    type Event = ();

    fn ready(&mut self) -> Option<()> {
        let mut guard = self.mutex.try_lock()?;
        (!(self.condition)(&mut guard)).then_some(())
    }

    fn block(&mut self, limit: Option<Duration>, _bell: Option<&Bell>) -> Option<()> {
        let mut guard = self.mutex.lock();
        // Looked at again under the lock: a notification before it would be lost.
        if !(self.condition)(&mut guard) {
            return Some(());
        }
        match limit {
            None => self.condvar.wait(&mut guard),
            Some(limit) => {
                self.condvar.wait_for(&mut guard, limit);
            }
        }
        (!(self.condition)(&mut guard)).then_some(())
    }
}
