//! Whether a cycle is worth starting in a wait: priced by what cycles have cost and swept.
//!
//! Pure: times and counters come in as arguments. The rule is on [`Policy`].

use std::fmt;

use super::choice::{Choice, Ways};
use super::collector::{IdleHint, StackDepth};
use super::policy::{Policy, ns_of};
use crate::step::Progress;

/// From the second in a row on, a cycle that freed too little doubles what the next one needs, up to
/// seven times.
const MAX_MISSES: u32 = 8;

/// The same, of full cycles that found nearly all that had become old alive: twice doubled. A heap that only grows is left alone for a
/// quarter of its size or so, and a cache that begins to drop what is old soon has it collected.
const MAX_PROMOTED_MISSES: u32 = 3;

/// Before any cycle was seen: what small strings in one big table cost, and what a young cycle does that passes them by.
const FIRST_COST_NS_PER_KIB: u64 = 60;
const FIRST_YOUNG_COST_NS_PER_KIB: u64 = 6;

/// Below this much alive the cost of a cycle is taken not to depend on it.
const SMALL_BYTES: usize = 64 << 10;

/// The wait for which a start is considered.
#[derive(Clone, Copy, Debug)]
pub(super) struct WaitSpan {
    /// How long it has lasted.
    pub elapsed_ns: u64,
    /// How long it may last in all, where something is known.
    pub expected_ns: Option<u64>,
    /// Whether it has started a cycle already.
    pub started_cycle: bool,
}

/// The kinds of cycle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// It passes old objects by.
    Young,
    /// It looks at everything.
    Full,
}

impl Kind {
    /// That of the cycle that starts next, if nobody asks for a full one.
    fn next(hint: &IdleHint) -> Self {
        match hint.young_next {
            true => Self::Young,
            false => Self::Full,
        }
    }
}

/// The history of cycles and the decision to start one.
#[derive(Debug, Default)]
pub(super) struct StartRule {
    last_young: Option<Cost>,
    last_full: Option<Cost>,
    under_way: UnderWay,
    /// How many cycles in a row have freed too little, at most [`MAX_MISSES`].
    misses: u32,
    /// How many full cycles in a row have found nearly everything alive that had become old, at most [`MAX_PROMOTED_MISSES`].
    promoted_misses: u32,
    choice: Choice,
    /// Waits yet to let pass, for a collector that does not tell what was allocated.
    skip_waits: u32,
    prices: Prices,
}

/// What the machine makes of the policy's prices, in percent.
#[derive(Clone, Copy, Debug)]
struct Prices(u32);

impl Default for Prices {
    fn default() -> Self {
        Self(100)
    }
}

/// What the last cycle of a kind has cost.
#[derive(Clone, Copy, Debug)]
struct Cost {
    spent_ns: u64,
    live_bytes: usize,
}

/// What has been seen of the present cycle.
#[derive(Clone, Copy, Debug, Default)]
struct UnderWay {
    /// What was known when it started, if that was noted.
    started: Option<Started>,
    spent_ns: u64,
    freed_bytes: usize,
}

/// The start of a cycle.
#[derive(Clone, Copy, Debug)]
struct Started {
    kind: Kind,
    before: IdleHint,
    /// Whether a wait has started it, and not allocation.
    in_wait: bool,
}

impl StartRule {
    /// The cycle to start now, if one is worth it.
    pub(super) fn starts(&self, policy: &Policy, hint: &IdleHint, wait: WaitSpan) -> Option<Kind> {
        if wait
            .expected_ns
            .is_some_and(|ns| ns < ns_of(policy.min_wait))
        {
            return None;
        }
        if !tells_allocation(hint) {
            return (self.skip_waits == 0 && !wait.started_cycle).then_some(Kind::Full);
        }
        let long_ns = ns_of(policy.long_wait);
        let long = wait.elapsed_ns >= long_ns || wait.expected_ns.is_some_and(|ns| ns >= long_ns);
        self.worth(policy, hint, long)
    }

    /// How far into the wait to look again, where a cycle is not worth starting now and would be if
    /// the wait turned out to be long. `None`: no reason to wake up.
    pub(super) fn look_again_ns(
        &self,
        policy: &Policy,
        hint: &IdleHint,
        elapsed_ns: u64,
    ) -> Option<u64> {
        let long_ns = ns_of(policy.long_wait);
        let worth = elapsed_ns < long_ns && self.is_worth_a_long_wait(policy, hint);
        worth.then_some(long_ns)
    }

