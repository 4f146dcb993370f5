//! What a stretch of turns cost: CPU by thread, sleeps of threads, counters of the allocator.

use crate::counters;
use crate::tasks::{Role, Tasks};
use peers_common::peer::Peer;
use serde_json::{Map, Value, json};
use std::io;
use std::time::Instant;

/// The state at the start of a stretch.
pub struct Report {
    start: Instant,
    stats: Map<String, Value>,
    tasks: Tasks,
}

impl Report {
    /// Starts to count.
    pub fn start(peer: &Peer) -> io::Result<Self> {
        Ok(Self {
            stats: counters::now(peer),
            tasks: Tasks::now()?,
            start: Instant::now(),
        })
    }

    /// The figures of the stretch, in which there were so many turns or requests.
    pub fn finish(self, peer: &Peer, turns: u64) -> io::Result<Value> {
        let wall_ns = self.start.elapsed().as_nanos() as u64;
        let tasks = Tasks::now()?;
        let stats = counters::since(peer, &self.stats);
        Ok(json!({
            "turns": turns,
            "wall_ns": wall_ns,
            "main": tasks.since(&self.tasks, Role::Main),
            "own": tasks.since(&self.tasks, Role::Own),
            "helpers": tasks.since(&self.tasks, Role::Helper),
            "stats": stats,
        }))
    }
}
