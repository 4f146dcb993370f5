//! An allocator's own counters, as JSON.

use peers_common::peer::Peer;
use serde_json::{Map, Value};

/// The counters now; none where the allocator has none.
pub fn now(peer: &Peer) -> Map<String, Value> {
    let pairs = peer.stats.map(|stats| stats()).unwrap_or_default();
    let pairs = pairs.into_iter();
    pairs
        .map(|(name, value)| (name.to_owned(), value.into()))
        .collect()
}

/// Counters that say how much there is at a moment, and not how much there was so far.
const LEVELS: [&str; 8] = [
    "pending_bytes",
    "holed_bytes",
    "committed_bytes",
    "live_bytes",
    "heaps",
    "abandoned_pages",
    "arenas",
    "reclaim_wait_max_ns",
];

/// What the counters grew by since `before`; levels as they are.
pub fn since(peer: &Peer, before: &Map<String, Value>) -> Map<String, Value> {
    let mut counters = now(peer);
    for (name, value) in counters
        .iter_mut()
        .filter(|(name, _)| !LEVELS.contains(&name.as_str()))
    {
        let then = before.get(name).and_then(Value::as_u64).unwrap_or(0);
        *value = value.as_u64().unwrap_or(0).saturating_sub(then).into();
    }
    counters
}
