//! `--stats` and `--gc-trace`: their files are opened before the program runs, so that a wrong path is told at once.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

use super::arguments::{Invocation, StatsFormat, TraceFormat};
use crate::phase_trace::PhaseTrace;
use crate::runtime::{GcTrace, Runtime};

/// Where the figures go when the program has ended.
pub(super) enum Figures {
    /// Nowhere.
    None,
    /// To standard error, as a table.
    Table,
    /// To standard error, as a line of JSON.
    Json,
    /// Into a file, as a line of JSON.
    JsonFile(PathBuf, File),
}

impl Figures {
    /// What `--stats` asks for.
    pub(super) fn open(invocation: &Invocation) -> Result<Self, String> {
        Ok(match &invocation.stats {
            None => Self::None,
            Some(StatsFormat::Table) => Self::Table,
            Some(StatsFormat::Json) => Self::Json,
            Some(StatsFormat::JsonFile(path)) => {
                let file = File::create(path).map_err(|error| cannot_write(path, &error))?;
                Self::JsonFile(path.clone(), file)
            }
        })
    }

    /// Writes the figures of the whole run.
    pub(super) fn write(self, runtime: &Runtime) -> Result<(), String> {
        match self {
            Self::None => {}
            Self::Table => complain(&runtime.stats().to_table()),
            Self::Json => complain(&(runtime.stats().to_json() + "\n")),
            Self::JsonFile(path, mut file) => {
                let line = runtime.stats().to_json() + "\n";
                file.write_all(line.as_bytes())
                    .map_err(|error| cannot_write(&path, &error))?;
            }
        }
        Ok(())
    }
}

/// What `--gc-trace` asks for.
pub(super) fn open_trace(invocation: &Invocation) -> Result<Option<GcTrace>, String> {
    Ok(match &invocation.gc_trace {
        None => None,
        Some(TraceFormat::Text) => Some(GcTrace::Text),
        Some(TraceFormat::JsonFile(path)) => {
            let trace = PhaseTrace::create(path).map_err(|error| cannot_write(path, &error))?;
            Some(GcTrace::Json(trace))
        }
    })
}

fn cannot_write(path: &Path, error: &std::io::Error) -> String {
    format!("cannot write '{}': {error}", path.display())
}

fn complain(text: &str) {
    // There is nobody to tell that standard error can't be written.
    let _ = std::io::stderr().write_all(text.as_bytes());
}
