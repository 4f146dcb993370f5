//! Any bytes as a program on a heap and on its model.

#![no_main]

use libfuzzer_sys::fuzz_target;
use sleepy_fuzz::machine::{Machine, decode};

fuzz_target!(|bytes: &[u8]| {
    let mut machine = Machine::new();
    for op in &decode(bytes) {
        machine.run(op);
    }
    machine.finish();
});
