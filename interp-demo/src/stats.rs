//! The figures that a running interpreter gives of itself.
//!
//! One structure, [`Stats`], stands behind `gc.stats()`, `--stats`, `--stats=json` and what
//! `compare` reads of its child processes. Its keys are the words of `sleepy_gc::idle::SleepStats`
//! and `sleepy_alloc::Stats` wherever they say the same thing. The unit of a quantity is the end of
//! its key (`_bytes`, `_ns`); a key without a unit is a count. Counts run from the start of the
//! process and only grow; the others say how things stand now.
//!
//! | key | meaning |
//! |---|---|
//! | **collector** | |
//! | `heap_bytes` | objects and payload that the collector accounts for, garbage not yet swept included |
//! | `cycles` | cycles that have ended |
//! | `cycles_by_cause.idle` | of the cycles begun: in a wait |
//! | `cycles_by_cause.debt` | … because running code had allocated enough |
//! | `cycles_by_cause.request` | … by `collectgarbage` |
//! | `cycles_by_cause.memory` | … because memory ran short (`--memory-limit`, a failed allocation) |
//! | `idle_steps` | steps made in waits that found work |
//! | `forced_steps` | steps that running code had to make: debt, `collectgarbage`, lack of memory |
//! | `forced_ns` | time in forced steps |
//! | `pause` | histogram of the time of a forced step: what running code was held up |
//! | `finalizers` | finalizers (`__gc`) that have run |
//! | **waits** (`SleepStats`) | |
//! | `waits` | waits that would have blocked |
//! | `probes` | polls with a zero timeout |
//! | `steps` | bounded steps made in waits, those that found nothing to do included |
//! | `cycles_started` | cycles that waits began |
//! | `collected_ns` | time in steps made in waits |
//! | `parks` | times that the heap was lent |
//! | `step_overrun` | histogram: CPU time of a step past the last probe that was not ready, i.e. how late a step can have made a wait |
//! | **allocator** (`sleepy_alloc::Stats`) | |
//! | `live_bytes` | blocks in use |
//! | `committed_bytes` | memory that the allocator holds from the system |
//! | `holed_bytes` | free system pages inside pages in use, given back |
//! | `purged_bytes` | bytes given back to the system |
//! | `purge_calls` | system calls that gave them back |
//! | `park_wakes` | parks that woke the scavenger |
//! | `scavenger_turns` | times that the scavenger woke up, for whatever reason |
//! | `parked_sweeps` | sweeps of lent heaps |
//! | `aborted_sweeps` | sweeps given up because the owner came back |
//! | `abandoned_pages`, `abandoned_bitmaps` | pages left by threads that ended, and the bitmaps that record them |
//! | `arenas` | address ranges reserved |
//! | `reclaim_wait_max_ns` | the longest that an owner waited to get its heap back |
//! | **process** | |
//! | `resident_bytes`, `peak_resident_bytes` | as the system counts them |
//! | `cpu_ns` | CPU time of all threads, without child processes |
//! | `elapsed_ns` | time since the start |
//!
//! A histogram is the object `{count, p50_ns, p99_ns, p999_ns, max_ns}`. The wake delay is not among
//! the keys: it takes the sender's time stamp, which only a program that knows its protocol has (the
//! scripts beside this crate report theirs).

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Everything that the runtime counts; the module's documentation has the table of the keys.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Stats {
    /// Objects and payload that the collector accounts for.
    pub heap_bytes: u64,
    /// Cycles that have ended.
    pub cycles: u64,
    /// Cycles begun, by what began them.
    pub cycles_by_cause: CyclesByCause,
    /// Steps made in waits that found work.
    pub idle_steps: u64,
    /// Steps that running code had to make.
    pub forced_steps: u64,
    /// Time in forced steps.
    pub forced_ns: u64,
    /// Time of a forced step.
    pub pause: Quantiles,
    /// Finalizers that have run.
    pub finalizers: u64,

    /// Waits that would have blocked.
    pub waits: u64,
    /// Polls with a zero timeout.
    pub probes: u64,
    /// Bounded steps made in waits.
    pub steps: u64,
    /// Cycles that waits began.
    pub cycles_started: u64,
    /// Time in steps made in waits.
    pub collected_ns: u64,
    /// Times that the heap was lent.
    pub parks: u64,
    /// CPU time of a step past the last probe that was not ready.
    pub step_overrun: Quantiles,

    /// Blocks in use.
    pub live_bytes: u64,
    /// Memory that the allocator holds from the system.
    pub committed_bytes: u64,
    /// Free system pages inside pages in use, given back.
    pub holed_bytes: u64,
    /// Bytes given back to the system.
    pub purged_bytes: u64,
    /// System calls that gave memory back.
    pub purge_calls: u64,
    /// Parks that woke the scavenger.
    pub park_wakes: u64,
    /// Times that the scavenger woke up.
    pub scavenger_turns: u64,
    /// Sweeps of lent heaps.
    pub parked_sweeps: u64,
    /// Sweeps given up because the owner came back.
    pub aborted_sweeps: u64,
    /// Pages left by threads that ended.
    pub abandoned_pages: u64,
    /// Bitmaps that record abandoned pages.
    pub abandoned_bitmaps: u64,
    /// Address ranges reserved.
    pub arenas: u64,
    /// The longest that an owner waited to get its heap back.
    pub reclaim_wait_max_ns: u64,

    /// Resident memory of the process.
    pub resident_bytes: u64,
    /// The most that was ever resident.
    pub peak_resident_bytes: u64,
    /// CPU time of all threads, without child processes.
    pub cpu_ns: u64,
    /// Time since the start of the process.
    pub elapsed_ns: u64,
}

