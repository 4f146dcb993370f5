//! The figures that the runtime gives of itself: those of `gc.stats()` and `--stats`.

use std::fs;
use std::time::Instant;

use rustix::time::ClockId;
use sleepy_gc::idle::{Histogram, Sleeper};
use sleepy_gc::metrics::Cause;

use super::WatchedArena;
use super::watched::now_ns;
use crate::stats::{CyclesByCause, Quantiles, Stats};

/// How things stand now.
pub(super) fn stats(arena: &WatchedArena, sleeper: &Sleeper, started: Instant) -> Stats {
    let metrics = arena.metrics();
    let seen = arena.seen();
    let mut sleep = seen.ended.clone();
    sleep.add(sleeper.stats());
    let alloc = sleepy_alloc::stats();
    let (resident_bytes, peak_resident_bytes) = resident_bytes();
    Stats {
        heap_bytes: metrics.heap_bytes() as u64,
        cycles: metrics.cycles(),
        cycles_by_cause: CyclesByCause {
            idle: metrics.cycles_begun(Cause::Idle),
            debt: metrics.cycles_begun(Cause::Allocation),
            request: metrics.cycles_begun(Cause::Explicit),
            memory: metrics.cycles_begun(Cause::Emergency),
        },
        idle_steps: seen.idle_steps,
        forced_steps: seen.forced_steps,
        forced_ns: seen.forced_ns,
        pause: quantiles(&seen.pause),
        finalizers: seen.finalizers,

        waits: sleep.waits,
        probes: sleep.probes,
        steps: sleep.steps,
        cycles_started: sleep.cycles_started,
        collected_ns: sleep.collected_ns,
        parks: sleep.parks,
        step_overrun: quantiles(&sleep.step_overrun),

        live_bytes: alloc.live_bytes,
        committed_bytes: alloc.committed_bytes,
        holed_bytes: alloc.holed_bytes,
        purged_bytes: alloc.purged_bytes,
        purge_calls: alloc.purge_calls,
        park_wakes: alloc.park_wakes,
        scavenger_turns: alloc.scavenger_turns,
        parked_sweeps: alloc.parked_sweeps,
        aborted_sweeps: alloc.aborted_sweeps,
        abandoned_pages: alloc.abandoned_pages,
        abandoned_bitmaps: alloc.abandoned_bitmaps,
        arenas: alloc.arenas,
        reclaim_wait_max_ns: alloc.reclaim_wait_max_ns,

        resident_bytes,
        peak_resident_bytes,
        cpu_ns: now_ns(ClockId::ProcessCPUTime),
        elapsed_ns: u64::try_from(started.elapsed().as_nanos()).unwrap_or(u64::MAX),
    }
}

fn quantiles(histogram: &Histogram) -> Quantiles {
    Quantiles {
        count: histogram.count(),
        p50_ns: histogram.quantile(0.5),
        p99_ns: histogram.quantile(0.99),
        p999_ns: histogram.quantile(0.999),
        max_ns: histogram.max(),
    }
}

/// Resident memory of this process, and the most that it ever was; 0 where the system doesn't tell.
fn resident_bytes() -> (u64, u64) {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let field = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name));
        let kilobytes = line.and_then(|rest| rest.split_ascii_whitespace().next());
        kilobytes
            .and_then(|kilobytes| kilobytes.parse::<u64>().ok())
            .unwrap_or(0)
            * 1024
    };
    (field("VmRSS:"), field("VmHWM:"))
}
