//! What tests that cross the crates share: machines that several tests and fuzzers drive (they run programs on our crates
//! and on simple models of them), and the program `sleepy-lua`, built, run and watched from outside.

#[path = "../../gc/tests/support/machine/mod.rs"]
#[allow(missing_docs, reason = "it belongs to the tests of sleepy-gc")]
pub mod machine;
#[path = "../../gc/tests/support/mod.rs"]
#[allow(missing_docs, reason = "it belongs to the tests of sleepy-gc")]
pub mod support;

pub mod alloc_machine;
pub mod lua_differ;
pub mod lua_programs;
pub mod process;
pub mod program;

/// The README's example, compiled.
#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
pub struct Readme;
