//! The counters of an arena, and the registry of all arenas.
//!
//! Counters are written by whoever has the arena (its thread, or the scavenger's while it is parked), with plain relaxed loads and stores, and read by anybody: each is
//! right by itself, two of them need not belong to the same moment. One is the other way round: anybody may adjust the
//! debt, and the arena takes that over.

mod exact;
mod registry;
mod report;

use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicIsize, AtomicU8, AtomicU64, AtomicUsize, Ordering};

use crate::idle::Histogram;
#[doc(inline)]
pub use crate::pacing::Pacing;
use crate::step::CollectionPhase;
use exact::Exact;

pub use registry::arenas;
pub(crate) use registry::{register, unregister};
pub use report::{CyclesByCause, Quantiles, Report, StepTimesReport};

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

/// The next arena's number. Relaxed: each is drawn once.
static NEXT_ARENA: AtomicU64 = AtomicU64::new(1);

#[derive(Debug)]
struct Counters {
    arena_id: u64,
    exact: Exact,
    heap_bytes: AtomicUsize,
    /// Cells that hold objects, or are reserved for the next ones.
    cells: AtomicUsize,
    /// Those that were reserved when the arena's handle was asked for last.
    reserved_cells: AtomicUsize,
    reserved_bytes: AtomicUsize,
    external_bytes: AtomicUsize,
    live_bytes: AtomicUsize,
    live_objects: AtomicUsize,
    allocated_bytes: AtomicU64,
    freed_bytes: AtomicU64,
    allocated_cells: AtomicU64,
    freed_objects: AtomicU64,
    delegated_bytes: AtomicU64,
    delegated_pages: AtomicU64,
    cycles_begun: [AtomicU64; 4],
    cycles: AtomicU64,
    steps_idle: AtomicU64,
    steps_forced: AtomicU64,
    phase: AtomicU8,
    /// Bytes that may be allocated before a step is due; negative: one is due.
    credit_bytes: AtomicIsize,
    /// Debt that steps have put off, which is due with the next.
    owed_bytes: AtomicUsize,
    /// What [`Metrics::adjust_debt`] has added, and the arena has not taken over. Relaxed read-modify-writes: the number
    /// stands for itself.
    adjustment_bytes: AtomicIsize,
    /// External bytes that were marked from outside, less those that were unmarked, since the arena took them over last.
    /// Relaxed read-modify-writes: the number stands for itself.
    marked_bytes: AtomicIsize,
    pacing: parking_lot::Mutex<Pacing>,
    step_times: parking_lot::Mutex<StepTimes>,
}

/// How long steps took: as a whole, by who had to wait for them, and by phase.
///
/// A step that works in several phases is counted in the histogram of each, with the time that it spent there.
#[non_exhaustive]
#[derive(Clone, Debug, Default)]
pub struct StepTimes {
    /// Steps made while the program waited.
    pub idle: Histogram,
    /// Steps that the running program had to make.
    pub forced: Histogram,
    /// Time in [`CollectionPhase::Marking`], with the decisions about weak values and finalizers.
    pub marking: Histogram,
    /// Time at the beginning of [`CollectionPhase::Sweeping`], when weak containers forget the dead.
    pub clearing: Histogram,
    /// Time in the rest of [`CollectionPhase::Sweeping`], destructors included.
    pub sweeping: Histogram,
}

/// What a step did with its time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct StepTime {
    pub(crate) idle: bool,
    pub(crate) total_ns: u64,
    /// `None`: it did not work in that phase.
    pub(crate) marking_ns: Option<u64>,
    pub(crate) clearing_ns: Option<u64>,
    pub(crate) sweeping_ns: Option<u64>,
}

impl Metrics {
    pub(crate) fn new() -> Self {
        Self {
            counters: Arc::new(Counters {
                arena_id: NEXT_ARENA.fetch_add(1, Ordering::Relaxed),
                exact: Exact::new(),
                heap_bytes: AtomicUsize::new(0),
                cells: AtomicUsize::new(0),
                reserved_cells: AtomicUsize::new(0),
                reserved_bytes: AtomicUsize::new(0),
                external_bytes: AtomicUsize::new(0),
                live_bytes: AtomicUsize::new(0),
                live_objects: AtomicUsize::new(0),
                allocated_bytes: AtomicU64::new(0),
                freed_bytes: AtomicU64::new(0),
                allocated_cells: AtomicU64::new(0),
                freed_objects: AtomicU64::new(0),
                delegated_bytes: AtomicU64::new(0),
                delegated_pages: AtomicU64::new(0),
                cycles_begun: [const { AtomicU64::new(0) }; 4],
                cycles: AtomicU64::new(0),
                steps_idle: AtomicU64::new(0),
                steps_forced: AtomicU64::new(0),
                phase: AtomicU8::new(0),
                credit_bytes: AtomicIsize::new(0),
                owed_bytes: AtomicUsize::new(0),
                adjustment_bytes: AtomicIsize::new(0),
                marked_bytes: AtomicIsize::new(0),
                pacing: parking_lot::Mutex::new(Pacing::DEFAULT),
                step_times: parking_lot::Mutex::default(),
            }),
        }
    }

