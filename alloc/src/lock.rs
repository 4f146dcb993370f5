//! A futex lock that spins a little before it sleeps, and never allocates.
//!
//! Yielding or sleeping at once costs a system call where the holder needs a few more nanoseconds; spinning without
//! bound burns the time slice in which the holder could finish. So one thread at a time may spin, a bounded number of
//! rounds, and everybody else sleeps on the futex word.
//!
//! | word | meaning |
//! |---|---|
//! | 0 | free |
//! | 1 | held, nobody sleeps |
//! | 2 | held, somebody may sleep: the unlock wakes one |

use crate::sync::{AtomicU32, Futex, Ordering, pause};
use core::cell::UnsafeCell;
use core::ops::{Deref, DerefMut};

const FREE: u32 = 0;
const HELD: u32 = 1;
const CONTENDED: u32 = 2;

/// Rounds of {relaxed load, pause} that the one spinner makes before it yields.
#[cfg(not(loom))]
const SPINS: u32 = 100;
#[cfg(loom)]
const SPINS: u32 = 1;

/// Yields of the processor between spinning and sleeping.
#[cfg(not(loom))]
const YIELDS: u32 = 4;
#[cfg(loom)]
const YIELDS: u32 = 0;

/// The lock without data.
pub(crate) struct RawLock {
    /// See the table above. Acquire on the way to 1 or 2 pairs with the release of the swap to 0.
    state: Futex,
    /// 1 while one thread spins. Relaxed: it bounds waste and publishes nothing.
    spinning: AtomicU32,
}

impl RawLock {
    #[cfg(not(loom))]
    pub(crate) const fn new() -> Self {
        Self {
            state: Futex::new(FREE),
            spinning: AtomicU32::new(0),
        }
    }

    #[cfg(loom)]
    pub(crate) fn new() -> Self {
        Self {
            state: Futex::new(FREE),
            spinning: AtomicU32::new(0),
        }
    }

    #[inline]
    pub(crate) fn try_lock(&self) -> bool {
        self.state
            .word
            .compare_exchange(FREE, HELD, Ordering::Acquire, Ordering::Relaxed)
            .is_ok()
    }

    #[inline]
    pub(crate) fn lock(&self) {
        if !self.try_lock() {
            self.lock_slow();
        }
    }

    #[cold]
    fn lock_slow(&self) {
        if self.spin() {
            return;
        }
        // A thread that has slept cannot know whether others sleep too, so it takes the lock as contended.
        while self.state.word.swap(CONTENDED, Ordering::Acquire) != FREE {
            self.state.wait(CONTENDED, None);
        }
    }

    /// True: the lock was taken.
    fn spin(&self) -> bool {
        if !may_spin() || self.spinning.swap(1, Ordering::Relaxed) != 0 {
            return false;
        }
        let mut taken = false;
        for round in 0..SPINS + YIELDS {
            match self.state.word.load(Ordering::Relaxed) {
                FREE if self.try_lock() => {
                    taken = true;
                    break;
                }
                // Somebody sleeps already: this thread would overtake it for ever.
                CONTENDED if round >= SPINS => break,
                _ if round < SPINS => pause(),
                _ => yield_now(),
            }
        }
        self.spinning.store(0, Ordering::Relaxed);
        taken
    }

    /// Gives the lock up. Only its holder may call this.
    #[inline]
    pub(crate) fn unlock(&self) {
        if self.state.word.swap(FREE, Ordering::Release) == CONTENDED {
            self.state.wake_one();
        }
    }
}

#[cfg(not(loom))]
fn may_spin() -> bool {
    crate::os::has_many_cpus()
}

#[cfg(loom)]
fn may_spin() -> bool {
    true
}

fn yield_now() {
    #[cfg(not(loom))]
    crate::os::yield_now();
    #[cfg(loom)]
    loom::thread::yield_now();
}

