//! What belongs to one process, and starts anew in a fork's child.
//!
//! A child has one thread. Another thread of its parent may have had a lock at the moment of the fork, and what that guards may be
//! half-way through a change: the child must touch neither. So it leaves them where they are, and makes its own.

use std::sync::Once;
use std::sync::atomic::{AtomicPtr, AtomicU32, Ordering};

/// How many forks lie between the first process and this one. Written in a child while it has one thread; it publishes nothing.
static GENERATION: AtomicU32 = AtomicU32::new(0);

/// The generation of this process.
pub(super) fn generation() -> u32 {
    static COUNTS: Once = Once::new();
    /// In a child, before it returns from the fork.
    extern "C" fn in_child() {
        GENERATION.fetch_add(1, Ordering::Relaxed);
    }
    COUNTS.call_once(|| {
        // SAFETY: the handler does nothing but an atomic addition. If it can't be put down, children are told nothing.
        unsafe { libc::pthread_atfork(None, None, Some(in_child)) };
    });
    GENERATION.load(Ordering::Relaxed)
}

/// A value of this process: made when it is first asked for, and anew in each child of a fork, where the old one is left alone.
#[derive(Debug)]
pub(super) struct PerProcess<T> {
    /// Null, or what was made last. Stored with release when it is complete, loaded with acquire.
    current: AtomicPtr<Made<T>>,
}

#[derive(Debug)]
struct Made<T> {
    generation: u32,
    value: T,
}

impl<T> PerProcess<T> {
    /// Nothing is made yet.
    pub(super) const fn new() -> Self {
        Self {
            current: AtomicPtr::new(std::ptr::null_mut()),
        }
    }
}

impl<T> Default for PerProcess<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T: Default> PerProcess<T> {
    /// The value of this process.
    pub(super) fn get(&self) -> &T {
        let generation = generation();
        let mut current = self.current.load(Ordering::Acquire);
        loop {
            // SAFETY: null, or a box that lives as long as this: one that was replaced is never freed.
            if let Some(made) = unsafe { current.as_ref() }
                && made.generation == generation
            {
                return &made.value;
            }
            let fresh = Box::into_raw(Box::new(Made {
                generation,
                value: T::default(),
            }));
            match self
                .current
                .compare_exchange(current, fresh, Ordering::AcqRel, Ordering::Acquire)
            {
                // SAFETY: it was a box, and is freed with this at the earliest.
                Ok(_) => return unsafe { &(*fresh).value },
                Err(other) => {
                    // SAFETY: it was a box, and nobody else has got the pointer.
                    drop(unsafe { Box::from_raw(fresh) });
                    current = other;
                }
            }
        }
    }
}

impl<T> Drop for PerProcess<T> {
    fn drop(&mut self) {
        let current = *self.current.get_mut();
        if current.is_null() {
            return;
        }
        // SAFETY: it was a box, and nobody has a reference any more.
        let made = unsafe { Box::from_raw(current) };
        if made.generation != generation() {
            // A parent's: it may be half-way through a change.
            std::mem::forget(made);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::test_fork::in_child;
    use super::*;
    use parking_lot::Mutex;

    #[test]
    fn a_child_has_its_own_whatever_its_parents_was_doing() {
        let value = PerProcess::<Mutex<u32>>::default();
        *value.get().lock() = 5;
        let guard = value.get().lock();
        in_child(|| {
            assert_eq!(*value.get().lock(), 0);
            *value.get().lock() = 6;
            let _guard = value.get().lock();
            in_child(|| assert_eq!(*value.get().lock(), 0));
        });
        drop(guard);
        assert_eq!(*value.get().lock(), 5);
    }
}