    /// Whether a cycle would be worth starting in a long wait.
    pub(super) fn is_worth_a_long_wait(&self, policy: &Policy, hint: &IdleHint) -> bool {
        tells_allocation(hint) && self.worth(policy, hint, true).is_some()
    }

    /// The cycle that is worth its cost.
    fn worth(&self, policy: &Policy, hint: &IdleHint, long: bool) -> Option<Kind> {
        let deep = matches!(hint.depth, StackDepth::Frames(n) if n > policy.deep_frames);
        if deep && !long {
            return None;
        }
        let next = Kind::next(hint);
        let is_due = |kind: Kind, new_bytes: usize| {
            let [ordinary, in_long] = self.needed_bytes(policy, kind, hint.live_bytes);
            new_bytes as u64 >= if long { in_long } else { ordinary }
        };
        if next == Kind::Young && self.choice.wants_full() {
            // What has become old pays as if it were new.
            let new_bytes = hint
                .allocated_bytes_since_cycle
                .saturating_add(hint.promoted_bytes);
            return is_due(Kind::Full, new_bytes).then_some(Kind::Full);
        }
        let is_due = is_due(next, hint.allocated_bytes_since_cycle);
        // What is old can wait for the next cycle that new objects pay for; but before a silence it can't.
        let is_full_due = next == Kind::Young
            && hint.promoted_bytes as u64 >= self.needed_promoted_bytes(policy, hint.live_bytes);
        match (is_due, is_full_due) {
            (true, false) => Some(next),
            (_, true) if is_due || long => Some(Kind::Full),
            _ => None,
        }
    }

    /// Sets what the machine makes of the policy's prices, in percent.
    pub(super) fn set_price_percent(&mut self, percent: u32) {
        self.prices = Prices(percent);
    }

    /// Bytes that must have been allocated for a start, beside this much alive: in an ordinary wait, and in a long one.
    pub(super) fn needed_bytes(&self, policy: &Policy, kind: Kind, live_bytes: usize) -> [u64; 2] {
        let cost_ns = self.cost_ns(kind, live_bytes);
        [
            (policy.start_bytes, policy.price_ns_per_kib),
            (policy.long_start_bytes, policy.long_price_ns_per_kib),
        ]
        .map(|(floor_bytes, ns_per_kib)| {
            self.paid_for_bytes(cost_ns, floor_bytes, ns_per_kib, self.misses)
        })
    }

    /// Bytes that must have become old for a full cycle, beside this much alive.
    fn needed_promoted_bytes(&self, policy: &Policy, live_bytes: usize) -> u64 {
        self.paid_for_bytes(
            self.cost_ns(Kind::Full, live_bytes),
            policy.promoted_start_bytes,
            policy.promoted_price_ns_per_kib,
            self.promoted_misses,
        )
    }

    /// Bytes that a cycle must be able to free: so many that they pay for it.
    fn paid_for_bytes(
        &self,
        cost_ns: u64,
        floor_bytes: usize,
        ns_per_kib: u64,
        misses: u32,
    ) -> u64 {
        let ns_per_kib = ns_per_kib.saturating_mul(u64::from(self.prices.0)) / 100;
        let paid_for_bytes = cost_ns.saturating_mul(1024) / ns_per_kib.max(1);
        // One miss may be the program's start, or a heap that has just grown: it is forgiven.
        let backoff = misses.saturating_sub(1);
        let times = 1_u64.checked_shl(backoff).unwrap_or(u64::MAX);
        (floor_bytes as u64)
            .max(paid_for_bytes)
            .saturating_mul(times)
            .max(1)
    }

    /// What a cycle would cost with this much alive.
    fn cost_ns(&self, kind: Kind, live_bytes: usize) -> u64 {
        let (last, first_ns_per_kib) = match kind {
            Kind::Young => (self.last_young, FIRST_YOUNG_COST_NS_PER_KIB),
            Kind::Full => (self.last_full, FIRST_COST_NS_PER_KIB),
        };
        match last {
            None => live_bytes as u64 / 1024 * first_ns_per_kib,
            // Marking follows the live bytes, up and down; a very small heap has costs of its own.
            Some(cost) => {
                let scaled = u128::from(cost.spent_ns) * live_bytes.max(SMALL_BYTES) as u128
                    / cost.live_bytes.max(SMALL_BYTES) as u128;
                u64::try_from(scaled).unwrap_or(u64::MAX)
            }
        }
    }

