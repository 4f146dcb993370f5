//! What objects of the heap own outside of it: the collector is paced by that too, and the limit counts it.

use sleepy_gc::metrics::Metrics;

use super::state::Ctx;

/// Bytes outside of the heap, declared to the arena for as long as this lives.
pub(super) struct External {
    metrics: Metrics,
    bytes: usize,
}

impl External {
    /// Declares `bytes`.
    pub fn new(ctx: Ctx<'_>, bytes: usize) -> External {
        ctx.mc.add_external_bytes(bytes);
        External {
            metrics: ctx.mc.metrics().clone(),
            bytes,
        }
    }
}

impl Drop for External {
    fn drop(&mut self) {
        self.metrics.mark_external_deallocation(self.bytes);
    }
}
