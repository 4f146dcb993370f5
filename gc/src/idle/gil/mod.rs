//! The interpreter lock.
//!
//! One thread at a time runs in the arena. The others wait for the lock, or for something else with the lock given up: a
//! [`Sleeper`] on a [`GilGuard`] collects while nobody wants the lock, then lends the arena, gives the lock up, and
//! blocks.
//!
//! ```text
//!  thread A   run ─ wait: step, step, lend, unlock ───────── blocked ──────────── lock, run …
//!  thread B   ────────────── waits for the lock ── lock, take back, run ─ lend, unlock, blocked
//! ```
//!
//! The arena is taken back by whoever gets the lock next, not by the thread that has lent it. How the lock changes hands is
//! described in `raw`.
//!
//! A thread that waits does its share before it blocks. One that gives up the lock for good (it ends, or computes outside of the
//! arena) does not; so it rings for one of those that wait, if it leaves enough behind and nobody wants the lock. Whoever waits for
//! a descriptor, a process, a thread or for time hears that, and collects. For others (locks, queues) a thread of ours does it.

mod help;
mod raw;
mod sync;
#[cfg(test)]
mod tests;

use std::cell::{Cell, UnsafeCell};
use std::fmt;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;
use std::sync::{Arc, OnceLock};

use self::help::{Help, State};
use self::raw::RawGil;
use super::bell::Bells;
use super::collector::{Collector, IdleHint};
use super::sleeper::Sleeper;
use super::stand_in::{Host, StandIn};
use crate::step::{Budget, CollectionPhase, Progress};

/// Says what a collector is doing.
type Appraise<T> = fn(&T) -> State;

/// An interpreter lock: a mutex around an arena (or another collector), whose holder can ask for the price of one load whether it is
/// wanted by others, and which is given up while its holder waits in a [`Sleeper`].
///
/// Whoever waits for something else while it has the lock does so through a sleeper: that gives the lock up, and takes what was waited
/// for (another mutex, say) before it takes this lock again. A plain wait under the lock may be for somebody who waits for the lock.
///
/// A wait whose event is there at once keeps the lock: a thread that takes items from a full queue gives it up no sooner than the queue
/// is empty. Such a loop asks [`Gil::contended`] itself now and then, and gives way by [`Gil::bump`].
///
/// It is fair in that a thread is overtaken a few times at most, and spins a little before it sleeps. It does not poison: a panic
/// under it unlocks it. It can't be locked twice by one thread.
///
/// ```
/// use std::{sync::Arc, thread, time::Duration};
/// use sleepy_gc::{Gc, Lock, Rootable};
/// use sleepy_gc::idle::{Gil, Policy, SendArena, Sleeper};
///
/// let arena = SendArena::<Rootable![Gc<'_, Lock<u32>>]>::new(|mc| Gc::new(mc, Lock::new(0)));
/// let gil = Arc::new(Gil::new(arena));
/// let threads = [1, 2, 3].map(|ms| {
///     let gil = Arc::clone(&gil);
///     thread::spawn(move || {
///         let mut sleeper = Sleeper::new(Policy::default());
///         let mut arena = gil.lock();
///         // The others run meanwhile.
///         sleeper.sleep(&mut arena, Duration::from_millis(ms));
///         arena.mutate(|mc, count| count.set(mc, count.get() + 1));
///     })
/// });
/// for thread in threads {
///     thread.join().unwrap();
/// }
/// assert_eq!(gil.lock().mutate(|_, count| count.get()), 3);
/// ```
pub struct Gil<T: Send> {
    raw: RawGil,
    /// How to take the value back, while it is lent. The lock guards this too.
    lent: Cell<Option<fn(&mut T)>>,
    /// Of threads that sleep with the lock given up, and would collect if they were asked.
    bells: Bells,
    /// Known once a sleeper has hung its bell. Not guarded by the lock: threads may share a guard, and ask it for the bells.
    appraise: OnceLock<Appraise<T>>,
    /// The lock guards this.
    help: Cell<Help>,
    value: UnsafeCell<T>,
}

// SAFETY: the lock gives the value (and the cells beside it) to one thread at a time, so sharing it needs only that the value may change threads.
unsafe impl<T: Send> Sync for Gil<T> {}

