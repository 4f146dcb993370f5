//! Random programs of allocations: blocks keep what is written into them, whatever is lent, moved and purged meanwhile.

use proptest::prelude::*;
use sleepy_tests::alloc_machine::{AllocMachine, decode};

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn blocks_keep_their_contents(bytes in proptest::collection::vec(any::<u8>(), 0..2000)) {
        let mut machine = AllocMachine::new();
        for op in &decode(&bytes) {
            machine.run(op);
        }
        machine.finish();
    }
}
