//! The registry of all arenas of the process.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use crossbeam_epoch::{Atomic, Guard, Owned, Shared as EpochShared};

use super::Metrics;

/// The metrics of all arenas of the process, as a list that is replaced as a whole.
///
/// Release by the writer that publishes a list, acquire by readers: they see the list's contents. An old list is freed
/// when no pinned reader can hold it.
static ARENAS: Atomic<Vec<Metrics>> = Atomic::null();

/// The metrics of all arenas that are alive, whichever thread they belong to.
///
/// Never blocks, and never blocks others that create or drop arenas meanwhile.
#[must_use]
pub fn arenas() -> Vec<Metrics> {
    let guard = crossbeam_epoch::pin();
    list(ARENAS.load(Ordering::Acquire, &guard)).to_vec()
}

fn list<'g>(shared: EpochShared<'g, Vec<Metrics>>) -> &'g [Metrics] {
    // SAFETY: a list is freed only when no guard that was pinned while it was current is left, and its contents never
    // change.
    unsafe { shared.as_ref() }.map_or(&[], Vec::as_slice)
}

/// Replaces the list by what `change` makes of it.
fn update(guard: &Guard, change: impl Fn(&[Metrics]) -> Vec<Metrics>) {
    let mut current = ARENAS.load(Ordering::Acquire, guard);
    loop {
        let next = Owned::new(change(list(current)));
        match ARENAS.compare_exchange(current, next, Ordering::AcqRel, Ordering::Acquire, guard) {
            Ok(_) => break,
            Err(lost) => current = lost.current,
        }
    }
    if !current.is_null() {
        // SAFETY: the list was taken off by this thread, and nobody can reach it any more but pinned readers.
        unsafe { guard.defer_destroy(current) };
    }
}

pub(crate) fn register(metrics: &Metrics) {
    update(&crossbeam_epoch::pin(), |arenas| {
        arenas.iter().chain([metrics]).cloned().collect()
    });
}

pub(crate) fn unregister(metrics: &Metrics) {
    let is_other = |other: &&Metrics| !Arc::ptr_eq(&other.counters, &metrics.counters);
    update(&crossbeam_epoch::pin(), |arenas| {
        arenas.iter().filter(is_other).cloned().collect()
    });
}
