//! The workloads on mimalloc 2.

use std::process::ExitCode;

fn main() -> ExitCode {
    peer::main(&with_mimalloc2::PEER)
}
