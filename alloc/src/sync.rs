//! The atomics and the futex that the words on which threads agree are built on; loom's in a model, the real ones else.

#[cfg(not(loom))]
pub(crate) use core::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering};
#[cfg(loom)]
pub(crate) use loom::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering};

/// Tells the processor that this is a spin loop. All of ours are bounded, and a model that yielded here would not see
/// what happens when the other side is late.
#[inline]
pub(crate) fn pause() {
    #[cfg(not(loom))]
    core::hint::spin_loop();
}

/// Stands, in a model, for the one order of all sequentially consistent accesses, which loom treats as mere
/// acquire and release. The accesses themselves give it in the real thing, so there this is nothing.
#[inline(always)]
pub(crate) fn sequential() {
    #[cfg(loom)]
    loom::sync::atomic::fence(Ordering::SeqCst);
}

/// A word on which a thread can sleep until another changes it.
///
/// Sleeping compares and blocks in one step: a wake that follows the change of the word is never lost.
#[cfg(not(loom))]
#[repr(transparent)]
pub(crate) struct Futex {
    pub(crate) word: AtomicU32,
}

#[cfg(not(loom))]
impl Futex {
    pub(crate) const fn new(value: u32) -> Self {
        Self {
            word: AtomicU32::new(value),
        }
    }

    /// Sleeps if the word is still `expected`, until a wake or the timeout. May return for no reason.
    pub(crate) fn wait(&self, expected: u32, timeout_ns: Option<u64>) {
        crate::os::futex_wait(&self.word, expected, timeout_ns);
    }

    /// Wakes one sleeper.
    pub(crate) fn wake_one(&self) {
        crate::os::futex_wake_one(&self.word);
    }
}

/// The model of a futex: loom's condition variable reports a lost wake as a deadlock.
#[cfg(loom)]
pub(crate) struct Futex {
    pub(crate) word: AtomicU32,
    queue: loom::sync::Mutex<()>,
    changed: loom::sync::Condvar,
}

#[cfg(loom)]
impl Futex {
    pub(crate) fn new(value: u32) -> Self {
        Self {
            word: AtomicU32::new(value),
            queue: loom::sync::Mutex::new(()),
            changed: loom::sync::Condvar::new(),
        }
    }

    pub(crate) fn wait(&self, expected: u32, timeout_ns: Option<u64>) {
        if timeout_ns.is_some() {
            // Time is not modelled: it is over at once.
            return;
        }
        let queue = self.queue.lock().unwrap();
        if self.word.load(Ordering::SeqCst) == expected {
            drop(self.changed.wait(queue).unwrap());
        }
    }

    pub(crate) fn wake_one(&self) {
        let _queue = self.queue.lock().unwrap();
        self.changed.notify_one();
    }
}

/// A value that one thread at a time uses, as some word says; a model finds those that do so at the same time.
#[cfg(not(loom))]
#[repr(transparent)]
pub(crate) struct Plain<T>(core::cell::Cell<T>);

#[cfg(not(loom))]
impl<T: Copy> Plain<T> {
    pub(crate) const fn new(value: T) -> Self {
        Self(core::cell::Cell::new(value))
    }

    pub(crate) fn get(&self) -> T {
        self.0.get()
    }

    pub(crate) fn set(&self, value: T) {
        self.0.set(value);
    }
}

/// The model of it.
#[cfg(loom)]
pub(crate) struct Plain<T>(loom::cell::UnsafeCell<T>);

#[cfg(loom)]
impl<T: Copy> Plain<T> {
    pub(crate) fn new(value: T) -> Self {
        Self(loom::cell::UnsafeCell::new(value))
    }

    pub(crate) fn get(&self) -> T {
        // SAFETY: the caller has what the value belongs to; loom checks that.
        self.0.with(|value| unsafe { *value })
    }

    pub(crate) fn set(&self, value: T) {
        // SAFETY: as in `get`.
        self.0.with_mut(|place| unsafe { *place = value });
    }
}
