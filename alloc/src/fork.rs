//! Forking: the child gets its heaps without a scavenger, and nothing half done.
//!
//! Whoever sweeps a parked heap or gives units back holds the work lock, for one heap or one group of units at a time.
//! A fork takes it and every other lock, in the order of their ranks, so that the child finds no heap in `SWEEPING`, no
//! unit in flight and no list half changed; only the figure of pending bytes is made anew. In the child no scavenger runs; the next park that has something to give
//! starts one.
//!
//! Ranks, outermost first: work, the late heap, the list of heaps to use again, claims of slices, the options.

use crate::heap::inner;
use crate::lock::RawLock;
use crate::{arena, idle, late, options, os, scavenger};
use core::sync::atomic::{AtomicBool, AtomicU32, Ordering};

static WORK: RawLock = RawLock::new();
/// Somebody waits to fork, so a sweep had better stop. Relaxed: a request.
static WANTED: AtomicBool = AtomicBool::new(false);

/// How many forks led from the first process to this one. Relaxed: written by the only thread of a new process.
static GENERATION: AtomicU32 = AtomicU32::new(0);

/// How many forks led from the first process to this one.
pub(crate) fn generation() -> u32 {
    GENERATION.load(Ordering::Relaxed)
}

/// The work lock, until it is dropped.
pub(crate) struct Work(());

impl Drop for Work {
    fn drop(&mut self) {
        WORK.unlock();
    }
}

/// Takes the work lock.
pub(crate) fn work() -> Work {
    WORK.lock();
    Work(())
}

/// Whether a fork waits for the work lock.
pub(crate) fn is_wanted() -> bool {
    WANTED.load(Ordering::Relaxed)
}

/// Has every fork from now on go through this module.
pub(crate) fn register() {
    os::at_fork(prepare, in_parent, in_child);
}

extern "C" fn prepare() {
    idle::idle_end();
    WANTED.store(true, Ordering::Relaxed);
    WORK.lock();
    late::lock_for_fork();
    inner::lock_for_fork();
    arena::lock_for_fork();
    options::lock_for_fork();
}

extern "C" fn in_parent() {
    options::unlock_after_fork();
    arena::unlock_after_fork();
    inner::unlock_after_fork();
    late::unlock_after_fork();
    WORK.unlock();
    WANTED.store(false, Ordering::Relaxed);
}

extern "C" fn in_child() {
    GENERATION.fetch_add(1, Ordering::Relaxed);
    os::reset_after_fork();
    scavenger::reset();
    arena::recount();
    in_parent();
}
