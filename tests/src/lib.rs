//! Machines that several tests and fuzzers drive: they run programs on our crates and on simple models of them.

#[path = "../../gc/tests/support/machine.rs"]
#[allow(missing_docs, reason = "it belongs to the tests of sleepy-gc")]
pub mod machine;
#[path = "../../gc/tests/support/mod.rs"]
#[allow(missing_docs, reason = "it belongs to the tests of sleepy-gc")]
pub mod support;

pub mod alloc_machine;
