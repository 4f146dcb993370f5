//! Containers that take part in the decision what is dead: weak maps, weak sets, queues of finalizers.

use std::ptr::NonNull;

use crate::gc::Gc;
use crate::mutation::Finalization;

/// When a container is asked, once everything reachable is marked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[doc(hidden)]
pub enum Stage {
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
#[doc(hidden)]
pub struct WeakOps {
    /// Whether it takes part in [`Stage::Values`].
    pub values: bool,
    /// Whether it takes part in [`Stage::Finalize`].
    pub finalize: bool,
    /// Whether it takes part in [`Stage::Clear`].
    pub clear: bool,
    /// Does a bounded piece, subtracting its cost in bytes looked at from the fuel, and stopping when there is none
    /// left; answers whether the stage is complete. The container keeps its own cursor and resets it at completion.
    ///
    /// # Safety
    ///
    /// The pointer is the object that was registered, alive.
    pub run: unsafe fn(NonNull<()>, Stage, &Finalization<'_>, &mut usize) -> bool,
}

/// A container that a trace has met.
#[derive(Clone, Copy)]
#[doc(hidden)]
pub struct WeakContainer<'gc> {
    /// The object that holds the container's state.
    pub object: Gc<'gc, ()>,
    /// What it does.
    pub ops: &'static WeakOps,
}

/// A container of the cycle under way, and which stages it has behind it.
pub(crate) struct Special {
    pub(crate) object: NonNull<u8>,
    pub(crate) ops: &'static WeakOps,
    /// The first stage that it has not completed in this cycle.
    pub(crate) next: Stage,
}
