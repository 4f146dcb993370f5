//! What a step may still do.

use std::time::Instant;

use crate::pacing::{FORCED_STEP, SweepPrices};
use crate::step::Budget;

/// Pointers looked at between two looks at the clock: about 1 µs of work, some µs where memory is cold and others use it too.
pub(super) const TICKS_PER_LOOK: usize = 64;

/// Bytes that marking an object counts for, roughly.
const BYTES_PER_TICK: usize = 64;

/// A budget that is being used up.
///
/// Work is counted twice: in bytes, for pacing and for byte budgets, and in ticks (a pointer looked at, roughly), which
/// say when to look at the clock next.
pub(super) struct Meter {
    limit: Limit,
    /// The limit that was lifted.
    lifted: Option<Limit>,
    ticks: usize,
    next_look: usize,
    pub(super) work_bytes: usize,
    /// What sweeping counts for.
    pub(super) sweep: SweepPrices,
}

#[derive(Clone, Copy)]
enum Limit {
    Until(Instant),
    Bytes(usize),
    /// So many bytes, or fewer where the time is over and the pressing ones are done.
    Debt {
        bytes: usize,
        pressing: usize,
        until: Instant,
    },
    None,
}

impl Meter {
    pub(super) fn new(budget: Budget, now: Instant, sweep: SweepPrices) -> Self {
        let limit = match budget {
            Budget::Time(time) => now.checked_add(time).map_or(Limit::None, Limit::Until),
            Budget::Work(bytes) => Limit::Bytes(bytes),
            Budget::Unlimited => Limit::None,
        };
        Self {
            limit,
            lifted: None,
            ticks: 0,
            next_look: TICKS_PER_LOOK,
            work_bytes: 0,
            sweep,
        }
    }

    /// As [`Meter::new`] for a debt in bytes of work, of which the pressing ones are done however long they take.
    pub(super) fn of_debt(bytes: usize, pressing: usize, now: Instant, sweep: SweepPrices) -> Self {
        let mut meter = Self::new(Budget::Work(bytes), now, sweep);
        if pressing < bytes
            && let Some(until) = now.checked_add(FORCED_STEP)
        {
            meter.limit = Limit::Debt {
                bytes,
                pressing,
                until,
            };
        }
        meter
    }

    /// Counts work that was done. Work that a program can make any amount of counts some bytes too, or else a step with a
    /// budget of bytes would do it all.
    #[inline]
    pub(super) fn spend(&mut self, ticks: usize, bytes: usize) {
        self.ticks += ticks;
        self.work_bytes += bytes;
    }

    /// Whether the budget is used up. Looks at the clock only every so often.
    #[inline]
    pub(super) fn is_empty(&mut self) -> bool {
        match self.limit {
            Limit::Bytes(bytes) => self.work_bytes >= bytes,
            Limit::None => false,
            Limit::Debt {
                bytes, pressing, ..
            } => {
                self.work_bytes >= bytes
                    || self.ticks >= self.next_look && self.work_bytes >= pressing && self.look()
            }
            Limit::Until(_) => self.ticks >= self.next_look && self.look(),
        }
    }

    /// How many pointers marking may look at before it comes back to the budget.
    #[inline]
    pub(super) fn ticks_of_marking(&self) -> usize {
        match self.limit {
            Limit::Bytes(bytes) | Limit::Debt { bytes, .. } => {
                (bytes.saturating_sub(self.work_bytes) / BYTES_PER_TICK).clamp(1, TICKS_PER_LOOK)
            }
            Limit::Until(_) | Limit::None => TICKS_PER_LOOK,
        }
    }

    #[cold]
    fn look(&mut self) -> bool {
        self.next_look = self.ticks + TICKS_PER_LOOK;
        match self.limit {
            Limit::Until(end) | Limit::Debt { until: end, .. } if Instant::now() >= end => {
                self.limit = Limit::Bytes(0);
                true
            }
            _ => false,
        }
    }

    /// Lets the step go on without a limit, until it [settles](Self::settle).
    pub(super) fn lift(&mut self) {
        self.lifted
            .get_or_insert(std::mem::replace(&mut self.limit, Limit::None));
    }

    /// Puts the limit back that was lifted.
    pub(super) fn settle(&mut self) {
        if let Some(limit) = self.lifted.take() {
            self.limit = limit;
        }
    }

    /// Fuel for a piece of work that counts in bytes and can't look at the clock: a few µs' worth.
    pub(super) const PIECE_BYTES: usize = 1024;
}
