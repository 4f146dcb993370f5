//! Containers that take part in the decision what is dead: weak maps, weak sets, queues of finalizers.

use std::ptr::NonNull;

use super::context::Context;
use super::meter::Meter;
use crate::pacing::STAGE_DIVISOR;

/// When a container is asked, once everything reachable is marked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    /// Weak values that are dead leave their maps, before anything is resurrected for its finalizer.
    Values,
    /// Dead objects with finalizers are resurrected and queued. Marking goes on afterwards, and then the stages are
    /// run again for containers that were reached only now.
    Finalize,
    /// It is decided who is dead: what names a dead object goes. The mutator may run between two calls, and is told
    /// by the container's own methods that entries of dead objects are absent already.
    Clear,
}

/// What a container does at its stages.
pub(crate) struct WeakOps {
    /// Whether it takes part in [`Stage::Values`].
    pub(crate) values: bool,
    /// Whether it takes part in [`Stage::Finalize`].
    pub(crate) finalize: bool,
    /// Whether it takes part in [`Stage::Clear`].
    pub(crate) clear: bool,
    /// Does a bounded piece, subtracting its cost in bytes looked at from the fuel, and stopping when there is none
    /// left; answers whether the stage is complete. The container keeps its own cursor and resets it at completion.
    ///
    /// # Safety
    ///
    /// The pointer is the object that was registered, alive, in this context, whose marking has come to its end with
    /// nothing gray left.
    pub(crate) run: unsafe fn(NonNull<u8>, Stage, &Context, &mut usize) -> bool,
}

/// A container of the cycle under way.
#[derive(Clone, Copy)]
pub(super) struct Special {
    pub(super) object: NonNull<u8>,
    pub(super) ops: &'static WeakOps,
}

impl Context {
    /// Runs the stages that belong to marking, each for all containers; false where the budget ended first. What they
    /// resurrect is gray.
    pub(super) fn run_marking_stages(&self, meter: &mut Meter) -> bool {
        self.run_stage(Stage::Values, meter) && self.run_stage(Stage::Finalize, meter)
    }

    /// Runs a stage for the containers that do not have it behind them; false where the budget ended first, or where
    /// something became gray that is to be marked before the stage goes on.
    pub(super) fn run_stage(&self, stage: Stage, meter: &mut Meter) -> bool {
        let done = &self.stage_done[stage as usize];
        loop {
            let Some(special) = self.specials.borrow().get(done.get()).copied() else {
                return true;
            };
            let takes_part = match stage {
                Stage::Values => special.ops.values,
                Stage::Finalize => special.ops.finalize,
                Stage::Clear => special.ops.clear,
            };
            let mut complete = true;
            if takes_part {
                let mut fuel = Meter::PIECE_BYTES;
                // SAFETY: the object was registered in this cycle and is alive until its sweep. The context is one
                // whose marking has come to its end with nothing gray left.
                complete = unsafe { (special.ops.run)(special.object, stage, self, &mut fuel) };
                meter.spend(
                    (Meter::PIECE_BYTES - fuel) / 16 + 8,
                    (Meter::PIECE_BYTES - fuel) / STAGE_DIVISOR,
                );
            } else {
                meter.spend(1, 0);
            }
            if complete {
                done.set(done.get() + 1);
            }
            if meter.is_empty() {
                return false;
            }
            if stage != Stage::Clear && !self.nothing_gray() {
                return true;
            }
        }
    }
}
