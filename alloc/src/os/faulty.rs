//! Makes the k-th mapping or discard of the calling thread fail, and all after it, for tests of every failure path.

use core::cell::Cell;

/// The calls that can be made to fail.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Call {
    Map,
    Discard,
    Spawn,
}

thread_local! {
    static PLAN: Cell<Option<(Call, usize)>> = const { Cell::new(None) };
}

/// Runs `f` while calls of this kind fail on this thread after `successes` of them.
pub(crate) fn failing_after<R>(call: Call, successes: usize, f: impl FnOnce() -> R) -> R {
    struct Restore;
    impl Drop for Restore {
        fn drop(&mut self) {
            PLAN.set(None);
        }
    }
    PLAN.set(Some((call, successes)));
    let _restore = Restore;
    f()
}

/// Has calls of this kind fail on this thread after `successes` of them, until it has ended.
pub(crate) fn fail_to_the_end(call: Call, successes: usize) {
    PLAN.set(Some((call, successes)));
}

/// Whether all the calls were made that were to succeed, so that the next one fails.
pub(crate) fn is_exhausted() -> bool {
    matches!(PLAN.get(), Some((_, 0)))
}

/// Whether this call is to fail.
pub(super) fn fails(call: Call) -> bool {
    match PLAN.get() {
        Some((planned, 0)) if planned == call => true,
        Some((planned, left)) if planned == call => {
            PLAN.set(Some((planned, left - 1)));
            false
        }
        _ => false,
    }
}
