//! Errors of operations that allocate.

use std::fmt;

/// Memory has run out, or the heap limit is reached; the value that was to be stored is inside.
#[derive(thiserror::Error)]
#[error("out of memory")]
pub struct AllocError<T = ()> {
    value: T,
}

impl<T> AllocError<T> {
    pub(crate) fn new(value: T) -> Self {
        Self { value }
    }

    /// Takes back the value.
    pub fn into_inner(self) -> T {
        self.value
    }
}

impl<T> fmt::Debug for AllocError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AllocError")
    }
}
