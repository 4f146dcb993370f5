use super::*;
use crate::step::CollectionPhase;

const KIB: usize = 1 << 10;
const MIB: usize = 1 << 20;
const MS: u64 = 1_000_000;

const SHORT: WaitSpan = WaitSpan {
    elapsed_ns: 0,
    expected_ns: Some(3 * MS),
    started_cycle: false,
};
const LONG: WaitSpan = WaitSpan {
    elapsed_ns: 60 * MS,
    expected_ns: None,
    started_cycle: false,
};

/// The default with prices that are easy to reckon with.
fn policy() -> Policy {
    Policy {
        price_ns_per_kib: 3_000,
        long_price_ns_per_kib: 6_000,
        promoted_price_ns_per_kib: 8_000,
        ..Policy::DEFAULT
    }
}

fn hint(allocated: usize, live: usize) -> IdleHint {
    IdleHint {
        allocated_bytes_since_cycle: allocated,
        live_bytes: live,
        ..IdleHint::default()
    }
}

/// A whole cycle that a wait started.
fn cycle(rule: &mut StartRule, before: IdleHint, spent_ns: u64, freed: usize, live: usize) {
    cycle_of(rule, Kind::next(&before), before, spent_ns, freed, live);
}

/// The same, of a kind.
fn cycle_of(
    rule: &mut StartRule,
    kind: Kind,
    before: IdleHint,
    spent_ns: u64,
    freed: usize,
    live: usize,
) {
    rule.started(kind, &before);
    let end = Progress::new(CollectionPhase::Sleeping, live, freed, true);
    rule.stepped(&policy(), &end, spent_ns, live);
}

/// The least allocation that starts a cycle.
fn needed(rule: &StartRule, live: usize, wait: WaitSpan) -> usize {
    let policy = policy();
    let (mut no, mut yes) = (0, 1usize << 40);
    while yes - no > 1 {
        let middle = no + (yes - no) / 2;
        match rule.starts(&policy, &hint(middle, live), wait).is_some() {
            true => yes = middle,
            false => no = middle,
        }
    }
    yes
}

#[test]
fn a_small_heap_is_collected_by_the_least_allocation() {
    let mut rule = StartRule::default();
    assert_eq!(needed(&rule, 300 * KIB, SHORT), 384 * KIB);
    cycle(
        &mut rule,
        hint(384 * KIB, 300 * KIB),
        MS / 16,
        380 * KIB,
        300 * KIB,
    );
    assert_eq!(needed(&rule, 300 * KIB, SHORT), 384 * KIB);
    assert_eq!(needed(&rule, 300 * KIB, LONG), 16 * KIB);
}

#[test]
fn a_big_heap_is_collected_by_what_it_costs() {
    let mut rule = StartRule::default();
    assert_eq!(
        needed(&rule, 10 * MIB, SHORT),
        384 * KIB,
        "before any cost is known"
    );
    cycle(&mut rule, hint(MIB, 20 * MIB), 3 * MS, MIB, 20 * MIB);
    // 3 ms at 3 µs for each KiB, and twice that where twice as much is alive.
    assert_eq!(needed(&rule, 20 * MIB, SHORT), 1_000 * KIB);
    assert_eq!(needed(&rule, 40 * MIB, SHORT), 2_000 * KIB);
    assert_eq!(needed(&rule, 20 * MIB, LONG), 500 * KIB);
    assert_eq!(needed(&rule, MIB / 2, LONG), 16 * KIB);
}

#[test]
fn an_unproductive_cycle_doubles_what_the_next_one_needs_and_a_productive_one_forgives() {
    let mut rule = StartRule::default();
    for misses in 1..=20 {
        cycle(&mut rule, hint(MIB, MIB), MS / 10, 10 * KIB, MIB);
        assert_eq!(
            needed(&rule, MIB, SHORT),
            (384 * KIB) << (misses.min(MAX_MISSES) - 1)
        );
    }
    cycle(&mut rule, hint(64 * MIB, MIB), MS / 10, 60 * MIB, MIB);
    assert_eq!(needed(&rule, MIB, SHORT), 384 * KIB);
}

#[test]
fn a_busy_machine_lets_dear_cycles_wait_and_cheap_ones_pass() {
    let mut rule = StartRule::default();
    cycle(&mut rule, hint(MIB, 20 * MIB), 3 * MS, MIB, 20 * MIB);
    for (percent, kib) in [(100, 1_000), (50, 2_000), (25, 4_000), (400, 384)] {
        rule.set_price_percent(percent);
        assert_eq!(needed(&rule, 20 * MIB, SHORT), kib * KIB);
        assert_eq!(needed(&rule, 64 * KIB, LONG), 16 * KIB);
    }
}

#[test]
fn nothing_allocated_starts_nothing() {
    let rule = StartRule::default();
    let policy = Policy {
        start_bytes: 0,
        long_start_bytes: 0,
        ..policy()
    };
    assert!(rule.starts(&policy, &hint(0, 300 * KIB), LONG).is_none());
    assert_eq!(rule.look_again_ns(&policy, &hint(0, 300 * KIB), 0), None);
}

