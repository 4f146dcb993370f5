//! When a cycle starts, and how much work an allocated byte owes. Pure: bytes in, bytes out.
//!
//! The knobs are gc-arena's, and so is what they mean, but for the unit: gc-arena 0.7 counts objects, we count bytes, of
//! objects and payload alike. (A program whose few objects own much would otherwise starve its collector.)
//!
//! # Derivation
//!
//! Let `L` be the bytes found live by the last cycle. The next one starts when the heap holds `(1 + s) L` bytes
//! (`s` = [`sleep_factor`](Pacing::sleep_factor); what may be more is below). While it is under way, each allocated byte
//! is a debt of one. Work pays it off: a byte on one of these paths through a cycle pays, in all,
//!
//! - what is remembered: `mark + trace + keep`;
//! - what is forgotten: `drop + free`;
//! - what is forgotten but held by a weak pointer: `mark + drop + keep` at most.
//!
//! **A cycle always ends.** Let `p` be the largest of the three sums. What is there when the cycle starts, `W` bytes,
//! pays for at most `p W`. An object that is allocated while marking is white: it goes one of the paths too, so `A`
//! bytes allocated in a cycle bring `A` of debt and at most `p A` of work that pays for it. With `p < 1` the cycle is
//! over when `A (1 - p) = p W`, or before. [`Pacing::checked`] scales factors whose sums exceed [`MAX_PATH`] down, so
//! that this holds whatever was set. Re-tracing does not break it: what a store has traced again is work, but pays nothing.
//!
//! **The peak.** What dies while a cycle marks may survive it: with a constant live size `l`, a cycle finds at most
//! `L = l + a`, where `a ≤ l (mark + trace) / (1 - p)` was allocated while it marked. The heap is largest when marking
//! ends, since a sweep frees faster than it lets allocate: `(1 + s) L + a`. The defaults `s = 0.27`, `p = 0.1125` give
//! `a ≤ 0.113 l`, and a peak of 1.53 `l`.
//!
//! **The length of a step.** A step that is due stops after `FORCED_STEP` too, and what it has not paid is owed: the
//! program runs on for an eighth of a granule before the next one. Up to `d` = `Pacing::tolerated_bytes` may be owed; what goes
//! beyond is paid at once, however long it takes. So no step leaves more than `d` unpaid, a cycle is over when
//! `A (1 - p) = p W + d`, and the peak is `d = l / 16` higher in a program that allocates faster than short steps can mark.
//!
//! **How long it sleeps** is a matter of its price too. Where the collector took more than `SHARE_HIGH` of the time since
//! the last cycle, the sleep is stretched (`Stretch`): up to `0.6 L` or `STRETCHED_BYTES`, whichever is less. So
//! small heaps trade memory for time, up to a peak of 1.9 `l`, and large ones do not. The idea of weighing the two is from
//! Kirisame, Shenoy and Panchekha, [Optimal heap limits for reducing browser memory use](https://arxiv.org/abs/2204.10455).
//! Only [`Pacing::DEFAULT`] does: who sets other constants gets what they say.
//!
//! # Work
//!
//! Steps count *work*: a byte that is marked, and traced where its type needs that, is one. What sweeping counts for
//! follows from the other factors (`SweepPrices`). A step that is due pays `GRANULE_BYTES` ahead, so that steps are
//! neither tiny nor constant.

use std::time::Duration;

/// The constants of pacing.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pacing {
    /// How much may be allocated between two cycles, as a part of what the last one found live.
    pub sleep_factor: f64,
    /// How much may be allocated between two cycles at least, in bytes.
    pub min_sleep: usize,
    /// What a byte pays off when its object is marked.
    pub mark_factor: f64,
    /// What a byte pays off when its object is traced. (Marking and tracing are paid for together, when an object is
    /// marked, also where there is nothing to trace.)
    pub trace_factor: f64,
    /// What a byte that survives pays off when its page is swept.
    pub keep_factor: f64,
    /// What a byte pays off when the destructor of its object has run.
    pub drop_factor: f64,
    /// What a byte that does not survive pays off when its page is swept. Free cells of the page count too.
    pub free_factor: f64,
}

/// How long a step that is due takes, where no more than [`Pacing::tolerated_bytes`] is owed.
pub(crate) const FORCED_STEP: Duration = Duration::from_micros(40);

/// The collector's share of the time, above which it sleeps longer, and below which it stops doing so.
const SHARE_HIGH: f64 = 0.2;
const SHARE_LOW: f64 = 0.1;

/// What a sleep is stretched to at most.
const STRETCHED_BYTES: usize = 16 << 20;