    /// The number of the arena: no two of a process have the same.
    #[must_use]
    pub fn arena_id(&self) -> u64 {
        self.counters.arena_id
    }

    /// Bytes of cells that hold objects, live or not yet swept, and of declared external memory. Cells are handed out a
    /// few at a time, and counted then. Once the arena is dropped, what is declared and not taken back is left.
    #[must_use]
    pub fn heap_bytes(&self) -> usize {
        let known = self.counters.external_bytes.load(Ordering::Relaxed);
        self.counted_bytes()
            .saturating_sub(known)
            .saturating_add(self.external_bytes())
    }

    /// As [`Metrics::heap_bytes`], without what was declared from outside and not taken over by the arena.
    pub(crate) fn counted_bytes(&self) -> usize {
        self.counters.heap_bytes.load(Ordering::Relaxed)
    }

    /// Objects that are alive or not yet swept, buffers of collections included.
    ///
    /// Exact on the arena's own thread. Elsewhere it counts cells, which are handed out a few dozen at a time; so it does for a
    /// clone that was made before of an arena that [moves between threads](crate::idle::SendArena).
    #[must_use]
    pub fn total_gc_count(&self) -> usize {
        self.counters.exact.update();
        let reserved = self.counters.reserved_cells.load(Ordering::Relaxed);
        self.counters
            .cells
            .load(Ordering::Relaxed)
            .saturating_sub(reserved)
    }

    /// Objects ever allocated; as exact as [`Metrics::total_gc_count`].
    #[must_use]
    pub fn allocated_objects(&self) -> u64 {
        self.counters.exact.update();
        let reserved = self.counters.reserved_cells.load(Ordering::Relaxed);
        self.counters
            .allocated_cells
            .load(Ordering::Relaxed)
            .saturating_sub(reserved as u64)
    }

    /// Objects ever freed.
    #[must_use]
    pub fn freed_objects(&self) -> u64 {
        self.counters.freed_objects.load(Ordering::Relaxed)
    }

    /// Bytes that objects declared to own outside the arena.
    #[must_use]
    pub fn external_bytes(&self) -> usize {
        let known = self.counters.external_bytes.load(Ordering::Relaxed);
        known.saturating_add_signed(self.counters.marked_bytes.load(Ordering::Relaxed))
    }

    /// Declares bytes that an object owns outside the arena, as
    /// [`Mutation::add_external_bytes`](crate::Mutation::add_external_bytes) does, where there is no `Mutation`: the arena
    /// takes them over when it is next asked for debt, begins a callback, or runs out of reserved cells.
    pub fn mark_external_allocation(&self, bytes: usize) {
        self.mark_external(isize::try_from(bytes).unwrap_or(isize::MAX));
    }

    /// Takes back what [`Metrics::mark_external_allocation`] declared.
    pub fn mark_external_deallocation(&self, bytes: usize) {
        self.mark_external(-isize::try_from(bytes).unwrap_or(isize::MAX));
    }

