//! How much released memory the program will want again, and for how long that is worth keeping. Pure.
//!
//! A single burst gives back all that it has freed, a period or two after its end. What was given back and is then needed again was
//! given back too early: each such page costs a fault. So that is what is learnt from: the bytes that came back are kept the next
//! time, and for somewhat longer than they were away. A program that bursts every second keeps its burst's memory from one to the
//! next, and one that bursts once keeps nothing.
//!
//! - `keep` grows by what has come back within [`REMEMBERED_NS`], up to [`MOST_KEPT_BYTES`].
//! - It shrinks while the program works: of what lay free all the time between two turns, a quarter is not kept any more, and none of it
//!   if that time was as long as `hold`.
//! - When the program has released nothing for as long as `hold`, all of it goes, and `keep` is forgotten. So a silent process comes
//!   to its floor, with one more wake-up; if it wakes up later than that and needs the memory, it is learnt that such pauses occur.
#![forbid(unsafe_code)]

/// What is kept at most, whatever comes back: some 4 ms of page faults.
const MOST_KEPT_BYTES: usize = 8 << 20;
/// Less than this coming back from one turn to the next is no reason to keep anything.
const LEARNT_BYTES: usize = 128 << 10;
/// What comes back later than this after it was released says nothing about the next time.
const REMEMBERED_NS: u64 = 75_000_000_000;
/// Beyond the time after which memory was needed again it is kept for a quarter of that time, and this.
const MARGIN_NS: u64 = 50_000_000;

/// What has happened since the turn before.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Seen {
    /// Whether memory was released.
    pub(crate) is_active: bool,
    /// Bytes that had been given back and were needed again.
    pub(crate) returned_bytes: usize,
    /// When the first of them were.
    pub(crate) returned_at_ns: u64,
    /// The least that lay free at any time, if some of it was used.
    pub(crate) low_bytes: Option<usize>,
}

/// What is known from the turns so far.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Demand {
    keep_bytes: usize,
    hold_ns: u64,
    /// The last turn.
    turn_at_ns: u64,
    /// The last turn that found memory released since the one before.
    active_at_ns: u64,
    /// What was given back and has not been needed again.
    gone_bytes: usize,
    /// When it had been released, at the latest.
    gone_since_ns: u64,
}

impl Demand {
    pub(crate) const fn new() -> Self {
        Self {
            keep_bytes: 0,
            hold_ns: 0,
            turn_at_ns: 0,
            active_at_ns: 0,
            gone_bytes: 0,
            gone_since_ns: 0,
        }
    }

    /// A turn begins; gives the bytes that are to be kept at it.
    pub(crate) fn begin_turn(&mut self, now_ns: u64, seen: Seen) -> usize {
        if seen.is_active {
            self.active_at_ns = now_ns;
        }
        let is_long = now_ns.saturating_sub(self.turn_at_ns) >= self.hold_ns;
        self.turn_at_ns = now_ns;
        self.unlearn(seen.low_bytes, is_long);
        self.learn(seen);
        if now_ns.saturating_sub(self.active_at_ns) >= self.hold_ns {
            self.keep_bytes = 0;
            self.hold_ns = 0;
        }
        self.keep_bytes
    }

    /// The turn has given so many bytes back.
    pub(crate) fn end_turn(&mut self, gave_bytes: usize) {
        if gave_bytes == 0 {
            return;
        }
        // Of two times the later one counts, which makes what comes back look as if it had been away for less.
        self.gone_bytes = self.gone_bytes.saturating_add(gave_bytes);
        self.gone_since_ns = self.active_at_ns;
    }

    /// When to look whether what is kept can go; `None` when nothing is.
    pub(crate) fn look_again_ns(&self, now_ns: u64, held_bytes: usize) -> Option<u64> {
        let end_ns = self.active_at_ns.saturating_add(self.hold_ns);
        (held_bytes != 0).then(|| end_ns.saturating_sub(now_ns).max(1_000_000))
    }

