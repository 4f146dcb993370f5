//! Event loops, idle costs, locks: what the allocators do around waits.

use peers_common::peer::Peer;

/// Runs the sub-command in `args[0]` if it is one of ours, and returns what it says.
pub fn dispatch(
    _peer: &Peer,
    _args: &[String],
) -> Option<Result<serde_json::Value, Box<dyn std::error::Error>>> {
    None
}
