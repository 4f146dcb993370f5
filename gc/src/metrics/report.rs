//! All that an arena's counters say at one moment, as values, as a table, and as JSON.

use std::fmt;

use super::{Cause, Metrics};
use crate::idle::Histogram;
use crate::step::CollectionPhase;

/// The counters of an arena at one moment: see [`Metrics::report`]. Its `Display` is a table.
///
/// With the feature `serde` it is `Serialize`, the fields' names being the keys; the feature `json` has `Report::to_json`.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct Report {
    /// [`Metrics::arena_id`].
    pub arena_id: u64,
    /// [`Metrics::phase`].
    pub phase: CollectionPhase,
    /// [`Metrics::heap_bytes`].
    pub heap_bytes: usize,
    /// [`Metrics::total_gc_count`].
    pub objects: usize,
    /// [`Metrics::external_bytes`].
    pub external_bytes: usize,
    /// [`Metrics::live_bytes`].
    pub live_bytes: usize,
    /// [`Metrics::live_objects`].
    pub live_objects: usize,
    /// [`Metrics::allocated_bytes`].
    pub allocated_bytes: u64,
    /// [`Metrics::allocated_objects`].
    pub allocated_objects: u64,
    /// [`Metrics::freed_bytes`].
    pub freed_bytes: u64,
    /// [`Metrics::freed_objects`].
    pub freed_objects: u64,
    /// [`Metrics::delegated_bytes`].
    pub delegated_bytes: u64,
    /// [`Metrics::delegated_pages`].
    pub delegated_pages: u64,
    /// [`Metrics::allocation_debt`].
    pub debt_bytes: f64,
    /// [`Metrics::cycles`].
    pub cycles: u64,
    /// [`Metrics::cycles_begun`].
    pub cycles_by_cause: CyclesByCause,
    /// [`Metrics::steps_idle`].
    pub steps_idle: u64,
    /// [`Metrics::steps_forced`].
    pub steps_forced: u64,
    /// [`Metrics::step_times`].
    pub step_times: StepTimesReport,
}

/// Cycles that were begun, by [`Cause`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct CyclesByCause {
    /// [`Cause::Allocation`].
    pub allocation: u64,
    /// [`Cause::Idle`].
    pub idle: u64,
    /// [`Cause::Explicit`].
    pub explicit: u64,
    /// [`Cause::Emergency`].
    pub emergency: u64,
}

/// How long steps took: [`StepTimes`](super::StepTimes) by some of their quantiles.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct StepTimesReport {
    /// Steps made while the program waited.
    pub idle: Quantiles,
    /// Steps that the running program had to make.
    pub forced: Quantiles,
    /// Time of steps in marking.
    pub marking: Quantiles,
    /// Time of steps in which weak containers forgot the dead.
    pub clearing: Quantiles,
    /// Time of steps in sweeping.
    pub sweeping: Quantiles,
}

/// Some quantiles of a histogram, each at most one sixteenth too large; all 0 where nothing was counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct Quantiles {
    /// How many were counted.
    pub count: u64,
    /// The median.
    pub p50_ns: u64,
    /// What 90 of 100 do not exceed.
    pub p90_ns: u64,
    /// What 99 of 100 do not exceed.
    pub p99_ns: u64,
    /// What 999 of 1000 do not exceed.
    pub p999_ns: u64,
    /// The longest, exactly.
    pub max_ns: u64,
}

impl From<&Histogram> for Quantiles {
    fn from(histogram: &Histogram) -> Self {
        Self {
            count: histogram.count(),
            p50_ns: histogram.quantile(0.5),
            p90_ns: histogram.quantile(0.9),
            p99_ns: histogram.quantile(0.99),
            p999_ns: histogram.quantile(0.999),
            max_ns: histogram.max(),
        }
    }
}

