//! What is measured of one round.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};
use sleepy_gc::{Arena, Budget, Collect, Root, Rootable};

/// The budget of each step.
const BUDGET: Budget = Budget::Time(Duration::from_micros(15));

/// CPU time of this thread.
fn now_ns() -> i64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec * 1_000_000_000 + time.tv_nsec
}

/// The steps and callbacks of one run of a shape.
#[derive(Default)]
pub struct Round {
    steps_ns: Vec<i64>,
    longest_ns: i64,
    longest_phase: String,
    callback_ns: i64,
}

/// What a round came to.
pub struct Summary {
    pub steps: usize,
    pub p50_us: f64,
    pub p999_us: f64,
    pub longest_us: f64,
    /// Where the longest step began and ended.
    pub longest_phase: String,
    pub callback_ms: f64,
}

impl Round {
    /// Runs a callback of the program's.
    pub fn callback<T>(&mut self, f: impl FnOnce() -> T) -> T {
        let begun = now_ns();
        let result = f();
        self.callback_ns = self.callback_ns.max(now_ns() - begun);
        result
    }

    /// Collects in steps to the end of a cycle, with a callback before each.
    pub fn cycle<R>(&mut self, arena: &mut Arena<R>, mut between: impl FnMut(&mut Arena<R>))
    where
        R: for<'a> Rootable<'a>,
        for<'a> Root<'a, R>: Sized + Collect<'a>,
    {
        arena.start_cycle();
        while arena.has_work() {
            self.callback(|| between(arena));
            let before = arena.collection_phase();
            let begun = now_ns();
            arena.step(BUDGET);
            let took = now_ns() - begun;
            self.steps_ns.push(took);
            if took > self.longest_ns {
                self.longest_ns = took;
                self.longest_phase = format!("{before:?} → {:?}", arena.collection_phase());
            }
        }
    }

    /// A cycle in which the program does nothing.
    pub fn quiet_cycle<R>(&mut self, arena: &mut Arena<R>)
    where
        R: for<'a> Rootable<'a>,
        for<'a> Root<'a, R>: Sized + Collect<'a>,
    {
        self.cycle(arena, |_| {});
    }

    pub fn summary(mut self) -> Summary {
        self.steps_ns.sort_unstable();
        let last = self.steps_ns.len().saturating_sub(1);
        let at = |per_mille: usize| {
            let ns = self.steps_ns.get((last * per_mille).div_ceil(1000));
            ns.copied().unwrap_or(0) as f64 / 1e3
        };
        Summary {
            steps: self.steps_ns.len(),
            p50_us: at(500),
            p999_us: at(999),
            longest_us: self.longest_ns as f64 / 1e3,
            longest_phase: self.longest_phase,
            callback_ms: self.callback_ns as f64 / 1e6,
        }
    }
}
