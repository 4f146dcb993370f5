//! The numbers by which a sleeper decides. Configuration only: the decisions are in `site` (how long
//! a step may be) and `start` (whether a cycle is worth starting).

use std::time::Duration;

use super::switches::Switches;

/// How a [`Sleeper`](super::Sleeper) decides; `Policy::default()` is for programs that wait for
/// networks and timers.
///
/// # When a cycle starts
///
/// A cycle costs CPU time in proportion to what is alive and gains what is dead. So a start is
/// priced: the CPU time that the last cycles took, scaled to the live bytes of today, must not
/// exceed a price for each byte allocated since. This is at the same time the cap on idle work: over
/// any stretch of time the cycles that waits start cost at most `long_price_ns_per_kib` for each
/// KiB allocated, as far as the estimate is right. A second cycle in a row that freed little doubles what
/// must be allocated before the next, so that a heap that only grows is soon left alone; each allocated byte
/// brings the next start nearer, so that it is never left alone for good; and without allocation
/// nothing starts at all.
///
/// Waits known or found to be long (`long_wait`) get the generous price: nobody else wants the
/// processor's time there, and what is not collected before a long silence is held through it.
///
/// A collector with two generations starts young cycles, which leave what has died old. What has become old since the last full cycle
/// (`promoted_bytes` of the hint) is priced as well: as soon as it pays for a full cycle, the next one is full. A full cycle that
/// found nearly all of it alive doubles what the next one needs. Where so much dies old that full cycles alone are cheaper, there are
/// only those, paid for by `price_ns_per_kib`; a young one is tried after each sixteen of them. So that price is what to change where
/// memory and CPU time are worth more or less than by default: `F` ns of CPU time for a full cycle leave garbage of `F / price` KiB.
///
/// Both prices fall where processors are scarce (`/proc/pressure/cpu`, or the load where the kernel does not tell) and rise where memory
/// is. What a small cycle needs at least stays the same, since it is hardly felt. The kernel is asked once a second at most, and only
/// where a cycle would start.
#[derive(Clone, Debug)]
pub struct Policy {
    /// What waits may do; the environment can turn off more.
    pub switches: Switches,
    /// How long a step may be where the event can come at any time.
    pub step: Duration,
    /// How long a step may be where the event is known not to come yet.
    pub max_step: Duration,
    /// Less allocation than this starts no cycle in a wait of ordinary length.
    pub start_bytes: usize,
    /// The CPU time that a cycle started in an ordinary wait may cost for each KiB allocated.
    pub price_ns_per_kib: u64,
    /// A wait is long when it is expected to last this long, or has done so.
    pub long_wait: Duration,
    /// Less allocation than this starts no cycle in a long wait.
    pub long_start_bytes: usize,
    /// The CPU time that a cycle started in a long wait may cost for each KiB allocated.
    pub long_price_ns_per_kib: u64,
    /// Less that has become old than this makes no cycle a full one.
    pub promoted_start_bytes: usize,
    /// The CPU time that a full cycle may cost for each KiB that has become old since the last one.
    pub promoted_price_ns_per_kib: u64,
    /// A wait expected to be shorter than this starts no cycle.
    pub min_wait: Duration,
    /// A stack deeper than this many frames starts cycles in long waits only.
    pub deep_frames: usize,
    /// What is left of both prices, in percent, on a machine whose processors are waited for all the time; 100: they stay as they are.
    /// Up to half of the time counts as none.
    pub busy_price_percent: u16,
    /// What becomes of both prices, in percent, where memory is short: in our own cgroup, or in the machine.
    pub short_memory_price_percent: u16,
    /// Whether a wait whose heap is lent leaves the sweep to the scavenger, as far as it can do that: no destructors, and a
    /// scavenger that runs. It comes at once after a silence, and on its schedule (every 100 ms) else; what it could not do by the
    /// next wait is swept there. Off: the waiting thread sweeps, whose time nobody wants, and the scavenger need not be woken; the
    /// figures are in `ARCHITECTURE.md`. Either way the scavenger does what a wait could not or may not do before it blocked.
    pub delegate_sweep: bool,
    /// A cycle that freed less than this share of what was allocated before it, in percent, was not
    /// worth it.
    pub productive_percent: u8,
}

impl Default for Policy {
    fn default() -> Self {
        Self::DEFAULT
    }
}

impl Policy {
    /// `Policy::default()`, for policies that are fixed when the program is built.
    ///
    /// ```
    /// use sleepy_gc::idle::{Policy, Switches};
    /// const SWEEPS_ONLY: Policy = Policy {
    ///     switches: Switches { sweep: true, ..Switches::OFF },
    ///     ..Policy::DEFAULT
    /// };
    /// ```
    pub const DEFAULT: Self = Self {
        switches: Switches::ON,
        step: Duration::from_micros(5),
        max_step: Duration::from_micros(100),
        start_bytes: 384 << 10,
        price_ns_per_kib: 5_000,
        long_wait: Duration::from_millis(50),
        long_start_bytes: 16 << 10,
        long_price_ns_per_kib: 10_000,
        promoted_start_bytes: 64 << 10,
        promoted_price_ns_per_kib: 8_000,
        min_wait: Duration::from_micros(50),
        deep_frames: 200,
        busy_price_percent: 25,
        short_memory_price_percent: 400,
        delegate_sweep: false,
        productive_percent: 10,
    };

    /// The default policy with all switches off: waits are plain waits.
    pub const fn off() -> Self {
        Self {
            switches: Switches::OFF,
            ..Self::DEFAULT
        }
    }

    /// Whether a collector that keeps no history of its own should say that it wants a cycle: with
    /// at least as much to look at as a long wait asks for. The sleeper's prices do the rest.
    pub fn wants_cycle(new_bytes: usize) -> bool {
        new_bytes >= Self::DEFAULT.long_start_bytes
    }
}

/// A duration in whole nanoseconds; 584 years where it does not fit.
pub(super) fn ns_of(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}
