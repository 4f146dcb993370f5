//! When a cycle starts, and how much work an allocated byte owes. Pure: bytes in, bytes out.
//!
//! # Derivation
//!
//! Let `L` be the bytes found live by the last cycle. The next one starts when the heap holds `(1 + s) L` bytes
//! (`s` = [`sleep_factor`](Pacing::sleep_factor)). While it is under way, each allocated byte owes `m` bytes of work
//! ([`work_factor`](Pacing::work_factor)). The work of a cycle is
//!
//! - marking: each live object once, at most what is reachable when marking ends;
//! - sweeping: each page once, at [`SWEEP_DIVISOR`]-th of its bytes.
//!
//! **A cycle always ends.** An object that is allocated while marking is white: it adds at most its own size to the
//! marking, so `A` bytes allocated in a cycle add at most `A (1 + 1/8)` to the work and pay for `m A` of it. With
//! `m > 1 + 1/8` the work left shrinks with every byte: `A ≤ W / (m - 9/8)`, where `W` is the work that was there at the
//! start. Re-tracing does not break this: a store raises a forward barrier or marks one parent gray again, which is
//! work that a mutator does store by store; it is not counted as work done, and hence pays for nothing.
//!
//! **The peak.** What dies while a cycle marks may survive it: with a constant live size `l`, a cycle finds at most
//! `L = l + a`, where `a ≤ l / (m - 9/8)` was allocated while it marked, and the heap never holds more than
//! `(1 + s) L + A`. The defaults `s = 0.6`, `m = 10` give `a ≤ 0.12 l`, `A ≤ 0.15 l`: a peak of 1.94 `l`, and at most
//! `1 + s` bytes marked and swept for each `s` bytes allocated.
//!
//! A step that is due pays [`GRANULE_BYTES`] ahead, so that steps are neither tiny nor constant.

/// The constants of pacing.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pacing {
    /// How much may be allocated between two cycles, as a part of what the last one found live.
    pub sleep_factor: f64,
    /// How much may be allocated between two cycles at least, in bytes.
    pub min_sleep_bytes: usize,
    /// Bytes of work that an allocated byte owes while a cycle is under way; at least [`MIN_WORK_FACTOR`] is used.
    pub work_factor: f64,
}

/// Sweeping a byte of a page costs this fraction of marking one.
pub(crate) const SWEEP_DIVISOR: usize = 8;

/// Work that one forced step does at most, however large the debt is: the rest is due at the next safe point.
pub(crate) const MAX_STEP_BYTES: usize = 512 * 1024;

/// With less work for each byte a cycle would be long, or not end at all.
pub const MIN_WORK_FACTOR: f64 = 2.0;

/// Bytes that may be allocated between two steps of a cycle that are due.
pub(crate) const GRANULE_BYTES: usize = 16 * 1024;

impl Pacing {
    /// What suits a program that shares its machine: see the module's derivation.
    pub const DEFAULT: Self = Self {
        sleep_factor: 0.6,
        min_sleep_bytes: 512 * 1024,
        work_factor: 10.0,
    };

    /// Each step that is due runs a cycle from its start to its end.
    pub const STOP_THE_WORLD: Self = Self {
        work_factor: f64::INFINITY,
        ..Self::DEFAULT
    };

    /// The heap size at which the next cycle starts.
    #[must_use]
    pub fn trigger_bytes(&self, live_bytes: usize) -> usize {
        live_bytes.saturating_add(self.sleep_bytes(live_bytes))
    }