impl<T: Send> Gil<T> {
    /// A lock that nobody has.
    pub fn new(value: T) -> Self {
        Self {
            raw: RawGil::new(),
            lent: Cell::new(None),
            bells: Bells::default(),
            appraise: OnceLock::new(),
            help: Cell::new(Help::new()),
            value: UnsafeCell::new(value),
        }
    }

    /// Waits for the lock and takes it.
    #[inline]
    pub fn lock(&self) -> GilGuard<'_, T> {
        self.raw.lock();
        self.locked()
    }

    /// Takes the lock if it is free and nobody waits for it.
    #[inline]
    pub fn try_lock(&self) -> Option<GilGuard<'_, T>> {
        self.raw.try_lock().then(|| self.locked())
    }

    /// Whether somebody waits for the lock: one load. The holder asks at its safe points, and gives way by [`Gil::bump`].
    #[inline]
    pub fn contended(&self) -> bool {
        self.raw.contended()
    }

    /// Gives the lock up, and to whoever waits for it first: nobody can overtake it.
    pub fn unlock_fair(guard: GilGuard<'_, T>) {
        let gil = guard.gil;
        std::mem::forget(guard);
        gil.unlock(true);
    }

    /// Lets the others have the lock, if they wait for it, and waits for it behind them. Whether anybody did.
    pub fn bump(guard: &mut GilGuard<'_, T>) -> bool {
        let gil = guard.gil;
        let contended = gil.contended();
        if contended {
            gil.raw.unlock(true);
            gil.relock();
        }
        contended
    }

    /// The value.
    pub fn get_mut(&mut self) -> &mut T {
        self.take_back();
        self.value.get_mut()
    }

    /// The value, without its lock.
    pub fn into_inner(self) -> T {
        self.take_back();
        self.value.into_inner()
    }

    /// Gives the lock up for good, and rings for a sleeper to collect, if nobody else will come by who could.
    #[inline]
    fn unlock(&self, fair: bool) {
        /// Unlocks also where a collector panics when it is asked.
        struct Unlock<'g>(&'g RawGil, bool);
        impl Drop for Unlock<'_> {
            fn drop(&mut self) {
                self.0.unlock(self.1);
            }
        }
        let unlock = Unlock(&self.raw, fair);
        let rings = self.bells.any() && self.wants_help();
        drop(unlock);
        if rings {
            self.bells.ring();
        }
    }

    /// Called by the thread that has the lock, with no unique reference to the value in use.
    #[cold]
    fn wants_help(&self) -> bool {
        let Some(appraise) = self.appraise.get().filter(|_| !self.contended()) else {
            return false;
        };
        // SAFETY: the caller has the lock, and nobody has a unique reference.
        let state = appraise(unsafe { &*self.value.get() });
        let mut help = self.help.replace(Help::new());
        let rings = help.rings(state, self.bells.take_unheeded());
        self.help.set(help);
        rings
    }

    /// Called by the thread that has the lock.
    #[inline]
    fn locked(&self) -> GilGuard<'_, T> {
        // The guard first: it unlocks if the value can't be taken back for a panic.
        let guard = GilGuard {
            gil: self,
            not_send: PhantomData,
        };
        if self.lent.get().is_some() {
            self.take_back();
        }
        guard
    }

    /// Takes the lock again for a guard that has given it up.
    fn relock(&self) {
        self.raw.lock();
        if self.lent.get().is_some() {
            self.take_back();
        }
    }

    /// Called by the thread that has the lock, with no reference to the value in use.
    #[cold]
    fn take_back(&self) {
        if let Some(take_back) = self.lent.take() {
            // SAFETY: the caller has the lock, and the only reference to the value.
            take_back(unsafe { &mut *self.value.get() });
        }
    }
}

impl<T: Send> fmt::Debug for Gil<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Gil")
            .field("contended", &self.contended())
            .finish_non_exhaustive()
    }
}

/// The lock, taken: access to what it guards. Dropping it gives the lock up.
///
/// To a [`Sleeper`] it is a collector that is [contended](Collector::contended) when somebody waits for the lock,
/// and that gives the lock up around what blocks.
#[must_use = "dropping it gives the lock up"]
pub struct GilGuard<'g, T: Send> {
    gil: &'g Gil<T>,
    /// As with other locks, a guard stays on the thread that took it.
    not_send: PhantomData<*const ()>,
}

