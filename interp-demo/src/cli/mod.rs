//! The program `sleepy-lua`.

mod arguments;
mod figures;
mod interrupt;
mod pipe;
mod program;
mod usage;

use std::ffi::OsString;
use std::io::{self, Write};
use std::process::ExitCode;

pub use arguments::{Action, Invocation, Refused, Script, StatsFormat, TraceFormat};
pub use interrupt::stop_on_interrupt;
pub use pipe::die_of_broken_pipe;

/// Runs the program with the words of its command line, of which the first is its name.
#[must_use]
pub fn main(mut words: Vec<OsString>) -> ExitCode {
    if words.get(1).is_some_and(|word| word == "compare") {
        return crate::compare::main(words.split_off(2));
    }
    let program = arguments::program_name(&words);
    match Invocation::parse(words) {
        Ok(invocation) => program::run(&invocation),
        // Where a text can't be printed there is nobody to tell it.
        Err(Refused::Help) => {
            let _ = io::stdout().write_all(usage::help(&program).as_bytes());
            ExitCode::SUCCESS
        }
        Err(refused) => {
            let text = format!("{program}: {refused}\n{}", usage::usage(&program));
            let _ = io::stderr().write_all(text.as_bytes());
            ExitCode::FAILURE
        }
    }
}
