//! What is told to `tracing`, where the feature of that name is on: the target is `sleepy_gc`.
//!
//! | event | level | fields, beside `arena` ([`Metrics::arena_id`]) |
//! |---|---|---|
//! | `cycle begins` | debug | `cause`, `heap_bytes` |
//! | `phase` | debug | `phase` |
//! | `step` | trace | `idle`, `ns`, `work_bytes`, `freed_bytes`, `phase` |
//! | `cycle ends` | debug | `live_bytes`, `live_objects`, `freed_bytes` (ever) |
//! | `out of memory` | warn | `heap_bytes`, `limit_bytes` |

#![cfg_attr(
    not(feature = "tracing"),
    allow(unused_variables, reason = "nothing is told")
)]

use crate::metrics::{Cause, Metrics};
use crate::step::{CollectionPhase, Progress};

/// A cycle was begun.
#[inline]
pub(super) fn cycle_begins(metrics: &Metrics, cause: Cause) {
    #[cfg(feature = "tracing")]
    tracing::debug!(
        target: "sleepy_gc",
        arena = metrics.arena_id(),
        ?cause,
        heap_bytes = metrics.heap_bytes(),
        "cycle begins"
    );
}

/// Another phase was reached.
#[inline]
pub(super) fn phase(metrics: &Metrics, phase: CollectionPhase) {
    #[cfg(feature = "tracing")]
    tracing::debug!(target: "sleepy_gc", arena = metrics.arena_id(), ?phase, "phase");
}

/// A step was made.
#[inline]
pub(super) fn step(metrics: &Metrics, idle: bool, ns: u64, progress: &Progress) {
    #[cfg(feature = "tracing")]
    tracing::trace!(
        target: "sleepy_gc",
        arena = metrics.arena_id(),
        idle,
        ns,
        work_bytes = progress.work_bytes,
        freed_bytes = progress.freed_bytes,
        phase = ?progress.phase,
        "step"
    );
}

/// A cycle came to its end.
#[inline]
pub(super) fn cycle_ends(metrics: &Metrics) {
    #[cfg(feature = "tracing")]
    tracing::debug!(
        target: "sleepy_gc",
        arena = metrics.arena_id(),
        live_bytes = metrics.live_bytes(),
        live_objects = metrics.live_objects(),
        freed_bytes = metrics.freed_bytes(),
        "cycle ends"
    );
}

/// An allocation was refused.
#[inline]
pub(super) fn out_of_memory(metrics: &Metrics, limit_bytes: usize) {
    #[cfg(feature = "tracing")]
    tracing::warn!(
        target: "sleepy_gc",
        arena = metrics.arena_id(),
        heap_bytes = metrics.heap_bytes(),
        limit_bytes,
        "out of memory"
    );
}
