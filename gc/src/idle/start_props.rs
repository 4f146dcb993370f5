//! What the start policy promises for whatever a program does, whatever its cycles cost, and whatever the machine is short of.

use proptest::prelude::*;

use super::*;
use crate::step::CollectionPhase;

/// What happens between two decisions.
#[derive(Clone, Debug)]
enum Event {
    Allocates { bytes: usize },
    Waits { long: bool, deep: bool },
    MachineChanges { price_percent: u32 },
    ProgramCollects { spent_ns: u64 },
}

fn events() -> impl Strategy<Value = Vec<Event>> {
    let event = prop_oneof![
        4 => (0usize..1 << 20).prop_map(|bytes| Event::Allocates { bytes }),
        4 => (any::<bool>(), any::<bool>()).prop_map(|(long, deep)| Event::Waits { long, deep }),
        1 => (25u32..=100).prop_map(|price_percent| Event::MachineChanges { price_percent }),
        1 => (0u64..10_000_000).prop_map(|spent_ns| Event::ProgramCollects { spent_ns }),
    ];
    prop::collection::vec(event, 1..400)
}

/// A heap of which cycles take a time for each live KiB and free a share of what was allocated. With two generations a young
/// cycle takes a twentieth of that, and what it leaves is garbage as well as not.
struct Heap {
    live_bytes: usize,
    since_bytes: usize,
    promoted_bytes: usize,
    generations: bool,
    cost_ns_per_kib: u64,
    garbage_percent: usize,
}

const MOST_LIVE_BYTES: usize = 64 << 20;

impl Heap {
    fn hint(&self, deep: bool) -> IdleHint {
        IdleHint {
            allocated_bytes_since_cycle: self.since_bytes,
            live_bytes: self.live_bytes,
            young_next: self.generations,
            promoted_bytes: self.promoted_bytes,
            depth: match deep {
                true => StackDepth::Frames(10_000),
                false => StackDepth::Shallow,
            },
            ..IdleHint::default()
        }
    }

    /// What the cycle costs and frees.
    fn collect(&mut self, kind: Kind) -> (u64, usize) {
        let new = self.since_bytes * self.garbage_percent / 100;
        let grown = self.since_bytes - new;
        let (old, divisor) = match kind {
            Kind::Young => (0, 20),
            Kind::Full => (self.promoted_bytes * self.garbage_percent / 100, 1),
        };
        self.promoted_bytes = match kind {
            Kind::Young => self.promoted_bytes + grown,
            Kind::Full => 0,
        };
        self.live_bytes = (self.live_bytes + grown - old.min(self.live_bytes)).min(MOST_LIVE_BYTES);
        self.since_bytes = 0;
        let cost_ns = self.live_bytes as u64 / 1024 * self.cost_ns_per_kib / divisor;
        (cost_ns, new + old)
    }
}

fn wait(long: bool) -> WaitSpan {
    WaitSpan {
        elapsed_ns: 0,
        expected_ns: long.then_some(1 << 40),
        started_cycle: false,
    }
}

