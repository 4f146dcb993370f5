//! What can go wrong with a comparison.

use std::io;
use std::path::PathBuf;

use thiserror::Error;

/// The reasons for exit code 1 (and 130 for the interrupt).
#[derive(Debug, Error)]
pub(super) enum CompareError {
    /// The script is missing or can't be read.
    #[error("cannot open script '{}': {error}", path.display())]
    Script { path: PathBuf, error: io::Error },

    /// `--peer` is not a command line.
    #[error("cannot run peer '{peer}': {reason}")]
    Peer { peer: String, reason: String },

    /// `--json` or `--html` can't be written.
    #[error("cannot write '{}': {error}", path.display())]
    Output { path: PathBuf, error: io::Error },

    /// The path of this very program is unknown.
    #[error("cannot find the interpreter's own executable: {0}")]
    OwnExecutable(io::Error),

    /// A file for a run, or the handler of the interrupt.
    #[error("cannot prepare the runs: {0}")]
    Prepare(String),

    /// A process could not be started or watched.
    #[error("mode '{mode}': cannot {what}: {error}")]
    Process {
        mode: String,
        what: &'static str,
        error: io::Error,
    },

    /// The script failed in a mode.
    #[error("the script failed in mode '{mode}' ({status}){}", indent(stderr))]
    Failed {
        mode: String,
        status: String,
        stderr: String,
    },

    /// What a run left behind can't be understood.
    #[error("mode '{mode}': cannot read its {what}: {reason}")]
    Result {
        mode: String,
        what: &'static str,
        reason: String,
    },

    /// Two runs came to different results.
    #[error("the results differ: {0}")]
    Disagreement(String),

    /// The picture could not be drawn.
    #[error("cannot draw the chart: {0}")]
    Chart(String),

    /// Ctrl-C, or a request to end.
    #[error("interrupted; the running script was stopped")]
    Interrupted,
}

/// The script's own messages, each line set in under ours.
fn indent(stderr: &str) -> String {
    let mut indented = String::new();
    for line in stderr.lines() {
        indented.push_str("\n  ");
        indented.push_str(line);
    }
    indented
}
