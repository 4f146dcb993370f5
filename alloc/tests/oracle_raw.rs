//! Random programs on the raw functions: blocks never overlap and keep what they hold, whoever allocates, frees, parks
//! or ends meanwhile; and all that they took is counted and comes back.

#[path = "common/machine.rs"]
mod machine;
#[path = "common/programs.rs"]
mod programs;

use machine::{Machine, Raw};
use programs::{config, programs};
use proptest::prelude::*;
use sleepy_alloc::stats;

proptest! {
    #![proptest_config(config(64))]

    #[test]
    fn blocks_are_what_the_record_says(program in programs()) {
        let before = stats();
        let mut machine = Machine::new(&Raw);
        for op in &program {
            machine.run(op);
        }
        let live = stats().live_bytes - before.live_bytes;
        prop_assert_eq!(live, machine.usable_bytes() as u64, "live bytes");
        machine.finish();
        let after = stats();
        prop_assert_eq!(after.live_bytes, before.live_bytes);
        prop_assert_eq!(after.abandoned_pages, before.abandoned_pages);
    }
}
