//! Random programs for the machine: sizes and alignments that lie at borders more often than not.

use crate::machine::{Op, Who};
use proptest::prelude::*;

/// Sizes: small ones, and one to either side of a class, an OS page, a slice, the largest class, a MiB.
fn sizes() -> impl Strategy<Value = usize> {
    let classes = (3u32..17, 8usize..16).prop_map(|(shift, eighths)| (eighths << shift) >> 3);
    let pages = (1usize..64).prop_map(|pages| pages * 4096);
    let slices = (1usize..40).prop_map(|slices| slices * 65536);
    let border =
        prop_oneof![8 => classes, 3 => pages, 2 => slices, 1 => Just(1 << 20), 1 => Just(4 << 20)];
    let near = (border, -1isize..=1).prop_map(|(size, off)| size.saturating_add_signed(off).max(1));
    prop_oneof![
        8 => 1usize..300,
        4 => 300usize..9000,
        8 => near,
        1 => 60_000usize..1_500_000,
    ]
}

/// Alignments: fundamental ones mostly, up to 2 MiB often enough, a few larger.
fn aligns() -> impl Strategy<Value = usize> {
    prop_oneof![10 => 0u32..5, 4 => 5u32..13, 2 => 13u32..22, 1 => 22u32..26]
        .prop_map(|shift| 1 << shift)
}

fn who() -> impl Strategy<Value = Who> {
    prop_oneof![6 => Just(Who::Me), 3 => Just(Who::Helper), 1 => Just(Who::Stranger)]
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        12 => (sizes(), aligns(), any::<bool>(), who())
            .prop_map(|(size, align, zeroed, who)| Op::Alloc { size, align, zeroed, who }),
        4 => (sizes(), 1usize..400, who())
            .prop_map(|(size, count, who)| Op::AllocMany { size, count: count.min(1 + 4_000_000 / size), who }),
        9 => (any::<usize>(), who()).prop_map(|(which, who)| Op::Free { which, who }),
        3 => (any::<usize>(), 1usize..6, who())
            .prop_map(|(which, step, who)| Op::FreeMany { which, step, who }),
        6 => (any::<usize>(), sizes(), aligns(), who())
            .prop_map(|(which, size, align, who)| Op::Resize { which, size, align, who }),
        2 => who().prop_map(Op::Park),
        2 => who().prop_map(Op::Unpark),
        1 => Just(Op::Purge),
        1 => Just(Op::HelperEnds),
        1 => Just(Op::CheckAll),
    ]
}

/// Programs of up to 250 steps.
pub fn programs() -> impl Strategy<Value = Vec<Op>> {
    prop::collection::vec(op(), 1..250)
}

/// How many programs a test runs: `SLEEPY_CASES`, or `usual`.
pub fn config(usual: u32) -> ProptestConfig {
    let cases = std::env::var("SLEEPY_CASES")
        .ok()
        .and_then(|text| text.parse().ok());
    ProptestConfig {
        cases: cases.unwrap_or(usual),
        failure_persistence: None,
        max_shrink_iters: 2000,
        ..ProptestConfig::default()
    }
}
