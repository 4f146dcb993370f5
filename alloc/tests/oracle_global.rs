//! Random programs on `SleepyAlloc`, in a process whose own memory comes from it.

#[path = "common/machine.rs"]
mod machine;
#[path = "common/programs.rs"]
mod programs;

use machine::{Global, Machine};
use programs::{config, programs};
use proptest::prelude::*;
use sleepy_alloc::SleepyAlloc;

#[global_allocator]
static ALLOCATOR: SleepyAlloc = SleepyAlloc;

proptest! {
    #![proptest_config(config(64))]

    #[test]
    fn blocks_are_what_the_record_says(program in programs()) {
        let mut machine = Machine::new(&Global);
        for op in &program {
            machine.run(op);
        }
        machine.finish();
    }
}
