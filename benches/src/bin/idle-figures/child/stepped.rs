//! A collector whose every step is timed.

use sleepy_gc::idle::{Collector, Histogram, IdleHint};
use sleepy_gc::{Budget, CollectionPhase, Progress};

/// Any collector, and how long its steps were in CPU time of the thread.
pub struct Stepped<C> {
    pub inner: C,
    pub steps: Histogram,
    /// What the longest one did.
    pub longest: Option<Progress>,
}

impl<C> Stepped<C> {
    pub fn new(inner: C) -> Self {
        Self {
            inner,
            steps: Histogram::new(),
            longest: None,
        }
    }
}

impl<C: Collector> Collector for Stepped<C> {
    fn has_work(&self) -> bool {
        self.inner.has_work()
    }

    fn wants_cycle(&self, hint: &IdleHint) -> bool {
        self.inner.wants_cycle(hint)
    }

    fn start_cycle(&mut self) {
        self.inner.start_cycle();
    }

    fn step(&mut self, budget: Budget) -> Progress {
        let before_ns = cpu_ns();
        let progress = self.inner.step(budget);
        let spent_ns = cpu_ns().saturating_sub(before_ns);
        if spent_ns > self.steps.max() {
            self.longest = Some(progress);
        }
        self.steps.record(spent_ns);
        progress
    }

    fn forced_step(&mut self, budget: Budget) -> Progress {
        self.inner.forced_step(budget)
    }

    fn while_lent<T>(&mut self, block: impl FnOnce() -> T) -> T {
        self.inner.while_lent(block)
    }

    fn while_released<T>(&mut self, block: impl FnOnce() -> T) -> T {
        self.inner.while_released(block)
    }

    fn hint(&self) -> IdleHint {
        self.inner.hint()
    }

    fn phase(&self) -> Option<CollectionPhase> {
        self.inner.phase()
    }
}

/// Keeps what else the machine does out of the figures, where that is allowed: this process runs before ordinary ones.
pub fn run_first() {
    let priority = libc::sched_param { sched_priority: 1 };
    // SAFETY: the parameters are readable; nothing depends on whether it may.
    unsafe { libc::sched_setscheduler(0, libc::SCHED_RR, &raw const priority) };
}

/// CPU time of this thread.
pub fn cpu_ns() -> u64 {
    clock_ns(libc::CLOCK_THREAD_CPUTIME_ID)
}

/// A clock that all threads of the machine share.
pub fn wall_ns() -> u64 {
    clock_ns(libc::CLOCK_MONOTONIC)
}

fn clock_ns(clock: libc::clockid_t) -> u64 {
    let mut now = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the place is writable, and both clocks exist.
    unsafe { libc::clock_gettime(clock, &mut now) };
    now.tv_sec.cast_unsigned() * 1_000_000_000 + now.tv_nsec.cast_unsigned()
}
