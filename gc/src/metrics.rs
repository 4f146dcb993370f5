//! The counters of an arena, and the registry of all arenas.
//!
//! Counters are written by the arena's thread alone, with plain relaxed loads and stores, and read by anybody: each is
//! right by itself, two of them need not belong to the same moment.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU64, AtomicUsize, Ordering};

use crossbeam_epoch::{Atomic, Guard, Owned, Shared as EpochShared};

use crate::idle::Histogram;
use crate::pacing::Pacing;
use crate::step::CollectionPhase;

/// Why a cycle was started.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Cause {
    /// Allocation reached the trigger.
    Allocation,
    /// The program was about to wait.
    Idle,
    /// The program asked.
    Explicit,
    /// Memory ran out, or the heap limit was reached.
    Emergency,
}

/// The counters of an arena. A cheap handle: it may outlive the arena, and be read on any thread.
#[derive(Clone, Debug)]
pub struct Metrics {
    counters: Arc<Counters>,
}

#[derive(Debug)]
struct Counters {
    heap_bytes: AtomicUsize,
    external_bytes: AtomicUsize,
    live_bytes: AtomicUsize,
    live_objects: AtomicUsize,
    allocated_bytes: AtomicU64,
    freed_bytes: AtomicU64,
    cycles_begun: [AtomicU64; 4],
    cycles: AtomicU64,
    steps_idle: AtomicU64,
    steps_forced: AtomicU64,
    phase: AtomicU8,
    debt_bytes: AtomicUsize,
    pacing: parking_lot::Mutex<Pacing>,
    step_times: parking_lot::Mutex<StepTimes>,
}

/// How long steps took.
#[derive(Clone, Debug, Default)]
pub struct StepTimes {
    /// Steps made while the program waited.
    pub idle: Histogram,
    /// Steps that the running program had to make.
    pub forced: Histogram,
}

impl Metrics {
    pub(crate) fn new() -> Self {
        Self {
            counters: Arc::new(Counters {
                heap_bytes: AtomicUsize::new(0),
                external_bytes: AtomicUsize::new(0),
                live_bytes: AtomicUsize::new(0),
                live_objects: AtomicUsize::new(0),
                allocated_bytes: AtomicU64::new(0),
                freed_bytes: AtomicU64::new(0),
                cycles_begun: [const { AtomicU64::new(0) }; 4],
                cycles: AtomicU64::new(0),
                steps_idle: AtomicU64::new(0),
                steps_forced: AtomicU64::new(0),
                phase: AtomicU8::new(0),
                debt_bytes: AtomicUsize::new(0),
                pacing: parking_lot::Mutex::new(Pacing::DEFAULT),
                step_times: parking_lot::Mutex::default(),
            }),
        }
    }

    /// Bytes of cells that hold objects, live or not yet swept, and of declared external memory. Cells are handed out a
    /// few at a time, and counted then.
    #[must_use]
    pub fn heap_bytes(&self) -> usize {
        self.counters.heap_bytes.load(Ordering::Relaxed)
    }

    /// Bytes that objects declared to own outside the arena.
    #[must_use]
    pub fn external_bytes(&self) -> usize {
        self.counters.external_bytes.load(Ordering::Relaxed)
    }

    /// Bytes that survived the last cycle.
    #[must_use]
    pub fn live_bytes(&self) -> usize {
        self.counters.live_bytes.load(Ordering::Relaxed)
    }

    /// Objects that survived the last cycle, buffers of collections included.
    #[must_use]
    pub fn live_objects(&self) -> usize {
        self.counters.live_objects.load(Ordering::Relaxed)
    }

    /// Bytes ever allocated.
    #[must_use]
    pub fn allocated_bytes(&self) -> u64 {
        self.counters.allocated_bytes.load(Ordering::Relaxed)
    }

    /// Bytes ever freed.
    #[must_use]
    pub fn freed_bytes(&self) -> u64 {
        self.counters.freed_bytes.load(Ordering::Relaxed)
    }

    /// Cycles that have ended.
    #[must_use]
    pub fn cycles(&self) -> u64 {
        self.counters.cycles.load(Ordering::Relaxed)
    }

    /// Cycles that were started for this reason.
    #[must_use]
    pub fn cycles_begun(&self, cause: Cause) -> u64 {
        self.counters.cycles_begun[cause as usize].load(Ordering::Relaxed)
    }

    /// Steps that were made while the program waited.
    #[must_use]
    pub fn steps_idle(&self) -> u64 {
        self.counters.steps_idle.load(Ordering::Relaxed)
    }

    /// Steps that the running program had to make.
    #[must_use]
    pub fn steps_forced(&self) -> u64 {
        self.counters.steps_forced.load(Ordering::Relaxed)
    }

    /// How long steps took.
    #[must_use]
    pub fn step_times(&self) -> StepTimes {
        self.counters.step_times.lock().clone()
    }

    /// Where the collector stood after its last step.
    #[must_use]
    pub fn phase(&self) -> CollectionPhase {
        match self.counters.phase.load(Ordering::Relaxed) {
            0 => CollectionPhase::Sleeping,
            1 => CollectionPhase::Marking,
            2 => CollectionPhase::Marked,
            _ => CollectionPhase::Sweeping,
        }
    }

    /// The debt after the last step, in bytes of work.
    #[must_use]
    #[allow(clippy::cast_precision_loss, reason = "gc-arena's type")]
    pub fn allocation_debt(&self) -> f64 {
        self.counters.debt_bytes.load(Ordering::Relaxed) as f64
    }