    /// How much may be allocated on top of what is live.
    #[must_use]
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "saturates"
    )]
    pub fn sleep_bytes(&self, live_bytes: usize) -> usize {
        ((live_bytes as f64 * self.sleep_factor.max(0.0)) as usize).max(self.min_sleep_bytes)
    }

    /// What may be allocated before the next cycle, when one has ended and the heap holds `heap_bytes`.
    ///
    /// What was allocated while the cycle ran counts already, but a quarter of the sleep is always left: a heap that
    /// grew during the cycle is mostly not garbage.
    #[must_use]
    pub fn credit_after_cycle(&self, live_bytes: usize, heap_bytes: usize) -> usize {
        self.trigger_bytes(live_bytes)
            .saturating_sub(heap_bytes)
            .max(self.sleep_bytes(live_bytes) / 4)
    }

    /// The work, in bytes, that brings `credit` back to a granule; 0 while the credit is not used up.
    #[must_use]
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "saturates"
    )]
    pub fn debt_bytes(&self, credit: isize) -> usize {
        if credit >= 0 {
            return 0;
        }
        let owed = credit.unsigned_abs().saturating_add(GRANULE_BYTES);
        (owed as f64 * self.effective_work_factor()) as usize
    }

    /// The credit that work earns.
    #[must_use]
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "saturates"
    )]
    pub fn credit_of_work(&self, work_bytes: usize) -> usize {
        (work_bytes as f64 / self.effective_work_factor()) as usize
    }

    fn effective_work_factor(&self) -> f64 {
        self.work_factor.max(MIN_WORK_FACTOR)
    }
}

impl Default for Pacing {
    fn default() -> Self {
        Self::DEFAULT
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A program that allocates for ever with a constant live size, and pays what is due at once: the peak of its heap
    /// and the work that a cycle took, in the third cycle.
    fn simulate(pacing: Pacing, live: usize) -> (usize, usize) {
        let (mut heap, mut peak, mut work_of_cycle) = (live, 0, 0);
        let mut credit = pacing.credit_after_cycle(live, heap) as isize;
        for cycle in 0..3 {
            // Asleep.
            heap += credit as usize;
            let mut work_left = live + heap / SWEEP_DIVISOR;
            work_of_cycle = work_left;
            credit = -1;
            let garbage = heap - live;
            let mut allocated = 0;
            while work_left > 0 {
                let work = pacing.debt_bytes(credit).min(work_left);
                work_left -= work;
                credit += pacing.credit_of_work(work) as isize;
                if work_left == 0 {
                    break;
                }
                let step = credit as usize + 1;
                allocated += step;
                credit -= step as isize;
                // All of it may have to be marked, and is swept.
                work_left += step + step / SWEEP_DIVISOR;
                assert!(
                    allocated < 2 * live.max(pacing.min_sleep_bytes),
                    "cycle {cycle} does not end"
                );
            }
            peak = peak.max(heap + allocated);
            heap = heap + allocated - garbage;
            credit = pacing.credit_after_cycle(live, heap) as isize;
        }
        (peak, work_of_cycle)
    }

    #[test]
    fn a_cycle_ends_and_the_peak_is_below_twice_the_live_size() {
        for live in [4 << 20, 64 << 20, 1 << 30] {
            let (peak, work) = simulate(Pacing::DEFAULT, live);
            assert!(peak < 2 * live, "{peak} for {live}");
            assert!(work < live + live / 2, "{work} for {live}");
        }
    }

    #[test]
    fn a_cycle_ends_even_with_the_smallest_work_factor() {
        simulate(
            Pacing {
                work_factor: 0.0,
                ..Pacing::DEFAULT
            },
            1 << 20,
        );
    }

    #[test]
    fn the_collector_sleeps_between_cycles() {
        for live in [0, 1 << 10, 1 << 30] {
            for grown in [0, live / 2, 4 * live] {
                assert!(Pacing::DEFAULT.credit_after_cycle(live, live + grown) >= 128 * 1024);
            }
        }
    }

    #[test]
    fn a_small_heap_is_left_alone() {
        assert_eq!(Pacing::DEFAULT.trigger_bytes(1000), 1000 + 512 * 1024);
    }

    #[test]
    fn stopping_the_world_owes_everything() {
        assert_eq!(Pacing::STOP_THE_WORLD.debt_bytes(-1), usize::MAX);
        assert_eq!(Pacing::DEFAULT.debt_bytes(0), 0);
    }

    #[test]
    fn paying_the_debt_leaves_a_granule() {
        let pacing = Pacing::DEFAULT;
        for credit in [-1, -1000, -1_000_000] {
            let after = credit + pacing.credit_of_work(pacing.debt_bytes(credit)) as isize;
            assert!(after.unsigned_abs().abs_diff(GRANULE_BYTES) <= 1, "{after}");
        }
    }
}
