//! The program `sleepy-lua`.

mod arguments;

pub use arguments::{Action, Invocation, Script, StatsFormat, TraceFormat};