    /// What of the free memory is to wake nobody while the scavenger sleeps and so much is held: only when it comes back by itself may
    /// what is freed meanwhile wait for that.
    pub(crate) fn unreported_bytes(&self, held_bytes: usize) -> usize {
        if held_bytes == 0 { 0 } else { self.keep_bytes }
    }

    fn learn(&mut self, seen: Seen) {
        let away_ns = seen.returned_at_ns.saturating_sub(self.gone_since_ns);
        if away_ns > REMEMBERED_NS {
            self.gone_bytes = 0;
        }
        let again_bytes = seen.returned_bytes.min(self.gone_bytes);
        self.gone_bytes -= again_bytes;
        if again_bytes < LEARNT_BYTES {
            return;
        }
        // What an earlier return has left tells how slowly the program grows, not how long it pauses.
        if self.keep_bytes == 0 || away_ns <= 2 * self.hold_ns {
            self.hold_ns = self.hold_ns.max(away_ns + away_ns / 4 + MARGIN_NS);
        }
        self.keep_bytes = (self.keep_bytes + again_bytes).min(MOST_KEPT_BYTES);
    }

    fn unlearn(&mut self, low_bytes: Option<usize>, is_long: bool) {
        let unused_bytes = low_bytes.unwrap_or(0).min(self.keep_bytes);
        self.keep_bytes -= match is_long {
            true => unused_bytes,
            false => unused_bytes / 4,
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MS: u64 = 1_000_000;
    const MIB: usize = 1 << 20;

    const RELEASED: Seen = Seen {
        is_active: true,
        returned_bytes: 0,
        returned_at_ns: 0,
        low_bytes: None,
    };

    /// A burst that releases some memory, the pause after it, and the turns that come by the schedule or by what is kept. Gives the
    /// bytes that the burst had to fetch again, and when the last of the memory was given back, counted from the burst.
    fn burst(
        demand: &mut Demand,
        at_ns: u64,
        bytes: usize,
        free_bytes: &mut usize,
        pause_ns: u64,
    ) -> (usize, Option<u64>) {
        let fetched = bytes - (*free_bytes).min(bytes);
        let seen = Seen {
            returned_bytes: fetched,
            returned_at_ns: at_ns,
            low_bytes: Some(*free_bytes - (*free_bytes).min(bytes)),
            ..RELEASED
        };
        *free_bytes = bytes.max(*free_bytes);
        let (mut now_ns, mut seen, mut gone_after_ns) = (at_ns + 5 * MS, seen, None);
        while now_ns < at_ns + pause_ns {
            let keep = demand.begin_turn(now_ns, seen);
            seen = Seen::default();
            // By their age they would all go from the second turn on.
            let is_old = now_ns > at_ns + 150 * MS;
            let gave = if is_old {
                free_bytes.saturating_sub(keep)
            } else {
                0
            };
            *free_bytes -= gave;
            demand.end_turn(gave);
            if gave != 0 {
                gone_after_ns = Some(now_ns - at_ns);
            }
            now_ns += match (is_old, demand.look_again_ns(now_ns, *free_bytes)) {
                (false, _) => 100 * MS,
                (true, Some(ns)) => ns,
                (true, None) => break,
            };
        }
        (fetched, gone_after_ns)
    }

    #[test]
    fn a_single_burst_keeps_nothing() {
        let mut free = 0;
        let (_, gone) = burst(&mut Demand::new(), 1_000 * MS, 4 * MIB, &mut free, 1 << 60);
        assert_eq!(free, 0);
        assert!(gone.is_some_and(|ns| ns < 250 * MS));
    }

    #[test]
    fn a_burst_every_second_finds_its_memory_from_the_third_on_and_silence_takes_it_back() {
        let (mut demand, mut free, mut now_ns) = (Demand::new(), 0, 1_000 * MS);
        for nth in 0..10 {
            let (fetched, _) = burst(&mut demand, now_ns, 2 * MIB, &mut free, 1_000 * MS);
            assert_eq!(fetched, if nth < 2 { 2 * MIB } else { 0 }, "burst {nth}");
            now_ns += 1_000 * MS;
        }
        let (_, gone) = burst(&mut demand, now_ns, 2 * MIB, &mut free, 1 << 60);
        assert_eq!(free, 0);
        assert!(gone.is_some_and(|ns| ns > 1_000 * MS && ns < 1_500 * MS));
    }

    #[test]
    fn bursts_a_fifth_of_a_second_apart_are_forgotten_within_a_second() {
        let (mut demand, mut free, mut now_ns) = (Demand::new(), 0, 1_000 * MS);
        for _ in 0..10 {
            burst(&mut demand, now_ns, 2 * MIB, &mut free, 200 * MS);
            now_ns += 200 * MS;
        }
        let (_, gone) = burst(&mut demand, now_ns, 2 * MIB, &mut free, 1 << 60);
        assert_eq!(free, 0);
        assert!(gone.is_none_or(|ns| ns < 900 * MS), "{gone:?}");
    }

    #[test]
    fn what_is_not_used_is_kept_less_and_less() {
        let mut demand = Demand {
            keep_bytes: 4 * MIB,
            hold_ns: 1_000 * MS,
            ..Demand::new()
        };
        for turn in 1..=40 {
            let seen = Seen {
                low_bytes: Some(demand.keep_bytes.saturating_sub(MIB)),
                ..RELEASED
            };
            demand.begin_turn(turn * 100 * MS, seen);
        }
        assert!(demand.keep_bytes.abs_diff(MIB) < MIB / 100);
    }

    #[test]
    fn what_is_freed_after_a_turn_that_held_nothing_is_reported_and_goes() {
        let (mut demand, mut free, mut now_ns) = (Demand::new(), 0, 1_000 * MS);
        for _ in 0..5 {
            burst(&mut demand, now_ns, 6 * MIB, &mut free, 1_000 * MS);
            now_ns += 1_000 * MS;
        }
        // All of it in use, and something released: the scavenger will not come by itself.
        let used = Seen {
            low_bytes: Some(0),
            ..RELEASED
        };
        assert_ne!(demand.begin_turn(now_ns, used), 0);
        demand.end_turn(0);
        assert_eq!(demand.look_again_ns(now_ns, 0), None);
        assert_eq!(demand.unreported_bytes(0), 0);
        // It is all freed, which calls the scavenger; that holds it for a while, is not called for it again, and comes back.
        now_ns += 10_000 * MS;
        let held = demand.begin_turn(now_ns, RELEASED);
        demand.end_turn(6 * MIB - held.min(6 * MIB));
        assert_eq!(demand.unreported_bytes(held), held);
        if let Some(ns) = demand.look_again_ns(now_ns, held) {
            assert_eq!(demand.begin_turn(now_ns + ns, Seen::default()), 0);
        }
    }

    proptest! {
        /// Whatever happens, a bounded amount is kept, and none of it once nothing has been released for long.
        #[test]
        fn it_keeps_little_and_always_falls_silent(
            turns in prop::collection::vec((0u64..100_000, any::<bool>(), 0usize..64 << 20, 0usize..64 << 20), 1..100)
        ) {
            let (mut demand, mut now_ns) = (Demand::new(), 1);
            for (passed_ms, is_active, bytes, gave_bytes) in turns {
                now_ns += passed_ms * MS;
                let seen = Seen { is_active, returned_bytes: bytes, returned_at_ns: now_ns, low_bytes: Some(bytes / 2) };
                prop_assert!(demand.begin_turn(now_ns, seen) <= MOST_KEPT_BYTES);
                demand.end_turn(gave_bytes);
                // With nothing held it does not come back, so it must be called for whatever is freed.
                prop_assert_eq!(demand.look_again_ns(now_ns, 0), None);
                prop_assert_eq!(demand.unreported_bytes(0), 0);
            }
            // One look more at what is kept, and it is not any longer.
            if let Some(ns) = demand.look_again_ns(now_ns, 1) {
                prop_assert!(ns <= 2 * REMEMBERED_NS);
                prop_assert_eq!(demand.begin_turn(now_ns + ns, Seen::default()), 0);
            }
        }
    }
}
