//! Benches of the Sleepy workspace: `cargo bench --package sleepy-benches`.

pub mod graph;
pub mod interpreter;
pub mod machine;
