//! The heap of threads that have lost their own: what runs after a thread's heap is torn down still allocates (other
//! destructors of the thread), and so does a thread for whose heap there was no memory.
//!
//! It is shared, so it is used under a lock, and it is lent whenever nobody uses it: the scavenger treats it like any
//! parked heap. Its blocks are freed like those of any other thread.

use crate::heap::inner::{self, Inner};
use crate::lock::RawLock;
use crate::scavenger;
use core::ptr;
use core::sync::atomic::{AtomicBool, AtomicPtr, Ordering};

static LOCK: RawLock = RawLock::new();
/// The heap, once it is needed. Guarded by [`LOCK`].
static HEAP: AtomicPtr<Inner> = AtomicPtr::new(ptr::null_mut());

/// Somebody holds the lock. Relaxed: the holder reads its own store; to others it is a hint.
static IN_USE: AtomicBool = AtomicBool::new(false);

/// Runs `f` with the late heap. `None`: there is no memory for it, or `f` says so.
#[cold]
pub(crate) fn with<R>(f: impl FnOnce(&Inner) -> Option<R>) -> Option<R> {
    LOCK.lock();
    IN_USE.store(true, Ordering::Relaxed);
    // SAFETY: heaps are never unmapped.
    let made = unsafe { HEAP.load(Ordering::Relaxed).as_ref() };
    let heap = made.or_else(|| {
        let heap = inner::obtain(true)?;
        HEAP.store(ptr::from_ref(heap).cast_mut(), Ordering::Relaxed);
        Some(heap)
    });
    let result = heap.and_then(|heap| {
        heap.park.take_back();
        let result = f(heap);
        heap.park.lend();
        result
    });
    IN_USE.store(false, Ordering::Relaxed);
    LOCK.unlock();
    scavenger::nudge();
    result
}

/// Whether some thread has the heap, and perhaps the calling one: then this is no time to start a thread, for which the C
/// library may allocate.
pub(crate) fn is_in_use() -> bool {
    IN_USE.load(Ordering::Relaxed)
}

/// Keeps the heap out of use while the process forks.
pub(crate) fn lock_for_fork() {
    LOCK.lock();
}

/// Ends [`lock_for_fork`], in parent and child.
pub(crate) fn unlock_after_fork() {
    LOCK.unlock();
}