/// What is owed at most grows with the heap, from so many bytes on.
const TOLERATED_AT_LEAST_BYTES: usize = 64 * 1024;
const TOLERATED_DIVISOR: usize = 16;

/// What may be allocated between two steps, if they are to be short.
const SHORT_STEP_BYTES: usize = 40 * 1024;

/// What may be allocated after a step that has put debt off.
pub(crate) const DEFERRED_GRANULE_BYTES: usize = GRANULE_BYTES / 8;

/// What the stages between mark and sweep look at costs this fraction of marking it.
pub(crate) const STAGE_DIVISOR: usize = 8;

/// The most that a byte may pay off on its path through a cycle: with more, a cycle would be long, or not end at all.
pub const MAX_PATH: f64 = 0.5;

/// Bytes that may be allocated between two steps of a cycle that are due.
pub(crate) const GRANULE_BYTES: usize = 8 * 1024;

/// With less paid off for each byte that is marked, a step that is due runs the cycle to its end.
const MIN_MARK: f64 = 1e-6;

/// What sweeping counts for, in bytes of work for each byte.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct SweepPrices {
    keep: f64,
    drop: f64,
    free: f64,
}

impl SweepPrices {
    /// The work of sweeping a page of which so many bytes survive, and so many do not.
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "saturates"
    )]
    pub(crate) fn page(&self, kept_bytes: usize, freed_bytes: usize) -> usize {
        (kept_bytes as f64 * self.keep + freed_bytes as f64 * self.free) as usize
    }

    /// The work of running the destructors of objects of so many bytes.
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "saturates"
    )]
    pub(crate) fn dropped(&self, bytes: usize) -> usize {
        (bytes as f64 * self.drop) as usize
    }
}

impl Pacing {
    /// What suits a program that shares its machine: see the module's derivation.
    pub const DEFAULT: Self = Self {
        sleep_factor: 0.27,
        min_sleep: 512 * 1024,
        mark_factor: 0.02,
        trace_factor: 0.08,
        keep_factor: 0.0125,
        drop_factor: 0.0125,
        free_factor: 0.0125,
    };

    /// Each step that is due runs a cycle from its start to its end: work pays nothing off.
    pub const STOP_THE_WORLD: Self = Self {
        sleep_factor: 1.0,
        min_sleep: Self::DEFAULT.min_sleep,
        mark_factor: 0.0,
        trace_factor: 0.0,
        keep_factor: 0.0,
        drop_factor: 0.0,
        free_factor: 0.0,
    };

