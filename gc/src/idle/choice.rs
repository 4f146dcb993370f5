//! Which cycles a collector with two generations is to make: young ones with a full one now and then, or full ones only.
//!
//! Let a full cycle cost `F` and a young one `Y`, and let `s` be the share of what is allocated that survives a young cycle and dies
//! later. A program that may hold `E` bytes of garbage either has a full cycle for each `E` bytes, which costs `F / E` a byte, or a young
//! one for each `N` bytes and a full one when `P` bytes have become old to die, `N + P = E`. That costs `Y / N + s F / P`, least
//! `(√Y + √(s F))² / E`. So young cycles are worth it while `√(Y / F) + √s < 1`, whatever `E` is.
//!
//! A cache of documents, half of whose garbage is documents, is better off with full cycles; a large heap beside which a
//! program makes nothing but short-lived garbage with young ones. `Y`, `F` and `s` are measured; where the program makes full cycles
//! only, a young one is tried now and then, as `s` can't be seen otherwise. Pure.

use super::collector::IdleHint;

/// Young cycles are given up where the sum is more than the first, and taken up again where it is less than the second. Both are below 1:
/// the split of `E` is hardly ever the best one, and old marks cost stores their barriers.
const TOO_MUCH: f64 = 0.9;
const LITTLE_ENOUGH: f64 = 0.75;

/// After so many full cycles a young one is tried.
const TRIAL_CYCLES: u32 = 16;

/// Less than this that has become old says nothing about how much of it dies.
const TELLING_BYTES: f64 = (64 << 10) as f64;

/// What is known of the program's garbage, and the choice that follows.
#[derive(Debug, Default)]
pub(super) struct Choice {
    /// The share of what was allocated that a young cycle has found alive, lately.
    survives: Option<f64>,
    /// The share of what had become old that a full cycle has found dead, lately.
    dies_old: Option<f64>,
    full_only: bool,
    /// Full cycles since a young one was tried.
    full_cycles: u32,
    is_trial: bool,
}

impl Choice {
    /// Whether the next cycle is to be a full one, whatever is due.
    pub(super) fn wants_full(&self) -> bool {
        self.full_only && !self.is_trial
    }

    /// A full cycle is about to start: whether what it finds alive is to be old, so that a young one may follow.
    pub(super) fn keeps_old(&mut self) -> bool {
        if self.full_only {
            self.full_cycles += 1;
            self.is_trial = self.full_cycles > TRIAL_CYCLES;
        }
        !self.wants_full()
    }

    /// A young cycle has ended that began as `before` says.
    pub(super) fn young_ended(&mut self, before: &IdleHint, live_bytes: usize) {
        (self.full_cycles, self.is_trial) = (0, false);
        if before.allocated_bytes_since_cycle != 0 {
            let promoted_bytes = live_bytes.saturating_sub(before.live_bytes);
            let share = promoted_bytes as f64 / before.allocated_bytes_since_cycle as f64;
            smooth(&mut self.survives, share);
        }
    }

    /// A full cycle has ended that began as `before` says.
    pub(super) fn full_ended(&mut self, before: &IdleHint, live_bytes: usize) {
        let Some(survives) = self.survives else {
            return;
        };
        // What a young cycle would have left of what is new would have become old as well.
        let new_bytes = survives * before.allocated_bytes_since_cycle as f64;
        let old_bytes = before.promoted_bytes as f64 + new_bytes;
        if old_bytes >= TELLING_BYTES {
            let dead_bytes = before.live_bytes as f64 + new_bytes - live_bytes as f64;
            smooth(&mut self.dies_old, dead_bytes / old_bytes);
        }
    }

    /// Chooses anew: cycles of the two kinds would cost so much now.
    pub(super) fn choose(&mut self, young_ns: u64, full_ns: u64) {
        let (Some(survives), Some(dies_old)) = (self.survives, self.dies_old) else {
            return;
        };
        let ratio = young_ns as f64 / full_ns.max(1) as f64;
        let sum = ratio.sqrt() + (survives * dies_old).sqrt();
        let most = if self.full_only {
            LITTLE_ENOUGH
        } else {
            TOO_MUCH
        };
        self.full_only = sum > most;
    }
}

/// The mean of the last few shares.
fn smooth(mean: &mut Option<f64>, share: f64) {
    let share = share.clamp(0.0, 1.0);
    *mean = Some(mean.map_or(share, |mean| (mean + share) / 2.0));
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: usize = 1 << 20;

    /// A program that allocates for ever beside 10 MiB, of which cycles cost `young_ns` and 4 ms.
    fn chosen(survives_percent: usize, dies_percent: usize, young_ns: u64) -> bool {
        let mut choice = Choice::default();
        let (mut live, mut promoted) = (10 * MIB, 0);
        let mut young_next = true;
        for _ in 0..200 {
            let before = IdleHint {
                allocated_bytes_since_cycle: MIB,
                live_bytes: live,
                promoted_bytes: promoted,
                young_next,
                ..IdleHint::default()
            };
            let new = MIB * survives_percent / 100;
            if young_next && promoted < MIB && !choice.wants_full() {
                (live, promoted) = (live + new, promoted + new);
                choice.young_ended(&before, live);
            } else {
                young_next = choice.keeps_old();
                let lives = (promoted + new) * (100 - dies_percent) / 100;
                (live, promoted) = (live - promoted + lives, 0);
                choice.full_ended(&before, live);
            }
            choice.choose(young_ns, 4_000_000);
        }
        choice.full_only
    }

    #[test]
    fn what_dies_old_speaks_for_full_cycles_and_what_dies_young_or_lives_against_them() {
        for (survives_percent, dies_percent, young_ns, full_only) in [
            (50, 100, 1_000_000, true),
            (3, 100, 200_000, false),
            (50, 0, 1_000_000, false),
            (3, 100, 4_000_000, true),
            (60, 90, 100_000, false),
        ] {
            assert_eq!(
                chosen(survives_percent, dies_percent, young_ns),
                full_only,
                "{survives_percent} % survive, {dies_percent} % of them die, {young_ns} ns"
            );
        }
    }

    #[test]
    fn nothing_is_chosen_before_both_kinds_were_seen() {
        let mut choice = Choice::default();
        choice.choose(1, 1);
        assert!(!choice.wants_full() && choice.keeps_old());
    }

    #[test]
    fn a_young_cycle_is_tried_now_and_then_and_brings_the_old_ways_back() {
        let mut choice = Choice {
            survives: Some(0.5),
            dies_old: Some(1.0),
            ..Choice::default()
        };
        choice.choose(1_000_000, 2_000_000);
        for _ in 0..TRIAL_CYCLES {
            assert!(choice.wants_full() && !choice.keeps_old());
        }
        assert!(choice.keeps_old() && !choice.wants_full());
        let before = IdleHint {
            allocated_bytes_since_cycle: MIB,
            live_bytes: MIB,
            ..IdleHint::default()
        };
        // The program has changed: next to nothing survives.
        for _ in 0..8 {
            choice.young_ended(&before, MIB);
            choice.choose(100_000, 2_000_000);
        }
        assert!(!choice.wants_full() && choice.keeps_old());
    }
}
