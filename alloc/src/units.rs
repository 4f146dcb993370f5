//! The state of the sixteen 4 KiB units of a slice: one atomic word, on which owner and purger agree without a lock.
//!
//! ```text
//! 62..48    stamp   the tick in which units were released last
//! 47..32    PURGED  given back to the OS: reads as zero
//! 31..16    FLIGHT  being given back: nobody may use these units
//! 15..0     FREE    released: contents are lost, memory still resident
//! ```
//!
//! | unit in | state | who may move it on |
//! |---|---|---|
//! | no lane | used by the owner of the slice | owner: release, straight to PURGED if it has not touched them |
//! | FREE | released | owner: take; purger: start a flight |
//! | FLIGHT | `madvise` runs | the purger that started it: land |
//! | PURGED | given back | owner: take |
//!
//! A unit is in one lane at most. Releases publish the owner's last writes (release) to the purger that starts the
//! flight (acquire); landing publishes the end of `madvise` (release) to the owner that takes the unit (acquire).
//! The pure transitions are functions of [`Word`]; [`UnitWord`] applies them with a compare-and-swap.

use crate::arena::UNITS_PER_SLICE;
use core::ops::Range;
use core::sync::atomic::{AtomicU64, Ordering};

const LANE_BITS: u32 = 16;
const LANE: u64 = 0xffff;
const FLIGHT_SHIFT: u32 = LANE_BITS;
const PURGED_SHIFT: u32 = 2 * LANE_BITS;
const STAMP_SHIFT: u32 = 3 * LANE_BITS;
const STAMP_MASK: u64 = 0x7fff;

/// A set of units of one slice, bit by bit.
pub(crate) type UnitMask = u16;

/// All units of a slice.
pub(crate) const ALL_UNITS: UnitMask = u16::MAX;

/// The mask of a range of units of one slice.
pub(crate) fn mask_of(units: Range<usize>) -> UnitMask {
    debug_assert!(units.end <= UNITS_PER_SLICE);
    if units.is_empty() {
        0
    } else {
        (ALL_UNITS >> (UNITS_PER_SLICE - units.len())) << units.start
    }
}

/// One value of a unit word.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Word(u64);

impl Word {
    /// Every unit used by the owner.
    #[cfg(test)]
    pub(crate) const USED: Self = Self(0);

    pub(crate) fn free(self) -> UnitMask {
        (self.0 & LANE) as UnitMask
    }

    pub(crate) fn flight(self) -> UnitMask {
        (self.0 >> FLIGHT_SHIFT & LANE) as UnitMask
    }

    pub(crate) fn purged(self) -> UnitMask {
        (self.0 >> PURGED_SHIFT & LANE) as UnitMask
    }

    /// Units that the owner does not use.
    pub(crate) fn unused(self) -> UnitMask {
        self.free() | self.flight() | self.purged()
    }

    /// Ticks since the last release.
    pub(crate) fn age(self, tick: u32) -> u32 {
        (u64::from(tick).wrapping_sub(self.0 >> STAMP_SHIFT) & STAMP_MASK) as u32
    }

    fn lanes(self, free: UnitMask, flight: UnitMask, purged: UnitMask) -> Self {
        let rest = self.0 & STAMP_MASK << STAMP_SHIFT;
        Self(
            rest | u64::from(free)
                | u64::from(flight) << FLIGHT_SHIFT
                | u64::from(purged) << PURGED_SHIFT,
        )
    }

    fn stamped(self, tick: u32) -> Self {
        Self(self.0 & !(STAMP_MASK << STAMP_SHIFT) | (u64::from(tick) & STAMP_MASK) << STAMP_SHIFT)
    }

    /// The owner gives up `units`; those that are in a lane already stay there.
    pub(crate) fn release(self, units: UnitMask, tick: u32) -> Self {
        let fresh = units & !self.unused();
        self.lanes(self.free() | fresh, self.flight(), self.purged())
            .stamped(tick)
    }

    /// The owner gives up `units` that it has not touched since they were known to be zero.
    pub(crate) fn release_untouched(self, units: UnitMask) -> Self {
        let fresh = units & !self.unused();
        self.lanes(self.free(), self.flight(), self.purged() | fresh)
    }

    /// The owner takes `units` back; `None` while one of them is in flight.
    pub(crate) fn take(self, units: UnitMask) -> Option<Self> {
        if self.flight() & units != 0 {
            return None;
        }
        Some(self.lanes(self.free() & !units, self.flight(), self.purged() & !units))
    }

    /// The whole slice goes to a new owner; `None` while a unit is in flight.
    pub(crate) fn claim(self) -> Option<Self> {
        (self.flight() == 0).then_some(Self(0))
    }

    /// The purger takes `units`, all of which are free, to give them back.
    pub(crate) fn depart(self, units: UnitMask) -> Self {
        debug_assert_eq!(units & !self.free(), 0);
        self.lanes(self.free() & !units, self.flight() | units, self.purged())
    }

    /// The purger is done with `units`. (Where the OS refused, `Slice::land` sees to it that nothing counts as zero.)
    pub(crate) fn land(self, units: UnitMask) -> Self {
        debug_assert_eq!(units & !self.flight(), 0);
        self.lanes(self.free(), self.flight() & !units, self.purged() | units)
    }
}

/// The word of one slice, in the arena's information area.
#[repr(transparent)]
pub(crate) struct UnitWord(AtomicU64);