// SAFETY: a shared guard gives out `&T` only.
unsafe impl<T: Send + Sync> Sync for GilGuard<'_, T> {}

impl<'g, T: Send> GilGuard<'g, T> {
    /// The lock that this is a guard of.
    pub fn gil(guard: &Self) -> &'g Gil<T> {
        guard.gil
    }

    /// Runs `block` with the lock given up, and takes it again, also when `block` panics.
    fn released<R>(&mut self, block: impl FnOnce() -> R) -> R {
        struct Relock<'g, T: Send>(&'g Gil<T>);
        impl<T: Send> Drop for Relock<'_, T> {
            fn drop(&mut self) {
                self.0.relock();
            }
        }
        // The guard is borrowed for as long as this runs, so that nobody uses it meanwhile.
        self.gil.raw.unlock(false);
        let _relock = Relock(self.gil);
        block()
    }
}

impl<T: Send> Deref for GilGuard<'_, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: the guard has the lock, except in `released`, which borrows it uniquely.
        unsafe { &*self.gil.value.get() }
    }
}

impl<T: Send> DerefMut for GilGuard<'_, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: as above; and the guard is borrowed uniquely.
        unsafe { &mut *self.gil.value.get() }
    }
}

impl<T: Send> Drop for GilGuard<'_, T> {
    #[inline]
    fn drop(&mut self) {
        self.gil.unlock(false);
    }
}

impl<T: Send + fmt::Debug> fmt::Debug for GilGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        T::fmt(self, f)
    }
}

/// Collects on the helper's thread.
///
/// # Safety
///
/// `lock` points to a `Gil<T>` that lives until this returns.
unsafe fn collect_in_stead<T: Send + Collector>(
    lock: NonNull<()>,
    sleeper: &mut Sleeper,
    stand_in: &Arc<StandIn>,
) {
    // SAFETY: the caller's promise; a lock is used through shared references only.
    let gil = unsafe { lock.cast::<Gil<T>>().as_ref() };
    sleeper.stand_in(&mut gil.lock(), stand_in);
    gil.bells.hang_again(stand_in);
}

impl<T: Send + Collector> Collector for GilGuard<'_, T> {
    fn has_work(&self) -> bool {
        T::has_work(self)
    }

    fn wants_cycle(&self, hint: &IdleHint) -> bool {
        T::wants_cycle(self, hint)
    }

    fn start_cycle(&mut self) {
        T::start_cycle(self);
    }

    fn start_full_cycle(&mut self) {
        T::start_full_cycle(self);
    }

    fn keep_old(&mut self, keep: bool) {
        T::keep_old(self, keep);
    }

    fn step(&mut self, budget: Budget) -> Progress {
        T::step(self, budget)
    }

    fn forced_step(&mut self, budget: Budget) -> Progress {
        T::forced_step(self, budget)
    }

    fn contended(&self) -> bool {
        self.gil.contended()
    }

    fn while_lent<R>(&mut self, block: impl FnOnce() -> R) -> R {
        self.lend();
        self.released(block)
    }

    fn while_released<R>(&mut self, block: impl FnOnce() -> R) -> R {
        self.released(block)
    }

    fn lend(&mut self) {
        // Whoever waits for the lock would only have to take it back.
        if !self.gil.contended() {
            T::lend(self);
            self.gil.lent.set(Some(T::take_back));
        }
    }

    fn take_back(&mut self) {
        self.gil.take_back();
    }

    unsafe fn give_up(&mut self) {
        self.gil.raw.unlock(false);
    }

    unsafe fn retake(&mut self) {
        self.gil.relock();
    }

    fn bells(&self) -> Option<&Bells> {
        self.gil.appraise.get_or_init(|| {
            |value| {
                let hint = value.hint();
                State {
                    works: value.has_work(),
                    cycles: hint.cycles,
                    allocated_bytes: hint.allocated_bytes_since_cycle,
                }
            }
        });
        self.gil.bells.set_host(Host {
            lock: NonNull::from(self.gil).cast(),
            collect: collect_in_stead::<T>,
        });
        Some(&self.gil.bells)
    }

    fn hint(&self) -> IdleHint {
        T::hint(self)
    }

    fn phase(&self) -> Option<CollectionPhase> {
        T::phase(self)
    }

    fn can_delegate(&self) -> bool {
        T::can_delegate(self)
    }
}
