//! Options, by program and by environment.
//!
//! Each is an atomic of its own, read relaxed where it counts. They can change until something depends on them: until
//! the program makes a [`Heap`](crate::Heap) or the scavenger starts. The default heaps of threads do not fix them, for
//! the first of those comes before `main` where this is the global allocator.
//!
//! The environment is looked at once, when the first heap of any kind is made, and its word stands against what the
//! program installs. The C library may ask a preloaded allocator for memory before it has an environment; then the look
//! is left to the next occasion: another heap, [`Options::install`], the start of the scavenger, or [`start`].
//!
//! | [`READ`] | [`FIXED`] | |
//! |---|---|---|
//! | no | no | nothing was asked for yet, or before there was an environment |
//! | yes | no | the program may still install its own |
//! | any | yes | a heap was made, or the scavenger started: `install` fails |

mod variable;

use crate::lock::RawLock;
use crate::{fork, os, stats};
use core::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use core::time::Duration;
use variable::Setting;

/// How the allocator behaves, set with [`Options::install`].
///
/// | option | variable | numbers it takes | applies |
/// |---|---|---|---|
/// | `scavenger` | `SLEEPY_SCAVENGER` | 0 or 1 | from the first park or the first 4 MiB freed on |
/// | `purge_delay` | `SLEEPY_PURGE_DELAY_MS` | 0 to 3600000 | at once |
/// | `min_interval` | `SLEEPY_MIN_INTERVAL_MS` | 0 to 3600000 | at once |
/// | `arena_bytes` | `SLEEPY_ARENA_MIB` | 1 to 1024 | to arenas made from then on |
/// | `start_bytes` | | | at once |
/// | `numa` | | | from the second arena on |
/// | | `SLEEPY_STATS` | 0 or 1 | 1 prints the figures of [`stats`](crate::stats()) at exit |
///
/// The environment has the last word. A variable whose value is no such number is ignored, and a line on standard error
/// says so; an empty one counts as not set.
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
    /// How long memory is kept after it was freed, in case it is wanted again. More than an hour counts as an hour.
    pub purge_delay: Duration,
    /// The least time between two sweeps of the same heap. More than an hour counts as an hour.
    pub min_interval: Duration,
    /// Address space taken at once, from 1 MiB to 1 GiB. Less is taken where the system refuses that much.
    pub arena_bytes: usize,
    /// Free memory that starts the scavenger even though nobody parks.
    pub start_bytes: usize,
    /// Where the machine has several NUMA nodes, give arenas to the node of the thread that needed them, and look in
    /// those of the own node first.
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
            numa: true,
        }
    }
}

/// A heap was made already, or the scavenger has started, and with it the options are fixed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("the allocator has started: its options are fixed")]
pub struct AlreadyStarted;

/// Longer delays and intervals than this count as this.
const LONGEST: Duration = Duration::from_secs(3600);
const DEFAULT_DELAY_MS: u64 = 100;
const DEFAULT_INTERVAL_MS: u64 = 100;
const DEFAULT_ARENA_BYTES: usize = 1 << 30;
const DEFAULT_START_BYTES: usize = 4 << 20;
const NS_PER_MS: u64 = 1_000_000;

// Relaxed, all of them: each is read alone.
static SCAVENGER: AtomicBool = AtomicBool::new(true);
static PURGE_DELAY_NS: AtomicU64 = AtomicU64::new(DEFAULT_DELAY_MS * NS_PER_MS);
static MIN_INTERVAL_NS: AtomicU64 = AtomicU64::new(DEFAULT_INTERVAL_MS * NS_PER_MS);
static ARENA_BYTES: AtomicUsize = AtomicUsize::new(DEFAULT_ARENA_BYTES);
static START_BYTES: AtomicUsize = AtomicUsize::new(DEFAULT_START_BYTES);
static NUMA: AtomicBool = AtomicBool::new(true);

/// Guards changes of what stands above and below. Nothing is called under it that could allocate, and no other lock is
/// taken.
static LOCK: RawLock = RawLock::new();
/// The environment was read. Release publishes what it set to the acquire in [`start`].
static READ: AtomicBool = AtomicBool::new(false);
/// `install` comes too late. Relaxed: changed under [`LOCK`] only; a look without it only saves the lock.
static FIXED: AtomicBool = AtomicBool::new(false);
/// What the environment has set, a bit of [`by`] for each. Relaxed: used under [`LOCK`] only.
static BY_ENVIRONMENT: AtomicU32 = AtomicU32::new(0);
/// Somebody has taken the fork handlers on himself. Relaxed: it only picks one.
static REGISTERED: AtomicBool = AtomicBool::new(false);

/// Bits of [`BY_ENVIRONMENT`].
mod by {
    pub(super) const SCAVENGER: u32 = 1;
    pub(super) const PURGE_DELAY: u32 = 2;
    pub(super) const MIN_INTERVAL: u32 = 4;
    pub(super) const ARENA: u32 = 8;
}

