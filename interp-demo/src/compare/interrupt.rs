//! Ctrl-C and SIGTERM: the loop that watches a child looks at a flag and stops the child.

use std::sync::atomic::{AtomicBool, Ordering};

use super::error::CompareError;

/// Set by the signal handler's thread, read by the loop in `child`. It publishes nothing but itself.
static REQUESTED: AtomicBool = AtomicBool::new(false);

/// Installs the handler; a second call of the process changes nothing.
pub(super) fn install() -> Result<(), CompareError> {
    match ctrlc::set_handler(|| REQUESTED.store(true, Ordering::Relaxed)) {
        Ok(()) | Err(ctrlc::Error::MultipleHandlers) => Ok(()),
        Err(error) => Err(CompareError::Prepare(error.to_string())),
    }
}

/// Whether somebody asked us to stop.
pub(super) fn requested() -> bool {
    REQUESTED.load(Ordering::Relaxed)
}
