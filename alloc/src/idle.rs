//! The calling thread's default heap, and lending it around a wait.
//!
//! An event loop calls
//! [`idle_start`] before a poll that may block and [`idle_end`] after it; neither cares how long the poll takes, since
//! the allocator paces itself, and calls that do not balance are harmless.

use crate::{Heap, thread};

/// Lends the calling thread's default heap to the scavenger. False: nothing was lent.
///
/// Costs a few loads when the heap has nothing to give back. Using the heap takes it back by itself.
///
/// # Example
/// ```
/// sleepy_alloc::idle_start();
/// // … a poll that may block …
/// sleepy_alloc::idle_end();
/// ```
pub fn idle_start() -> bool {
    thread::with(Heap::lend)
}

/// Takes the calling thread's default heap back; one call too many does nothing.
pub fn idle_end() {
    thread::with(|heap| {
        if heap.made().is_some() {
            heap.own();
        }
    });
}

/// Runs `f` with the calling thread's default heap lent.
///
/// # Example
/// ```
/// let answer = sleepy_alloc::idle(|| 42);
/// assert_eq!(answer, 42);
/// ```
pub fn idle<R>(f: impl FnOnce() -> R) -> R {
    struct End;
    impl Drop for End {
        fn drop(&mut self) {
            idle_end();
        }
    }
    idle_start();
    let _end = End;
    f()
}

/// Runs `f` with the calling thread's default heap, which is made if need be.
///
/// `None` when there is no memory for a heap, or when the thread is ending and its heap is gone. Blocks allocated in it may
/// outlive the thread and be freed by any other, through its default heap or [`SleepyAlloc`](crate::SleepyAlloc).
///
/// # Example
/// ```
/// use allocator_api2::boxed::Box;
/// let sum = sleepy_alloc::with_thread_heap(|heap| *Box::new_in(1, heap) + *Box::new_in(2, heap));
/// assert_eq!(sum, Some(3));
/// ```
pub fn with_thread_heap<R>(f: impl FnOnce(&Heap) -> R) -> Option<R> {
    thread::with(|heap| heap.own_or_make().is_some().then(|| f(heap)))
}
