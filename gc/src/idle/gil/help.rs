//! When whoever gives up the lock rings for a sleeper to collect. Pure.

/// What the rule knows of the past: since the present cycle began, or the last one where none is under way. Made anew by who starts one.
#[derive(Debug)]
pub(super) struct Help {
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
    /// A cycle that began without its knowing shows by less being allocated than when it rang last, sooner or later.
    pub(super) fn rings(&mut self, works: bool, allocated_bytes: usize, unheeded: bool) -> bool {
        if allocated_bytes < self.rung_at || unheeded {
            (self.rung_at, self.step) = (0, FIRST_STEP);
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

    #[test]
    fn a_cycle_left_half_way_is_rung_for_once() {
        let mut help = Help::new();
        assert!(!help.rings(false, 10 * KIB, false));
        assert!(help.rings(true, 0, false));
        assert!(!help.rings(true, 20 * KIB, false));
        assert!(help.rings(true, 30 * KIB, true), "the first went unheard");
        assert!(!help.rings(false, 40 * KIB, false));
        assert!(help.rings(true, 0, false), "another cycle");
    }

    #[test]
    fn rings_for_nothing_become_few_and_a_cycle_starts_anew() {
        let mut help = Help::new();
        let mut rings = 0;
        for kib in 0..1 << 20 {
            rings += u32::from(help.rings(false, kib * KIB, false));
        }
        assert_eq!(rings, 12, "for a GiB");
        assert!(!help.rings(false, 255 * KIB, false));
        assert!(help.rings(false, 256 * KIB, false));
        assert!(!help.rings(false, 256 * KIB, false));
        assert!(help.rings(false, 256 * KIB, true), "the first went unheard");
    }

    #[test]
    fn it_is_silent_without_allocation() {
        let mut help = Help::new();
        help.rings(true, 5 << 20, false);
        for _ in 0..1000 {
            assert!(!help.rings(true, 5 << 20, false));
        }
        help.rings(false, 0, false);
        for _ in 0..1000 {
            assert!(!help.rings(false, 0, false));
        }
    }
}