/// Cycles begun, by what began them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct CyclesByCause {
    /// A wait with enough allocated since the last cycle.
    pub idle: u64,
    /// Running code that had allocated enough.
    pub debt: u64,
    /// `collectgarbage`.
    pub request: u64,
    /// Memory that ran short.
    pub memory: u64,
}

/// A histogram of times, summed up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Quantiles {
    /// How many times were recorded.
    pub count: u64,
    /// Half of them were no longer than this.
    pub p50_ns: u64,
    /// 99 % of them were no longer than this.
    pub p99_ns: u64,
    /// 99.9 % of them were no longer than this.
    pub p999_ns: u64,
    /// The longest.
    pub max_ns: u64,
}

impl Stats {
    /// The keys and figures in the order of the table, nested as `gc.stats()` nests them.
    ///
    /// ```
    /// let stats = interp_demo::stats::Stats { cycles: 3, ..Default::default() };
    /// assert_eq!(stats.to_value()["cycles"], 3);
    /// ```
    #[must_use]
    pub fn to_value(&self) -> Value {
        // Integers and nested structures of integers have no way to fail.
        serde_json::to_value(self).unwrap_or_default()
    }

    /// One line of JSON, without the line's end: what `--stats=json` prints.
    #[must_use]
    pub fn to_json(&self) -> String {
        self.to_value().to_string()
    }

    /// A table of two columns for people: what `--stats` prints at exit.
    #[must_use]
    pub fn to_table(&self) -> String {
        let mut rows = Vec::new();
        flatten("", &self.to_value(), &mut rows);
        let name_width = rows.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
        let figure_width = rows
            .iter()
            .map(|(_, figure)| figure.len())
            .max()
            .unwrap_or(0);
        let mut table = String::new();
        for (name, figure) in rows {
            table.push_str(&format!("{name:<name_width$}  {figure:>figure_width$}\n"));
        }
        table
    }

    /// The share of the collector's time that was spent in waits: 1 when running code never had to
    /// collect, `None` when nobody collected.
    #[must_use]
    pub fn idle_share(&self) -> Option<f64> {
        let total_ns = self.collected_ns + self.forced_ns;
        (total_ns > 0).then(|| self.collected_ns as f64 / total_ns as f64)
    }
}

/// Lists the leaves of `value` with dotted names and figures that a person can read.
fn flatten(prefix: &str, value: &Value, rows: &mut Vec<(String, String)>) {
    let Value::Object(members) = value else {
        return;
    };
    for (key, member) in members {
        let name = if prefix.is_empty() {
            key.clone()
        } else {
            format!("{prefix}.{key}")
        };
        match member.as_u64() {
            Some(figure) => rows.push((name, group_digits(figure))),
            None => flatten(&name, member, rows),
        }
    }
}

/// `1234567` as `1 234 567`.
fn group_digits(figure: u64) -> String {
    let digits = figure.to_string();
    let mut grouped = String::with_capacity(digits.len() * 4 / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            grouped.push(' ');
        }
        grouped.push(digit);
    }
    grouped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_has_the_documented_keys_in_their_order() {
        let documentation = include_str!("stats.rs");
        let json = Stats::default().to_json();
        let mut at = 0;
        for line in documentation
            .lines()
            .filter(|line| line.starts_with("//! | `"))
        {
            let names = line.split('|').nth(1).expect("a first column");
            for name in names.split('`').skip(1).step_by(2) {
                let leaf = name.rsplit('.').next().expect("a name");
                let found = json[at..].find(&format!("\"{leaf}\":"));
                at += found.unwrap_or_else(|| panic!("{name} is missing or out of order"));
            }
        }
    }

    #[test]
    fn every_key_is_documented() {
        let documentation = include_str!("stats.rs");
        for key in Stats::default()
            .to_value()
            .as_object()
            .expect("an object")
            .keys()
        {
            let documented = documentation
                .lines()
                .filter(|line| line.starts_with("//! |"))
                .any(|line| {
                    line.contains(&format!("`{key}`")) || line.contains(&format!("`{key}."))
                });
            assert!(documented, "{key} is not in the table");
        }
    }

    #[test]
    fn json_comes_back_as_it_was() {
        let stats = Stats {
            cycles: 7,
            step_overrun: Quantiles {
                count: 2,
                max_ns: 90_000,
                ..Default::default()
            },
            ..Default::default()
        };
        assert_eq!(
            serde_json::from_str::<Stats>(&stats.to_json()).expect("our own"),
            stats
        );
    }

    #[test]
    fn figures_of_the_table_are_grouped() {
        assert_eq!(group_digits(0), "0");
        assert_eq!(group_digits(999), "999");
        assert_eq!(group_digits(1_000), "1 000");
        assert_eq!(group_digits(1_234_567), "1 234 567");
        let table = Stats {
            heap_bytes: 4_096,
            ..Default::default()
        }
        .to_table();
        assert!(table.starts_with("heap_bytes"), "{table}");
        assert!(
            table.lines().any(|line| line.starts_with("pause.p99_ns")),
            "{table}"
        );
    }

    #[test]
    fn idle_share_needs_a_collection() {
        assert_eq!(Stats::default().idle_share(), None);
        let stats = Stats {
            collected_ns: 3,
            forced_ns: 1,
            ..Default::default()
        };
        assert_eq!(stats.idle_share(), Some(0.75));
    }
}
