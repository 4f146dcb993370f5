//! The workloads on sleepy-alloc, and nothing else: the less code, the less memory that is not the allocator's.

use std::process::ExitCode;

fn main() -> ExitCode {
    peer::run_workload(&with_sleepy::PEER)
}
