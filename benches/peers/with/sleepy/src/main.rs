//! The workloads on sleepy-alloc.

use std::process::ExitCode;

fn main() -> ExitCode {
    peer::main(&with_sleepy::PEER)
}
