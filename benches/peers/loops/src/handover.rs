//! Telling the allocator of a wait.

use peers_common::peer::Peer;

/// Whether and how a program tells its allocator of its waits.
#[derive(Clone, Copy)]
pub struct HandOver {
    start: fn() -> bool,
    end: fn(),
}

impl HandOver {
    /// The calls of `peer` where it has them and `wanted` is true; else calls that do nothing.
    pub fn new(peer: &Peer, wanted: bool) -> Self {
        match (peer.idle_start, peer.idle_end) {
            (Some(start), Some(end)) if wanted => Self { start, end },
            _ => Self {
                start: || false,
                end: || {},
            },
        }
    }

    /// Runs `wait`, which neither allocates nor frees, with the thread's heap lent.
    pub fn around<R>(self, wait: impl FnOnce() -> R) -> R {
        (self.start)();
        let result = wait();
        (self.end)();
        result
    }
}
