//! The arena as the host uses it: each step is counted, timed where running code pays for it, and noted in the trace.

use std::ops::{Deref, DerefMut};

use rustix::time::{ClockId, clock_gettime};
use sleepy_gc::idle::{Collector, Histogram, IdleHint, SendArena, SleepStats};
use sleepy_gc::{Budget, CollectionPhase, Progress};

use super::StateRoot;
use super::collect::Control;
use super::options::GcTrace;
use crate::phase_trace::{Phase, now_us};

/// The arena, and what it was seen to do. It stands for the arena wherever a collector is wanted.
pub struct WatchedArena {
    arena: SendArena<StateRoot>,
    pub(super) control: Control,
    seen: Seen,
    trace: Option<GcTrace>,
    /// When the heap was lent, for the trace.
    lent_us: Option<u64>,
}

/// Counters that neither the arena nor the sleeper has.
#[derive(Default)]
pub(super) struct Seen {
    /// Steps made in waits that found work.
    pub idle_steps: u64,
    /// Collections that running code had to wait for, each a step or, for `collectgarbage()`, a whole cycle.
    pub forced_steps: u64,
    /// Their CPU time.
    pub forced_ns: u64,
    /// How long each held up running code.
    pub pause: Histogram,
    /// Finalizers that were run.
    pub finalizers: u64,
    /// What the sleepers of threads that have ended did.
    pub ended: SleepStats,
}

impl WatchedArena {
    pub(super) fn new(arena: SendArena<StateRoot>, trace: Option<GcTrace>) -> Self {
        Self {
            arena,
            control: Control::new(),
            seen: Seen::default(),
            trace,
            lent_us: None,
        }
    }

    /// The counters.
    pub(super) fn seen(&self) -> &Seen {
        &self.seen
    }

    /// A thread has ended that has slept so.
    pub(super) fn add_ended(&mut self, stats: &SleepStats) {
        self.seen.ended.add(stats);
    }

    /// A finalizer has run.
    pub(super) fn count_finalizer(&mut self) {
        self.seen.finalizers += 1;
    }

    /// Collects because running code has to: `work` is one pause.
    pub(super) fn forced<T>(&mut self, work: impl FnOnce(&mut Self) -> T) -> T {
        let cycles = self.arena.metrics().cycles();
        let (begun_ns, begun_cpu_ns) = (now_ns(ClockId::Monotonic), now_ns(ClockId::ThreadCPUTime));
        let phase = self.arena.collection_phase();
        let result = work(self);
        let pause_ns = now_ns(ClockId::Monotonic).saturating_sub(begun_ns);
        self.seen.forced_steps += 1;
        self.seen.forced_ns += now_ns(ClockId::ThreadCPUTime).saturating_sub(begun_cpu_ns);
        self.seen.pause.record(pause_ns);
        if self.trace.is_some() {
            let phase = match phase {
                CollectionPhase::Sweeping => Phase::ForcedSweep,
                _ => Phase::ForcedMark,
            };
            self.note(phase, begun_ns / 1_000, cycles);
        }
        result
    }

    /// Writes out what the trace holds back.
    pub(super) fn finish_trace(&mut self) {
        if let Some(GcTrace::Json(trace)) = self.trace.take() {
            // A trace that can't be written is no reason to fail: the program has run.
            let _ = trace.finish();
        }
    }

    /// Notes in the trace what was done from `start_us` until now; there were so many cycles before.
    #[cold]
    fn note(&mut self, phase: Phase, start_us: u64, cycles_before: u64) {
        let written = match &mut self.trace {
            Some(GcTrace::Json(trace)) => trace.record(phase, start_us, now_us()),
            Some(GcTrace::Text) => {
                self.tell_cycle(cycles_before);
                Ok(())
            }
            None => Ok(()),
        };
        if written.is_err() {
            self.trace = None;
        }
    }

    /// Prints a line if a cycle has ended.
    fn tell_cycle(&self, cycles_before: u64) {
        let metrics = self.arena.metrics();
        let cycles = metrics.cycles();
        if cycles != cycles_before {
            let (idle, forced) = (self.seen.idle_steps, self.seen.forced_steps);
            let (heap, live) = (metrics.heap_bytes(), metrics.live_bytes());
            eprintln!(
                "gc: cycle {cycles} has ended, {idle} idle and {forced} forced steps so far, \
                 heap {heap} bytes, {live} of them live"
            );
        }
    }
}

impl Deref for WatchedArena {
    type Target = SendArena<StateRoot>;

    fn deref(&self) -> &SendArena<StateRoot> {
        &self.arena
    }
}

impl DerefMut for WatchedArena {
    fn deref_mut(&mut self) -> &mut SendArena<StateRoot> {
        &mut self.arena
    }
}

impl Collector for WatchedArena {
    fn has_work(&self) -> bool {
        Collector::has_work(&self.arena)
    }

    fn wants_cycle(&self, hint: &IdleHint) -> bool {
        self.arena.wants_cycle(hint)
    }

    fn hint(&self) -> IdleHint {
        self.arena.hint()
    }

    fn phase(&self) -> Option<CollectionPhase> {
        self.arena.phase()
    }

    fn can_delegate(&self) -> bool {
        self.arena.can_delegate()
    }

    fn start_cycle(&mut self) {
        if self.control.waits_in_generations() {
            self.arena.set_generational(true);
        }
        Collector::start_cycle(&mut self.arena);
    }

    fn start_full_cycle(&mut self) {
        self.arena.start_full_cycle();
    }

    fn keep_old(&mut self, keep: bool) {
        self.arena.keep_old(keep);
    }

    fn step(&mut self, budget: Budget) -> Progress {
        if self.trace.is_none() {
            let progress = Collector::step(&mut self.arena, budget);
            self.seen.idle_steps += u64::from(found_work(&progress));
            return progress;
        }
        let (cycles, start_us) = (self.arena.metrics().cycles(), now_us());
        let phase = match self.arena.collection_phase() {
            CollectionPhase::Sweeping => Phase::IdleSweep,
            _ => Phase::IdleMark,
        };
        let progress = Collector::step(&mut self.arena, budget);
        if found_work(&progress) {
            self.seen.idle_steps += 1;
            self.note(phase, start_us, cycles);
        }
        progress
    }

    fn forced_step(&mut self, budget: Budget) -> Progress {
        // Counted and noted by `WatchedArena::forced`, which is around it.
        Collector::forced_step(&mut self.arena, budget)
    }

    fn while_lent<T>(&mut self, block: impl FnOnce() -> T) -> T {
        self.lend();
        let result = block();
        self.take_back();
        result
    }

    fn lend(&mut self) {
        if self.trace.is_some() {
            self.lent_us = Some(now_us());
        }
        self.arena.lend();
    }

    fn take_back(&mut self) {
        self.arena.take_back();
        if let Some(start_us) = self.lent_us.take() {
            let cycles = self.arena.metrics().cycles();
            self.note(Phase::Parked, start_us, cycles);
        }
    }

    fn while_released<T>(&mut self, block: impl FnOnce() -> T) -> T {
        self.arena.while_released(block)
    }
}

fn found_work(progress: &Progress) -> bool {
    progress.work_bytes > 0 || progress.freed_bytes > 0 || progress.finished_cycle
}

/// A clock in nanoseconds.
pub(super) fn now_ns(clock: ClockId) -> u64 {
    let now = clock_gettime(clock);
    now.tv_sec.cast_unsigned() * 1_000_000_000 + now.tv_nsec.cast_unsigned()
}
