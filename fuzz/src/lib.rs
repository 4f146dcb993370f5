//! The machines that the fuzzers drive, which are those of the tests.

#[path = "../../tests/src/alloc_machine.rs"]
pub mod alloc_machine;
#[path = "../../gc/tests/support/machine/mod.rs"]
pub mod machine;
#[path = "../../gc/tests/support/mod.rs"]
pub mod support;
#[path = "../../alloc/tests/common/machine.rs"]
pub mod raw_machine;
pub mod raw_ops;
