//! What the scavenger remembers of a heap, or of the pages that belong to none, from one turn to the next.

use crate::options;
use crate::purge::{self, HeapPlan, HeapState, Turn};
use core::sync::atomic::{AtomicU64, Ordering};

/// When something was swept last, and since when it is dirty.
pub(crate) struct Pace {
    /// When the last complete sweep began. Relaxed, as the other: used for pacing only.
    swept_at_ns: AtomicU64,
    /// When a turn first found it dirty; 0: it is not.
    dirty_since_ns: AtomicU64,
}

impl Pace {
    pub(crate) const fn new() -> Self {
        Self {
            swept_at_ns: AtomicU64::new(0),
            dirty_since_ns: AtomicU64::new(0),
        }
    }

    /// Forgets what was noted.
    pub(crate) fn reset(&self) {
        self.swept(0);
        self.dirty_since_ns.store(0, Ordering::Relaxed);
    }

    /// It was swept whole, from this moment on.
    pub(crate) fn swept(&self, now_ns: u64) {
        self.swept_at_ns.store(now_ns, Ordering::Relaxed);
    }

    /// What to do with it at this turn, which is told so.
    pub(crate) fn plan(
        &self,
        parked: bool,
        dirt_bytes: usize,
        now_ns: u64,
        turn: &mut Turn,
    ) -> HeapPlan {
        let interval_ns = options::min_interval_ns();
        let since_sweep_ns = now_ns.saturating_sub(self.swept_at_ns.load(Ordering::Relaxed));
        let dirty_ns = match self.dirty_since_ns.load(Ordering::Relaxed) {
            0 => 0,
            since_ns => now_ns.saturating_sub(since_ns),
        };
        let state = HeapState {
            parked,
            dirt_bytes,
            since_sweep_ns,
            dirty_ns,
        };
        let plan = purge::plan(state, options::purge_delay_ns(), interval_ns);
        if plan == HeapPlan::Nothing {
            self.dirty_since_ns.store(0, Ordering::Relaxed);
        } else if self.dirty_since_ns.load(Ordering::Relaxed) == 0 {
            self.dirty_since_ns.store(now_ns.max(1), Ordering::Relaxed);
        }
        turn.heap_later |= plan == HeapPlan::Later;
        // Recent, as the schedule counts: two periods.
        turn.busy |= plan == HeapPlan::Sweep && since_sweep_ns < 3 * interval_ns;
        plan
    }
}
