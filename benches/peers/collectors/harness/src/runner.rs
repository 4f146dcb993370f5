//! One run of a workload on a collector: the counters before and after.

use crate::list::{Size, find};
use crate::outcome::{Figure, Result};
use crate::stack;
use peers_common::proc;
use peers_common::usage::measure;
use serde_json::json;

/// A collector under test.
pub struct Collector {
    /// Its name in tables and on the command line.
    pub name: &'static str,
    /// Its version.
    pub version: &'static str,
    /// Runs the workload of that name.
    pub run: fn(&str, Size) -> Result,
    /// Whether it marks or drops by recursion, as deep as the structure is.
    pub recursive: bool,
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The command line is wrong.
    #[error("usage: WORKLOAD COLLECTOR [quick]")]
    Usage,
    /// The stack cannot be made larger.
    #[error("a deep stack: {0}")]
    Stack(#[from] std::io::Error),
    /// There is no such workload.
    #[error("no workload {0}")]
    Workload(String),
    /// There is no such collector.
    #[error("no collector {0}")]
    Collector(String),
}

/// Runs what `args` ask for, `WORKLOAD COLLECTOR [quick]`, and answers with JSON.
///
/// # Errors
/// [`RunError`].
pub fn run(
    collectors: &[Collector],
    args: &[String],
) -> std::result::Result<serde_json::Value, RunError> {
    let (workload, name, quick) = match args {
        [workload, name] => (workload, name, false),
        [workload, name, word] if word == "quick" => (workload, name, true),
        _ => return Err(RunError::Usage),
    };
    let workload = find(workload).ok_or_else(|| RunError::Workload(workload.clone()))?;
    let collector = collectors
        .iter()
        .find(|c| c.name == name)
        .ok_or_else(|| RunError::Collector(name.clone()))?;
    if collector.recursive {
        stack::deepen()?;
    }
    let size = if quick { workload.quick } else { workload.full };
    let base_bytes = proc::rss_bytes();
    let (result, usage, wall_ns) = measure(|| (collector.run)(workload.name, size));
    let mut outcome = match result {
        Ok(outcome) => outcome,
        Err(reason) => return Ok(json!({ "version": collector.version, "not_done": reason.0 })),
    };
    let peak_bytes = proc::peak_rss_bytes();
    if let Some(live) = outcome.live_bytes {
        let own = peak_bytes.saturating_sub(base_bytes);
        outcome
            .figures
            .insert(Figure::PeakOverLive, own as f64 / live as f64);
    }
    Ok(json!({
        "version": collector.version,
        "check": outcome.check,
        "part": outcome.part.unwrap_or(1.0),
        "usage": usage,
        "wall_ns": wall_ns,
        "base_bytes": base_bytes,
        "peak_bytes": peak_bytes,
        "live_bytes": outcome.live_bytes,
        "figures": outcome.figures,
    }))
}
