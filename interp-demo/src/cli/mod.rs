//! The program `sleepy-lua`.

mod arguments;
mod pipe;

pub use arguments::{Action, Invocation, Script, StatsFormat, TraceFormat};
pub use pipe::die_of_broken_pipe;
