//! The workloads on snmalloc.

use std::process::ExitCode;

fn main() -> ExitCode {
    peer::main(&with_snmalloc::PEER)
}