    /// These constants, with those that make no sense (negative, not a number) taken for 0, and the factors scaled down
    /// together where a cycle might not end with them.
    #[must_use]
    pub fn checked(self) -> Self {
        let sane = |factor: f64| if factor > 0.0 { factor } else { 0.0 };
        let mut sane = Self {
            sleep_factor: sane(self.sleep_factor),
            min_sleep: self.min_sleep,
            mark_factor: sane(self.mark_factor),
            trace_factor: sane(self.trace_factor),
            keep_factor: sane(self.keep_factor),
            drop_factor: sane(self.drop_factor),
            free_factor: sane(self.free_factor),
        };
        let path = (sane.mark_factor + sane.trace_factor + sane.keep_factor)
            .max(sane.drop_factor + sane.free_factor)
            .max(sane.mark_factor + sane.drop_factor + sane.keep_factor);
        if path > MAX_PATH {
            // An infinite factor leaves the others nothing, and is as much as there may be.
            let scale = |factor: f64| {
                if factor.is_infinite() {
                    MAX_PATH / 3.0
                } else {
                    factor * (MAX_PATH / path)
                }
            };
            sane.mark_factor = scale(sane.mark_factor);
            sane.trace_factor = scale(sane.trace_factor);
            sane.keep_factor = scale(sane.keep_factor);
            sane.drop_factor = scale(sane.drop_factor);
            sane.free_factor = scale(sane.free_factor);
        }
        sane
    }

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
        ((live_bytes as f64 * self.sleep_factor.max(0.0)) as usize).max(self.min_sleep)
    }

    /// As [`Pacing::sleep_bytes`], where a stretched sleep may be longer.
    #[must_use]
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "saturates"
    )]
    pub(crate) fn stretched_sleep_bytes(&self, live_bytes: usize, stretch: Stretch) -> usize {
        let sleep = self.sleep_bytes(live_bytes);
        if *self != Self::DEFAULT {
            return sleep;
        }
        let most = STRETCHED_BYTES.min(live_bytes / 5 * 3);
        ((sleep as f64 * stretch.0) as usize).min(most).max(sleep)
    }

    /// How much debt may be owed for the sake of short steps, in bytes of allocation.
    #[must_use]
    pub(crate) fn tolerated_bytes(live_bytes: usize) -> usize {
        live_bytes / TOLERATED_DIVISOR + TOLERATED_AT_LEAST_BYTES
    }

    /// The part of the debt that is paid however long it takes, in bytes of work: what is beyond the tolerated when
    /// `credit` is what is left, and `owed_bytes` of it was put off by earlier steps; and what a program that allocates much
    /// between two steps has allocated since the last one, since its steps can't be short anyway.
    #[must_use]
    pub(crate) fn pressing_bytes(
        &self,
        credit: isize,
        owed_bytes: usize,
        live_bytes: usize,
    ) -> usize {
        let beyond = |credit: isize, bytes: usize| {
            self.debt_bytes(credit.saturating_add_unsigned(bytes + GRANULE_BYTES))
        };
        match self.debt_bytes(credit) {
            usize::MAX => usize::MAX,
            _ => beyond(credit, Self::tolerated_bytes(live_bytes)).max(beyond(
                credit.saturating_add_unsigned(owed_bytes),
                SHORT_STEP_BYTES,
            )),
        }
    }

    /// What may be allocated before the next cycle, when one has ended and the heap holds `heap_bytes`.
    ///
    /// What was allocated while the cycle ran counts already, but a quarter of the sleep is always left: a heap that
    /// grew during the cycle is mostly not garbage.
    #[must_use]
    pub fn credit_after_cycle(&self, live_bytes: usize, heap_bytes: usize) -> usize {
        self.stretched_credit(live_bytes, heap_bytes, Stretch::NONE)
    }

    /// As [`Pacing::credit_after_cycle`], where a stretched sleep may be longer.
    #[must_use]
    pub(crate) fn stretched_credit(
        &self,
        live_bytes: usize,
        heap_bytes: usize,
        stretch: Stretch,
    ) -> usize {
        let sleep = self.stretched_sleep_bytes(live_bytes, stretch);
        live_bytes
            .saturating_add(sleep)
            .saturating_sub(heap_bytes)
            .max(sleep / 4)
    }

    /// The work, in bytes, that brings `credit` back to a granule; 0 while the credit is not used up. `usize::MAX`
    /// where no work ever does.
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
        let paid = self.paid_by_work();
        if paid < MIN_MARK {
            return usize::MAX;
        }
        let owed = credit.unsigned_abs().saturating_add(GRANULE_BYTES);
        (owed as f64 / paid) as usize
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
        (work_bytes as f64 * self.paid_by_work()) as usize
    }

    /// What a byte of work pays off.
    fn paid_by_work(&self) -> f64 {
        let checked = self.checked();
        checked.mark_factor + checked.trace_factor
    }

    /// What sweeping counts for.
    pub(crate) fn sweep_prices(&self) -> SweepPrices {
        let checked = self.checked();
        let paid = (checked.mark_factor + checked.trace_factor).max(MIN_MARK);
        SweepPrices {
            keep: checked.keep_factor / paid,
            drop: checked.drop_factor / paid,
            free: checked.free_factor / paid,
        }
    }
}

/// How much longer than by the [`Pacing`] alone the collector sleeps.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Stretch(f64);

impl Stretch {
    pub(crate) const NONE: Self = Self(1.0);

    const BY: f64 = 1.5;
    const MOST: f64 = 8.0;

    /// What follows from a cycle that ended so many nanoseconds after the one before, and of which steps that held the
    /// program up took `collected_ns`.
    #[must_use]
    #[allow(clippy::cast_precision_loss, reason = "a share is a rough thing")]
    pub(crate) fn after_cycle(self, collected_ns: u64, elapsed_ns: u64) -> Self {
        let share = collected_ns as f64 / elapsed_ns.max(1) as f64;
        let stretch = if share > SHARE_HIGH {
            self.0 * Self::BY
        } else if share < SHARE_LOW {
            self.0 / Self::BY
        } else {
            self.0
        };
        Self(stretch.clamp(1.0, Self::MOST))
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
    /// and the work that a cycle took, in the third cycle. All that it allocates survives the cycle under way.
    fn simulate(pacing: Pacing, live: usize) -> (usize, usize) {
        let prices = pacing.sweep_prices();
        let (mut heap, mut peak, mut work_of_cycle) = (live, 0, 0);
        let mut credit = pacing.credit_after_cycle(live, heap) as isize;
        for cycle in 0..3 {
            // Asleep.
            heap += credit as usize;
            let mut work_left = live + prices.page(live, heap - live);
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
                work_left += step + prices.page(step, 0);
                assert!(
                    allocated < 4 * live.max(pacing.min_sleep),
                    "cycle {cycle} does not end"
                );
            }
            peak = peak.max(heap + allocated);
            heap = heap + allocated - garbage;
            credit = pacing.credit_after_cycle(live, heap) as isize;
        }
        (peak, work_of_cycle)
    }

