//! What was asked for, and how it is judged.
//!
//! The limits of time were written beside figures of one machine: what counts is the ratio to gc-arena and to the floors in
//! the same run. So such a limit is scaled by each of them: what they took here, over what they took there. The others
//! (bytes, ratios, lengths of steps) are taken as they are.

use super::sample::{Cell, Measure};
use collectors::Figure;

/// A peer that a limit of time is scaled by.
#[derive(Clone, Copy, Debug)]
pub struct Anchor {
    /// The entrant.
    pub entrant: &'static str,
    /// What it took where the limit was written.
    pub then: f64,
}

/// A limit.
#[derive(Clone, Copy, Debug)]
pub struct Limit {
    /// What is limited.
    pub what: &'static str,
    /// In which workload.
    pub workload: &'static str,
    /// What of it.
    pub measure: Measure,
    /// Its unit.
    pub unit: &'static str,
    /// The limit.
    pub at_most: f64,
    /// Whom it is scaled by; nobody: it is taken as it is.
    pub anchors: &'static [Anchor],
}

/// A limit and what was found.
#[derive(Clone, Debug)]
pub struct Judged {
    /// The limit.
    pub limit: &'static Limit,
    /// What Sleepy took.
    pub found: f64,
    /// The limit here, by each anchor that ran.
    pub allowed: Vec<(&'static str, f64)>,
}

impl Judged {
    /// By whom the limit is missed.
    pub fn missed(&self) -> Vec<&'static str> {
        self.allowed
            .iter()
            .filter(|(_, allowed)| self.found > *allowed)
            .map(|(name, _)| *name)
            .collect()
    }

    /// In a word.
    pub fn verdict(&self) -> String {
        let missed = self.missed();
        match (missed.len(), self.allowed.len()) {
            (_, 0) => "–".to_owned(),
            (0, _) => "met".to_owned(),
            (m, all) if m == all => "**missed**".to_owned(),
            _ => format!("missed by {}", missed.join(", ")),
        }
    }
}

const fn by(entrant: &'static str, then: f64) -> Anchor {
    Anchor { entrant, then }
}

const fn seconds(workload: &'static str, at_most: f64, anchors: &'static [Anchor]) -> Limit {
    Limit {
        what: workload,
        workload,
        measure: Measure::CpuS,
        unit: "s",
        at_most,
        anchors,
    }
}

const fn as_it_is(
    what: &'static str,
    workload: &'static str,
    measure: Measure,
    unit: &'static str,
    at_most: f64,
) -> Limit {
    Limit {
        what,
        workload,
        measure,
        unit,
        at_most,
        anchors: &[],
    }
}

/// All limits, in the order of the table.
pub const LIMITS: &[Limit] = &[
    seconds(
        "binary_trees",
        0.8,
        &[by("gc-arena", 32.9), by("rc", 3.5), by("bump", 0.6)],
    ),
    as_it_is(
        "binary_trees: peak",
        "binary_trees",
        Measure::PeakMb,
        "MB",
        38.0,
    ),
    seconds("gcbench", 0.3, &[by("gc-arena", 5.5), by("rc", 1.2)]),
    as_it_is("gcbench: peak", "gcbench", Measure::PeakMb, "MB", 20.0),
    seconds(
        "short_lived",
        0.45,
        &[by("gc-arena", 4.4), by("box", 1.1), by("bump", 0.23)],
    ),
    seconds("list_churn", 0.6, &[by("gc-arena", 3.1), by("box", 1.0)]),
    as_it_is(
        "list_churn: peak",
        "list_churn",
        Measure::PeakMb,
        "MB",
        180.0,
    ),
    seconds("writes_in_cycle", 6.0, &[by("gc-arena", 17.5)]),
    as_it_is(
        "writes_in_cycle: longest step",
        "writes_in_cycle",
        Measure::Own(Figure::MaxStepUs),
        "µs",
        100.0,
    ),
    as_it_is(
        "an object of 16 bytes",
        "payload_16",
        Measure::Own(Figure::ObjectBytes),
        "B",
        16.8,
    ),
    as_it_is(
        "10 M objects: mark, in absolute terms",
        "full_10m",
        Measure::Own(Figure::MarkNs),
        "ns",
        7.0,
    ),
    Limit {
        what: "10 M objects: mark, scaled",
        workload: "full_10m",
        measure: Measure::Own(Figure::MarkNs),
        unit: "ns",
        at_most: 7.0,
        anchors: &[by("gc-arena", 23.0)],
    },
    as_it_is(
        "10 M objects: sweep",
        "full_10m",
        Measure::Own(Figure::SweepNs),
        "ns",
        0.2,
    ),
    as_it_is(
        "array of 10 M: longest step",
        "array_10m",
        Measure::Own(Figure::MaxStepUs),
        "µs",
        100.0,
    ),
    as_it_is(
        "array of 10 M: longest step of 15 µs",
        "array_10m",
        Measure::Own(Figure::MaxTimedUs),
        "µs",
        100.0,
    ),
    as_it_is(
        "10 M small objects: longest step",
        "steps_10m",
        Measure::Own(Figure::MaxStepUs),
        "µs",
        100.0,
    ),
    as_it_is(
        "10 M small objects: longest step of 15 µs",
        "steps_10m",
        Measure::Own(Figure::MaxTimedUs),
        "µs",
        100.0,
    ),
    as_it_is(
        "peak over live: cells",
        "steps_10m",
        Measure::Own(Figure::PeakOverLive),
        "x",
        1.6,
    ),
    as_it_is(
        "peak over live: cells and payload",
        "payload_churn",
        Measure::Own(Figure::PeakOverLive),
        "x",
        1.6,
    ),
];

/// Judges a limit; `cell` finds what an entrant did with a workload. `None` if Sleepy did not run it.
pub fn judge<'c>(
    limit: &'static Limit,
    cell: impl Fn(&str, &str) -> Option<&'c Cell>,
) -> Option<Judged> {
    let value = |entrant| cell(limit.workload, entrant)?.value(limit.measure);
    let found = value("sleepy")?;
    let allowed = if limit.anchors.is_empty() {
        vec![("itself", limit.at_most)]
    } else {
        let scaled = |a: &Anchor| Some((a.entrant, limit.at_most * value(a.entrant)? / a.then));
        limit.anchors.iter().filter_map(scaled).collect()
    };
    Some(Judged {
        limit,
        found,
        allowed,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collect::entrant::ENTRANTS;
    use collectors::list::find;

    #[test]
    fn limits_name_what_there_is() {
        for limit in LIMITS {
            assert!(find(limit.workload).is_some(), "{}", limit.workload);
            for anchor in limit.anchors {
                assert!(ENTRANTS.iter().any(|e| e.name == anchor.entrant));
            }
        }
    }

    #[test]
    fn a_verdict_says_by_whom() {
        let judged = |found| Judged {
            limit: &LIMITS[0],
            found,
            allowed: vec![("a", 1.0), ("b", 2.0)],
        };
        assert_eq!(judged(1.0).verdict(), "met");
        assert_eq!(judged(1.5).verdict(), "missed by a");
        assert_eq!(judged(2.5).verdict(), "**missed**");
    }
}
