//! The handles that callbacks get: to allocate, to write, and (after marking) to ask what is dead.

use std::marker::PhantomData;
use std::ops::Deref;
use std::ptr::NonNull;

use crate::collect::{Collect, CollectorToken, Trace};
use crate::gc::Invariant;
use crate::heap::Context;
use crate::metrics::Metrics;
use crate::{Gc, GcWeak};

/// The right to allocate in an arena and to change its objects, for one callback.
#[repr(transparent)]
pub struct Mutation<'gc> {
    context: Context,
    invariant: Invariant<'gc>,
}

impl<'gc> Mutation<'gc> {
    /// # Safety
    ///
    /// `'gc` is generative: chosen by the callee of a closure that is generic over it.
    #[inline]
    pub(crate) unsafe fn from_context(context: &Context) -> &Self {
        // SAFETY: `Mutation` is transparent over `Context`.
        unsafe { &*(std::ptr::from_ref(context) as *const Self) }
    }

    #[inline]
    pub(crate) fn context(&self) -> &Context {
        &self.context
    }

    /// The arena's counters.
    #[inline]
    pub fn metrics(&self) -> &Metrics {
        self.context.metrics()
    }

    /// Bytes of objects, payload and external memory at this moment, garbage that is not yet swept included.
    pub fn heap_bytes(&self) -> usize {
        self.context.exact_heap_bytes()
    }

    /// Whether a step is due: one load and one compare, for an interpreter's safe points.
    #[inline]
    pub fn debt_due(&self) -> bool {
        self.context.debt_due()
    }

    /// The work, in bytes, that a step should do now; 0 while none is due.
    #[inline]
    pub fn allocation_debt(&self) -> usize {
        self.context.allocation_debt()
    }

    /// Whether stores must raise a barrier now: one load.
    #[inline]
    pub fn is_marking(&self) -> bool {
        self.context.is_marking()
    }

    /// Shades every pointer that `value` owns, so that any object may adopt it: the forward barrier for a value.
    #[inline]
    pub fn shade<T: Collect<'gc> + ?Sized>(&self, value: &T) {
        if T::NEEDS_TRACE && self.is_marking() {
            self.shade_slow(value);
        }
    }

    /// [`Mutation::shade`] where `parent` is the only object that is about to adopt `value`: does nothing while the parent is not
    /// marked, since its trace is yet to come.
    #[inline]
    pub fn shade_in<T: Collect<'gc> + ?Sized>(&self, parent: Gc<'gc, ()>, value: &T) {
        if T::NEEDS_TRACE && self.is_marking() {
            self.shade_in_slow(parent.raw(), value);
        }
    }

    #[cold]
    pub(crate) fn shade_in_slow<T: Collect<'gc> + ?Sized>(&self, parent: NonNull<u8>, value: &T) {
        value.trace(&mut Shader {
            context: &self.context,
            parent: Some(parent),
            invariant: PhantomData,
        });
    }

    #[cold]
    fn shade_slow<T: Collect<'gc> + ?Sized>(&self, value: &T) {
        value.trace(&mut Shader {
            context: &self.context,
            parent: None,
            invariant: PhantomData,
        });
    }

    /// Makes `parent` traced again, so that it may adopt `child`, or anything where no child is given.
    #[inline]
    pub fn backward_barrier(&self, parent: Gc<'gc, ()>, child: Option<Gc<'gc, ()>>) {
        if self.is_marking() {
            self.context
                .backward_barrier(parent.raw(), child.map(Gc::raw));
        }
    }

    /// [`Mutation::backward_barrier`] for a weak child.
    #[inline]
    pub fn backward_barrier_weak(&self, parent: Gc<'gc, ()>, child: GcWeak<'gc, ()>) {
        if self.is_marking() {
            self.context
                .backward_barrier_weak(parent.raw(), child.inner().raw());
        }
    }

    /// Marks `child`, so that `parent`, or any object where no parent is given, may adopt it.
    #[inline]
    pub fn forward_barrier(&self, parent: Option<Gc<'gc, ()>>, child: Gc<'gc, ()>) {
        if self.is_marking() {
            self.context
                .forward_barrier(parent.map(Gc::raw), child.raw());
        }
    }

    /// [`Mutation::forward_barrier`] for a weak child.
    #[inline]
    pub fn forward_barrier_weak(&self, parent: Option<Gc<'gc, ()>>, child: GcWeak<'gc, ()>) {
        if self.is_marking() {
            self.context
                .forward_barrier_weak(parent.map(Gc::raw), child.inner().raw());
        }
    }

    /// Declares bytes that an object owns outside the arena, so that they press on the pacing.
    #[inline]
    pub fn add_external_bytes(&self, bytes: usize) {
        self.context.add_external_bytes(bytes);
    }

    /// Declares bytes that are about to be allocated outside the arena for a while, unless the heap limit has no room for so many;
    /// whether it has. They count, and do not press on the pacing: no cycle frees them.
    /// [`Metrics::mark_external_deallocation`] takes them back.
    #[must_use]
    pub fn try_reserve_external_bytes(&self, bytes: usize) -> bool {
        self.context.try_reserve_external_bytes(bytes)
    }

    /// Takes back what [`Mutation::add_external_bytes`] declared.
    #[inline]
    pub fn sub_external_bytes(&self, bytes: usize) {
        self.context.sub_external_bytes(bytes);
    }
}

/// A trace that shades what it is given, as far as the parent is marked, if there is one.
struct Shader<'a, 'gc> {
    context: &'a Context,
    parent: Option<NonNull<u8>>,
    invariant: Invariant<'gc>,
}

impl<'gc> Trace<'gc> for Shader<'_, 'gc> {
    #[inline]
    fn trace_gc(&mut self, gc: Gc<'gc, ()>) {
        self.context.forward_barrier(self.parent, gc.raw());
    }

    #[inline]
    fn trace_gc_weak(&mut self, gc: GcWeak<'gc, ()>) {
        self.context
            .forward_barrier_weak(self.parent, gc.inner().raw());
    }

    #[inline]
    fn __collector(&self) -> Option<CollectorToken> {
        Some(CollectorToken::MUTATING)
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
    /// As [`Mutation::from_context`]; and marking has come to its end with nothing gray left.
    #[inline]
    pub(crate) unsafe fn from_context(context: &Context) -> &Self {
        // SAFETY: `Finalization` is transparent over `Mutation`, which is transparent over `Context`.
        unsafe { &*(std::ptr::from_ref(context) as *const Self) }
    }
}

impl<'gc> Deref for Finalization<'gc> {
    type Target = Mutation<'gc>;

    #[inline]
    fn deref(&self) -> &Mutation<'gc> {
        &self.mutation
    }
}
