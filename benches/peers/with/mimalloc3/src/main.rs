//! The workloads on mimalloc 3.

use std::process::ExitCode;

fn main() -> ExitCode {
    peer::main(&with_mimalloc3::PEER)
}
