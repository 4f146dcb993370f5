//! `sleepy-lua`: a Lua 5.4 interpreter that collects garbage while it waits.

use std::process::ExitCode;

#[global_allocator]
static ALLOCATOR: sleepy_alloc::SleepyAlloc = sleepy_alloc::SleepyAlloc;

fn main() -> ExitCode {
    interp_demo::cli::main(std::env::args_os().collect())
}
