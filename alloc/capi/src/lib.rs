//! [`sleepy_alloc`] as the `malloc` of C programs.
//!
//! `libsleepy_malloc.so` is linked to a program (`-lsleepy_malloc`) or preloaded into one that was not built for it
//! (`LD_PRELOAD`). Its names take the place of the C library's, for the program and for every library that it uses.
//! What C programs can ask of no other allocator is declared in `include/sleepy_malloc.h`.
//!
//! | module | what it exports |
//! |---|---|
//! | `blocks` | `malloc`, `calloc`, `realloc`, `reallocarray`, `free` and its kin, `malloc_usable_size` |
//! | `aligned` | `aligned_alloc`, `posix_memalign`, `memalign`, `valloc`, `pvalloc` |
//! | `report` | `malloc_trim`, `mallopt`, `mallinfo`, `mallinfo2`, `malloc_stats` |
//! | `idle` | `sleepy_idle_start`, `sleepy_idle_end`, `sleepy_purge_now`, `sleepy_stats` |
//! | `start` | nothing: reads the options when it is loaded |
//! | `request` | what a C request means (pure) |
//!
//! # Rules
//! These functions run before the C library is initialised, in signal handlers' shadows, in threads that end and in
//! children of forks. They never panic, never allocate by way of each other, and set `errno` only where they fail.

// The unit tests are of what is pure. Exporting `malloc` from the test binary would run it on the library under test.
#[cfg(not(test))]
mod aligned;
#[cfg(not(test))]
mod blocks;
#[cfg(not(test))]
mod errno;
#[cfg(not(test))]
mod idle;
#[cfg(not(test))]
mod report;
mod request;
#[cfg(not(test))]
mod start;
