//! An allocator whose bytes count as an arena's: for `Vec`s and hash tables that objects own.
//!
//! What [`collections`](crate::collections) offers lives in the arena itself, is traced in slices and given back by the
//! scavenger. Where code is written for another container, [`MetricsAlloc`] at least lets the pacing, the heap limit and the
//! metrics see its bytes. (gc-arena had it until 0.5.)
//!
//! It implements `Allocator` of `allocator-api2` 0.4, and with the feature `hashbrown` that of 0.2 too, which hashbrown
//! takes.
//!
//! ```
//! use allocator_api2::vec::Vec;
//! use sleepy_gc::{Arena, Gc, Rootable, allocator_api::MetricsAlloc};
//!
//! let arena = Arena::<Rootable![Gc<'_, Vec<u8, MetricsAlloc<'_>>>]>::new(|mc| {
//!     Gc::new(mc, Vec::with_capacity_in(100_000, MetricsAlloc::new(mc)))
//! });
//! assert!(arena.metrics().external_bytes() >= 100_000);
//! ```

use std::alloc::Layout;
use std::fmt;
use std::marker::PhantomData;
use std::ptr::NonNull;

use allocator_api2::alloc::{AllocError, Allocator, Global};
use allocator_api2::{boxed::Box, vec::Vec};

use crate::barrier::{DerefWrite, IndexWrite};
use crate::collect::{Collect, Trace};
use crate::gc::Invariant;
use crate::metrics::Metrics;
use crate::mutation::Mutation;

/// An allocator that declares what it hands out as external bytes of an arena, and takes that back when it is freed, also
/// on another thread or after the arena's end.
///
/// The arena sees the bytes when it is next asked for debt, begins a callback, or runs out of reserved cells.
pub struct MetricsAlloc<'gc, A = Global> {
    metrics: Metrics,
    allocator: A,
    arena: Invariant<'gc>,
}

impl<'gc> MetricsAlloc<'gc> {
    /// The global allocator, counted.
    #[must_use]
    pub fn new(mc: &Mutation<'gc>) -> Self {
        Self::new_in(mc, Global)
    }
}

impl<'gc, A> MetricsAlloc<'gc, A> {
    /// Another allocator, counted.
    #[must_use]
    pub fn new_in(mc: &Mutation<'gc>, allocator: A) -> Self {
        Self::from_metrics(mc.metrics().clone(), allocator)
    }

    /// The same where there is no [`Mutation`].
    #[must_use]
    pub fn from_metrics(metrics: Metrics, allocator: A) -> Self {
        Self {
            metrics,
            allocator,
            arena: PhantomData,
        }
    }
}

impl<A: Clone> Clone for MetricsAlloc<'_, A> {
    fn clone(&self) -> Self {
        Self::from_metrics(self.metrics.clone(), self.allocator.clone())
    }
}

impl<A> fmt::Debug for MetricsAlloc<'_, A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("MetricsAlloc")
            .field(&self.metrics.arena_id())
            .finish()
    }
}

// SAFETY: there is nothing in it.
unsafe impl<'gc> Collect<'gc> for Global {
    const NEEDS_TRACE: bool = false;
    const SEND: bool = true;
}

// SAFETY: there is nothing in it.
#[cfg(feature = "hashbrown")]
unsafe impl<'gc> Collect<'gc> for allocator_api2_0_2::alloc::Global {
    const NEEDS_TRACE: bool = false;
    const SEND: bool = true;
}

// SAFETY: it holds no pointer into an arena: an allocator that is `'static` can't, and metrics do not.
unsafe impl<'gc, A: Send + 'static> Collect<'gc> for MetricsAlloc<'gc, A> {
    const NEEDS_TRACE: bool = false;
    const SEND: bool = true;
}

// SAFETY: each element is traced.
unsafe impl<'gc, T: Collect<'gc>, A: Allocator + Collect<'gc>> Collect<'gc> for Vec<T, A> {
    const NEEDS_TRACE: bool = T::NEEDS_TRACE || A::NEEDS_TRACE;
    const SEND: bool = T::SEND && A::SEND;

