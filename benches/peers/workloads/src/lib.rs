//! Allocation workloads, written anew from their definitions.

use peers_common::peer::Peer;

/// Runs a workload.
pub fn run(
    _peer: &Peer,
    _args: &[String],
) -> Result<serde_json::Value, Box<dyn std::error::Error>> {
    Err("no workloads yet".into())
}
