//! The figures that pace purging, for all arenas together.

use super::{Arena, UNIT_BYTES, arenas, huge};
use crate::demand::Seen;
use crate::{os, purge};
use core::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};

/// Bytes in units that are free and not given back. Sequentially consistent: see [`crate::schedule`].
static PENDING_BYTES: AtomicUsize = AtomicUsize::new(0);
/// Delays that have passed, as far as turns of the purger have noticed: what released units are stamped with. Relaxed: it
/// measures age only.
static TICK: AtomicU32 = AtomicU32::new(0);
/// When the tick began. Relaxed: two that notice the end of a tick at once make two of it, which is harmless.
static TICK_BEGAN_NS: AtomicU64 = AtomicU64::new(0);
/// Set when the OS refused to take memory back; from then on no purged unit counts as zero. Relaxed: it is set before
/// the units land, and read after a claim that acquired the landing.
static REFUSED: AtomicBool = AtomicBool::new(false);
/// All bytes ever released. Relaxed, as the others below: the purger's evidence of what the program does.
static RELEASED_BYTES: AtomicUsize = AtomicUsize::new(0);
/// Bytes that had been given back and were taken again, since the purger asked last.
static RETURNED_BYTES: AtomicUsize = AtomicUsize::new(0);
/// When the first of them were.
static RETURNED_AT_NS: AtomicU64 = AtomicU64::new(0);
/// The least that was pending since the purger asked last. Two that lower it at once may leave the higher value.
static LOW_BYTES: AtomicUsize = AtomicUsize::new(0);
/// What the purger keeps for the program while it sleeps, however old it is. Sequentially consistent, as the pending bytes: a purger that
/// lowers it to 0 looks at those afterwards, and who adds to them looks at it.
static KEPT_BYTES: AtomicUsize = AtomicUsize::new(0);
/// The part of the pending bytes that can't be given back, because it is less than an OS page in each place. Relaxed: the
/// purger's last count.
static STUCK_BYTES: AtomicUsize = AtomicUsize::new(0);

/// Bytes were released.
pub(super) fn add(bytes: usize) {
    PENDING_BYTES.fetch_add(bytes, Ordering::SeqCst);
    RELEASED_BYTES.fetch_add(bytes, Ordering::Relaxed);
}

/// Bytes were given back.
pub(super) fn sub(bytes: usize) {
    if bytes != 0 {
        PENDING_BYTES.fetch_sub(bytes, Ordering::SeqCst);
    }
}

/// Takes units that a heap uses again off the pending figure; `returned` more had been given back.
pub(super) fn take(units: u32, returned: u32) {
    if units != 0 {
        let bytes = units as usize * UNIT_BYTES;
        let left = PENDING_BYTES.fetch_sub(bytes, Ordering::SeqCst);
        let left = (left.wrapping_sub(bytes) as isize).max(0) as usize;
        if left < LOW_BYTES.load(Ordering::Relaxed) {
            LOW_BYTES.store(left, Ordering::Relaxed);
        }
    }
    if returned != 0 {
        let bytes = returned as usize * UNIT_BYTES;
        if RETURNED_BYTES.fetch_add(bytes, Ordering::Relaxed) == 0 {
            RETURNED_AT_NS.store(os::now_ns(), Ordering::Relaxed);
        }
    }
}

/// The purger's memory of what it has seen.
#[derive(Default)]
pub(crate) struct Watch {
    released_bytes: usize,
    pending_bytes: usize,
}

impl Watch {
    pub(crate) const fn new() -> Self {
        Self {
            released_bytes: 0,
            pending_bytes: 0,
        }
    }

    /// What has happened since [`Self::end_turn`]. What comes while the purger looks is the next turn's.
    pub(crate) fn begin_turn(&self) -> Seen {
        let low_bytes = LOW_BYTES.load(Ordering::Relaxed);
        let returned_at_ns = RETURNED_AT_NS.load(Ordering::Relaxed);
        Seen {
            is_active: RELEASED_BYTES.load(Ordering::Relaxed) != self.released_bytes,
            returned_bytes: RETURNED_BYTES.swap(0, Ordering::Relaxed),
            returned_at_ns,
            low_bytes: (low_bytes < self.pending_bytes).then_some(low_bytes),
        }
    }

    /// What is released by the turn itself is not the program's doing.
    pub(crate) fn end_turn(&mut self) {
        self.released_bytes = RELEASED_BYTES.load(Ordering::Relaxed);
        self.pending_bytes = pending_bytes();
        LOW_BYTES.store(self.pending_bytes, Ordering::Relaxed);
    }
}

/// The purger keeps so many bytes for the program, and comes back for them by itself; gives what it kept before.
pub(crate) fn set_kept_bytes(bytes: usize) -> usize {
    KEPT_BYTES.swap(bytes, Ordering::SeqCst)
}

/// Whether what is purged reads as zero.
pub(super) fn is_zero_when_purged() -> bool {
    !REFUSED.load(Ordering::Relaxed)
}

/// The OS refused to take memory back.
pub(super) fn set_refused() {
    REFUSED.store(true, Ordering::Relaxed);
}

/// Bytes in units that are free and not given back yet.
///
/// The purger may have taken units off the figure that whoever released them has not added yet.
pub(crate) fn pending_bytes() -> usize {
    (PENDING_BYTES.load(Ordering::SeqCst) as isize).max(0) as usize
}

/// Bytes that are worth a purger's turn.
#[inline]
pub(crate) fn purgeable_bytes() -> usize {
    let left = STUCK_BYTES.load(Ordering::Relaxed) + KEPT_BYTES.load(Ordering::SeqCst);
    pending_bytes().saturating_sub(left)
}

/// The purger found so many bytes that it can't give back.
pub(crate) fn set_stuck_bytes(bytes: usize) {
    STUCK_BYTES.store(bytes, Ordering::Relaxed);
}

/// The stamp for what is released now.
pub(crate) fn tick() -> u32 {
    TICK.load(Ordering::Relaxed)
}

/// Starts the next tick, which makes everything released so far one tick older, if the last began a delay ago.
pub(crate) fn advance_tick(now_ns: u64, delay_ns: u64) -> u32 {
    let began_ns = TICK_BEGAN_NS.load(Ordering::Relaxed);
    if purge::is_over(now_ns.saturating_sub(began_ns), delay_ns) {
        TICK_BEGAN_NS.store(now_ns, Ordering::Relaxed);
        TICK.fetch_add(1, Ordering::Relaxed);
    }
    tick()
}

/// In the child of a fork, which has one thread: others may have been between a unit and its figure.
pub(crate) fn recount() {
    let bytes = huge::given_up_bytes() + arenas().map(Arena::recount).sum::<usize>();
    PENDING_BYTES.store(bytes, Ordering::SeqCst);
}
