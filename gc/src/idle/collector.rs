//! The one face that the idle layer knows of a collector: any runtime's collector can sleep this way.

use std::time::Duration;

use super::bell::Bells;
use crate::step::{Budget, CollectionPhase, Progress};

/// How deep the mutator's stack is at the wait: marking in a deep stack keeps its garbage alive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StackDepth {
    /// The wait is near the bottom of the stack (an event loop's own wait).
    #[default]
    Shallow,
    /// The wait is this many frames deep.
    Frames(usize),
}

/// What is known at a wait, for the decision whether a cycle is worth starting.
#[derive(Clone, Copy, Debug, Default)]
pub struct IdleHint {
    /// How long the wait will last, from its timeout and from the history of its wait site.
    pub expected_wait: Option<Duration>,
    /// Bytes allocated since the last cycle began, which is what the next one can free at most;
    /// 0 where only the collector knows.
    pub allocated_bytes_since_cycle: usize,
    /// Bytes found live by the last cycle; 0 where only the collector knows.
    pub live_bytes: usize,
    /// How deep the mutator's stack is.
    pub depth: StackDepth,
    /// How many cycles have ended so far; 0 where only the collector knows.
    pub cycles: u64,
    /// Whether the next cycle looks at what was allocated since the last one only, unless it is asked to be a full one.
    pub young_next: bool,
    /// Bytes that have become old since the last full cycle, which no young one frees any more; 0 with one generation.
    pub promoted_bytes: usize,
}

/// A collector that can work in bounded steps and lend its heap while its thread sleeps.
pub trait Collector {
    /// Whether a cycle is under way. A hint: another thread may take the work.
    fn has_work(&self) -> bool;

    /// Whether a cycle is worth starting now.
    ///
    /// A [`Sleeper`](super::Sleeper) asks only after its own [`Policy`](super::Policy) has agreed,
    /// so that an answer that is always `true` does not make it collect for ever.
    fn wants_cycle(&self, hint: &IdleHint) -> bool;

    /// Starts a cycle; does nothing where one is under way.
    fn start_cycle(&mut self);

    /// Starts a cycle that looks at old objects too; does nothing where one is under way. The same as
    /// [`start_cycle`](Self::start_cycle) with one generation.
    fn start_full_cycle(&mut self) {
        self.start_cycle();
    }

    /// Says whether what the cycle that starts next finds alive is to be old, so that a young cycle may follow. Where it is not, there
    /// is one generation until a later cycle, and stores need not be watched. Nothing where there is one generation anyway.
    fn keep_old(&mut self, _keep: bool) {}

    /// Performs one bounded step. May be a no-op.
    fn step(&mut self, budget: Budget) -> Progress;

    /// Performs one bounded step because allocation asks for it, in a cycle that it starts if need be.
    fn forced_step(&mut self, budget: Budget) -> Progress {
        if !self.has_work() {
            self.start_cycle();
        }
        self.step(budget)
    }

    /// Whether somebody waits for the interpreter lock that this thread holds.
    fn contended(&self) -> bool {
        false
    }

    /// Lends the heap, (releases the lock,) runs `block`, (takes the lock,) takes the heap back.
    fn while_lent<T>(&mut self, block: impl FnOnce() -> T) -> T;

    /// Lends the heap until [`take_back`](Self::take_back), or until the collector is used again, on whatever thread: the first
    /// half of [`while_lent`](Self::while_lent), for waits that a closure can't be put around.
    fn lend(&mut self) {}

    /// Takes the heap back if it is still lent.
    fn take_back(&mut self) {}

    /// Runs `block` without lending the heap: for waits whose [`Switches`](super::Switches) forbid
    /// parking. A collector behind an interpreter lock gives the lock up here as well.
    fn while_released<T>(&mut self, block: impl FnOnce() -> T) -> T {
        block()
    }

    /// Gives up the interpreter lock, if there is one, until [`retake`](Self::retake): for C code that waits.
    ///
    /// # Safety
    ///
    /// - Nothing is done with the collector before `retake`, which is called on the same thread.
    unsafe fn give_up(&mut self) {}

    /// Takes the interpreter lock again.
    ///
    /// # Safety
    ///
    /// - [`give_up`](Self::give_up) was called, and this not yet.
    unsafe fn retake(&mut self) {}

    /// Where a thread that blocks hangs its bell, so that others can ask it to collect what they leave behind. `None`: nobody but
    /// this thread makes garbage.
    fn bells(&self) -> Option<&Bells> {
        None
    }

    /// What the collector knows about its heap. The sleeper adds how long the wait may last.
    ///
    /// With the default, which knows nothing, [`wants_cycle`](Self::wants_cycle) alone decides when
    /// a cycle starts, and a cycle that frees nothing makes the sleeper ask less often.
    fn hint(&self) -> IdleHint {
        IdleHint::default()
    }

    /// Whether what is left of the cycle under way would be done by whoever the heap is lent to. A sleeper whose
    /// [`Policy`](super::Policy) says so then blocks at once.
    fn can_delegate(&self) -> bool {
        false
    }

    /// The phase of the cycle under way, where it is known without a step. The switches for marking
    /// and for sweeping go by it.
    fn phase(&self) -> Option<CollectionPhase> {
        None
    }
}
