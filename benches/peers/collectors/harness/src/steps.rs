//! The times of steps, by the thread's CPU clock.

use crate::outcome::{Figure, Outcome};
use hdrhistogram::Histogram;

/// The CPU time of this thread.
pub fn thread_cpu_ns() -> u64 {
    let mut t = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: `t` is writable.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut t) };
    t.tv_sec as u64 * 1_000_000_000 + t.tv_nsec as u64
}

/// Runs `work` and says how much CPU time of this thread it took.
pub fn cpu_ns<R>(work: impl FnOnce() -> R) -> (R, u64) {
    let start = thread_cpu_ns();
    let result = work();
    (result, thread_cpu_ns() - start)
}

/// The times of many steps.
pub struct Steps {
    times: Histogram<u64>,
    in_cycle: u64,
}

impl Default for Steps {
    fn default() -> Self {
        Self::new()
    }
}

impl Steps {
    /// No steps so far.
    pub fn new() -> Self {
        let times = Histogram::new_with_bounds(1, 1_000_000_000_000, 3);
        Self {
            // The bounds are constants that it takes.
            times: times.expect("bounds"),
            in_cycle: 0,
        }
    }

    /// Makes a step, and measures it. `step` says whether a cycle was under way.
    pub fn measure(&mut self, step: impl FnOnce() -> bool) {
        let (in_cycle, ns) = cpu_ns(step);
        self.in_cycle += u64::from(in_cycle);
        self.times.saturating_record(ns);
    }

    /// Adds the longest step and the 99th percentile of them.
    #[must_use]
    pub fn into_figures(self, outcome: Outcome, max: Figure, p99: Figure) -> Outcome {
        if self.times.is_empty() {
            return outcome;
        }
        let part = self.in_cycle as f64 / self.times.len() as f64;
        let outcome = outcome
            .with(max, self.times.max() as f64 / 1e3)
            .with(p99, self.times.value_at_quantile(0.99) as f64 / 1e3);
        // Who collects inside of allocation does not say when.
        if max == Figure::MaxStepUs && self.in_cycle > 0 {
            outcome.with(Figure::InCycle, part)
        } else {
            outcome
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_step_is_found() {
        let mut steps = Steps::new();
        for _ in 0..1000 {
            steps.measure(|| true);
        }
        let end = thread_cpu_ns() + 2_000_000;
        steps.measure(|| {
            while thread_cpu_ns() < end {}
            false
        });
        let found = steps.into_figures(Outcome::default(), Figure::MaxStepUs, Figure::P99StepUs);
        assert!(found.figures[&Figure::MaxStepUs] > found.figures[&Figure::P99StepUs]);
        assert!((found.figures[&Figure::InCycle] - 1000.0 / 1001.0).abs() < 1e-9);
    }
}