/// A mutual exclusion lock of one word and a flag: it spins a little, then sleeps on a futex, and never allocates.
///
/// It does not poison: a panic while the guard is held unlocks it.
///
/// # Example
/// ```
/// use sleepy_alloc::lock::Mutex;
/// static COUNT: Mutex<u32> = Mutex::new(0);
/// *COUNT.lock() += 1;
/// assert_eq!(*COUNT.lock(), 1);
/// ```
pub struct Mutex<T: ?Sized> {
    raw: RawLock,
    value: UnsafeCell<T>,
}

// SAFETY: the lock hands the value to one thread at a time, so sharing it needs only that the value may change threads.
unsafe impl<T: ?Sized + Send> Sync for Mutex<T> {}
// SAFETY: as above; the lock itself is plain atomics.
unsafe impl<T: ?Sized + Send> Send for Mutex<T> {}

impl<T> Mutex<T> {
    /// An unlocked lock around `value`.
    #[cfg(not(loom))]
    pub const fn new(value: T) -> Self {
        Self {
            raw: RawLock::new(),
            value: UnsafeCell::new(value),
        }
    }

    /// An unlocked lock around `value`.
    #[cfg(loom)]
    pub fn new(value: T) -> Self {
        Self {
            raw: RawLock::new(),
            value: UnsafeCell::new(value),
        }
    }
}

impl<T: ?Sized> Mutex<T> {
    /// Waits for the lock and takes it.
    #[inline]
    pub fn lock(&self) -> Guard<'_, T> {
        self.raw.lock();
        Guard {
            mutex: self,
            not_send: core::marker::PhantomData,
        }
    }

    /// Takes the lock if it is free.
    #[inline]
    pub fn try_lock(&self) -> Option<Guard<'_, T>> {
        self.raw.try_lock().then(|| Guard {
            mutex: self,
            not_send: core::marker::PhantomData,
        })
    }
}

/// Access to the value of a locked [`Mutex`]; dropping it unlocks.
#[must_use = "the lock is given up when the guard is dropped"]
pub struct Guard<'m, T: ?Sized> {
    mutex: &'m Mutex<T>,
    /// A guard stays on the thread that took it, so that fork handlers know who holds what.
    not_send: core::marker::PhantomData<*const ()>,
}

// SAFETY: a shared guard gives out `&T` only.
unsafe impl<T: ?Sized + Sync> Sync for Guard<'_, T> {}

impl<T: ?Sized> Deref for Guard<'_, T> {
    type Target = T;
    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: the guard holds the lock, and lends the value no longer than itself.
        unsafe { &*self.mutex.value.get() }
    }
}

impl<T: ?Sized> DerefMut for Guard<'_, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: the guard holds the lock, and is itself borrowed exclusively.
        unsafe { &mut *self.mutex.value.get() }
    }
}

impl<T: ?Sized> Drop for Guard<'_, T> {
    #[inline]
    fn drop(&mut self) {
        self.mutex.raw.unlock();
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn counts_under_contention() {
        static COUNT: Mutex<u64> = Mutex::new(0);
        let threads: Vec<_> = (0..4)
            .map(|_| {
                std::thread::spawn(|| {
                    for _ in 0..20_000 {
                        *COUNT.lock() += 1;
                    }
                })
            })
            .collect();
        for thread in threads {
            thread.join().unwrap();
        }
        assert_eq!(*COUNT.lock(), 80_000);
    }

    #[test]
    fn try_lock_fails_while_held_and_works_after() {
        let lock = Mutex::new(1);
        let guard = lock.lock();
        assert!(lock.try_lock().is_none());
        drop(guard);
        assert_eq!(*lock.try_lock().unwrap(), 1);
    }

    #[test]
    fn a_panic_unlocks() {
        let lock = Mutex::new(());
        let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            let _guard = lock.lock();
            panic!("in the section");
        }));
        assert!(caught.is_err());
        assert!(lock.try_lock().is_some());
    }
}
