//! Options, by program and by environment.
//!
//! They are fixed when the first heap is made. Each is an atomic of its own, read relaxed: it is set before the first
//! heap exists, and a reader that comes earlier sees the default.

use crate::lock::RawLock;
use crate::os;
use core::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use core::time::Duration;

/// How the allocator behaves, set with [`Options::install`] before the first heap is made.
///
/// The environment has the last word: `SLEEPY_SCAVENGER` (`0` or `1`), `SLEEPY_PURGE_DELAY_MS`, `SLEEPY_MIN_INTERVAL_MS`
/// and `SLEEPY_ARENA_MIB` override what the program chose, and `SLEEPY_STATS=1` prints the counters at exit.
///
/// # Example
/// ```
/// use sleepy_alloc::{AlreadyStarted, Heap, Options};
/// let options = Options { arena_bytes: 256 << 20, ..Options::default() };
/// assert!(options.clone().install().is_ok());
/// let heap = Heap::new().unwrap();
/// assert_eq!(options.install(), Err(AlreadyStarted));
/// # drop(heap);
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Options {
    /// Let a thread give memory back. Without it, parks do a bounded part of its work themselves.
    pub scavenger: bool,
    /// How long memory is kept after it was freed, in case it is wanted again.
    pub purge_delay: Duration,
    /// The least time between two sweeps of the same heap.
    pub min_interval: Duration,
    /// Address space taken at once, at most 1 GiB. Less is taken where the system refuses that much.
    pub arena_bytes: usize,
    /// Free memory that starts the scavenger even though nobody parks.
    pub start_bytes: usize,
    /// Place arenas by NUMA node. Has no effect so far: arenas are shared by all nodes.
    pub numa: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            scavenger: true,
            purge_delay: Duration::from_millis(DEFAULT_DELAY_MS),
            min_interval: Duration::from_millis(DEFAULT_INTERVAL_MS),
            arena_bytes: DEFAULT_ARENA_BYTES,
            start_bytes: DEFAULT_START_BYTES,
            numa: false,
        }
    }
}

/// The first heap exists already, and with it the options are fixed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("the allocator has started: its options are fixed")]
pub struct AlreadyStarted;

const DEFAULT_DELAY_MS: u64 = 100;
const DEFAULT_INTERVAL_MS: u64 = 100;
const DEFAULT_ARENA_BYTES: usize = 1 << 30;
const DEFAULT_START_BYTES: usize = 4 << 20;
const NS_PER_MS: u64 = 1_000_000;

static SCAVENGER: AtomicBool = AtomicBool::new(true);
static PURGE_DELAY_NS: AtomicU64 = AtomicU64::new(DEFAULT_DELAY_MS * NS_PER_MS);
static MIN_INTERVAL_NS: AtomicU64 = AtomicU64::new(DEFAULT_INTERVAL_MS * NS_PER_MS);
static ARENA_BYTES: AtomicUsize = AtomicUsize::new(DEFAULT_ARENA_BYTES);
static START_BYTES: AtomicUsize = AtomicUsize::new(DEFAULT_START_BYTES);

/// Guards the change of [`STARTED`].
static START: RawLock = RawLock::new();
/// The options are fixed. Release publishes them to the acquire in [`start`].
static STARTED: AtomicBool = AtomicBool::new(false);

impl Options {
    /// Makes these the options of the process.
    ///
    /// # Errors
    /// When a heap exists already.
    pub fn install(self) -> Result<(), AlreadyStarted> {
        START.lock();
        let started = STARTED.load(Ordering::Relaxed);
        if !started {
            self.set();
        }
        START.unlock();
        if started { Err(AlreadyStarted) } else { Ok(()) }
    }

    fn set(&self) {
        SCAVENGER.store(self.scavenger, Ordering::Relaxed);
        PURGE_DELAY_NS.store(whole_ns(self.purge_delay), Ordering::Relaxed);
        MIN_INTERVAL_NS.store(whole_ns(self.min_interval), Ordering::Relaxed);
        ARENA_BYTES.store(self.arena_bytes, Ordering::Relaxed);
        START_BYTES.store(self.start_bytes, Ordering::Relaxed);
    }
}

/// Nanoseconds of a duration; what is longer than an hour counts as an hour.
fn whole_ns(duration: Duration) -> u64 {
    duration.min(Duration::from_secs(3600)).as_nanos() as u64
}

/// Fixes the options, once, before the first heap is made.
pub(crate) fn start() {
    if STARTED.load(Ordering::Acquire) {
        return;
    }
    START.lock();
    if !STARTED.load(Ordering::Relaxed) {
        os::each_variable(b"SLEEPY_", set_variable);
        crate::fork::register();
        STARTED.store(true, Ordering::Release);
    }
    START.unlock();
}

/// Takes one variable of the environment, given without its prefix. What cannot be read as a number is passed over.
fn set_variable(name: &[u8], value: &[u8]) {
    let Some(number) = number(value) else { return };
    match name {
        b"SCAVENGER" => SCAVENGER.store(number != 0, Ordering::Relaxed),
        b"PURGE_DELAY_MS" => {
            PURGE_DELAY_NS.store(whole_ns(Duration::from_millis(number)), Ordering::Relaxed)
        }
        b"MIN_INTERVAL_MS" => {
            MIN_INTERVAL_NS.store(whole_ns(Duration::from_millis(number)), Ordering::Relaxed)
        }
        b"ARENA_MIB" => {
            ARENA_BYTES.store((number as usize).saturating_mul(1 << 20), Ordering::Relaxed)
        }
        b"STATS" if number != 0 => crate::stats::print_at_exit(),
        _ => {}
    }
}

/// A decimal number of at most 18 digits.
fn number(text: &[u8]) -> Option<u64> {
    if text.is_empty() || text.len() > 18 {
        return None;
    }
    text.iter().try_fold(0, |number, digit| {
        digit
            .is_ascii_digit()
            .then(|| number * 10 + u64::from(digit - b'0'))
    })
}

pub(crate) fn scavenger() -> bool {
    SCAVENGER.load(Ordering::Relaxed)
}

pub(crate) fn purge_delay_ns() -> u64 {
    PURGE_DELAY_NS.load(Ordering::Relaxed)
}

pub(crate) fn min_interval_ns() -> u64 {
    MIN_INTERVAL_NS.load(Ordering::Relaxed)
}

pub(crate) fn arena_bytes() -> usize {
    ARENA_BYTES.load(Ordering::Relaxed)
}

pub(crate) fn start_bytes() -> usize {
    START_BYTES.load(Ordering::Relaxed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_or_passed_over() {
        assert_eq!(number(b"0"), Some(0));
        assert_eq!(number(b"1500"), Some(1500));
        for bad in [&b""[..], b"-1", b"1x", b" 1", b"9999999999999999999"] {
            assert_eq!(number(bad), None);
        }
    }

    #[test]
    fn a_long_delay_is_an_hour() {
        assert_eq!(whole_ns(Duration::MAX), 3600 * 1_000_000_000);
    }
}
