//! The figures that pace purging, for all arenas together.

use super::{Arena, UNIT_BYTES, arenas, huge};
use crate::purge;
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
/// The part of the pending bytes that can't be given back, because it is less than an OS page in each place. Relaxed: the
/// purger's last count.
static STUCK_BYTES: AtomicUsize = AtomicUsize::new(0);

/// Bytes were released.
pub(super) fn add(bytes: usize) {
    PENDING_BYTES.fetch_add(bytes, Ordering::SeqCst);
}

/// Bytes were taken back, claimed or given back.
pub(super) fn sub(bytes: usize) {
    PENDING_BYTES.fetch_sub(bytes, Ordering::SeqCst);
}

/// Takes units off the pending figure.
pub(super) fn settle(units: u32) {
    if units != 0 {
        sub(units as usize * UNIT_BYTES);
    }
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
    pending_bytes().saturating_sub(STUCK_BYTES.load(Ordering::Relaxed))
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
