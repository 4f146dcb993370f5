//! Lends a thread's heap around each wait of a program that knows nothing of it.
//!
//! `LD_PRELOAD="libsleepy_malloc.so libsleepy_waits.so"` puts the names of this library before those of the C library:
//! `poll`, `epoll_wait`, `nanosleep`, `pthread_cond_wait` and their like. Each calls `sleepy_idle_start`, then the next
//! library's function of the same name with the same arguments, then `sleepy_idle_end`. A heap with nothing to give back
//! is not lent, which costs a few nanoseconds. Without `libsleepy_malloc.so` there is nothing to lend, and the calls only
//! pass through.
//!
//! | module | what it owns |
//! |---|---|
//! | `heap` | the two functions of `libsleepy_malloc.so` |
//! | `next` | the function that comes after ours |
//! | `waits` | the functions themselves |
//!
//! # Limits
//! - **Signal handlers.** Some of these functions may be called in a signal handler, also in one that interrupts `malloc`.
//!   Then the interrupted thread would lend its heap in the middle of a change. Programs whose handlers wait must not
//!   preload this library; that is why it is one of its own.
//! - Waits inside the C library (`system`, `getaddrinfo`), in `read` and `recv`, and by bare system calls pass by.

mod heap;
mod next;
mod waits;
