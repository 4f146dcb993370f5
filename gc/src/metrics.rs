//! The counters of an arena.

/// Why a cycle was started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// Allocation reached the trigger.
    Allocation,
    /// The program was about to wait.
    Idle,
    /// The program asked.
    Explicit,
    /// Memory ran out.
    Emergency,
}

/// The counters of an arena.
#[derive(Debug, Default)]
pub struct Metrics {
    pub(crate) allocated_bytes: std::cell::Cell<usize>,
}

impl Metrics {
    /// Bytes of live and not yet swept objects, payload and external memory.
    pub fn heap_bytes(&self) -> usize {
        self.allocated_bytes.get()
    }
}
