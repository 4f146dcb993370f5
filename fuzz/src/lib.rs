//! The machines that the fuzzers drive and the bodies that they run, which are those of the tests.

#[path = "../../tests/src/alloc_machine.rs"]
pub mod alloc_machine;
#[path = "../../interp-demo/tests/fuzz_bodies/mod.rs"]
pub mod fuzz_bodies;
#[path = "../../gc/tests/support/machine/mod.rs"]
pub mod machine;
#[path = "../../alloc/tests/common/machine.rs"]
pub mod raw_machine;
pub mod raw_ops;
#[path = "../../gc/tests/support/mod.rs"]
pub mod support;
