//! The locks, behind one face.

use std::cell::UnsafeCell;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

/// A lock around a value.
pub trait Contender<T>: Sync {
    /// The lock, free.
    fn new(value: T) -> Self;
    /// Runs `section` with the lock held.
    fn with<R>(&self, section: impl FnOnce(&mut T) -> R) -> R;
}

impl<T: Send> Contender<T> for sleepy_alloc::lock::Mutex<T> {
    fn new(value: T) -> Self {
        Self::new(value)
    }

    #[inline]
    fn with<R>(&self, section: impl FnOnce(&mut T) -> R) -> R {
        section(&mut self.lock())
    }
}

impl<T: Send> Contender<T> for parking_lot::Mutex<T> {
    fn new(value: T) -> Self {
        Self::new(value)
    }

    #[inline]
    fn with<R>(&self, section: impl FnOnce(&mut T) -> R) -> R {
        section(&mut self.lock())
    }
}

impl<T: Send> Contender<T> for std::sync::Mutex<T> {
    fn new(value: T) -> Self {
        Self::new(value)
    }

    #[inline]
    fn with<R>(&self, section: impl FnOnce(&mut T) -> R) -> R {
        section(&mut self.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// A lock that yields its processor until it is free.
pub struct YieldAtOnce<T> {
    /// Acquire by the exchange that takes the lock pairs with the release that gives it up.
    held: AtomicBool,
    value: UnsafeCell<T>,
}

/// A lock of which one waiter at a time tries some more before it yields.
pub struct OneSpinnerYield<T> {
    lock: YieldAtOnce<T>,
    /// Relaxed: it bounds waste and publishes nothing.
    spinning: AtomicBool,
}

/// Tries of the one spinner, without a pause between them.
const TRIES: u32 = 256;

// SAFETY: the lock hands the value to one thread at a time.
unsafe impl<T: Send> Sync for YieldAtOnce<T> {}

impl<T> YieldAtOnce<T> {
    /// The lock, free.
    pub const fn new(value: T) -> Self {
        Self {
            held: AtomicBool::new(false),
            value: UnsafeCell::new(value),
        }
    }

    #[inline]
    fn try_lock(&self) -> bool {
        !self.held.swap(true, Ordering::Acquire)
    }

    #[cold]
    fn yield_until_locked(&self) {
        while !self.try_lock() {
            thread::yield_now();
        }
    }

    /// Runs `section` and gives the lock up, which the caller has taken.
    #[inline]
    fn finish<R>(&self, section: impl FnOnce(&mut T) -> R) -> R {
        // SAFETY: the caller holds the lock, and both callers are in this file.
        let result = section(unsafe { &mut *self.value.get() });
        self.held.store(false, Ordering::Release);
        result
    }
}

impl<T: Send> Contender<T> for YieldAtOnce<T> {
    fn new(value: T) -> Self {
        Self::new(value)
    }

    #[inline]
    fn with<R>(&self, section: impl FnOnce(&mut T) -> R) -> R {
        if !self.try_lock() {
            self.yield_until_locked();
        }
        self.finish(section)
    }
}

impl<T> OneSpinnerYield<T> {
    /// The lock, free.
    pub const fn new(value: T) -> Self {
        Self {
            lock: YieldAtOnce::new(value),
            spinning: AtomicBool::new(false),
        }
    }

    #[cold]
    fn lock_slow(&self) {
        if !self.spinning.swap(true, Ordering::Relaxed) {
            let taken = (0..TRIES).any(|_| self.lock.try_lock());
            self.spinning.store(false, Ordering::Relaxed);
            if taken {
                return;
            }
        }
        self.lock.yield_until_locked();
    }
}

impl<T: Send> Contender<T> for OneSpinnerYield<T> {
    fn new(value: T) -> Self {
        Self::new(value)
    }

    #[inline]
    fn with<R>(&self, section: impl FnOnce(&mut T) -> R) -> R {
        if !self.lock.try_lock() {
            self.lock_slow();
        }
        self.lock.finish(section)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count<L: Contender<u64>>() -> u64 {
        let lock = L::new(0);
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..10_000 {
                        lock.with(|count| *count += 1);
                    }
                });
            }
        });
        lock.with(|count| *count)
    }

    #[test]
    fn no_lock_loses_a_count() {
        assert_eq!(count::<YieldAtOnce<u64>>(), 40_000);
        assert_eq!(count::<OneSpinnerYield<u64>>(), 40_000);
        assert_eq!(count::<sleepy_alloc::lock::Mutex<u64>>(), 40_000);
        assert_eq!(count::<parking_lot::Mutex<u64>>(), 40_000);
        assert_eq!(count::<std::sync::Mutex<u64>>(), 40_000);
    }
}