    /// Changes the pacing, from the next step on.
    pub fn set_pacing(&self, pacing: Pacing) {
        *self.counters.pacing.lock() = pacing;
    }

    /// The pacing.
    #[must_use]
    pub fn pacing(&self) -> Pacing {
        *self.counters.pacing.lock()
    }

    pub(crate) fn add_heap(&self, bytes: usize) {
        add(&self.counters.heap_bytes, bytes);
        add64(&self.counters.allocated_bytes, bytes);
    }

    pub(crate) fn sub_heap(&self, bytes: usize) {
        sub(&self.counters.heap_bytes, bytes);
        add64(&self.counters.freed_bytes, bytes);
    }

    /// Takes back an [`Metrics::add_heap`] that was not used.
    pub(crate) fn undo_heap(&self, bytes: usize) {
        sub(&self.counters.heap_bytes, bytes);
        let counter = &self.counters.allocated_bytes;
        counter.store(
            counter.load(Ordering::Relaxed).wrapping_sub(bytes as u64),
            Ordering::Relaxed,
        );
    }

    pub(crate) fn add_external(&self, bytes: usize) {
        add(&self.counters.external_bytes, bytes);
    }

    /// Takes back declared bytes, at most as many as there are; answers how many.
    pub(crate) fn sub_external(&self, bytes: usize) -> usize {
        let bytes = bytes.min(self.external_bytes());
        sub(&self.counters.external_bytes, bytes);
        bytes
    }

    pub(crate) fn cycle_begun(&self, cause: Cause) {
        add64(&self.counters.cycles_begun[cause as usize], 1);
    }

    pub(crate) fn cycle_ended(&self, live_bytes: usize, live_objects: usize) {
        add64(&self.counters.cycles, 1);
        self.counters
            .live_bytes
            .store(live_bytes, Ordering::Relaxed);
        self.counters
            .live_objects
            .store(live_objects, Ordering::Relaxed);
    }

    pub(crate) fn step_ended(
        &self,
        phase: CollectionPhase,
        debt_bytes: usize,
        idle: bool,
        ns: u64,
    ) {
        self.set_phase(phase, debt_bytes);
        let mut times = self.counters.step_times.lock();
        if idle {
            add64(&self.counters.steps_idle, 1);
            times.idle.record(ns);
        } else {
            add64(&self.counters.steps_forced, 1);
            times.forced.record(ns);
        }
    }

    pub(crate) fn set_phase(&self, phase: CollectionPhase, debt_bytes: usize) {
        self.counters.phase.store(phase as u8, Ordering::Relaxed);
        self.counters
            .debt_bytes
            .store(debt_bytes, Ordering::Relaxed);
    }
}

// Relaxed throughout: see the module.
fn add(counter: &AtomicUsize, value: usize) {
    counter.store(
        counter.load(Ordering::Relaxed).wrapping_add(value),
        Ordering::Relaxed,
    );
}

fn sub(counter: &AtomicUsize, value: usize) {
    counter.store(
        counter.load(Ordering::Relaxed).wrapping_sub(value),
        Ordering::Relaxed,
    );
}

fn add64(counter: &AtomicU64, value: impl TryInto<u64>) {
    let value = value.try_into().unwrap_or(0);
    counter.store(
        counter.load(Ordering::Relaxed).wrapping_add(value),
        Ordering::Relaxed,
    );
}

/// The metrics of all arenas of the process, as a list that is replaced as a whole.
///
/// Release by the writer that publishes a list, acquire by readers: they see the list's contents. An old list is freed
/// when no pinned reader can hold it.
static ARENAS: Atomic<Vec<Metrics>> = Atomic::null();

/// The metrics of all arenas that are alive, whichever thread they belong to.
///
/// Never blocks, and never blocks others that create or drop arenas meanwhile.
#[must_use]
pub fn arenas() -> Vec<Metrics> {
    let guard = crossbeam_epoch::pin();
    list(ARENAS.load(Ordering::Acquire, &guard)).to_vec()
}

fn list<'g>(shared: EpochShared<'g, Vec<Metrics>>) -> &'g [Metrics] {
    // SAFETY: a list is freed only when no guard that was pinned while it was current is left, and its contents never
    // change.
    unsafe { shared.as_ref() }.map_or(&[], Vec::as_slice)
}

/// Replaces the list by what `change` makes of it.
fn update(guard: &Guard, change: impl Fn(&[Metrics]) -> Vec<Metrics>) {
    let mut current = ARENAS.load(Ordering::Acquire, guard);
    loop {
        let next = Owned::new(change(list(current)));
        match ARENAS.compare_exchange(current, next, Ordering::AcqRel, Ordering::Acquire, guard) {
            Ok(_) => break,
            Err(lost) => current = lost.current,
        }
    }
    if !current.is_null() {
        // SAFETY: the list was taken off by this thread, and nobody can reach it any more but pinned readers.
        unsafe { guard.defer_destroy(current) };
    }
}

pub(crate) fn register(metrics: &Metrics) {
    update(&crossbeam_epoch::pin(), |arenas| {
        arenas.iter().chain([metrics]).cloned().collect()
    });
}

pub(crate) fn unregister(metrics: &Metrics) {
    let is_other = |other: &&Metrics| !Arc::ptr_eq(&other.counters, &metrics.counters);
    update(&crossbeam_epoch::pin(), |arenas| {
        arenas.iter().filter(is_other).cloned().collect()
    });
}
