//! The workloads on mimalloc 2, and nothing else: the less code, the less memory that is not the allocator's.

use std::process::ExitCode;

fn main() -> ExitCode {
    peer::run_workload(&with_mimalloc2::PEER)
}
