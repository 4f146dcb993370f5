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
    /// The mutex is unlocked during a step too, so that whoever ends the wait is not kept from it. It
    /// is locked again with the interpreter lock given up, if there is one: nobody who holds the mutex
    /// and waits for the interpreter lock is waited for under it.
    pub fn wait_while<C: Collector, T>(
        &mut self,
        c: &mut C,
        v: &Condvar,
        g: &mut MutexGuard<'_, T>,
        mut condition: impl FnMut(&mut T) -> bool,
        timeout: Option<Duration>,
    ) -> bool {
        if !condition(g) {
            return true;
        }
        let site = SiteId::new(Kind::Condvar, std::ptr::from_ref(v).addr() as u64);
        let mutex = MutexGuard::mutex(g);
        let mut wait = ConditionWait {
            condvar: v,
            mutex,
            condition: &mut condition,
        };
        let vacant = VacantGuard::unlock(g);
        let event = self.wait_on(c, site, &mut wait, timeout);
        let is_over = event.is_some();
        vacant.fill(event.unwrap_or_else(|| self.lock(c, mutex)));
        is_over || !condition(g)
    }
}

/// The place of a guard whose mutex is unlocked meanwhile. There is one in it again when this is gone.
struct VacantGuard<'g, 'm, T> {
    place: &'g mut MutexGuard<'m, T>,
    mutex: &'m Mutex<T>,
}

impl<'g, 'm, T> VacantGuard<'g, 'm, T> {
    fn unlock(place: &'g mut MutexGuard<'m, T>) -> Self {
        let mutex = MutexGuard::mutex(place);
        let vacant = Self { place, mutex };
        // SAFETY: the guard is moved out of its place, which nobody looks at before `put` has filled it, as it is borrowed uniquely.
        drop(unsafe { std::ptr::read(vacant.place) });
        vacant
    }

    fn fill(self, guard: MutexGuard<'m, T>) {
        std::mem::ManuallyDrop::new(self).put(guard);
    }

    fn put(&mut self, guard: MutexGuard<'m, T>) {
        // SAFETY: the place is ours, and there is nothing in it that would have to be dropped.
        unsafe { std::ptr::write(self.place, guard) };
    }
}

impl<T> Drop for VacantGuard<'_, '_, T> {
    fn drop(&mut self) {
        // The wait has panicked.
        let guard = self.mutex.lock();
        self.put(guard);
    }
}

struct LockWait<'m, T> {
    mutex: &'m Mutex<T>,
}

impl<'m, T> Wait for LockWait<'m, T> {
    type Event = MutexGuard<'m, T>;

    const LOOKS_FREELY: bool = true;

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

struct ConditionWait<'w, 'm, T, F> {
    condvar: &'w Condvar,
    mutex: &'m Mutex<T>,
    condition: &'w mut F,
}

impl<'m, T, F: FnMut(&mut T) -> bool> Wait for ConditionWait<'_, 'm, T, F> {
    /// The mutex, locked, with the condition not holding.
    type Event = MutexGuard<'m, T>;

    fn ready(&mut self) -> Option<Self::Event> {
        let mut guard = self.mutex.try_lock()?;
        (!(self.condition)(&mut guard)).then_some(guard)
    }

    fn block(&mut self, limit: Option<Duration>, _bell: Option<&Bell>) -> Option<Self::Event> {
        let mut guard = self.mutex.lock();
        // Looked at again under the lock: a notification before it would be lost.
        if !(self.condition)(&mut guard) {
            return Some(guard);
        }
        match limit {
            None => self.condvar.wait(&mut guard),
            Some(limit) => {
                self.condvar.wait_for(&mut guard, limit);
            }
        }
        (!(self.condition)(&mut guard)).then_some(guard)
    }
}
