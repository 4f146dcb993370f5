//! The workloads on the system's allocator.

use std::process::ExitCode;

fn main() -> ExitCode {
    peer::main(&with_glibc::PEER)
}
