//! Purge policy: what is old enough to go, and when the scavenger comes next. Pure: it is given every figure it needs.
//!
//! Age is counted in ticks, one for each turn of the scavenger, unless the delay since the last tick has not passed yet.
//! What is stamped with one tick was released before the next tick began, so at an age of two ticks a whole delay has
//! passed since: with the default of 100 ms memory goes 100 to 200 ms after it was released.
#![forbid(unsafe_code)]

use crate::arena::UNIT_BYTES;
use crate::units::{UnitMask, Word};

/// Ticks after which released memory goes.
pub(crate) const AGE_TICKS: u32 = 2;
/// A heap with fewer free bytes than this, above what its last sweep had to leave, has nothing to give.
pub(crate) const GATE_BYTES: usize = 64 << 10;
/// As many free bytes in a heap are worth a wake at a park: less than this is a page or two that were used for a moment.
pub(crate) const DIRT_WAKE_BYTES: usize = 256 << 10;
/// As many free bytes in heaps that woke nobody each are worth a wake together.
pub(crate) const SCATTERED_WAKE_BYTES: usize = 1 << 20;
/// Released bytes anywhere that are worth a wake at a park.
pub(crate) const PENDING_GATE_BYTES: usize = 256 << 10;
/// A turn that gave back less than this to a program that goes on working makes the next one come later.
const SMALL_YIELD_BYTES: usize = 1 << 20;
/// Turns after silence in which the scavenger does not rest: a large burst takes several to give back.
const BURST_TURNS: u32 = 5;
/// While the program goes on working, the scavenger rests this many times as long as it has worked …
const REST_FACTOR: u64 = 150;
/// … but no longer than this.
const LONGEST_REST_NS: u64 = 500_000_000;

/// Which units are due, slice by slice, in one pass.
pub(crate) struct Due {
    tick: u32,
    /// Give back everything, however young.
    all: bool,
    /// What the delay of the options makes of [`AGE_TICKS`].
    age_ticks: u32,
    /// Bytes that stay however old they are: see [`crate::demand`].
    keep_bytes: usize,
    /// Of these, what the pass has found.
    held_bytes: usize,
    /// Bytes that could go and are too young.
    left_bytes: usize,
    /// Units were seen that were released since the turn before.
    saw_young: bool,
    /// Bytes that cannot go, because they are no whole OS page.
    stuck_bytes: usize,
    os_page_units: u32,
}

impl Due {
    /// The pass of a turn, by age.
    pub(crate) fn by_age(tick: u32, delay_ns: u64, os_page_bytes: usize) -> Self {
        let age_ticks = if delay_ns == 0 { 0 } else { AGE_TICKS };
        Self {
            tick,
            all: false,
            age_ticks,
            keep_bytes: 0,
            held_bytes: 0,
            left_bytes: 0,
            saw_young: false,
            stuck_bytes: 0,
            os_page_units: (os_page_bytes / UNIT_BYTES) as u32,
        }
    }

    /// The same, with so many bytes left however old they are.
    pub(crate) fn keeping(self, keep_bytes: usize) -> Self {
        Self { keep_bytes, ..self }
    }

    /// A pass that takes everything.
    pub(crate) fn everything(os_page_bytes: usize) -> Self {
        Self {
            all: true,
            ..Self::by_age(0, 0, os_page_bytes)
        }
    }

    /// The units of a slice that are to go now.
    pub(crate) fn units(&mut self, word: Word) -> UnitMask {
        let free = whole_os_pages(word.free(), self.os_page_units);
        self.stuck_bytes += (word.free() & !free).count_ones() as usize * UNIT_BYTES;
        if self.all || free == 0 {
            return free;
        }
        let age = word.age(self.tick);
        self.saw_young |= age <= 1;
        let free_bytes = free.count_ones() as usize * UNIT_BYTES;
        if age < self.age_ticks {
            self.left_bytes += free_bytes;
            return 0;
        }
        if self.held_bytes + free_bytes <= self.keep_bytes {
            self.held_bytes += free_bytes;
            return 0;
        }
        free
    }