/// Runs a program and returns what is known then, with the time that idle cycles took, the dearest of them, and all bytes allocated.
fn run(policy: &Policy, heap: &mut Heap, events: &[Event]) -> (StartRule, u64, u64, u64) {
    let mut rule = StartRule::default();
    let (mut spent_ns, mut dearest_ns, mut allocated) = (0, 0, 0);
    for event in events {
        match *event {
            Event::Allocates { bytes } => {
                heap.since_bytes += bytes;
                allocated += bytes as u64;
            }
            Event::MachineChanges { price_percent } => rule.set_price_percent(price_percent),
            Event::ProgramCollects { spent_ns } => {
                let (_, freed) = heap.collect(Kind::Full);
                let progress = Progress::new(CollectionPhase::Sleeping, 1, freed, true);
                rule.stepped(policy, &progress, spent_ns, heap.live_bytes);
            }
            Event::Waits { long, deep } => {
                rule.wait_begins();
                let hint = heap.hint(deep);
                if let Some(kind) = rule.starts(policy, &hint, wait(long)) {
                    rule.started(kind, &hint);
                    let (cost_ns, freed) = heap.collect(kind);
                    let progress = Progress::new(CollectionPhase::Sleeping, 1, freed, true);
                    rule.stepped(policy, &progress, cost_ns, heap.live_bytes);
                    spent_ns += cost_ns;
                    dearest_ns = dearest_ns.max(cost_ns);
                }
            }
        }
    }
    (rule, spent_ns, dearest_ns, allocated)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    /// The cap: so much CPU time for each KiB allocated. The first cycle is started on a guess, and one that finds more alive
    /// than the last may be dearer than was thought.
    #[test]
    fn idle_work_is_never_more_than_the_cap(
        events in events(), cost_ns_per_kib in 1u64..2_000, garbage_percent in 0usize..=100, live in 0usize..MOST_LIVE_BYTES,
        generations: bool,
    ) {
        let policy = Policy::default();
        let mut heap = Heap {
            live_bytes: live, since_bytes: 0, promoted_bytes: 0, generations, cost_ns_per_kib, garbage_percent,
        };
        let (_, spent_ns, dearest_ns, allocated) = run(&policy, &mut heap, &events);
        // The live heap grows by no more than was allocated, and so does the price of that growth.
        let growth_ns = allocated / 1024 * cost_ns_per_kib;
        let price_ns_per_kib = policy.long_price_ns_per_kib.max(policy.price_ns_per_kib);
        // Each byte pays when it is allocated, and once more when it becomes old.
        let price_ns_per_kib = price_ns_per_kib + policy.promoted_price_ns_per_kib;
        let cap_ns = allocated / 1024 * price_ns_per_kib;
        prop_assert!(spent_ns <= cap_ns + 2 * dearest_ns + 2 * growth_ns, "{spent_ns} > {cap_ns}");
    }

    /// However often it was disappointed, enough allocation starts a cycle; and nothing does without.
    #[test]
    fn it_always_re_arms_and_always_falls_silent(
        events in events(), cost_ns_per_kib in 1u64..2_000, garbage_percent in 0usize..=100, live in 1usize..MOST_LIVE_BYTES,
        generations: bool,
    ) {
        let policy = Policy::default();
        let mut heap = Heap {
            live_bytes: live, since_bytes: 0, promoted_bytes: 0, generations, cost_ns_per_kib, garbage_percent,
        };
        let (rule, ..) = run(&policy, &mut heap, &events);
        heap.since_bytes = 1 << 44;
        prop_assert!(rule.starts(&policy, &heap.hint(false), wait(true)).is_some());
        prop_assert!(rule.starts(&policy, &heap.hint(false), wait(false)).is_some());
        heap.since_bytes = 0;
        heap.live_bytes = heap.live_bytes.max(1);
        prop_assert_eq!(rule.starts(&policy, &heap.hint(false), wait(false)), None);
        // What has become old may be worth one full cycle in a long wait, and then there is none.
        if rule.starts(&policy, &heap.hint(false), wait(true)).is_some() {
            prop_assert!(heap.promoted_bytes != 0);
            heap.collect(Kind::Full);
            heap.live_bytes = heap.live_bytes.max(1);
        }
        prop_assert_eq!(rule.starts(&policy, &heap.hint(false), wait(true)), None);
        prop_assert_eq!(rule.look_again_ns(&policy, &heap.hint(false), 0), None);
    }

    /// More garbage, a longer wait or a shallower stack never speaks against a cycle; a busier machine never for one.
    #[test]
    fn it_is_monotone(
        events in events(), less in 1usize..1 << 30, more in 1usize..1 << 30, deep: bool, percent in 25u32..=100,
        generations: bool,
    ) {
        let policy = Policy::default();
        let mut heap = Heap {
            live_bytes: 1 << 20, since_bytes: 0, promoted_bytes: 0, generations, cost_ns_per_kib: 100, garbage_percent: 50,
        };
        let (mut rule, ..) = run(&policy, &mut heap, &events);
        let mut starts = |rule: &StartRule, bytes, deep, long| {
            heap.since_bytes = bytes;
            rule.starts(&policy, &heap.hint(deep), wait(long)).is_some()
        };
        let (less, more) = (less.min(more), less.max(more));
        prop_assert!(starts(&rule, less, deep, false) <= starts(&rule, more, deep, false));
        prop_assert!(starts(&rule, less, deep, false) <= starts(&rule, less, deep, true));
        prop_assert!(starts(&rule, less, true, false) <= starts(&rule, less, false, false));
        rule.set_price_percent(100);
        let unbraked = starts(&rule, less, deep, false);
        rule.set_price_percent(percent);
        prop_assert!(starts(&rule, less, deep, false) <= unbraked);
    }
}
