//! Random programs on a heap of their own.

#[path = "common/machine.rs"]
mod machine;
#[path = "common/programs.rs"]
mod programs;

use machine::Machine;
use programs::{config, programs};
use proptest::prelude::*;
use sleepy_alloc::Heap;

proptest! {
    #![proptest_config(config(64))]

    #[test]
    fn blocks_are_what_the_record_says(program in programs()) {
        let heap = Heap::new().unwrap();
        let face = &heap;
        let mut machine = Machine::new(&face);
        for op in &program {
            machine.run(op);
            prop_assert!(heap.live_bytes() >= machine.usable_bytes());
            prop_assert!(heap.committed_bytes() >= heap.live_bytes());
        }
        machine.finish();
        prop_assert_eq!(heap.live_bytes(), 0);
    }
}
