//! The workloads on jemalloc.

use std::process::ExitCode;

fn main() -> ExitCode {
    peer::main(&with_jemalloc::PEER)
}
