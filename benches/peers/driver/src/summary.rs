//! What many samples come to, and the means.

use crate::compare::Cell;
use crate::plan::Plan;
use crate::sample::Sample;
use peers_common::samples::{geometric_mean, least, median};
use serde::Serialize;
use workloads::list::Kind;

/// What is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Measure {
    /// CPU milliseconds of the timed round: the least, as neighbours can only add.
    CpuMs,
    /// Wall milliseconds of the timed round: the median.
    WallMs,
    /// The largest resident memory, in MB: the median.
    PeakMb,
    /// The same without what comes from files.
    PeakAnonMb,
    /// The resident memory after the rounds, in MB: the median.
    EndMb,
    /// The resident memory after a wait, in MB.
    SettledMb,
    /// Page faults of the timed round: the median.
    Faults,
    /// Until the process had shrunk, in milliseconds: the median of the rounds in which it did.
    ShrinkMs,
}

impl Measure {
    /// All of them.
    pub const ALL: [Self; 8] = [
        Self::CpuMs,
        Self::WallMs,
        Self::PeakMb,
        Self::PeakAnonMb,
        Self::EndMb,
        Self::SettledMb,
        Self::Faults,
        Self::ShrinkMs,
    ];

    /// The figure in one sample.
    fn of(self, s: &Sample) -> Option<f64> {
        let mb = |bytes: u64| bytes as f64 / 1e6;
        Some(match self {
            Self::CpuMs => s.usage.cpu_ns as f64 / 1e6,
            Self::WallMs => s.wall_ns as f64 / 1e6,
            Self::PeakMb => mb(s.peak_bytes),
            Self::PeakAnonMb => mb(s.peak_bytes.saturating_sub(s.file_bytes)),
            Self::EndMb => mb(s.end_bytes),
            Self::SettledMb => mb(s.settled_bytes?),
            Self::Faults => s.usage.minor_faults as f64,
            Self::ShrinkMs => s.shrink_ns? as f64 / 1e6,
        })
    }

    /// The figure of a cell; `None` if no sample has it, or some run failed.
    pub fn value(self, cell: &Cell) -> Option<f64> {
        let all: Vec<f64> = cell.samples.iter().filter_map(|s| self.of(s)).collect();
        if all.is_empty() || !cell.failures.is_empty() {
            return None;
        }
        Some(match self {
            Self::CpuMs => least(&all),
            _ => median(&all),
        })
    }

    /// Whether a workload of this kind has a part in the mean of this measure.
    fn counts(self, kind: Kind) -> bool {
        kind == Kind::Work || !matches!(self, Self::CpuMs | Self::WallMs | Self::Faults)
    }
}

/// One peer against the anchor, over all workloads.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Against {
    /// The geometric mean of the ratios.
    pub mean: f64,
    /// The largest ratio.
    pub worst: f64,
    /// The workload that it comes from.
    pub worst_case: String,
    /// How many workloads have a part in it.
    pub cases: usize,
}

/// The peer in column `peer` against the one in column `anchor`.
pub fn against(
    measure: Measure,
    plan: &Plan,
    cells: &[Vec<Cell>],
    peer: usize,
    anchor: usize,
) -> Against {
    let mut ratios = Vec::new();
    let mut result = Against::default();
    for (case, row) in plan.cases.iter().zip(cells) {
        if !measure.counts(case.workload.kind) {
            continue;
        }
        let (Some(own), Some(its)) = (measure.value(&row[peer]), measure.value(&row[anchor]))
        else {
            continue;
        };
        if own <= 0.0 || its <= 0.0 {
            continue;
        }
        let ratio = own / its;
        if ratio > result.worst {
            result.worst = ratio;
            result.worst_case = case.label();
        }
        ratios.push(ratio);
    }
    result.mean = geometric_mean(&ratios);
    result.cases = ratios.len();
    result
}
