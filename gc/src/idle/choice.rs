//! Which cycles a collector with two generations is to make: young ones with a full one now and then, or full ones only.
//!
//! Let a full cycle cost `F` and a young one `Y`, and let a share `s` of what is allocated survive a young cycle and die later. Full cycles
//! only, one for each `E` bytes, cost `F / E` a byte, and leave `E` bytes of garbage at most. Young cycles, one for each `N` bytes, with a full
//! one whenever `P` bytes have become old, cost `Y / N + s F / P`, and leave `N + P`. Either way the cost falls as the garbage grows,
//! their product stays; so that is what is compared: `F` with `(Y / N + s F / P) (N + P)`.
//!
//! A cache of documents, half of whose garbage is documents, is better off with full cycles; a large heap beside which a
//! program makes nothing but short-lived garbage with young ones. `Y`, `F` and `s` are measured; where the program makes full cycles
//! only, a young one is tried now and then, as `s` can't be seen otherwise. Pure.

use super::collector::IdleHint;

/// Young cycles are given up where full ones are dearer by less than the first factor, and taken up again where they are dearer by more than
/// the second. Both are above 1, since old marks cost stores their barriers.
const GIVEN_UP: f64 = 1.2;
const TAKEN_UP: f64 = 1.5;

/// After so many full cycles a young one is tried.
const TRIAL_CYCLES: u32 = 16;

/// Less than this that has become old says nothing about how much of it dies.
const TELLING_BYTES: f64 = (64 << 10) as f64;

/// What the two ways cost, and when their cycles are due.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ways {
    /// The CPU time of a young cycle.
    pub young_ns: u64,
    /// That of a full one.
    pub full_ns: u64,
    /// What is allocated before a young cycle, at least 1.
    pub young_bytes: u64,
    /// What becomes old before a full cycle, where there are young ones, at least 1.
    pub promoted_bytes: u64,
}

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

    /// A young cycle has ended that began as `before` says, and freed so much.
    pub(super) fn young_ended(&mut self, before: &IdleHint, live_bytes: usize, freed_bytes: usize) {
        (self.full_cycles, self.is_trial) = (0, false);
        // What was allocated during the cycle before belongs to that, so the count of what was allocated since is no measure.
        let promoted_bytes = live_bytes.saturating_sub(before.live_bytes);
        let new_bytes = promoted_bytes.saturating_add(freed_bytes);
        if new_bytes != 0 {
            smooth(&mut self.survives, promoted_bytes as f64 / new_bytes as f64);
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

    /// Chooses anew, where the two ways are as they are now.
    pub(super) fn choose(&mut self, ways: Ways) {
        let (Some(survives), Some(dies_old)) = (self.survives, self.dies_old) else {
            return;
        };
        let [young_ns, full_ns] = [ways.young_ns, ways.full_ns].map(|ns| ns.max(1) as f64);
        let [young_bytes, promoted_bytes] =
            [ways.young_bytes, ways.promoted_bytes].map(|bytes| bytes as f64);
        let ns_per_byte = young_ns / young_bytes + survives * dies_old * full_ns / promoted_bytes;
        let dearer = match self.full_only {
            true => TAKEN_UP,
            false => GIVEN_UP,
        };
        self.full_only = full_ns < dearer * ns_per_byte * (young_bytes + promoted_bytes);
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

    /// The ways of a program with young cycles for each 384 KiB, and full ones for each 500 KiB that become old.
    fn ways(young_ns: u64, full_ns: u64) -> Ways {
        Ways {
            young_ns,
            full_ns,
            young_bytes: 384 << 10,
            promoted_bytes: 500 << 10,
        }
    }

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
                choice.young_ended(&before, live, MIB - new);
            } else {
                young_next = choice.keeps_old();
                let lives = (promoted + new) * (100 - dies_percent) / 100;
                (live, promoted) = (live - promoted + lives, 0);
                choice.full_ended(&before, live);
            }
            choice.choose(ways(young_ns, 4_000_000));
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
            (20, 90, 100_000, false),
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
        choice.choose(ways(1, 1));
        assert!(!choice.wants_full() && choice.keeps_old());
    }

    #[test]
    fn a_young_cycle_is_tried_now_and_then_and_brings_the_old_ways_back() {
        let mut choice = Choice {
            survives: Some(0.5),
            dies_old: Some(1.0),
            ..Choice::default()
        };
        choice.choose(ways(1_000_000, 2_000_000));
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
            choice.young_ended(&before, MIB, MIB);
            choice.choose(ways(100_000, 2_000_000));
        }
        assert!(!choice.wants_full() && choice.keeps_old());
    }
}
