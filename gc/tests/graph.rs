//! Random programs against a model: whatever the collector does between two operations, exactly what can be reached is there.

#[path = "support/machine/mod.rs"]
mod machine;
mod support;

use machine::{HANDLES, KINDS, Machine, Op, Path, ROOTS, STRINGS, WIDTH, decode};
use proptest::prelude::*;

fn path() -> impl Strategy<Value = Path> {
    let edges = proptest::collection::vec((0..KINDS.len(), 0..WIDTH), 0..4);
    (0..ROOTS, edges).prop_map(|(root, edges)| Path { root, edges })
}

fn op() -> impl Strategy<Value = Op> {
    let (kind, slot, root) = (0..KINDS.len(), 0..WIDTH, 0..ROOTS);
    prop_oneof![
        6 => (root.clone(), root.clone()).prop_map(|(root, child)| Op::New { root, child }),
        8 => (path(), kind.clone(), slot.clone(), path()).prop_map(|(from, kind, slot, to)| Op::Link { from, kind, slot, to }),
        2 => (path(), kind.clone(), slot.clone()).prop_map(|(from, kind, slot)| Op::Cut { from, kind, slot }),
        6 => (path(), kind.clone(), slot.clone(), path(), kind, slot)
            .prop_map(|(from, kind, slot, to, to_kind, to_slot)| Op::Move { from, kind, slot, to, to_kind, to_slot }),
        3 => (root.clone(), path()).prop_map(|(root, node)| Op::Root { root, node }),
        3 => root.clone().prop_map(|root| Op::Drop { root }),
        2 => (path(), path()).prop_map(|(from, to)| Op::Weaken { from, to }),
        3 => (path(), root.clone()).prop_map(|(from, root)| Op::Upgrade { from, root }),
        1 => (path(), 0..KINDS.len(), 0usize..700, path()).prop_map(|(from, kind, count, to)| Op::Fill { from, kind, count, to }),
        1 => path().prop_map(|from| Op::Shrink { from }),
        1 => (path(), path()).prop_map(|(from, to)| Op::Take { from, to }),
        2 => (0..HANDLES, path()).prop_map(|(handle, node)| Op::Stash { handle, node }),
        1 => (0..HANDLES).prop_map(|handle| Op::Unstash { handle }),
        1 => (0..HANDLES, 0..ROOTS).prop_map(|(handle, root)| Op::Fetch { handle, root }),
        2 => path().prop_map(|node| Op::Push { node }),
        2 => root.clone().prop_map(|root| Op::Pop { root }),
        3 => (path(), path()).prop_map(|(key, value)| Op::Pair { key, value }),
        1 => path().prop_map(|key| Op::Unpair { key }),
        2 => path().prop_map(|node| Op::Register { node }),
        2 => root.prop_map(|root| Op::Finalize { root }),
        2 => (0u8..16, 0..STRINGS).prop_map(|(text, place)| Op::Intern { text, place }),
        1 => (0usize..64, path()).prop_map(|(slot, node)| Op::Poke { slot, node }),
        1 => any::<u8>().prop_map(|count| Op::Garbage { count }),
        14 => (1u16..4000).prop_map(|bytes| Op::Step { bytes }),
        2 => Just(Op::Start),
        1 => Just(Op::Mark),
        1 => Just(Op::Cycle),
        1 => any::<bool>().prop_map(|forget| Op::Park { forget }),
        1 => Just(Op::Check),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { max_shrink_iters: 20_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn random_programs_agree_with_the_model(ops in proptest::collection::vec(op(), 1..200)) {
        let mut machine = Machine::new();
        for op in &ops {
            machine.run(op);
        }
        machine.finish();
    }

    #[test]
    fn random_programs_agree_with_the_model_with_generations(ops in proptest::collection::vec(op(), 1..200)) {
        let mut machine = Machine::generational();
        for op in &ops {
            machine.run(op);
        }
        machine.finish();
    }

    #[test]
    fn any_bytes_are_a_program(bytes in proptest::collection::vec(any::<u8>(), 0..1000)) {
        let mut machine = Machine::new();
        for op in &decode(&bytes) {
            machine.run(op);
        }
        machine.finish();
    }
}
