//! What callbacks are given.

use std::ops::Deref;

use sleepy_gc::raw::State;

use crate::gc::Invariant;
use crate::metrics::Metrics;

/// The right to allocate in an arena and to change its objects, for one callback.
#[repr(transparent)]
pub struct Mutation<'gc> {
    state: State,
    invariant: Invariant<'gc>,
}

impl<'gc> Mutation<'gc> {
    /// # Safety
    ///
    /// `'gc` is generative: chosen by the callee of a closure that is generic over it, which gets nothing else by that name.
    #[inline]
    pub(crate) unsafe fn new(state: &State) -> &Self {
        // SAFETY: `Mutation` is transparent over `State`.
        unsafe { &*(std::ptr::from_ref(state) as *const Self) }
    }

    #[inline]
    pub(crate) fn state(&self) -> &State {
        &self.state
    }

    /// The arena's counters.
    #[inline]
    pub fn metrics(&self) -> &Metrics {
        Metrics::of(self.state.counters())
    }
}

/// A [`Mutation`] in a fully marked arena: it may also ask what is dead and resurrect it.
#[repr(transparent)]
pub struct Finalization<'gc> {
    mutation: Mutation<'gc>,
}

impl<'gc> Finalization<'gc> {
    /// # Safety
    ///
    /// As for [`Mutation::new`]; and the heap is fully marked.
    pub(crate) unsafe fn new(state: &State) -> &Self {
        // SAFETY: `Finalization` is transparent over `Mutation`, which is transparent over `State`.
        unsafe { &*(std::ptr::from_ref(state) as *const Self) }
    }
}

impl<'gc> Deref for Finalization<'gc> {
    type Target = Mutation<'gc>;

    fn deref(&self) -> &Mutation<'gc> {
        &self.mutation
    }
}