#[test]
fn a_wait_is_looked_at_again_when_only_its_length_is_missing() {
    let rule = StartRule::default();
    let policy = policy();
    let some = hint(100 * KIB, 300 * KIB);
    assert!(rule.starts(&policy, &some, SHORT).is_none());
    assert_eq!(rule.look_again_ns(&policy, &some, 0), Some(50 * MS));
    assert_eq!(rule.look_again_ns(&policy, &some, 50 * MS), None);
    assert_eq!(
        rule.look_again_ns(&policy, &hint(10 * KIB, 300 * KIB), 0),
        None
    );
}

#[test]
fn short_waits_and_deep_stacks_start_nothing() {
    let rule = StartRule::default();
    let policy = policy();
    let blink = WaitSpan {
        expected_ns: Some(10_000),
        ..SHORT
    };
    assert!(rule.starts(&policy, &hint(64 * MIB, MIB), blink).is_none());
    let deep = IdleHint {
        depth: StackDepth::Frames(1_000),
        ..hint(64 * MIB, MIB)
    };
    assert!(rule.starts(&policy, &deep, SHORT).is_none());
    assert!(rule.starts(&policy, &deep, LONG).is_some());
}

#[test]
fn a_collector_that_tells_nothing_is_asked_less_often_after_each_miss() {
    let policy = policy();
    let mut rule = StartRule::default();
    let mut pauses = Vec::new();
    let mut passed = 0;
    for _ in 0..600 {
        rule.wait_begins();
        if rule.starts(&policy, &hint(0, 0), SHORT).is_some() {
            cycle(&mut rule, hint(0, 0), MS, 0, 0);
            pauses.push(std::mem::take(&mut passed));
        } else {
            passed += 1;
        }
    }
    assert_eq!(pauses, [0, 1, 3, 7, 15, 31, 63, 127, 255]);
    cycle(&mut rule, hint(0, 0), MS, 1, 0);
    rule.wait_begins();
    assert!(rule.starts(&policy, &hint(0, 0), SHORT).is_some());
    let again = WaitSpan {
        started_cycle: true,
        ..SHORT
    };
    assert!(
        rule.starts(&policy, &hint(0, 0), again).is_none(),
        "once in a wait"
    );
}

/// A hint of a collector with two generations.
fn young_hint(allocated: usize, promoted: usize, live: usize) -> IdleHint {
    IdleHint {
        young_next: true,
        promoted_bytes: promoted,
        ..hint(allocated, live)
    }
}

#[test]
fn what_has_become_old_makes_the_next_cycle_a_full_one_when_it_pays_for_it() {
    let policy = policy();
    let mut rule = StartRule::default();
    cycle(&mut rule, hint(MIB, 20 * MIB), 3 * MS, MIB, 20 * MIB);
    let kind = |rule: &StartRule, allocated, promoted, wait| {
        rule.starts(&policy, &young_hint(allocated, promoted, 20 * MIB), wait)
    };
    // 3 ms at 8 µs for each KiB.
    assert_eq!(kind(&rule, MIB, 374 * KIB, SHORT), Some(Kind::Young));
    assert_eq!(kind(&rule, MIB, 376 * KIB, SHORT), Some(Kind::Full));
    assert_eq!(kind(&rule, 10 * KIB, 376 * KIB, SHORT), None);
    assert_eq!(kind(&rule, 0, 376 * KIB, LONG), Some(Kind::Full));
    assert_eq!(kind(&rule, 0, 0, LONG), None);
    // A young cycle says nothing about what a full one costs, nor the other way round.
    let before = young_hint(MIB, 0, 20 * MIB);
    cycle(&mut rule, before, MS / 10, MIB, 20 * MIB);
    assert_eq!(kind(&rule, MIB, 374 * KIB, SHORT), Some(Kind::Young));
    assert_eq!(kind(&rule, 384 * KIB, 0, SHORT), Some(Kind::Young));
}

#[test]
fn old_objects_that_live_are_looked_at_less_and_less_often() {
    let policy = policy();
    let mut rule = StartRule::default();
    let needed = |rule: &StartRule| {
        let is_full = |promoted: &usize| {
            let before = young_hint(1 << 30, *promoted, MIB);
            rule.starts(&policy, &before, SHORT) == Some(Kind::Full)
        };
        (0..40).map(|n| KIB << n).find(is_full)
    };
    assert_eq!(needed(&rule), Some(64 * KIB));
    let before = young_hint(MIB, MIB, 2 * MIB);
    for misses in 1..=20 {
        cycle_of(&mut rule, Kind::Full, before, MS / 10, MIB, 2 * MIB);
        let doubled = misses.min(MAX_PROMOTED_MISSES) - 1;
        assert_eq!(needed(&rule), Some((64 * KIB) << doubled));
    }
    cycle_of(&mut rule, Kind::Full, before, MS / 10, MIB, MIB + MIB / 2);
    assert_eq!(needed(&rule), Some(64 * KIB));
}

