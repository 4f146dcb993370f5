//! What objects of the heap own outside of it: the collector is paced by that too, and the limit counts it.

use std::cell::Cell;

use sleepy_gc::Mutation;
use sleepy_gc::metrics::Metrics;

/// Bytes outside of the heap, declared to the arena for as long as this lives.
pub(super) struct External {
    metrics: Metrics,
    bytes: Cell<usize>,
}

impl External {
    /// Declares `bytes`.
    pub fn new(mc: &Mutation<'_>, bytes: usize) -> External {
        mc.add_external_bytes(bytes);
        External {
            metrics: mc.metrics().clone(),
            bytes: Cell::new(bytes),
        }
    }

    /// Declares that there are `bytes` now, if they have become more.
    #[inline]
    pub fn grow_to(&self, mc: &Mutation<'_>, bytes: usize) {
        let known = self.bytes.get();
        if bytes > known {
            mc.add_external_bytes(bytes - known);
            self.bytes.set(bytes);
        }
    }
}

impl Drop for External {
    fn drop(&mut self) {
        self.metrics.mark_external_deallocation(self.bytes.get());
    }
}
