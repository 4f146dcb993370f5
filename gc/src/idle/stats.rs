//! What a sleeper has done.

use super::histogram::Histogram;

/// Counters of one [`Sleeper`](super::Sleeper).
#[non_exhaustive]
#[derive(Clone, Debug, Default)]
pub struct SleepStats {
    /// Waits begun, also those that were ready at once.
    pub waits: u64,
    /// Looks for the event that did not block.
    pub probes: u64,
    /// Steps made while waiting.
    pub steps: u64,
    /// Steps that allocation forced on the program ([`Sleeper::forced_step`](super::Sleeper::forced_step)).
    pub forced_steps: u64,
    /// Cycles started while waiting.
    pub cycles_started: u64,
    /// Times a cycle would have been started, had the machine not been busy.
    pub starts_braked: u64,
    /// CPU time of the steps made while waiting.
    pub collected_ns: u64,
    /// CPU time of the forced steps.
    pub forced_ns: u64,
    /// Bytes that steps made while waiting have freed.
    pub freed_bytes: u64,
    /// Those of them that the scavenger has freed, before the steps that report it.
    pub delegated_bytes: u64,
    /// Times that another thread has rung for this one to collect. Where the wait could not hear it, what was collected in
    /// this thread's stead is counted here as well.
    pub rings: u64,
    /// Times the heap was lent.
    pub parks: u64,
    /// CPU time, from the last look that found no event to the look that found it, of every wait
    /// that ended right after a step: how late that step can have made the wait at most.
    pub step_overrun: Histogram,
}

impl SleepStats {
    /// Adds what another sleeper has done.
    pub fn add(&mut self, other: &Self) {
        self.add_work(other);
        self.waits += other.waits;
        self.forced_steps += other.forced_steps;
        self.forced_ns += other.forced_ns;
        self.rings += other.rings;
        self.parks += other.parks;
        self.step_overrun.merge(&other.step_overrun);
    }

    /// Adds what another thread has collected in this one's stead.
    pub(super) fn add_work(&mut self, done: &Self) {
        self.probes += done.probes;
        self.steps += done.steps;
        self.cycles_started += done.cycles_started;
        self.starts_braked += done.starts_braked;
        self.collected_ns += done.collected_ns;
        self.freed_bytes += done.freed_bytes;
        self.delegated_bytes += done.delegated_bytes;
    }

    /// The share of the collection's CPU time that was spent while waiting; 1 when there was none.
    pub fn idle_share(&self) -> f64 {
        match self.collected_ns + self.forced_ns {
            0 => 1.0,
            all_ns => self.collected_ns as f64 / all_ns as f64,
        }
    }
}