/// A program that allocates at random, whose garbage is a random share of that and whose live heap
/// wanders; a cycle costs a fixed time for each live KiB.
#[test]
fn idle_work_stays_under_its_cap_re_arms_and_falls_silent() {
    let policy = policy();
    for seed in 1..=50u64 {
        let mut random = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let mut below = |n: u64| {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            random % n
        };
        let cost_ns_per_kib = 50 + below(1_000);
        let garbage_percent = below(101) as usize;
        let mut rule = StartRule::default();
        let (mut live, mut since, mut allocated, mut spent_ns) = (MIB, 0usize, 0usize, 0u64);
        let mut dearest_ns = 0;
        let mut cycles = 0;
        for _ in 0..4_000 {
            let bytes = below(64 * 1024) as usize;
            since += bytes;
            allocated += bytes;
            let wait = if below(50) == 0 { LONG } else { SHORT };
            let before = hint(since, live);
            if rule.starts(&policy, &before, wait).is_some() {
                cycles += 1;
                let freed = since * garbage_percent / 100;
                live = (live + since - freed).min(64 * MIB);
                since = 0;
                let cost_ns = live as u64 / 1024 * cost_ns_per_kib;
                spent_ns += cost_ns;
                dearest_ns = dearest_ns.max(cost_ns);
                cycle(&mut rule, before, cost_ns, freed, live);
                assert!(
                    rule.starts(&policy, &hint(0, live), LONG).is_none(),
                    "silent with nothing new"
                );
            }
        }
        assert!(cycles > 0, "seed {seed} never collected");
        let cap_ns = allocated as u64 / 1024 * policy.long_price_ns_per_kib;
        // The first cycle is started on a guess; later ones follow the live heap one cycle late.
        assert!(
            spent_ns <= cap_ns + 2 * dearest_ns,
            "seed {seed}: {spent_ns} over {cap_ns}"
        );
        assert!(
            needed(&rule, live, LONG) < 1 << 40,
            "re-armed by allocation"
        );
    }
}

/// A cache of documents: half of what a program allocates beside 10 MiB dies young, and the other half when it is old.
#[test]
fn a_program_whose_garbage_is_old_gets_full_cycles_and_pays_for_them_by_what_it_allocates() {
    let policy = policy();
    let mut rule = StartRule::default();
    let (live, full_ns, young_ns) = (10 * MIB, 4 * MS, MS);
    let (mut since, mut old, mut young_next) = (0, 0, true);
    let (mut kinds, mut most) = (Vec::new(), 0);
    for _ in 0..4_000 {
        since += 40 * KIB;
        let before = IdleHint {
            young_next,
            ..young_hint(since, old, live + old)
        };
        let Some(kind) = rule.starts(&policy, &before, SHORT) else {
            continue;
        };
        most = most.max(since + old);
        let keeps_old = rule.started(kind, &before);
        let (spent_ns, freed) = match kind {
            Kind::Young => (young_ns, since / 2),
            Kind::Full => (full_ns, since + old),
        };
        old = match kind {
            Kind::Young => old + since / 2,
            Kind::Full => 0,
        };
        young_next = keeps_old;
        let end = Progress::new(CollectionPhase::Sleeping, 1, freed, true);
        rule.stepped(&policy, &end, spent_ns, live + old);
        since = 0;
        kinds.push(kind);
    }
    let young = kinds.iter().filter(|&&kind| kind == Kind::Young).count();
    assert!(young * 8 < kinds.len(), "{young} of {}", kinds.len());
    // 4 ms at 3 µs for each KiB, and what a trial leaves.
    assert!(most < 2 * MIB, "{most}");
    let spent_ns = (kinds.len() - young) as u64 * full_ns + young as u64 * young_ns;
    assert!(
        spent_ns <= 4_000 * 40 * policy.price_ns_per_kib + full_ns,
        "{spent_ns}"
    );
}

#[test]
fn cycles_that_allocation_starts_are_learnt_from_and_never_held_against_waits() {
    let policy = policy();
    let mut rule = StartRule::default();
    for _ in 0..10 {
        rule.forced(&hint(MIB, 20 * MIB));
        let end = Progress::new(CollectionPhase::Sleeping, 1, 0, true);
        rule.stepped(&policy, &end, 3 * MS, 20 * MIB);
    }
    assert_eq!(needed(&rule, 20 * MIB, SHORT), 1_000 * KIB);
}

#[test]
fn a_floor_that_nothing_reaches_stays_out_of_reach_after_misses() {
    let mut rule = StartRule::default();
    for _ in 0..5 {
        cycle(&mut rule, hint(MIB, 20 * MIB), MS, 0, 20 * MIB);
    }
    let never = Policy {
        start_bytes: 1 << 62,
        long_start_bytes: 1 << 62,
        promoted_start_bytes: 1 << 62,
        ..policy()
    };
    for wait in [SHORT, LONG] {
        assert_eq!(rule.starts(&never, &hint(1 << 40, 20 * MIB), wait), None);
    }
}
