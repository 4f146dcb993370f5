//! An allocator whose bytes count as external ones of an arena.

use std::alloc::Layout;
use std::marker::PhantomData;
use std::ptr::NonNull;

use allocator_api2::alloc::{AllocError, Allocator, Global};
use allocator_api2::{boxed, vec};

use crate::Mutation;
use crate::collect::{Collect, Collection};
use crate::gc::Invariant;
use crate::metrics::Metrics;

/// An allocator that tells an arena how much it has given out.
#[derive(Clone)]
pub struct MetricsAlloc<'gc, A = Global> {
    metrics: Metrics,
    allocator: A,
    invariant: Invariant<'gc>,
}

impl<'gc> MetricsAlloc<'gc> {
    /// On top of the global allocator.
    #[inline]
    pub fn new(mc: &Mutation<'gc>) -> Self {
        Self::new_in(mc, Global)
    }
}

impl<'gc, A> MetricsAlloc<'gc, A> {
    /// On top of any allocator.
    #[inline]
    pub fn new_in(mc: &Mutation<'gc>, allocator: A) -> Self {
        Self {
            metrics: mc.metrics().clone(),
            allocator,
            invariant: PhantomData,
        }
    }

    fn resized(&self, from: Layout, to: Layout) {
        if to.size() > from.size() {
            self.metrics
                .mark_external_allocation(to.size() - from.size());
        } else {
            self.metrics
                .mark_external_deallocation(from.size() - to.size());
        }
    }
}

// SAFETY: all is passed on.
unsafe impl<A: Allocator> Allocator for MetricsAlloc<'_, A> {
    fn allocate(&self, layout: Layout) -> Result<NonNull<[u8]>, AllocError> {
        let block = self.allocator.allocate(layout)?;
        self.metrics.mark_external_allocation(layout.size());
        Ok(block)
    }

    fn allocate_zeroed(&self, layout: Layout) -> Result<NonNull<[u8]>, AllocError> {
        let block = self.allocator.allocate_zeroed(layout)?;
        self.metrics.mark_external_allocation(layout.size());
        Ok(block)
    }

    unsafe fn deallocate(&self, block: NonNull<u8>, layout: Layout) {
        self.metrics.mark_external_deallocation(layout.size());
        // SAFETY: the caller's contract.
        unsafe { self.allocator.deallocate(block, layout) };
    }

    unsafe fn grow(
        &self,
        block: NonNull<u8>,
        from: Layout,
        to: Layout,
    ) -> Result<NonNull<[u8]>, AllocError> {
        // SAFETY: the caller's contract.
        let block = unsafe { self.allocator.grow(block, from, to)? };
        self.resized(from, to);
        Ok(block)
    }

    unsafe fn grow_zeroed(
        &self,
        block: NonNull<u8>,
        from: Layout,
        to: Layout,
    ) -> Result<NonNull<[u8]>, AllocError> {
        // SAFETY: the caller's contract.
        let block = unsafe { self.allocator.grow_zeroed(block, from, to)? };
        self.resized(from, to);
        Ok(block)
    }

    unsafe fn shrink(
        &self,
        block: NonNull<u8>,
        from: Layout,
        to: Layout,
    ) -> Result<NonNull<[u8]>, AllocError> {
        // SAFETY: the caller's contract.
        let block = unsafe { self.allocator.shrink(block, from, to)? };
        self.resized(from, to);
        Ok(block)
    }
}

// SAFETY: neither counters nor a `'static` allocator own pointers into an arena.
unsafe impl<A: 'static> Collect for MetricsAlloc<'_, A> {
    #[inline]
    fn needs_trace() -> bool {
        false
    }
}

crate::static_collect!(Global);

// SAFETY: the value is traced, and the allocator.
unsafe impl<T: Collect + ?Sized, A: Collect + Allocator> Collect for boxed::Box<T, A> {
    #[inline]
    fn trace(&self, cc: &Collection) {
        boxed::Box::allocator(self).trace(cc);
        (**self).trace(cc);
    }
}

// SAFETY: each element is traced, and the allocator.
unsafe impl<T: Collect, A: Collect + Allocator> Collect for vec::Vec<T, A> {
    #[inline]
    fn needs_trace() -> bool {
        T::needs_trace() || A::needs_trace()
    }

    #[inline]
    fn trace(&self, cc: &Collection) {
        self.allocator().trace(cc);
        for value in self {
            value.trace(cc);
        }
    }
}