    /// A wait is about to start a cycle. Answers whether what this finds alive is to be old afterwards, so that a young one may follow.
    pub(super) fn started(&mut self, kind: Kind, hint: &IdleHint) -> bool {
        self.begin(kind, hint, true);
        kind == Kind::Young || self.choice.keeps_old()
    }

    /// Allocation has started a cycle.
    pub(super) fn forced(&mut self, hint: &IdleHint) {
        self.begin(Kind::next(hint), hint, false);
    }

    fn begin(&mut self, kind: Kind, before: &IdleHint, in_wait: bool) {
        self.under_way = UnderWay {
            started: Some(Started {
                kind,
                before: *before,
                in_wait,
            }),
            ..UnderWay::default()
        };
    }

    /// A step was made, in a wait or not; `live_bytes` is what the collector says after it.
    pub(super) fn stepped(
        &mut self,
        policy: &Policy,
        progress: &Progress,
        spent_ns: u64,
        live_bytes: usize,
    ) {
        self.under_way.spent_ns += spent_ns;
        self.under_way.freed_bytes += progress.freed_bytes;
        if progress.finished_cycle {
            let cycle = std::mem::take(&mut self.under_way);
            if let Some(started) = cycle.started {
                self.finished(policy, cycle, started, live_bytes);
            }
        }
    }

    fn finished(&mut self, policy: &Policy, cycle: UnderWay, started: Started, live_bytes: usize) {
        let Started {
            kind,
            before,
            in_wait,
        } = started;
        let cost = Some(Cost {
            spent_ns: cycle.spent_ns,
            live_bytes,
        });
        match kind {
            Kind::Young => {
                self.last_young = cost;
                self.choice
                    .young_ended(&before, live_bytes, cycle.freed_bytes);
            }
            Kind::Full => {
                self.last_full = cost;
                self.choice.full_ended(&before, live_bytes);
            }
        }
        let [young_bytes, _] = self.needed_bytes(policy, Kind::Young, live_bytes);
        self.choice.choose(Ways {
            young_ns: self.cost_ns(Kind::Young, live_bytes),
            full_ns: self.cost_ns(Kind::Full, live_bytes),
            young_bytes,
            promoted_bytes: self.needed_promoted_bytes(policy, live_bytes),
        });
        let count = |misses: &mut u32, most: u32, freed_bytes: usize, of_bytes: usize| {
            let enough = of_bytes as u128 * u128::from(policy.productive_percent) / 100;
            *misses = match freed_bytes as u128 >= enough.max(1) {
                true => 0,
                // That allocation has started it was no decision of ours.
                false => (*misses + u32::from(in_wait)).min(most),
            };
        };
        let started_with = before.allocated_bytes_since_cycle;
        count(
            &mut self.misses,
            MAX_MISSES,
            cycle.freed_bytes,
            started_with,
        );
        if kind == Kind::Full && before.young_next {
            // What was allocated since and lives hides as much that had become old and is dead now.
            let freed_bytes = before.live_bytes.saturating_sub(live_bytes);
            count(
                &mut self.promoted_misses,
                MAX_PROMOTED_MISSES,
                freed_bytes,
                before.promoted_bytes,
            );
        }
        // Without a count of allocations waits stand in for it: 1, 3, 7 … of them pass, and the next
        // one that begins takes off one more.
        self.skip_waits = match self.misses {
            0 => 0,
            misses => 1 << misses,
        };
    }

    /// A wait has begun.
    pub(super) fn wait_begins(&mut self) {
        self.skip_waits = self.skip_waits.saturating_sub(1);
    }
}

impl fmt::Display for StartRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (name, last) in [("full", self.last_full), ("young", self.last_young)] {
            match last {
                None => write!(f, "no {name} cycle seen yet, ")?,
                Some(Cost {
                    spent_ns,
                    live_bytes,
                }) => write!(
                    f,
                    "last {name} cycle {:.3} ms with {} KiB alive, ",
                    spent_ns as f64 / 1e6,
                    live_bytes / 1024
                )?,
            }
        }
        write!(
            f,
            "unproductive in a row {}, for old objects {}, prices {} %",
            self.misses, self.promoted_misses, self.prices.0
        )
    }
}

fn tells_allocation(hint: &IdleHint) -> bool {
    hint.allocated_bytes_since_cycle != 0 || hint.live_bytes != 0
}

#[cfg(test)]
#[path = "start_tests.rs"]
mod tests;

#[cfg(test)]
#[path = "start_props.rs"]
mod props;
