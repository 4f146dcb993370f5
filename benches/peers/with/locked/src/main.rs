//! The workloads on a plain allocator behind a lock.

use std::process::ExitCode;

fn main() -> ExitCode {
    peer::main(&with_locked::PEER)
}