    #[inline]
    fn trace<C: Trace<'gc>>(&self, cc: &mut C) {
        for value in self {
            cc.trace(value);
        }
        cc.trace(self.allocator());
    }
}

// SAFETY: the value is traced.
unsafe impl<'gc, T: Collect<'gc> + ?Sized, A: Allocator + Collect<'gc>> Collect<'gc> for Box<T, A> {
    const NEEDS_TRACE: bool = T::NEEDS_TRACE || A::NEEDS_TRACE;
    const SEND: bool = T::SEND && A::SEND;

    #[inline]
    fn trace<C: Trace<'gc>>(&self, cc: &mut C) {
        cc.trace(&**self);
        cc.trace(Box::allocator(self));
    }
}

// SAFETY: a vector is the only owner of its elements.
unsafe impl<T, A: Allocator> DerefWrite for Vec<T, A> {}
// SAFETY: a box is the only owner of its value.
unsafe impl<T: ?Sized, A: Allocator> DerefWrite for Box<T, A> {}
// SAFETY: a vector indexes its elements as a slice.
unsafe impl<T, I, A: Allocator> IndexWrite<I> for Vec<T, A>
where
    [T]: IndexWrite<I>,
    Self: std::ops::Index<I>,
{
}

/// Implements one version's `Allocator`.
macro_rules! count {
    ($allocator:path, $error:ty, <$($param:ident)?> $inner:ty, |$this:ident| $of:expr) => {
        // SAFETY: all blocks are the inner allocator's, and clones pass them to clones of it. The counters touch none.
        unsafe impl<$($param: $allocator)?> $allocator for MetricsAlloc<'_, $inner> {
            fn allocate(&self, layout: Layout) -> Result<NonNull<[u8]>, $error> {
                let $this = self;
                let block = $of.allocate(layout)?;
                self.metrics.mark_external_allocation(layout.size());
                Ok(block)
            }

            fn allocate_zeroed(&self, layout: Layout) -> Result<NonNull<[u8]>, $error> {
                let $this = self;
                let block = $of.allocate_zeroed(layout)?;
                self.metrics.mark_external_allocation(layout.size());
                Ok(block)
            }

            unsafe fn deallocate(&self, block: NonNull<u8>, layout: Layout) {
                self.metrics.mark_external_deallocation(layout.size());
                let $this = self;
                // SAFETY: the caller's contract.
                unsafe { $of.deallocate(block, layout) };
            }

            unsafe fn grow(
                &self,
                block: NonNull<u8>,
                old: Layout,
                new: Layout,
            ) -> Result<NonNull<[u8]>, $error> {
                let $this = self;
                // SAFETY: the caller's contract.
                let block = unsafe { $of.grow(block, old, new) }?;
                self.metrics.mark_external_allocation(new.size() - old.size());
                Ok(block)
            }

            unsafe fn grow_zeroed(
                &self,
                block: NonNull<u8>,
                old: Layout,
                new: Layout,
            ) -> Result<NonNull<[u8]>, $error> {
                let $this = self;
                // SAFETY: the caller's contract.
                let block = unsafe { $of.grow_zeroed(block, old, new) }?;
                self.metrics.mark_external_allocation(new.size() - old.size());
                Ok(block)
            }

            unsafe fn shrink(
                &self,
                block: NonNull<u8>,
                old: Layout,
                new: Layout,
            ) -> Result<NonNull<[u8]>, $error> {
                let $this = self;
                // SAFETY: the caller's contract.
                let block = unsafe { $of.shrink(block, old, new) }?;
                self.metrics.mark_external_deallocation(old.size() - new.size());
                Ok(block)
            }
        }
    };
}

count!(Allocator, AllocError, <A> A, |this| this.allocator);
// The global allocator of one version is as good as that of the other.
#[cfg(feature = "hashbrown")]
count!(
    allocator_api2_0_2::alloc::Allocator,
    allocator_api2_0_2::alloc::AllocError,
    <> Global,
    |this| {
        let _ = &this.allocator;
        allocator_api2_0_2::alloc::Global
    }
);
