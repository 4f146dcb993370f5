//! The interactive mode: reads a chunk, runs it, shows its values, and so on.

mod chunk;
mod complete;
mod lines;

pub use chunk::{Read, read_chunk};
pub use lines::{Line, Lines, Plain, Terminal};