impl Metrics {
    /// All counters, read one after the other.
    ///
    /// ```
    /// use sleepy_gc::{Arena, Gc, Rootable};
    ///
    /// let mut arena = Arena::<Rootable![Gc<'_, u64>]>::new(|mc| Gc::new(mc, 7));
    /// arena.finish_cycle();
    /// let report = arena.metrics().report();
    /// assert_eq!((report.objects, report.cycles_by_cause.explicit), (1, 1));
    /// assert_eq!(report.step_times.marking.count, 1);
    /// println!("{report}");
    /// ```
    #[must_use]
    pub fn report(&self) -> Report {
        let times = self.step_times();
        Report {
            arena_id: self.arena_id(),
            phase: self.phase(),
            heap_bytes: self.heap_bytes(),
            objects: self.total_gc_count(),
            external_bytes: self.external_bytes(),
            live_bytes: self.live_bytes(),
            live_objects: self.live_objects(),
            allocated_bytes: self.allocated_bytes(),
            allocated_objects: self.allocated_objects(),
            freed_bytes: self.freed_bytes(),
            freed_objects: self.freed_objects(),
            delegated_bytes: self.delegated_bytes(),
            delegated_pages: self.delegated_pages(),
            debt_bytes: self.allocation_debt(),
            cycles: self.cycles(),
            cycles_by_cause: CyclesByCause {
                allocation: self.cycles_begun(Cause::Allocation),
                idle: self.cycles_begun(Cause::Idle),
                explicit: self.cycles_begun(Cause::Explicit),
                emergency: self.cycles_begun(Cause::Emergency),
            },
            steps_idle: self.steps_idle(),
            steps_forced: self.steps_forced(),
            step_times: StepTimesReport {
                idle: (&times.idle).into(),
                forced: (&times.forced).into(),
                marking: (&times.marking).into(),
                clearing: (&times.clearing).into(),
                sweeping: (&times.sweeping).into(),
            },
        }
    }
}

/// A [`Report`] made on the spot.
#[cfg(feature = "serde")]
impl serde::Serialize for Metrics {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.report().serialize(serializer)
    }
}

impl Report {
    /// The report as JSON, with the names of the fields as keys.
    ///
    /// # Panics
    ///
    /// Never: numbers and names have a form in JSON.
    #[cfg(feature = "json")]
    #[must_use]
    pub fn to_json(&self) -> String {
        serde_json::to_string_pretty(self).expect("numbers and names have a form in JSON")
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "arena {}, {:?}", self.arena_id, self.phase)?;
        writeln!(f, "{:<10} {:>14} {:>14}", "", "objects", "bytes")?;
        let rows = [
            ("heap", self.objects as u64, self.heap_bytes as u64),
            ("live", self.live_objects as u64, self.live_bytes as u64),
            ("allocated", self.allocated_objects, self.allocated_bytes),
            ("freed", self.freed_objects, self.freed_bytes),
        ];
        for (name, objects, bytes) in rows {
            writeln!(f, "{name:<10} {objects:>14} {bytes:>14}")?;
        }
        writeln!(
            f,
            "{:<10} {:>14} {:>14}",
            "external", "", self.external_bytes
        )?;
        writeln!(f, "{:<10} {:>14} {:>14}", "debt", "", self.debt_bytes)?;
        let CyclesByCause {
            allocation,
            idle,
            explicit,
            emergency,
        } = self.cycles_by_cause;
        writeln!(
            f,
            "cycles {}, begun by: allocation {allocation}, idle {idle}, explicit {explicit}, emergency {emergency}",
            self.cycles
        )?;
        writeln!(
            f,
            "{:<10} {:>10} {:>10} {:>10} {:>10} {:>10} {:>10}",
            "steps, ns", "count", "p50", "p90", "p99", "p99.9", "max"
        )?;
        let times = &self.step_times;
        let rows = [
            ("idle", times.idle),
            ("forced", times.forced),
            ("marking", times.marking),
            ("clearing", times.clearing),
            ("sweeping", times.sweeping),
        ];
        for (name, of) in rows {
            writeln!(
                f,
                "{name:<10} {:>10} {:>10} {:>10} {:>10} {:>10} {:>10}",
                of.count, of.p50_ns, of.p90_ns, of.p99_ns, of.p999_ns, of.max_ns
            )?;
        }
        Ok(())
    }
}
