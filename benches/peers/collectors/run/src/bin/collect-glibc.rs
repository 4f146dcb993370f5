//! The collectors on the system's allocator.

use std::process::ExitCode;

fn main() -> ExitCode {
    collect::main()
}
