//! What a runtime can be told.

use std::hash::{BuildHasher, Hasher};
use std::time::Duration;

/// Options of a [`Runtime`](super::Runtime).
#[derive(Clone, Debug)]
pub struct Options {
    /// Whether waits collect and lend the heap.
    pub sleepy: bool,
    /// Whether a scavenger thread gives memory back.
    pub scavenger: bool,
    /// The largest heap.
    pub memory_limit_bytes: Option<usize>,
    /// How long a program may run.
    pub time_limit: Option<Duration>,
    /// A step of the collector at every so many allocation opportunities, for tests.
    pub zeal: Option<u32>,
    /// Whether a line is printed for each cycle.
    pub gc_trace: bool,
    /// Seeds the hash of strings; chosen at random if none.
    pub hash_seed: Option<u32>,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            sleepy: true,
            scavenger: true,
            memory_limit_bytes: None,
            time_limit: None,
            zeal: None,
            gc_trace: false,
            hash_seed: None,
        }
    }
}

impl Options {
    pub(super) fn seed(&self) -> u32 {
        self.hash_seed.unwrap_or_else(|| {
            // The standard library's hash maps are seeded by the system.
            let random = std::collections::hash_map::RandomState::new();
            random.build_hasher().finish() as u32
        })
    }
}