    fn path(pacing: Pacing) -> f64 {
        let Pacing {
            mark_factor: mark,
            trace_factor: trace,
            keep_factor: keep,
            drop_factor: drop,
            free_factor: free,
            ..
        } = pacing;
        (mark + trace + keep)
            .max(drop + free)
            .max(mark + drop + keep)
    }

    #[test]
    fn a_cycle_ends_and_the_peak_is_below_one_and_a_half_times_the_live_size_and_a_tenth() {
        for live in [4 << 20, 64 << 20, 1 << 30] {
            let (peak, work) = simulate(Pacing::DEFAULT, live);
            assert!(peak < live + live * 3 / 5, "{peak} for {live}");
            assert!(work < live + live / 2, "{work} for {live}");
        }
    }

    #[test]
    fn what_short_steps_put_off_is_bounded() {
        let pacing = Pacing::DEFAULT;
        for live in [1 << 20, 64 << 20] {
            let tolerated = Pacing::tolerated_bytes(live);
            let (mut owed, mut most) = (0, 0);
            // A program that allocates a granule between two steps, of which each has time for nothing.
            for _ in 0..2 * live / GRANULE_BYTES {
                let balance = -1 - (GRANULE_BYTES + owed).cast_signed();
                let pressing = pacing.pressing_bytes(balance, owed, live);
                let left = balance.unsigned_abs() - pacing.credit_of_work(pressing);
                owed = left;
                most = most.max(owed);
            }
            assert!(
                most <= tolerated + 2 * GRANULE_BYTES,
                "{most} of {tolerated}"
            );
            assert!(most >= tolerated - GRANULE_BYTES, "{most} of {tolerated}");
        }
    }

    #[test]
    fn a_program_that_allocates_much_at_a_time_puts_little_off() {
        let pacing = Pacing::DEFAULT;
        let pressing = pacing.pressing_bytes(-(1 << 20), 0, 1 << 30);
        let left = (1 << 20) - pacing.credit_of_work(pressing);
        assert!(left <= SHORT_STEP_BYTES + GRANULE_BYTES, "{left}");
        assert_eq!(
            Pacing::STOP_THE_WORLD.pressing_bytes(-1, 0, 1 << 30),
            usize::MAX
        );
    }

    #[test]
    fn a_dear_collector_sleeps_longer_and_a_cheap_one_no_longer() {
        let mut stretch = Stretch::NONE;
        for _ in 0..20 {
            stretch = stretch.after_cycle(30, 100);
        }
        for live in [1 << 20, 8 << 20, 32 << 20, 1 << 30] {
            let plain = Pacing::DEFAULT.sleep_bytes(live);
            let sleep = Pacing::DEFAULT.stretched_sleep_bytes(live, stretch);
            assert!(sleep >= plain && sleep <= plain.max(STRETCHED_BYTES));
            assert!(sleep <= plain.max(live / 5 * 3));
            let eager = Pacing {
                sleep_factor: 0.1,
                ..Pacing::DEFAULT
            };
            assert_eq!(
                eager.stretched_sleep_bytes(live, stretch),
                eager.sleep_bytes(live)
            );
        }
        for _ in 0..20 {
            stretch = stretch.after_cycle(5, 100);
        }
        assert_eq!(stretch, Stretch::NONE);
    }

    #[test]
    fn a_cycle_ends_whatever_was_set() {
        let absurd = [0.0, 0.3, 1.0, 1e9, f64::INFINITY, f64::NAN, -1.0];
        for mark in absurd {
            for trace in absurd {
                for keep in absurd {
                    let pacing = Pacing {
                        mark_factor: mark,
                        trace_factor: trace,
                        keep_factor: keep,
                        drop_factor: trace,
                        free_factor: keep,
                        ..Pacing::DEFAULT
                    };
                    let checked = path(pacing.checked());
                    assert!((0.0..=MAX_PATH + 1e-9).contains(&checked), "{pacing:?}");
                    simulate(pacing, 1 << 20);
                }
            }
        }
    }

    #[test]
    fn factors_that_are_all_right_are_left_alone() {
        assert_eq!(Pacing::DEFAULT.checked(), Pacing::DEFAULT);
        assert_eq!(Pacing::STOP_THE_WORLD.checked(), Pacing::STOP_THE_WORLD);
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
        assert_eq!(
            Pacing::STOP_THE_WORLD.sweep_prices().page(1 << 30, 1 << 30),
            0
        );
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
