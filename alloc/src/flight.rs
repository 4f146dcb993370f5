//! Giving released units back to the OS, in maximal runs.
//!
//! A pass walks the pending bits of every arena, 64 slices (4 MiB) at a time. Units that are due depart (nobody else
//! can use them now), go back in one call for each run of neighbours, and land. Neither heaps nor allocations wait for
//! it: see [`crate::units`]. The work lock is held for a whole group, so that no unit is in flight and no
//! pending bit in somebody's hands when the process forks.

use crate::arena::{self, Arena, Slice, UNIT_BYTES, UNITS_PER_SLICE};
use crate::purge::Due;
use crate::units::{UnitMask, mask_of};
use crate::{fork, os, stats};

/// Gives back what is due, until `limit_bytes` are reached; gives the number of bytes that the OS took.
pub(crate) fn pass(due: &mut Due, limit_bytes: usize) -> usize {
    let mut given = 0;
    for arena in arena::arenas() {
        for word in 0..arena.pending_words() {
            if given >= limit_bytes {
                return given;
            }
            given += group(arena, word, due);
        }
    }
    given + unmap_huge()
}

fn unmap_huge() -> usize {
    if !arena::huge::has_given_up() {
        return 0;
    }
    // Those that are taken off the list and not unmapped yet, a fork's child would keep for good.
    let _working = fork::work();
    let bytes = arena::huge::unmap_given_up();
    if bytes != 0 {
        stats::PURGE_CALLS.add(1);
        stats::PURGED_BYTES.add(bytes as u64);
    }
    bytes
}

/// Gives back what is due in the 64 slices of one word of pending bits.
fn group(arena: &'static Arena, word: usize, due: &mut Due) -> usize {
    if !arena.has_pending(word) {
        return 0;
    }
    let _working = fork::work();
    let mut run = Flight::empty(arena);
    for slice in arena.take_pending(word) {
        let units = slice.depart(|word| due.units(word));
        if slice.units().load().free() != 0 {
            slice.mark_pending();
        }
        run.add(slice, units);
    }
    run.land();
    run.given
}

/// A run of neighbouring units that departed together, counted from the start of the arena.
struct Flight {
    arena: &'static Arena,
    start: usize,
    end: usize,
    /// Bytes that the OS has taken so far, this run and those before it.
    given: usize,
}

impl Flight {
    fn empty(arena: &'static Arena) -> Self {
        Self {
            arena,
            start: 0,
            end: 0,
            given: 0,
        }
    }

    /// Adds the units of a slice; runs that it does not touch are landed first.
    fn add(&mut self, slice: Slice, units: UnitMask) {
        let base = slice.index * UNITS_PER_SLICE;
        let mut rest = units;
        while rest != 0 {
            let first = rest.trailing_zeros() as usize;
            let count = (rest >> first).trailing_ones() as usize;
            rest &= !mask_of(first..first + count);
            if self.end != base + first {
                self.land();
                self.start = base + first;
            }
            self.end = base + first + count;
        }
    }

    /// Gives the run back and lets its units land.
    fn land(&mut self) {
        if self.start == self.end {
            return;
        }
        let bytes = (self.end - self.start) * UNIT_BYTES;
        let slice = |unit: usize| Slice {
            arena: self.arena,
            index: unit / UNITS_PER_SLICE,
        };
        // SAFETY: the unit lies in its slice.
        let start = unsafe {
            slice(self.start)
                .start()
                .add(self.start % UNITS_PER_SLICE * UNIT_BYTES)
        };
        // SAFETY: whole OS pages of an arena (the policy picks no others), which nobody uses while they are in flight.
        let given_back = unsafe { os::discard(start, bytes) };
        let mut unit = self.start;
        while unit < self.end {
            let base = unit - unit % UNITS_PER_SLICE;
            let end = self.end.min(base + UNITS_PER_SLICE);
            slice(unit).land(mask_of(unit - base..end - base), given_back);
            unit = end;
        }
        stats::PURGE_CALLS.add(1);
        if given_back {
            stats::PURGED_BYTES.add(bytes as u64);
            self.given += bytes;
        }
        self.start = self.end;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_fork_comes_while_huge_blocks_are_unmapped() {
        let run = arena::huge::map(1 << 20, 1).unwrap();
        let address = run.ptr.addr().get();
        // A fork holds it, too.
        let working = fork::work();
        // SAFETY: mapped above and used by nobody.
        unsafe { arena::huge::give_up(run.ptr) };
        let purger = std::thread::spawn(unmap_huge);
        std::thread::sleep(std::time::Duration::from_millis(20));
        assert!(arena::find(address).is_some());
        drop(working);
        purger.join().unwrap();
        assert!(arena::find(address).is_none());
    }
}
