//! What a runtime can be told.

use std::hash::{BuildHasher, Hasher};
use std::time::Duration;

use crate::phase_trace::PhaseTrace;

/// How the collector's work is written down while it happens.
#[derive(Debug)]
pub enum GcTrace {
    /// A line for each cycle, on standard error.
    Text,
    /// A line of JSON for each stretch of work.
    Json(PhaseTrace),
}

/// Options of a [`Runtime`](super::Runtime).
#[derive(Debug)]
pub struct Options {
    /// Whether the variables of the environment that steer Lua are ignored.
    pub ignore_environment: bool,
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
    /// Where the collector's work is written down, if at all.
    pub gc_trace: Option<GcTrace>,
    /// Seeds the hash of strings; chosen at random if none.
    pub hash_seed: Option<u32>,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            ignore_environment: false,
            sleepy: true,
            scavenger: true,
            memory_limit_bytes: None,
            time_limit: None,
            zeal: None,
            gc_trace: None,
            hash_seed: None,
        }
    }
}

impl Options {
    /// The heap size beyond which allocations fail, and are tried once more after a collection. The limit that was asked for is
    /// looked at at safe points, after a collection: who has been told there that it is passed needs some room to act.
    pub(super) fn hard_memory_limit_bytes(&self) -> Option<usize> {
        const SLACK_BYTES: usize = 4 * 1024 * 1024;
        Some(self.memory_limit_bytes?.saturating_add(SLACK_BYTES))
    }

    pub(super) fn seed(&self) -> u32 {
        self.hash_seed.unwrap_or_else(|| {
            // The standard library's hash maps are seeded by the system.
            let random = std::collections::hash_map::RandomState::new();
            random.build_hasher().finish() as u32
        })
    }
}
