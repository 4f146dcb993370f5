//! The interpreter lock, taken: the arena as a thread has it while it runs.

use std::ops::{Deref, DerefMut};

use sleepy_gc::idle::{Bells, Collector, Gil, GilGuard, IdleHint};
use sleepy_gc::{Budget, CollectionPhase, Progress};

use super::WatchedArena;

/// The arena under the interpreter lock. As a collector it gives the lock up where it blocks.
///
/// While there is one thread only, nobody could ring for it: then it hangs no bell, and its waits make the system calls that they
/// would make without a lock.
pub struct Held<'g> {
    guard: GilGuard<'g, WatchedArena>,
    /// Whether there are other threads.
    is_shared: bool,
    /// How often the lock has been given up.
    times_released: u64,
}

impl<'g> Held<'g> {
    pub(super) fn new(guard: GilGuard<'g, WatchedArena>) -> Self {
        Self {
            guard,
            is_shared: false,
            times_released: 0,
        }
    }

    pub(super) fn set_shared(&mut self, is_shared: bool) {
        self.is_shared = is_shared;
    }

    /// How often the lock has been given up, by waits or to give way.
    pub(super) fn times_released(&self) -> u64 {
        self.times_released
    }

    /// Whether another thread wants to run: one load.
    pub(super) fn is_wanted(&self) -> bool {
        self.guard.contended()
    }

    /// Lets the others run first.
    pub(super) fn give_way(&mut self) {
        self.times_released += 1;
        Gil::bump(&mut self.guard);
    }
}

impl Deref for Held<'_> {
    type Target = WatchedArena;

    fn deref(&self) -> &WatchedArena {
        &self.guard
    }
}

impl DerefMut for Held<'_> {
    fn deref_mut(&mut self) -> &mut WatchedArena {
        &mut self.guard
    }
}

impl Collector for Held<'_> {
    fn has_work(&self) -> bool {
        self.guard.has_work()
    }

    fn wants_cycle(&self, hint: &IdleHint) -> bool {
        self.guard.wants_cycle(hint)
    }

    fn start_cycle(&mut self) {
        self.guard.start_cycle();
    }

    fn start_full_cycle(&mut self) {
        self.guard.start_full_cycle();
    }

    fn keep_old(&mut self, keep: bool) {
        self.guard.keep_old(keep);
    }

    fn step(&mut self, budget: Budget) -> Progress {
        self.guard.step(budget)
    }

    fn forced_step(&mut self, budget: Budget) -> Progress {
        self.guard.forced_step(budget)
    }

    fn contended(&self) -> bool {
        self.guard.contended()
    }

    fn while_lent<T>(&mut self, block: impl FnOnce() -> T) -> T {
        self.guard.while_lent(block)
    }

    fn lend(&mut self) {
        self.guard.lend();
    }

    fn take_back(&mut self) {
        self.guard.take_back();
    }

    fn while_released<T>(&mut self, block: impl FnOnce() -> T) -> T {
        self.times_released += 1;
        self.guard.while_released(block)
    }

    unsafe fn give_up(&mut self) {
        self.times_released += 1;
        // SAFETY: the caller's contract.
        unsafe { self.guard.give_up() };
    }

    unsafe fn retake(&mut self) {
        // SAFETY: the caller's contract.
        unsafe { self.guard.retake() };
    }

    fn bells(&self) -> Option<&Bells> {
        self.is_shared.then(|| self.guard.bells()).flatten()
    }

    fn hint(&self) -> IdleHint {
        self.guard.hint()
    }

    fn phase(&self) -> Option<CollectionPhase> {
        self.guard.phase()
    }

    fn can_delegate(&self) -> bool {
        self.guard.can_delegate()
    }
}
