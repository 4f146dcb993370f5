//! What a process says of the allocator it runs on.

use std::time::Duration;

/// An allocator under test, as the binary that installs it describes it.
pub struct Peer {
    /// The name of the binary, without `with-`.
    pub name: &'static str,
    /// The version that is linked in, asked of the allocator itself where it can say.
    pub version: fn() -> String,
    /// Lends the thread's heap before a wait, for allocators that have such a call; `true` if it was lent.
    pub idle_start: Option<fn() -> bool>,
    /// Takes the thread's heap back after a wait.
    pub idle_end: Option<fn()>,
    /// The allocator's own counters, for those that have some.
    pub stats: Option<fn() -> Vec<Counter>>,
}

/// The name of a counter and its value.
pub type Counter = (&'static str, u64);

impl Peer {
    /// Sleeps as a program that waits would: with the thread's heap lent where the allocator knows of such a thing.
    pub fn sleep(&self, how_long: Duration) {
        if let Some(start) = self.idle_start {
            start();
        }
        std::thread::sleep(how_long);
        if let Some(end) = self.idle_end {
            end();
        }
    }
}