    fn mark_external(&self, bytes: isize) {
        self.counters
            .marked_bytes
            .fetch_add(bytes, Ordering::Relaxed);
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

    /// Bytes that the scavenger has freed while the arena was [parked](crate::Arena::park): a part of
    /// [`Metrics::freed_bytes`].
    #[must_use]
    pub fn delegated_bytes(&self) -> u64 {
        self.counters.delegated_bytes.load(Ordering::Relaxed)
    }

    /// Pages that the scavenger has swept while the arena was parked, as far as the arena was used again since.
    #[must_use]
    pub fn delegated_pages(&self) -> u64 {
        self.counters.delegated_pages.load(Ordering::Relaxed)
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

    /// The bytes that were allocated and have not been paid for by work, what earlier steps have put off included: 0 while no step is due. (gc-arena 0.7 counts
    /// objects.) As exact as [`Metrics::total_gc_count`].
    #[must_use]
    #[allow(clippy::cast_precision_loss, reason = "gc-arena's type")]
    pub fn allocation_debt(&self) -> f64 {
        self.counters.exact.update();
        if self.counted_bytes() == 0 {
            return 0.0;
        }
        let credit = self.counters.credit_bytes.load(Ordering::Relaxed);
        let adjustment = self.counters.adjustment_bytes.load(Ordering::Relaxed);
        let reserved = self.counters.reserved_bytes.load(Ordering::Relaxed);
        let debt = adjustment
            .saturating_sub(credit)
            .saturating_sub_unsigned(reserved);
        if debt <= 0 {
            return 0.0;
        }
        let owed = self.counters.owed_bytes.load(Ordering::Relaxed);
        debt.saturating_add_unsigned(owed) as f64
    }

    /// Adds to the debt, or with a negative number takes from it. While the collector sleeps this moves the start of the
    /// next cycle; the end of a cycle forgets it.
    ///
    /// The arena takes it over when a callback begins, or when it is asked what is due.
    #[allow(clippy::cast_possible_truncation, reason = "saturates")]
    pub fn adjust_debt(&self, bytes: f64) {
        self.counters
            .adjustment_bytes
            .fetch_add(bytes as isize, Ordering::Relaxed);
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

    /// Takes over what was adjusted.
    #[inline]
    pub(crate) fn take_adjustment(&self) -> isize {
        let adjustment = &self.counters.adjustment_bytes;
        if adjustment.load(Ordering::Relaxed) == 0 {
            return 0;
        }
        adjustment.swap(0, Ordering::Relaxed)
    }

    /// Takes over external bytes that were marked from outside.
    #[inline]
    pub(crate) fn take_marked(&self) -> isize {
        let marked = &self.counters.marked_bytes;
        if marked.load(Ordering::Relaxed) == 0 {
            return 0;
        }
        marked.swap(0, Ordering::Relaxed)
    }

    /// Has handles that are read on this thread ask the arena first.
    ///
    /// # Safety
    ///
    /// The arena stays on this thread, and until [`Metrics::forget_arena`] is called `update` may be, with `context`,
    /// whenever code of the user's runs on it.
    pub(crate) unsafe fn ask(&self, context: NonNull<()>, update: unsafe fn(NonNull<()>)) {
        // SAFETY: the caller's contract: code of the user's is all that reads a handle.
        unsafe { self.counters.exact.ask(context, update) };
    }

    /// Has handles ask the arena no more; no cells of it are reserved.
    pub(crate) fn forget_arena(&self) {
        self.counters.exact.forget();
        self.set_reserved(0, 0);
    }

    /// Notes that the arena's objects are dropped.
    pub(crate) fn arena_dropped(&self) {
        self.sub_heap(
            self.counters.cells.load(Ordering::Relaxed),
            self.counted_bytes(),
        );
    }

    pub(crate) fn set_credit(&self, bytes: isize) {
        self.counters.credit_bytes.store(bytes, Ordering::Relaxed);
    }

    pub(crate) fn set_owed(&self, bytes: usize) {
        self.counters.owed_bytes.store(bytes, Ordering::Relaxed);
    }

    pub(crate) fn set_reserved(&self, cells: usize, bytes: usize) {
        self.counters.reserved_cells.store(cells, Ordering::Relaxed);
        self.counters.reserved_bytes.store(bytes, Ordering::Relaxed);
    }

    /// Counts cells that were handed out or reserved, and external memory.
    pub(crate) fn add_heap(&self, cells: usize, bytes: usize) {
        add(&self.counters.heap_bytes, bytes);
        add64(&self.counters.allocated_bytes, bytes);
        add(&self.counters.cells, cells);
        add64(&self.counters.allocated_cells, cells);
    }

    pub(crate) fn sub_heap(&self, objects: usize, bytes: usize) {
        sub(&self.counters.heap_bytes, bytes);
        add64(&self.counters.freed_bytes, bytes);
        sub(&self.counters.cells, objects);
        add64(&self.counters.freed_objects, objects);
    }

    /// Counts bytes that the sweeper of a parked arena has freed, by whom they are counted as freed too.
    pub(crate) fn delegated_freed(&self, bytes: usize) {
        add64(&self.counters.delegated_bytes, bytes);
    }

    /// Counts pages that it has swept.
    pub(crate) fn delegated(&self, pages: usize) {
        add64(&self.counters.delegated_pages, pages);
    }

    /// Takes back an [`Metrics::add_heap`] that was not used.
    pub(crate) fn undo_heap(&self, cells: usize, bytes: usize) {
        sub(&self.counters.heap_bytes, bytes);
        sub64(&self.counters.allocated_bytes, bytes);
        sub(&self.counters.cells, cells);
        sub64(&self.counters.allocated_cells, cells);
    }

    pub(crate) fn add_external(&self, bytes: usize) {
        add(&self.counters.external_bytes, bytes);
    }

    /// Takes back declared bytes, at most as many as there are; answers how many.
    pub(crate) fn sub_external(&self, bytes: usize) -> usize {
        let bytes = bytes.min(self.counters.external_bytes.load(Ordering::Relaxed));
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

    pub(crate) fn step_ended(&self, phase: CollectionPhase, time: StepTime) {
        self.set_phase(phase);
        let mut times = self.counters.step_times.lock();
        if time.idle {
            add64(&self.counters.steps_idle, 1_u64);
            times.idle.record(time.total_ns);
        } else {
            add64(&self.counters.steps_forced, 1_u64);
            times.forced.record(time.total_ns);
        }
        if let Some(ns) = time.marking_ns {
            times.marking.record(ns);
        }
        if let Some(ns) = time.clearing_ns {
            times.clearing.record(ns);
        }
        if let Some(ns) = time.sweeping_ns {
            times.sweeping.record(ns);
        }
    }

    pub(crate) fn set_phase(&self, phase: CollectionPhase) {
        self.counters.phase.store(phase as u8, Ordering::Relaxed);
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

fn sub64(counter: &AtomicU64, value: usize) {
    counter.store(
        counter.load(Ordering::Relaxed).wrapping_sub(value as u64),
        Ordering::Relaxed,
    );
}
