//! The calling thread's default heap, and lending it around a wait.
//!
//! The heap is made when the thread first asks for it and dropped when the thread ends. An event loop calls
//! [`idle_start`] before a poll that may block and [`idle_end`] after it; neither cares how long the poll takes, since
//! the allocator paces itself, and calls that do not balance are harmless.

use crate::Heap;
use core::cell::OnceCell;

thread_local! {
    static DEFAULT: OnceCell<Heap> = const { OnceCell::new() };
}

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
    with_thread_heap_if_made(Heap::lend).unwrap_or(false)
}

/// Takes the calling thread's default heap back; one call too many does nothing.
pub fn idle_end() {
    with_thread_heap_if_made(|heap| {
        heap.own();
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
/// `None` when there is no memory for a heap, or when the thread is ending and its heap is gone.
///
/// # Example
/// ```
/// use allocator_api2::boxed::Box;
/// let sum = sleepy_alloc::with_thread_heap(|heap| *Box::new_in(1, heap) + *Box::new_in(2, heap));
/// assert_eq!(sum, Some(3));
/// ```
pub fn with_thread_heap<R>(f: impl FnOnce(&Heap) -> R) -> Option<R> {
    DEFAULT
        .try_with(|slot| {
            if slot.get().is_none() {
                // Nobody else can have filled it meanwhile: it is this thread's, and making a heap calls nobody.
                let _ = slot.set(Heap::new().ok()?);
            }
            slot.get().map(f)
        })
        .ok()
        .flatten()
}

/// Runs `f` with the calling thread's default heap if it has one.
pub(crate) fn with_thread_heap_if_made<R>(f: impl FnOnce(&Heap) -> R) -> Option<R> {
    DEFAULT.try_with(|slot| slot.get().map(f)).ok().flatten()
}
