//! When whoever gives up the lock rings for a sleeper to collect. Pure.

/// What a collector is doing.
#[derive(Clone, Copy, Debug)]
pub(super) struct State {
    /// Whether a cycle is under way.
    pub works: bool,
    /// Cycles that have ended; 0 where it is not told.
    pub cycles: u64,
    /// Bytes allocated since the present cycle began, or the last one where none is under way.
    pub allocated_bytes: usize,
}

/// What the rule knows of the past.
#[derive(Debug)]
pub(super) struct Help {
    /// Cycles begun when it was asked last: a new one makes all anew, whoever has begun it.
    cycles_begun: u64,
    /// Bytes allocated since the last cycle when it rang last.
    rung_at: usize,
    /// Bytes to be allocated before it rings again.
    step: usize,
    /// Whether it has rung for the cycle under way.
    rung_for_cycle: bool,
}

/// Garbage below this wakes nobody: to be woken costs as much as to collect a fair part of it.
const FIRST_STEP: usize = 256 << 10;

impl Help {
    pub(super) const fn new() -> Self {
        Self {
            cycles_begun: 0,
            rung_at: 0,
            step: FIRST_STEP,
            rung_for_cycle: false,
        }
    }

    /// Whether to ring: once for a cycle that was left half-way, and for each stretch of allocation.
    ///
    /// A sleeper decides by its own prices whether a cycle is worth starting. If it thinks not, the next stretch is twice as long, so
    /// that there are few rings for nothing, until a cycle begins.
    ///
    /// Of a collector that does not count its cycles a new one shows by less being allocated than when it rang last.
    pub(super) fn rings(&mut self, state: State, unheeded: bool) -> bool {
        let State {
            works,
            cycles,
            allocated_bytes,
        } = state;
        let cycles_begun = cycles + u64::from(works);
        if cycles_begun != self.cycles_begun || allocated_bytes < self.rung_at || unheeded {
            (self.rung_at, self.step) = (0, FIRST_STEP);
            self.rung_for_cycle &= cycles_begun == self.cycles_begun;
            self.cycles_begun = cycles_begun;
        }
        self.rung_for_cycle &= works && !unheeded;
        if allocated_bytes - self.rung_at >= self.step {
            self.rung_at = allocated_bytes;
            self.step = self.step.saturating_mul(2);
        } else if !works || self.rung_for_cycle {
            return false;
        }
        self.rung_for_cycle = works;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KIB: usize = 1 << 10;

    /// A collector that does not count its cycles.
    fn state(works: bool, allocated_bytes: usize) -> State {
        State {
            works,
            cycles: 0,
            allocated_bytes,
        }
    }

    #[test]
    fn a_cycle_left_half_way_is_rung_for_once() {
        let mut help = Help::new();
        assert!(!help.rings(state(false, 10 * KIB), false));
        assert!(help.rings(state(true, 0), false));
        assert!(!help.rings(state(true, 20 * KIB), false));
        assert!(
            help.rings(state(true, 30 * KIB), true),
            "the first went unheard"
        );
        assert!(!help.rings(state(false, 40 * KIB), false));
        assert!(help.rings(state(true, 0), false), "another cycle");
    }

    #[test]
    fn rings_for_nothing_become_few_and_a_cycle_starts_anew() {
        let mut help = Help::new();
        let mut rings = 0;
        for kib in 0..1 << 20 {
            rings += u32::from(help.rings(state(false, kib * KIB), false));
        }
        assert_eq!(rings, 12, "for a GiB");
        assert!(!help.rings(state(false, 255 * KIB), false));
        assert!(help.rings(state(false, 256 * KIB), false));
        assert!(!help.rings(state(false, 256 * KIB), false));
        assert!(
            help.rings(state(false, 256 * KIB), true),
            "the first went unheard"
        );
    }

    #[test]
    fn it_is_silent_without_allocation() {
        let mut help = Help::new();
        help.rings(state(true, 5 << 20), false);
        for _ in 0..1000 {
            assert!(!help.rings(state(true, 5 << 20), false));
        }
        help.rings(state(false, 0), false);
        for _ in 0..1000 {
            assert!(!help.rings(state(false, 0), false));
        }
    }

    #[test]
    fn a_cycle_that_others_have_begun_makes_all_anew() {
        let counted = |cycles, works, allocated_bytes| State {
            works,
            cycles,
            allocated_bytes,
        };
        let mut help = Help::new();
        assert!(help.rings(counted(7, false, 256 * KIB), false));
        assert!(!help.rings(counted(7, false, 700 * KIB), false));
        // As much as before was allocated since, so that only the count tells.
        assert!(help.rings(counted(8, false, 700 * KIB), false));
        assert!(!help.rings(counted(8, false, 701 * KIB), false));
        assert!(help.rings(counted(8, true, 0), false));
        assert!(!help.rings(counted(8, true, 10 * KIB), false));
        assert!(
            help.rings(counted(9, true, 10 * KIB), false),
            "the next one"
        );
    }
}
