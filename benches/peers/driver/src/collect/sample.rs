//! What one process said; what many came to.

use collectors::Figure;
use peers_common::samples::median;
use peers_common::usage::Usage;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The answer of a process.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub enum Answer {
    /// It ran.
    Done(Box<Sample>),
    /// The collector cannot do this.
    NotDone {
        /// Its version.
        version: String,
        /// Why.
        not_done: String,
    },
}

/// What one run cost.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Sample {
    /// The version of the collector.
    pub version: String,
    /// A sum that is the same for all collectors.
    pub check: u64,
    /// The part of the work that was done.
    pub part: f64,
    /// What the workload used, its process's start left out.
    pub usage: Usage,
    /// How long it took.
    pub wall_ns: u64,
    /// The resident memory before.
    pub base_bytes: u64,
    /// The largest resident memory.
    pub peak_bytes: u64,
    /// What the program kept alive.
    pub live_bytes: Option<u64>,
    /// The workload's own figures.
    pub figures: BTreeMap<Figure, f64>,
}

/// What is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Measure {
    /// CPU seconds of all threads.
    CpuS,
    /// The largest resident memory in MB.
    PeakMb,
    /// A figure of the workload.
    Own(Figure),
}

/// What one entrant did with one workload.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Cell {
    /// The version of the collector.
    pub version: String,
    /// Its answers, in the order of the rounds.
    pub samples: Vec<Sample>,
    /// Why it does not do this.
    pub not_done: Option<String>,
    /// What went wrong instead.
    pub failures: Vec<String>,
}

impl Cell {
    /// Whether another round is worth its time.
    pub fn wants_more(&self, enough_s: f64) -> bool {
        let used_s: f64 = self
            .samples
            .iter()
            .map(|s| s.usage.cpu_ns as f64 / 1e9)
            .sum();
        self.not_done.is_none() && self.failures.is_empty() && used_s < enough_s
    }

    /// Takes an answer.
    pub fn take(&mut self, answer: Answer) {
        match answer {
            Answer::Done(sample) => {
                self.version.clone_from(&sample.version);
                self.samples.push(*sample);
            }
            Answer::NotDone { version, not_done } => {
                self.version = version;
                self.not_done = Some(not_done);
            }
        }
    }

    /// The median over the rounds; `None` if there is no such figure, or a run failed.
    pub fn value(&self, measure: Measure) -> Option<f64> {
        if !self.failures.is_empty() {
            return None;
        }
        let of = |s: &Sample| match measure {
            Measure::CpuS => Some(s.usage.cpu_ns as f64 / 1e9 / s.part),
            Measure::PeakMb => Some(s.peak_bytes as f64 / 1e6),
            Measure::Own(figure) => s.figures.get(&figure).copied(),
        };
        let all: Vec<f64> = self.samples.iter().filter_map(of).collect();
        (!all.is_empty()).then(|| median(&all))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn answers_are_told_apart() {
        let not = json!({"version": "1", "not_done": "no"});
        let mut cell = Cell::default();
        cell.take(serde_json::from_value(not).unwrap());
        assert_eq!(cell.not_done.as_deref(), Some("no"));
        assert!(!cell.wants_more(1.0));

        let done = json!({
            "version": "1", "check": 1, "part": 0.5, "usage": Usage { cpu_ns: 1_000_000_000, ..Usage::default() },
            "wall_ns": 1, "base_bytes": 1, "peak_bytes": 2_000_000, "live_bytes": null, "figures": {"mark_ns": 7.0},
        });
        let mut cell = Cell::default();
        cell.take(serde_json::from_value(done).unwrap());
        assert_eq!(cell.value(Measure::CpuS), Some(2.0));
        assert_eq!(cell.value(Measure::PeakMb), Some(2.0));
        assert_eq!(cell.value(Measure::Own(Figure::MarkNs)), Some(7.0));
        assert_eq!(cell.value(Measure::Own(Figure::DropNs)), None);
        assert!(cell.wants_more(2.0) && !cell.wants_more(1.0));
    }
}
