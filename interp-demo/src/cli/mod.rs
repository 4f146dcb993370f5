//! The program `sleepy-lua`.

mod arguments;
mod figures;
mod interrupt;
mod pipe;
mod program;

use std::ffi::OsString;
use std::process::ExitCode;

pub use arguments::{Action, Invocation, Script, StatsFormat, TraceFormat};
pub use interrupt::stop_on_interrupt;
pub use pipe::die_of_broken_pipe;

/// Runs the program with the words of its command line, of which the first is its name.
#[must_use]
pub fn main(mut words: Vec<OsString>) -> ExitCode {
    if words.get(1).is_some_and(|word| word == "compare") {
        return crate::compare::main(words.split_off(2));
    }
    match Invocation::parse(words) {
        Ok(invocation) => program::run(&invocation),
        Err(error) => {
            // There is nobody to tell that it can't be printed.
            let _ = error.print();
            if error.use_stderr() {
                ExitCode::FAILURE
            } else {
                ExitCode::SUCCESS
            }
        }
    }
}
