//! Unix without a futex that we know: sleepers wait on a condition variable chosen by the address of the word.
//!
//! Timeouts run on the wall clock here, as not every Unix lets a condition variable wait on another: a clock that is set
//! back delays the scavenger's next turn, and nothing else.

use core::cell::UnsafeCell;
use core::ptr::NonNull;
use core::sync::atomic::{AtomicU32, Ordering};

/// See [`super::discard`]. Not every Unix promises zeroes after advice, so the range is mapped anew.
pub(super) unsafe fn discard(ptr: NonNull<u8>, bytes: usize) -> bool {
    // SAFETY: the caller owns the range, which lies inside one of our own mappings; mapping it anew gives zeroes on
    // every Unix and frees the old pages.
    let fresh = unsafe {
        libc::mmap(
            ptr.as_ptr().cast(),
            bytes,
            libc::PROT_READ | libc::PROT_WRITE,
            super::posix::ANONYMOUS | libc::MAP_FIXED,
            -1,
            0,
        )
    };
    fresh != libc::MAP_FAILED
}

/// A place to sleep for all words that fall on it.
struct Bucket {
    mutex: UnsafeCell<libc::pthread_mutex_t>,
    changed: UnsafeCell<libc::pthread_cond_t>,
}

// SAFETY: the two are made to be used by many threads.
unsafe impl Sync for Bucket {}

static BUCKETS: [Bucket; 16] = [const {
    Bucket {
        mutex: UnsafeCell::new(libc::PTHREAD_MUTEX_INITIALIZER),
        changed: UnsafeCell::new(libc::PTHREAD_COND_INITIALIZER),
    }
}; 16];

fn bucket(word: &AtomicU32) -> &'static Bucket {
    &BUCKETS[(core::ptr::from_ref(word).addr() >> 6) % BUCKETS.len()]
}

/// See [`super::futex_wait`].
pub(super) fn futex_wait(word: &AtomicU32, expected: u32, timeout_ns: Option<u64>) {
    let place = bucket(word);
    // SAFETY: the bucket is static and initialised; the mutex is held around the wait and given up after it.
    unsafe {
        libc::pthread_mutex_lock(place.mutex.get());
        if word.load(Ordering::SeqCst) == expected {
            match timeout_ns {
                None => {
                    libc::pthread_cond_wait(place.changed.get(), place.mutex.get());
                }
                Some(ns) => {
                    let mut now = super::posix::timespec(0);
                    libc::clock_gettime(libc::CLOCK_REALTIME, &mut now);
                    let until =
                        (now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64).saturating_add(ns);
                    libc::pthread_cond_timedwait(
                        place.changed.get(),
                        place.mutex.get(),
                        &super::posix::timespec(until),
                    );
                }
            }
        }
        libc::pthread_mutex_unlock(place.mutex.get());
    }
}

/// Wakes a thread that sleeps on the word, and others that share its place.
pub(super) fn futex_wake_one(word: &AtomicU32) {
    let place = bucket(word);
    // SAFETY: as above. Taking the mutex orders this wake after a sleeper's look at the word.
    unsafe {
        libc::pthread_mutex_lock(place.mutex.get());
        libc::pthread_cond_broadcast(place.changed.get());
        libc::pthread_mutex_unlock(place.mutex.get());
    }
}

/// Makes the places anew in the child of a fork: whoever held one does not exist there.
pub(crate) fn reset_after_fork() {
    for place in &BUCKETS {
        // SAFETY: the child has one thread, which is not waiting.
        unsafe {
            *place.mutex.get() = libc::PTHREAD_MUTEX_INITIALIZER;
            *place.changed.get() = libc::PTHREAD_COND_INITIALIZER;
        }
    }
}

/// Names the calling thread for tools that list threads, where that is known to work.
pub(crate) fn name_thread(name: &core::ffi::CStr) {
    #[cfg(any(target_os = "linux", target_os = "android"))]
    // SAFETY: reads a C string; a name that is too long is refused.
    unsafe {
        libc::pthread_setname_np(libc::pthread_self(), name.as_ptr());
    }
    #[cfg(target_vendor = "apple")]
    // SAFETY: reads a C string.
    unsafe {
        libc::pthread_setname_np(name.as_ptr());
    }
    #[cfg(not(any(target_os = "linux", target_os = "android", target_vendor = "apple")))]
    let _ = name;
}

/// Memory comes from where it is first touched.
pub(crate) fn numa_node() -> Option<u32> {
    None
}

/// Never asked for, as no thread is said to run on a node.
pub(super) fn prefer_node(_ptr: NonNull<u8>, _bytes: usize, _node: u32) {}

#[cfg(test)]
mod tests {
    use super::*;

    // One test for all that sleeps, as the last part is good for a process in which nobody else does.
    #[test]
    fn a_sleeper_is_woken_and_a_timeout_ends() {
        let word = std::sync::Arc::new(AtomicU32::new(0));
        let sleeper = {
            let word = word.clone();
            std::thread::spawn(move || {
                while word.load(Ordering::SeqCst) == 0 {
                    futex_wait(&word, 0, None);
                }
            })
        };
        word.store(1, Ordering::SeqCst);
        futex_wake_one(&word);
        sleeper.join().unwrap();
        futex_wait(&word, 1, Some(1_000_000));
        futex_wait(&word, 0, None);

        // A thread that a fork's child does not have held the place.
        let place = bucket(&word);
        // SAFETY: the mutex is held by this thread, and made anew before it is used again.
        unsafe { libc::pthread_mutex_lock(place.mutex.get()) };
        reset_after_fork();
        futex_wait(&word, 1, Some(1_000_000));
        futex_wake_one(&word);
    }

    #[test]
    fn what_is_discarded_reads_as_zero() {
        let bytes = 16 * super::super::page_bytes();
        let memory = super::super::map(bytes).unwrap();
        // SAFETY: a mapping of this test's own, of whole OS pages.
        unsafe {
            memory.write_bytes(1, bytes);
            assert!(discard(memory.add(bytes / 2), bytes / 2));
            assert_eq!(memory.add(bytes / 2 - 1).read(), 1);
            let zeroes = core::slice::from_raw_parts(memory.add(bytes / 2).as_ptr(), bytes / 2);
            assert!(zeroes.iter().all(|&byte| byte == 0));
            super::super::unmap(memory, bytes);
        }
    }
}
