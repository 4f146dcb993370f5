//! What the lock is built on: an atomic, a pause, places to sleep in, and its two figures. `tests/loom.rs` has a model of the same.

pub(super) use std::sync::atomic::{AtomicU32, Ordering};

use std::sync::OnceLock;

use super::super::forks::generation;
use parking_lot_core::{DEFAULT_PARK_TOKEN, DEFAULT_UNPARK_TOKEN, ParkResult, park, unpark_one};

/// Pauses that the heir makes before it sleeps.
pub(super) const SPINS: u32 = 100;

/// How often an heir is overtaken at most.
pub(super) const OVERTAKES: u32 = 4;

/// Tells the processor that this is a spin loop.
#[inline]
pub(super) fn pause() {
    std::hint::spin_loop();
}

/// Whether the holder can be running while this thread spins.
pub(super) fn may_spin() -> bool {
    static MANY: OnceLock<bool> = OnceLock::new();
    *MANY.get_or_init(|| std::thread::available_parallelism().is_ok_and(|count| count.get() > 1))
}

/// Which process has made something, or taken it over since: see [`forks`](super::super::forks).
pub(super) struct Process {
    /// Its generation, or with [`CHANGES`](Self::CHANGES) that of the process that is taking it over. A child stores its own with release,
    /// once all is made its own; loaded with acquire.
    generation: AtomicU32,
}

impl Process {
    /// A thread of the process is taking it over. In a child of that process it says nothing: the thread is not there.
    const CHANGES: u32 = 1 << 31;

    pub(super) fn new() -> Self {
        Self {
            generation: AtomicU32::new(generation()),
        }
    }

    /// Calls `take_over` once in each child of a fork, and returns once that is done, by whatever thread.
    pub(super) fn once_in_each(&self, take_over: impl FnOnce()) {
        self.once_in(generation() & !Self::CHANGES, take_over);
    }

    /// The same, in the process of a given generation.
    fn once_in(&self, now: u32, take_over: impl FnOnce()) {
        let mut seen = self.generation.load(Ordering::Acquire);
        while seen != now {
            if seen == now | Self::CHANGES {
                std::thread::yield_now();
                seen = self.generation.load(Ordering::Acquire);
                continue;
            }
            match self.generation.compare_exchange(
                seen,
                now | Self::CHANGES,
                Ordering::Acquire,
                Ordering::Acquire,
            ) {
                Ok(_) => {
                    take_over();
                    self.generation.store(now, Ordering::Release);
                    return;
                }
                Err(other) => seen = other,
            }
        }
    }
}

/// A place for threads to sleep in, which are woken in the order in which they came.
///
/// Going to sleep and waking exclude each other, so a wake is lost only on a thread that has yet to look whether it should sleep.
pub(super) struct Berth {
    /// Its address is the berth's name.
    _name: u8,
}

impl Berth {
    pub(super) const fn new() -> Self {
        Self { _name: 0 }
    }

    fn key(&self) -> usize {
        std::ptr::from_ref(self).addr()
    }

    /// Sleeps until it is woken, if `wanted` still says so. Whether it has slept.
    ///
    /// `wanted` is called with the berth locked: it may look at atomics, and nothing else.
    pub(super) fn sleep_if(&self, wanted: impl FnOnce() -> bool) -> bool {
        // SAFETY: the key is the address of a field of our own; `wanted` only looks at an atomic, and without a timeout the last
        // callback is never called.
        let result = unsafe {
            park(
                self.key(),
                wanted,
                || (),
                |_, _| (),
                DEFAULT_PARK_TOKEN,
                None,
            )
        };
        matches!(result, ParkResult::Unparked(_))
    }

    /// Wakes the first sleeper. `before` is told whether there is one, with the berth locked: it may change atomics, and nothing
    /// else.
    pub(super) fn wake_one(&self, before: impl FnOnce(bool)) {
        // SAFETY: as above; the callback only changes an atomic.
        unsafe {
            unpark_one(self.key(), |result| {
                before(result.unparked_threads == 1);
                DEFAULT_UNPARK_TOKEN
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_taken_over_once_in_each_process() {
        let process = Process {
            generation: AtomicU32::new(3),
        };
        let mut taken = 0;
        for now in [3, 4, 4, 6] {
            process.once_in(now, || taken += 1);
        }
        assert_eq!(taken, 2);
    }

    #[test]
    fn a_change_that_the_parent_was_in_does_not_stop_its_child() {
        let process = Process {
            generation: AtomicU32::new(4 | Process::CHANGES),
        };
        let mut taken = 0;
        process.once_in(5, || taken += 1);
        process.once_in(5, || taken += 1);
        assert_eq!(taken, 1);
    }
}
