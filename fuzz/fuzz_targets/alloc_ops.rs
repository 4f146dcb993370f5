//! Any bytes as a program of allocations on several heaps, whose blocks are checked.

#![no_main]

use libfuzzer_sys::fuzz_target;
use sleepy_fuzz::alloc_machine::{AllocMachine, decode};

fuzz_target!(|bytes: &[u8]| {
    let mut machine = AllocMachine::new();
    for op in &decode(bytes) {
        machine.run(op);
    }
    machine.finish();
});