impl Options {
    /// Makes these the options of the process, where the environment does not say otherwise.
    ///
    /// Where this is the global allocator, do it first thing in `main`: what was allocated before does not stand in the
    /// way.
    ///
    /// # Errors
    /// When the program has made a heap already, or has freed so much that the scavenger has started.
    pub fn install(self) -> Result<(), AlreadyStarted> {
        start();
        LOCK.lock();
        let fixed = FIXED.load(Ordering::Relaxed);
        if !fixed {
            self.set();
        }
        LOCK.unlock();
        if fixed { Err(AlreadyStarted) } else { Ok(()) }
    }

    /// Needs the lock.
    fn set(&self) {
        let by_environment = BY_ENVIRONMENT.load(Ordering::Relaxed);
        let is_free = |bit: u32| by_environment & bit == 0;
        if is_free(by::SCAVENGER) {
            SCAVENGER.store(self.scavenger, Ordering::Relaxed);
        }
        if is_free(by::PURGE_DELAY) {
            PURGE_DELAY_NS.store(whole_ns(self.purge_delay), Ordering::Relaxed);
        }
        if is_free(by::MIN_INTERVAL) {
            MIN_INTERVAL_NS.store(whole_ns(self.min_interval), Ordering::Relaxed);
        }
        if is_free(by::ARENA) {
            ARENA_BYTES.store(self.arena_bytes, Ordering::Relaxed);
        }
        START_BYTES.store(self.start_bytes, Ordering::Relaxed);
        NUMA.store(self.numa, Ordering::Relaxed);
    }
}

/// Nanoseconds of a duration; what is longer than an hour counts as an hour.
fn whole_ns(duration: Duration) -> u64 {
    duration.min(LONGEST).as_nanos() as u64
}

/// Reads the environment if that was not done yet and there is one; called before a heap of any kind is made.
///
/// The C library may allocate for what this registers, and so call this again: that call finds the work taken, and goes
/// on. Must not be called under a lock of the allocator.
pub(crate) fn start() {
    if !READ.load(Ordering::Acquire) {
        start_slow();
    }
}

#[cold]
fn start_slow() {
    if !REGISTERED.swap(true, Ordering::Relaxed) {
        fork::register();
    }
    if read_environment() {
        stats::print_at_exit();
    }
}

/// True for the one call that finds that the figures are to be printed at exit.
fn read_environment() -> bool {
    let mut is_printed = false;
    LOCK.lock();
    if !READ.load(Ordering::Relaxed) {
        let found = os::each_variable(variable::PREFIX, |name, value| {
            match variable::read(name, value) {
                Some(Ok(Setting::Stats(wanted))) => is_printed = wanted,
                Some(Ok(setting)) => take(setting),
                Some(Err(complaint)) => os::write_stderr(complaint.as_bytes()),
                None => {}
            }
        });
        READ.store(found, Ordering::Release);
    }
    LOCK.unlock();
    is_printed
}

/// Needs the lock.
fn take(setting: Setting) {
    let bit = match setting {
        Setting::Scavenger(wanted) => {
            SCAVENGER.store(wanted, Ordering::Relaxed);
            by::SCAVENGER
        }
        Setting::PurgeDelayMs(ms) => {
            PURGE_DELAY_NS.store(ms * NS_PER_MS, Ordering::Relaxed);
            by::PURGE_DELAY
        }
        Setting::MinIntervalMs(ms) => {
            MIN_INTERVAL_NS.store(ms * NS_PER_MS, Ordering::Relaxed);
            by::MIN_INTERVAL
        }
        Setting::ArenaMib(mib) => {
            ARENA_BYTES.store((mib as usize) << 20, Ordering::Relaxed);
            by::ARENA
        }
        Setting::Stats(_) => 0,
    };
    BY_ENVIRONMENT.fetch_or(bit, Ordering::Relaxed);
}

/// From now on `install` fails.
#[inline]
pub(crate) fn fix() {
    if !FIXED.load(Ordering::Relaxed) {
        // Under the lock, so that an `install` is either done by now or fails.
        LOCK.lock();
        FIXED.store(true, Ordering::Relaxed);
        LOCK.unlock();
    }
}

/// Keeps the options as they are while the process forks.
pub(crate) fn lock_for_fork() {
    LOCK.lock();
}

/// Ends [`lock_for_fork`], in parent and child.
pub(crate) fn unlock_after_fork() {
    LOCK.unlock();
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

pub(crate) fn numa() -> bool {
    NUMA.load(Ordering::Relaxed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_delay_is_an_hour() {
        assert_eq!(whole_ns(Duration::MAX), 3600 * 1_000_000_000);
    }

    #[test]
    fn the_environment_has_the_last_word() {
        // The process is this test's own only under nextest, so it leaves everything as it was.
        LOCK.lock();
        let before = BY_ENVIRONMENT.load(Ordering::Relaxed);
        take(Setting::MinIntervalMs(100));
        Options {
            min_interval: Duration::from_secs(9),
            ..Options::default()
        }
        .set();
        assert_eq!(min_interval_ns(), 100 * NS_PER_MS);
        BY_ENVIRONMENT.store(before, Ordering::Relaxed);
        LOCK.unlock();
    }
}