    /// Bytes that the pass has left because they are no whole OS page.
    pub(crate) fn stuck_bytes(&self) -> usize {
        self.stuck_bytes
    }

    /// Whether memory was released since the turn before: the program is at work.
    pub(crate) fn saw_young(&self) -> bool {
        self.saw_young
    }

    /// Bytes that the pass has left because they are too young, beyond what would stay if they were not.
    pub(crate) fn left_bytes(&self) -> usize {
        (self.left_bytes + self.held_bytes).saturating_sub(self.keep_bytes)
    }

    /// Bytes that the pass has left because they are kept, or would be if they were old.
    pub(crate) fn held_bytes(&self) -> usize {
        (self.left_bytes + self.held_bytes).min(self.keep_bytes)
    }
}

/// The units of `free` that make up whole OS pages, where those are longer than a unit.
fn whole_os_pages(free: UnitMask, os_page_units: u32) -> UnitMask {
    let mut whole = free;
    let mut covered = 1;
    // After each round a bit says whether `covered` units from it on are free.
    while covered < os_page_units.min(UnitMask::BITS) {
        whole &= whole >> covered;
        covered *= 2;
    }
    let mut pages = 0;
    for first in (0..UnitMask::BITS).step_by(covered as usize) {
        if whole >> first & 1 == 1 {
            pages |= (UnitMask::MAX >> (UnitMask::BITS - covered)) << first;
        }
    }
    pages
}

/// What is known about a heap at a turn.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HeapState {
    pub(crate) parked: bool,
    /// Free bytes above what the last sweep left.
    pub(crate) dirt_bytes: usize,
    pub(crate) since_sweep_ns: u64,
    /// Time since the turn that first found it dirty; 0 at that one.
    pub(crate) dirty_ns: u64,
}

/// What to do with a heap at a turn.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum HeapPlan {
    /// It has nothing to give.
    Nothing,
    /// It is dirty, but not for long enough, or was swept just now.
    Later,
    /// Claim it and sweep it.
    Sweep,
    /// It is due and its owner is using it: let the owner do a slice at its next park.
    Ask,
}

/// Whether a time has passed; a timer may be a little early.
pub(crate) fn is_over(passed_ns: u64, time_ns: u64) -> bool {
    passed_ns >= time_ns - time_ns / 16
}

/// Decides what to do with a heap.
pub(crate) fn plan(heap: HeapState, delay_ns: u64, min_interval_ns: u64) -> HeapPlan {
    if heap.dirt_bytes < GATE_BYTES {
        return HeapPlan::Nothing;
    }
    let rested = is_over(heap.since_sweep_ns, min_interval_ns);
    if !rested || !is_over(heap.dirty_ns, delay_ns) {
        HeapPlan::Later
    } else if heap.parked {
        HeapPlan::Sweep
    } else {
        HeapPlan::Ask
    }
}

/// What a park with so much dirt adds to what lies scattered over lent heaps, where the heap has told of `told_bytes` since it was swept:
/// a loop that leaves the same dirt each time adds nothing.
pub(crate) fn untold_bytes(dirt_bytes: usize, told_bytes: usize) -> usize {
    if dirt_bytes < GATE_BYTES {
        return 0;
    }
    dirt_bytes.saturating_sub(told_bytes)
}

/// What a turn found and did.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Turn {
    /// Bytes given back.
    pub(crate) gave_bytes: usize,
    /// Bytes released that are too young to go, or came while the turn was under way.
    pub(crate) pending_bytes: usize,
    /// A dirty heap is to be looked at again.
    pub(crate) heap_later: bool,
    /// Memory was released since the turn before, or a heap was swept that had been swept a short while ago.
    pub(crate) busy: bool,
    /// Turns on the schedule before this one, since the last sleep without a timeout.
    pub(crate) in_a_row: u32,
    /// Time that the turn took.
    pub(crate) work_ns: u64,
}

