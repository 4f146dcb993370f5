//! The arena's counters and pacing.

/// When a cycle starts, and how fast it goes.
#[derive(Clone, Copy, Debug)]
pub struct Pacing {
    pause_factor: f64,
    timing_factor: f64,
    min_sleep: usize,
}

impl Default for Pacing {
    fn default() -> Self {
        Self {
            pause_factor: 0.5,
            timing_factor: DEFAULT_TIMING,
            min_sleep: 4096,
        }
    }
}

/// The timing factor that the core's own pacing stands for.
const DEFAULT_TIMING: f64 = 1.5;

impl Pacing {
    /// How much may be allocated between two cycles, as a part of what the last one found live.
    ///
    /// # Panics
    /// If it is negative.
    #[must_use]
    pub fn with_pause_factor(mut self, pause_factor: f64) -> Self {
        assert!(pause_factor >= 0.0, "a pause is never negative");
        self.pause_factor = pause_factor;
        self
    }

    /// How long a cycle takes: with 0 it is one step.
    ///
    /// # Panics
    /// If it is negative.
    #[must_use]
    pub fn with_timing_factor(mut self, timing_factor: f64) -> Self {
        assert!(timing_factor >= 0.0, "a time is never negative");
        self.timing_factor = timing_factor;
        self
    }

    /// How many bytes may be allocated between two cycles at least.
    #[must_use]
    pub fn with_min_sleep(mut self, min_sleep: usize) -> Self {
        self.min_sleep = min_sleep;
        self
    }

    fn to_core(self) -> sleepy_gc::metrics::Pacing {
        let core = sleepy_gc::metrics::Pacing::DEFAULT;
        let slower = (self.timing_factor / DEFAULT_TIMING).min(1.0);
        sleepy_gc::metrics::Pacing {
            sleep_factor: self.pause_factor,
            min_sleep: self.min_sleep,
            mark_factor: core.mark_factor * slower,
            trace_factor: core.trace_factor * slower,
            keep_factor: core.keep_factor * slower,
            drop_factor: core.drop_factor * slower,
            free_factor: core.free_factor * slower,
        }
    }
}

/// The counters of an arena: a cheap handle.
#[derive(Clone)]
#[repr(transparent)]
pub struct Metrics(sleepy_gc::Metrics);

impl Metrics {
    #[inline]
    pub(crate) fn of(counters: &sleepy_gc::Metrics) -> &Self {
        // SAFETY: `Metrics` is transparent over the core's.
        unsafe { &*std::ptr::from_ref(counters).cast::<Self>() }
    }

    /// Changes the pacing.
    pub fn set_pacing(&self, pacing: Pacing) {
        self.0.set_pacing(pacing.to_core());
    }

    /// Bytes of objects.
    pub fn total_gc_allocation(&self) -> usize {
        self.total_allocation()
            .saturating_sub(self.total_external_allocation())
    }

    /// Bytes that objects declared to own outside of the arena.
    pub fn total_external_allocation(&self) -> usize {
        self.0.external_bytes()
    }

    /// Bytes of both.
    pub fn total_allocation(&self) -> usize {
        self.0.heap_bytes()
    }

    /// Bytes that were allocated and have not been paid for by work; 0 while no step is due.
    pub fn allocation_debt(&self) -> f64 {
        self.0.allocation_debt()
    }

    /// Declares bytes that an object owns outside of the arena.
    pub fn mark_external_allocation(&self, bytes: usize) {
        self.0.mark_external_allocation(bytes);
    }

    /// Takes back what was declared.
    pub fn mark_external_deallocation(&self, bytes: usize) {
        self.0.mark_external_deallocation(bytes);
    }
}
