//! The machines that the fuzzers drive, which are those of the tests.

#[path = "../../tests/src/alloc_machine.rs"]
pub mod alloc_machine;
#[path = "../../gc/tests/support/machine/mod.rs"]
pub mod machine;
#[path = "../../gc/tests/support/mod.rs"]
pub mod support;
