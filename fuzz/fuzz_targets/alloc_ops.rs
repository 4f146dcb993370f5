//! Any bytes as a program of allocations whose blocks are checked: on several heaps, or by several threads.

#![no_main]

use libfuzzer_sys::fuzz_target;
use sleepy_alloc::{purge_now, stats};
use sleepy_fuzz::alloc_machine::{AllocMachine, decode};
use sleepy_fuzz::raw_machine::{Machine, Raw};
use sleepy_fuzz::raw_ops;

fn on_heaps(bytes: &[u8]) {
    let mut machine = AllocMachine::new();
    for op in &decode(bytes) {
        machine.run(op);
    }
    machine.finish();
}

fn by_threads(bytes: &[u8]) {
    let before = stats();
    let mut machine = Machine::new(&Raw);
    for op in &raw_ops::decode(bytes) {
        machine.run(op);
    }
    assert_eq!(
        stats().live_bytes - before.live_bytes,
        machine.usable_bytes() as u64
    );
    machine.finish();
    let after = stats();
    assert_eq!(after.live_bytes, before.live_bytes);
    assert_eq!(after.abandoned_pages, before.abandoned_pages);
    purge_now();
}

fuzz_target!(|bytes: &[u8]| {
    if let Some((&first, rest)) = bytes.split_first() {
        if first % 4 == 0 {
            on_heaps(rest);
        } else {
            by_threads(rest);
        }
    }
});
