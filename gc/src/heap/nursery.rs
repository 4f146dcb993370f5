//! When a generational collector makes a young cycle, and when a full one. Pure: bytes in, bytes out.
//!
//! What a cycle has found alive is old; a young cycle looks at the rest only, and makes what it finds alive old too. What
//! dies when it is old is found by a full cycle.
//!
//! Let `L` be what the last full cycle found alive, and `s` the pacing's sleep factor, or [`LEAST_SLEEP`] if that is more: with less,
//! nearly every cycle would be a full one. A cycle starts when a [`NURSERY`]th of what may be allocated between two cycles without
//! generations was allocated since the last one. If old objects and another nursery would exceed `(1 + s) L`, the
//! cycle that comes next is a full one, and comes soon: at `(1 + s) L` and half a nursery at the latest.

use crate::pacing::Pacing;

/// What the heap may grow by from one full cycle to the next at least, as a part of what the last one found alive.
const LEAST_SLEEP: f64 = 0.6;

/// What is allocated between two cycles, as a divisor of what is allocated without generations.
const NURSERY: usize = 3;

/// What may be allocated before the next cycle, when one has ended and the heap holds `grown_bytes` more than it found alive: at least
/// a quarter of a nursery, and no more than that where the next cycle is a full one, which is due already.
pub(super) fn credit_bytes(
    pacing: &Pacing,
    live_bytes: usize,
    grown_bytes: usize,
    full_next: bool,
) -> usize {
    let nursery = nursery_bytes(pacing, live_bytes);
    if full_next {
        nursery / 4
    } else {
        nursery.saturating_sub(grown_bytes).max(nursery / 4)
    }
}

/// What the heap may grow by from one full cycle to the next.
fn sleep_bytes(pacing: &Pacing, live_bytes: usize) -> usize {
    let at_least = Pacing {
        sleep_factor: pacing.sleep_factor.max(LEAST_SLEEP),
        ..*pacing
    };
    at_least.sleep_bytes(live_bytes)
}

/// What is allocated from the start of one cycle to that of the next.
fn nursery_bytes(pacing: &Pacing, live_bytes: usize) -> usize {
    (sleep_bytes(pacing, live_bytes) / NURSERY).max(pacing.min_sleep)
}

/// Whether so much has become old since the last full cycle that the next one is to be full too.
pub(super) fn is_full_due(pacing: &Pacing, old_bytes: usize, live_at_full_bytes: usize) -> bool {
    old_bytes.saturating_add(nursery_bytes(pacing, old_bytes))
        > live_at_full_bytes
            .saturating_add(sleep_bytes(pacing, live_at_full_bytes))
            .saturating_add(pacing.min_sleep)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: usize = 1 << 20;

    #[test]
    fn a_nursery_is_a_fifth_of_what_is_alive() {
        let pacing = Pacing::DEFAULT;
        assert_eq!(nursery_bytes(&pacing, 100 * MIB), 20 * MIB);
        assert_eq!(nursery_bytes(&pacing, 0), pacing.min_sleep);
    }

    #[test]
    fn a_full_cycle_is_due_when_old_objects_and_a_nursery_are_too_much() {
        let pacing = Pacing::DEFAULT;
        assert!(!is_full_due(&pacing, 133 * MIB, 100 * MIB));
        assert!(is_full_due(&pacing, 135 * MIB, 100 * MIB));
        assert!(!is_full_due(&pacing, pacing.min_sleep, 0));
    }

    /// A program with a constant live size, a part of which dies old: the heap never holds more than is promised, and a full
    /// cycle comes for a nursery's worth of what became old at most.
    #[test]
    fn the_heap_is_bounded_and_full_cycles_are_rare() {
        let pacing = Pacing::DEFAULT;
        let live = 100 * MIB;
        for promoted_percent in [1, 10, 50, 100] {
            let (mut old, mut peak, mut full, mut full_next) = (live, 0, 0, false);
            let mut allocated = 0;
            for _ in 0..1000 {
                let nursery = credit_bytes(&pacing, old, 0, full_next);
                allocated += nursery;
                peak = peak.max(old + nursery);
                if full_next {
                    old = live;
                    full += 1;
                } else {
                    old += nursery * promoted_percent / 100;
                }
                full_next = is_full_due(&pacing, old, live);
            }
            let bound = live + sleep_bytes(&pacing, live) + nursery_bytes(&pacing, live) / 2;
            assert!(peak <= bound, "{peak} for {promoted_percent} %");
            let promoted = allocated * promoted_percent / 100;
            assert!(full <= promoted / nursery_bytes(&pacing, live), "{full}");
            assert!(full > 0);
        }
    }
}
