//! A record of what the collector did when, written by a running interpreter and read by `compare`.
//!
//! `--gc-trace=json:FILE` makes the runtime write one line of JSON for each [`Span`]. Times are those
//! of `CLOCK_MONOTONIC`, which all processes of a machine share, so that `compare` can lay the spans
//! under memory that it sampled from outside. Spans of one kind that follow each other closely become
//! one line; what lies between the spans is running code, or a wait in which nothing was lent.

use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, Write};
use std::path::Path;

use rustix::time::{ClockId, clock_gettime};
use serde::{Deserialize, Serialize};

/// Spans of one kind closer together than this are written as one.
const MERGE_GAP_US: u64 = 50;

/// What the collector was doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// Marking in a wait.
    IdleMark,
    /// Sweeping in a wait.
    IdleSweep,
    /// Marking because running code had to.
    ForcedMark,
    /// Sweeping because running code had to.
    ForcedSweep,
    /// The heap was lent to the scavenger.
    Parked,
}

/// A stretch of time in one phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Span {
    /// What was done.
    pub phase: Phase,
    /// Its begin, in microseconds of the monotonic clock.
    pub start_us: u64,
    /// Its end.
    pub end_us: u64,
}

/// The monotonic clock in microseconds, the same for every process of the machine.
#[must_use]
pub fn now_us() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec.cast_unsigned() * 1_000_000 + now.tv_nsec.cast_unsigned() / 1_000
}

/// The writing end, held by the runtime.
#[derive(Debug)]
pub struct PhaseTrace {
    output: BufWriter<File>,
    open: Option<Span>,
}

impl PhaseTrace {
    /// Creates the file, or empties it.
    ///
    /// # Errors
    /// What the system says about the path.
    pub fn create(path: &Path) -> io::Result<Self> {
        Ok(Self {
            output: BufWriter::new(File::create(path)?),
            open: None,
        })
    }

    /// Notes that `phase` lasted from `start_us` to `end_us`; spans come in the order of time.
    ///
    /// # Errors
    /// What the system says about the write; the trace is then best given up.
    pub fn record(&mut self, phase: Phase, start_us: u64, end_us: u64) -> io::Result<()> {
        if let Some(open) = &mut self.open
            && open.phase == phase
            && start_us.saturating_sub(open.end_us) < MERGE_GAP_US
        {
            open.end_us = end_us;
            return Ok(());
        }
        let next = Span {
            phase,
            start_us,
            end_us,
        };
        self.open
            .replace(next)
            .map_or(Ok(()), |done| self.write(done))
    }

    /// Writes out what is held back; to be called at exit.
    ///
    /// # Errors
    /// What the system says about the write.
    pub fn finish(mut self) -> io::Result<()> {
        if let Some(done) = self.open.take() {
            self.write(done)?;
        }
        self.output.flush()
    }

    fn write(&mut self, span: Span) -> io::Result<()> {
        serde_json::to_writer(&mut self.output, &span)?;
        self.output.write_all(b"\n")
    }
}

/// Reads a whole trace. A last line that was cut short (the process was killed) is left out.
///
/// # Errors
/// What the system says about the file.
pub fn read(path: &Path) -> io::Result<Vec<Span>> {
    let mut spans = Vec::new();
    for line in BufReader::new(File::open(path)?).lines() {
        let Ok(span) = serde_json::from_str(&line?) else {
            break;
        };
        spans.push(span);
    }
    Ok(spans)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn close_spans_of_one_phase_become_one() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("trace");
        let mut trace = PhaseTrace::create(&path).expect("a file");
        for (phase, start_us, end_us) in [
            (Phase::IdleMark, 100, 120),
            (Phase::IdleMark, 130, 150),
            (Phase::IdleSweep, 151, 160),
            (Phase::IdleSweep, 1_000, 1_010),
            (Phase::Parked, 1_010, 9_000),
        ] {
            trace.record(phase, start_us, end_us).expect("a write");
        }
        trace.finish().expect("a flush");
        let spans = read(&path).expect("a trace");
        let expected = [
            Span {
                phase: Phase::IdleMark,
                start_us: 100,
                end_us: 150,
            },
            Span {
                phase: Phase::IdleSweep,
                start_us: 151,
                end_us: 160,
            },
            Span {
                phase: Phase::IdleSweep,
                start_us: 1_000,
                end_us: 1_010,
            },
            Span {
                phase: Phase::Parked,
                start_us: 1_010,
                end_us: 9_000,
            },
        ];
        assert_eq!(spans, expected);
    }

    #[test]
    fn a_line_cut_short_ends_the_trace() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("trace");
        let whole = r#"{"phase":"parked","start_us":1,"end_us":2}"#;
        std::fs::write(&path, format!("{whole}\n{}", &whole[..20])).expect("a write");
        assert_eq!(read(&path).expect("a trace").len(), 1);
    }
}