impl UnitWord {
    pub(crate) fn load(&self) -> Word {
        Word(self.0.load(Ordering::Acquire))
    }

    /// Applies a transition that may refuse; gives the word before and after.
    ///
    /// Sequentially consistent besides what the module's documentation says: see `Slice::release`.
    fn change(&self, mut step: impl FnMut(Word) -> Option<Word>) -> Option<(Word, Word)> {
        let mut old = self.0.load(Ordering::SeqCst);
        loop {
            let new = step(Word(old))?;
            match self
                .0
                .compare_exchange_weak(old, new.0, Ordering::SeqCst, Ordering::SeqCst)
            {
                Ok(_) => return Some((Word(old), new)),
                Err(now) => old = now,
            }
        }
    }

    /// See [`Word::release`]. Gives the units that became free.
    pub(crate) fn release(&self, units: UnitMask, tick: u32) -> UnitMask {
        self.change(|word| Some(word.release(units, tick)))
            .map_or(0, |(old, new)| new.free() & !old.free())
    }

    /// See [`Word::release_untouched`]. Gives the units that were in no lane.
    pub(crate) fn release_untouched(&self, units: UnitMask) -> UnitMask {
        self.change(|word| Some(word.release_untouched(units)))
            .map_or(0, |(old, new)| new.purged() & !old.purged())
    }

    /// See [`Word::take`]. Gives the word before.
    pub(crate) fn take(&self, units: UnitMask) -> Option<Word> {
        self.change(|word| word.take(units)).map(|(old, _)| old)
    }

    /// See [`Word::claim`]. Gives the word before.
    pub(crate) fn claim(&self) -> Option<Word> {
        self.change(Word::claim).map(|(old, _)| old)
    }

    /// Starts the flight of the free units that `choose` picks; gives them.
    pub(crate) fn depart(&self, mut choose: impl FnMut(Word) -> UnitMask) -> UnitMask {
        let departed = self.change(|word| match choose(word) & word.free() {
            0 => None,
            units => Some(word.depart(units)),
        });
        departed.map_or(0, |(old, new)| new.flight() & !old.flight())
    }

    /// See [`Word::land`].
    pub(crate) fn land(&self, units: UnitMask) {
        let landed = self.change(|word| Some(word.land(units)));
        debug_assert!(landed.is_some());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn disjoint(word: Word) -> bool {
        word.free() & word.flight() == 0
            && word.free() & word.purged() == 0
            && word.flight() & word.purged() == 0
    }

    #[test]
    fn a_mask_covers_its_range() {
        assert_eq!(mask_of(0..16), ALL_UNITS);
        assert_eq!(mask_of(3..3), 0);
        assert_eq!(mask_of(15..16), 1 << 15);
        assert_eq!(mask_of(2..5), 0b11100);
    }

    #[test]
    fn age_wraps() {
        let word = Word::USED.release(1, 0x7ffe);
        assert_eq!(word.age(0x7ffe), 0);
        assert_eq!(word.age(0x8001), 3);
    }

    #[test]
    fn a_claim_waits_for_a_flight() {
        let free = Word::USED.release(ALL_UNITS, 1);
        assert_eq!(free.depart(1).claim(), None);
        assert_eq!(free.claim(), Some(Word::USED));
        let purged = free.depart(ALL_UNITS).land(ALL_UNITS);
        assert_eq!(purged.claim(), Some(Word::USED));
    }

    proptest! {
        #[test]
        fn lanes_stay_disjoint_and_units_are_where_the_oracle_says(
            steps in prop::collection::vec((0u8..5, any::<u16>(), any::<u32>()), 1..60)
        ) {
            let mut word = Word::USED;
            // 0 used, 1 free, 2 flight, 3 purged
            let mut oracle = [0u8; 16];
            for (kind, units, tick) in steps {
                let chosen = |unit: usize| units >> unit & 1 == 1;
                match kind {
                    0 => {
                        word = word.release(units, tick);
                        for unit in (0..16).filter(|&unit| chosen(unit)) {
                            if oracle[unit] == 0 { oracle[unit] = 1 }
                        }
                    }
                    1 => {
                        let taken = word.take(units);
                        prop_assert_eq!(taken.is_none(), (0..16).any(|unit| chosen(unit) && oracle[unit] == 2));
                        if let Some(taken) = taken {
                            word = taken;
                            (0..16).filter(|&unit| chosen(unit)).for_each(|unit| oracle[unit] = 0);
                        }
                    }
                    4 => {
                        word = word.release_untouched(units);
                        for unit in (0..16).filter(|&unit| chosen(unit)) {
                            if oracle[unit] == 0 { oracle[unit] = 3 }
                        }
                    }
                    2 => {
                        let departing = units & word.free();
                        word = word.depart(departing);
                        (0..16).filter(|&unit| departing >> unit & 1 == 1).for_each(|unit| oracle[unit] = 2);
                    }
                    _ => {
                        let landing = units & word.flight();
                        word = word.land(landing);
                        (0..16).filter(|&unit| landing >> unit & 1 == 1).for_each(|unit| oracle[unit] = 3);
                    }
                }
                prop_assert!(disjoint(word));
                for (unit, &state) in oracle.iter().enumerate() {
                    let lane = (word.free() >> unit & 1) + 2 * (word.flight() >> unit & 1) + 3 * (word.purged() >> unit & 1);
                    prop_assert_eq!(lane as u8, state);
                }
            }
        }
    }
}
