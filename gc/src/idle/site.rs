//! What is known about a wait from earlier waits at the same place, and how long a step may be there.
//!
//! Pure: durations come in as arguments.

use std::fmt;

use super::policy::{Policy, ns_of};

/// A place that waits: the kind of wait and what it waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SiteId {
    kind: Kind,
    object: u64,
}

/// The kinds of wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Poll,
    FdReadable,
    FdWritable,
    Fds,
    Timer,
    Thread,
    Child,
    FileLock,
    Mutex,
    Condvar,
    QueueFull,
    QueueEmpty,
    Foreign,
    StandIn,
}

impl SiteId {
    pub(super) fn new(kind: Kind, object: u64) -> Self {
        Self { kind, object }
    }

    fn slot(self) -> usize {
        let mixed = (self.object ^ ((self.kind as u64) << 56)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (mixed >> 60) as usize % SLOTS
    }
}

const SLOTS: usize = 16;

/// The last wait sites, direct-mapped: a program that waits at more places forgets the older ones.
#[derive(Debug, Default)]
pub(super) struct Sites {
    slots: [Option<(SiteId, History)>; SLOTS],
}

impl Sites {
    pub(super) fn history(&self, id: SiteId) -> History {
        match self.slots[id.slot()] {
            Some((owner, history)) if owner == id => history,
            _ => History::default(),
        }
    }

    /// Notes how long a wait at `id` has lasted.
    pub(super) fn observe(&mut self, id: SiteId, waited_ns: u64) {
        let mut history = self.history(id);
        history.observe(waited_ns);
        self.slots[id.slot()] = Some((id, history));
    }
}

impl fmt::Display for Sites {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (id, history) in self.slots.iter().flatten() {
            let us = |ns: u64| ns as f64 / 1e3;
            writeln!(
                f,
                "  {:?} {:#x}: {} waits, mean {:.1} µs, hardly one below {:.1} µs",
                id.kind,
                id.object,
                history.waits,
                us(history.mean_ns),
                us(history.short_ns)
            )?;
        }
        Ok(())
    }
}

/// How long waits at one place have lasted: those that were not over at once.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct History {
    waits: u32,
    mean_ns: u64,
    /// Follows short waits at once and long ones slowly: hardly a wait was shorter.
    short_ns: u64,
}

/// Waits after which a history is worth a prediction.
const ENOUGH_WAITS: u32 = 4;

impl History {
    fn observe(&mut self, waited_ns: u64) {
        self.waits = self.waits.saturating_add(1);
        if self.waits == 1 {
            (self.mean_ns, self.short_ns) = (waited_ns, waited_ns);
            return;
        }
        self.mean_ns = self.mean_ns - self.mean_ns / 8 + waited_ns / 8;
        if waited_ns < self.short_ns {
            self.short_ns = waited_ns;
        } else {
            self.short_ns += (waited_ns - self.short_ns) / 1024;
        }
    }

    /// How long the next wait here may last, once a few have been seen.
    pub(super) fn expected_ns(&self) -> Option<u64> {
        (self.waits >= ENOUGH_WAITS).then_some(self.mean_ns)
    }

    /// How long the next step may be, `elapsed_ns` into a wait that anything can end.
    ///
    /// A quarter of what hardly any wait fell short of is taken for safe; a step is a small part of what
    /// is left of that, and `policy.step` afterwards. One short wait among hundreds of long ones is
    /// enough for steps to stay short: they are what it would be late by.
    pub(super) fn step_ns(&self, policy: &Policy, elapsed_ns: u64) -> u64 {
        let safe_ns = match self.waits >= ENOUGH_WAITS {
            true => (self.short_ns / 4).saturating_sub(elapsed_ns),
            false => 0,
        };
        let shortest = ns_of(policy.step);
        (safe_ns / 64).clamp(shortest, ns_of(policy.max_step).max(shortest))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const US: u64 = 1_000;
    const MS: u64 = 1_000_000;

    fn history_of(waits: &[u64]) -> History {
        let mut history = History::default();
        for &ns in waits {
            history.observe(ns);
        }
        history
    }

    #[test]
    fn nothing_is_predicted_from_too_little() {
        assert_eq!(history_of(&[]).expected_ns(), None);
        assert_eq!(history_of(&[5, 5, 5]).expected_ns(), None);
        assert_eq!(history_of(&[5, 5, 5, 5]).expected_ns(), Some(5));
    }

    #[test]
    fn long_steps_only_early_in_waits_that_are_always_long() {
        let policy = Policy::default();
        let shortest_ns = ns_of(policy.step);
        let steady = history_of(&[32 * MS; 20]);
        assert_eq!(steady.step_ns(&policy, 0), 100 * US);
        assert_eq!(steady.step_ns(&policy, 4800 * US), 50 * US);
        assert_eq!(steady.step_ns(&policy, 8 * MS), shortest_ns);
        assert_eq!(history_of(&[MS; 20]).step_ns(&policy, 0), shortest_ns);
        let mut mixed = vec![32 * MS; 100];
        mixed[20] = 10 * US;
        assert!(history_of(&mixed).step_ns(&policy, 0) < 10 * US);
    }

    #[test]
    fn steps_stay_within_the_policy_whatever_was_seen() {
        let policy = Policy::default();
        let mut random = 1u64;
        let mut history = History::default();
        for _ in 0..10_000 {
            random = random
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            history.observe(random >> (random >> 58));
            let step_ns = history.step_ns(&policy, random >> 40);
            assert!((ns_of(policy.step)..=ns_of(policy.max_step)).contains(&step_ns));
        }
    }

    #[test]
    fn sites_do_not_mix() {
        let mut sites = Sites::default();
        let (a, b) = (
            SiteId::new(Kind::FdReadable, 3),
            SiteId::new(Kind::Timer, 3),
        );
        for _ in 0..8 {
            sites.observe(a, MS);
        }
        assert_eq!(sites.history(a).expected_ns(), Some(MS));
        assert_eq!(sites.history(b).expected_ns(), None);
        for object in 0..1000 {
            sites.observe(SiteId::new(Kind::FdReadable, object), US);
        }
        assert_ne!(sites.history(SiteId::new(Kind::FdReadable, 999)).waits, 0);
    }
}