/// When the next turn is due; `None` when there is nothing to come back for.
pub(crate) fn next_turn_ns(turn: Turn, delay_ns: u64, min_interval_ns: u64) -> Option<u64> {
    // After a turn that gave something the scavenger looks once more: a loop that frees steadily would wake it at once.
    if turn.gave_bytes == 0 && turn.pending_bytes == 0 && !turn.heap_later {
        return None;
    }
    let period_ns = if delay_ns == 0 {
        min_interval_ns
    } else {
        delay_ns
    }
    .max(1_000_000);
    // A burst after silence is dealt with at once.
    if !turn.busy || turn.in_a_row < 2 {
        return Some(period_ns);
    }
    let busy_ns = if turn.gave_bytes < SMALL_YIELD_BYTES {
        period_ns * 2
    } else {
        period_ns
    };
    if turn.in_a_row < BURST_TURNS {
        return Some(busy_ns);
    }
    Some(busy_ns.max((turn.work_ns * REST_FACTOR).min(LONGEST_REST_NS)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::ALL_UNITS;

    const MS: u64 = 1_000_000;
    const DIRTY: HeapState = HeapState {
        parked: true,
        dirt_bytes: 1 << 20,
        since_sweep_ns: 200 * MS,
        dirty_ns: 100 * MS,
    };

    #[test]
    fn memory_stays_for_a_whole_period() {
        let word = Word::USED.release(ALL_UNITS, 7);
        assert_eq!(Due::by_age(7, 1, 4096).units(word), 0);
        assert_eq!(Due::by_age(8, 1, 4096).units(word), 0);
        assert_eq!(Due::by_age(9, 1, 4096).units(word), ALL_UNITS);
        assert_eq!(Due::by_age(7, 0, 4096).units(word), ALL_UNITS);
        assert_eq!(Due::everything(4096).units(word), ALL_UNITS);
    }

    #[test]
    fn what_is_kept_is_left_and_nothing_to_come_back_for() {
        let old = Word::USED.release(ALL_UNITS, 7);
        let mut due = Due::by_age(9, 1, 4096).keeping(3 * crate::arena::SLICE_BYTES);
        let given = (0..5).filter(|_| due.units(old) == ALL_UNITS).count();
        assert_eq!((given, due.left_bytes()), (2, 0));
        assert_eq!(due.held_bytes(), 3 * crate::arena::SLICE_BYTES);
        // The young will be kept when they are old, as far as there is room.
        let mut due = Due::by_age(8, 1, 4096).keeping(3 * crate::arena::SLICE_BYTES);
        assert!((0..5).all(|_| due.units(old) == 0));
        assert_eq!(due.left_bytes(), 2 * crate::arena::SLICE_BYTES);
    }

    #[test]
    fn only_whole_os_pages_go() {
        assert_eq!(whole_os_pages(0b1011_0111, 1), 0b1011_0111);
        assert_eq!(whole_os_pages(0b1111_0111_1110, 4), 0b1111_0000_0000);
        assert_eq!(whole_os_pages(ALL_UNITS, 16), ALL_UNITS);
        assert_eq!(whole_os_pages(ALL_UNITS - 1, 16), 0);
        assert_eq!(whole_os_pages(0b0110, 2), 0);
        assert_eq!(whole_os_pages(0b1110, 2), 0b1100);
    }

    #[test]
    fn what_is_no_whole_os_page_is_stuck_and_not_left() {
        let mut due = Due::everything(16 << 10);
        let word = Word::USED.release(0b0111_1111, 0);
        assert_eq!(due.units(word), 0b1111);
        assert_eq!(due.stuck_bytes(), 3 * UNIT_BYTES);
        assert_eq!(due.left_bytes(), 0);
    }

    #[test]
    fn a_clean_heap_is_left_alone() {
        assert_eq!(
            plan(
                HeapState {
                    dirt_bytes: GATE_BYTES - 1,
                    ..DIRTY
                },
                1,
                100 * MS
            ),
            HeapPlan::Nothing
        );
    }

    #[test]
    fn a_heap_is_swept_when_parked_and_asked_when_not() {
        assert_eq!(plan(DIRTY, 1, 100 * MS), HeapPlan::Sweep);
        assert_eq!(
            plan(
                HeapState {
                    parked: false,
                    ..DIRTY
                },
                1,
                100 * MS
            ),
            HeapPlan::Ask
        );
        assert_eq!(
            plan(
                HeapState {
                    dirty_ns: 0,
                    ..DIRTY
                },
                1,
                100 * MS
            ),
            HeapPlan::Later
        );
        assert_eq!(
            plan(
                HeapState {
                    dirty_ns: 0,
                    ..DIRTY
                },
                0,
                100 * MS
            ),
            HeapPlan::Sweep
        );
        assert_eq!(
            plan(
                HeapState {
                    since_sweep_ns: 50 * MS,
                    ..DIRTY
                },
                1,
                100 * MS
            ),
            HeapPlan::Later
        );
    }

    #[test]
    fn heaps_that_wake_nobody_each_do_so_together_and_only_once() {
        let parks = |heaps: usize, dirt_bytes, rounds| {
            let (mut told, mut scattered) = (vec![0; heaps], 0);
            for _ in 0..rounds {
                for told in &mut told {
                    let untold = untold_bytes(dirt_bytes, *told);
                    *told += untold;
                    scattered += untold;
                }
            }
            scattered
        };
        let small = DIRT_WAKE_BYTES - 1;
        assert!(parks(200, small, 1) >= SCATTERED_WAKE_BYTES);
        assert!(parks(5, small, 1) >= SCATTERED_WAKE_BYTES);
        // A timer loop with the same dirt each turn never wakes.
        assert!(parks(4, small, 1000) < SCATTERED_WAKE_BYTES);
        assert_eq!(parks(1000, GATE_BYTES - 1, 10), 0);
    }

    #[test]
    fn with_nothing_left_it_sleeps_for_good() {
        assert_eq!(next_turn_ns(Turn::default(), 100 * MS, 100 * MS), None);
    }

    #[test]
    fn it_comes_back_once_a_period_and_rests_after_hard_work() {
        let pending = Turn {
            pending_bytes: 4096,
            ..Turn::default()
        };
        assert_eq!(next_turn_ns(pending, 100 * MS, 100 * MS), Some(100 * MS));
        let steady = Turn {
            gave_bytes: 4096,
            busy: true,
            in_a_row: 2,
            ..Turn::default()
        };
        assert_eq!(next_turn_ns(steady, 100 * MS, 100 * MS), Some(200 * MS));
        let hard = Turn {
            gave_bytes: 64 << 20,
            busy: true,
            in_a_row: BURST_TURNS,
            work_ns: 2 * MS,
            ..Turn::default()
        };
        assert_eq!(next_turn_ns(hard, 100 * MS, 100 * MS), Some(300 * MS));
        let burst = Turn {
            in_a_row: BURST_TURNS - 1,
            ..hard
        };
        assert_eq!(next_turn_ns(burst, 100 * MS, 100 * MS), Some(100 * MS));
        let first = Turn {
            in_a_row: 1,
            ..steady
        };
        assert_eq!(next_turn_ns(first, 100 * MS, 100 * MS), Some(100 * MS));
        let harder = Turn {
            work_ns: 40 * MS,
            ..hard
        };
        assert_eq!(
            next_turn_ns(harder, 100 * MS, 100 * MS),
            Some(LONGEST_REST_NS)
        );
    }
}
