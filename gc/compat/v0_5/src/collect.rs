//! What may live in an arena.

use std::cell::Cell;
use std::marker::PhantomData;
use std::ptr::NonNull;

use sleepy_gc::raw::{DROPPED, Marker, VTable};

use crate::metrics::Metrics;

/// A type whose values may be owned by objects of an arena. Derive it.
///
/// # Safety
///
/// - `trace` gives each [`Gc`](crate::Gc) and [`GcWeak`](crate::GcWeak) that the value owns to the tracer, by calling their own `trace`.
///   `needs_trace` may be `false` only if there can be none, and answers the same each time.
/// - `Drop` looks at none of them.
/// - What the value owns changes behind a shared reference only after the matching write barrier.
pub unsafe trait Collect {
    /// Whether values of the type can own pointers at all.
    #[inline]
    fn needs_trace() -> bool
    where
        Self: Sized,
    {
        true
    }

    /// Gives everything that the value owns to `cc`, by calling `trace` of each part.
    #[inline]
    #[allow(unused_variables)]
    fn trace(&self, cc: &Collection) {}
}

/// The collector, to a value that is traced.
pub struct Collection {
    /// For the length of a trace. Each use of it is over before the next begins: the marker calls nobody back.
    marker: Cell<NonNull<Marker>>,
}

impl Collection {
    fn new(marker: &mut Marker) -> Self {
        Self {
            marker: Cell::new(NonNull::from(marker)),
        }
    }

    /// The arena's counters.
    pub fn metrics(&self) -> &Metrics {
        // SAFETY: the marker outlives the trace, and nothing uses it at this moment.
        Metrics::of(unsafe { self.marker.get().as_ref() }.metrics())
    }

    /// # Safety
    ///
    /// A live object of the arena that is traced.
    #[inline]
    pub(crate) unsafe fn strong(&self, object: NonNull<u8>) {
        // SAFETY: as above; the object is the caller's contract.
        unsafe { self.marker.get().as_mut().strong(object) };
    }

    /// # Safety
    ///
    /// An object of the arena that is traced, or one that this weak pointer has held.
    #[inline]
    pub(crate) unsafe fn weak(&self, object: NonNull<u8>) {
        // SAFETY: as above; the object is the caller's contract.
        unsafe { self.marker.get().as_mut().weak(object) };
    }
}

/// # Safety
///
/// `object` is a live `T`.
unsafe fn trace_object<T: Collect>(object: NonNull<u8>, _from: usize, marker: &mut Marker) {
    // SAFETY: the caller's contract; no program runs, so nothing holds a unique borrow.
    unsafe { object.cast::<T>().as_ref() }.trace(&Collection::new(marker));
}

/// # Safety
///
/// `object` is a live `T` that is not used again.
unsafe fn drop_object<T>(object: NonNull<u8>, from: &mut usize, _limit: usize) {
    *from = DROPPED;
    // SAFETY: the caller's contract.
    unsafe { object.cast::<T>().drop_in_place() };
}

/// # Safety
///
/// `root` is a live `T`.
pub(crate) unsafe fn trace_root<T: Collect>(root: *const (), marker: &mut Marker) {
    // SAFETY: the caller's contract; no program runs.
    unsafe { &*root.cast::<T>() }.trace(&Collection::new(marker));
}

/// The vtable of a type.
#[inline]
pub(crate) fn vtable<T: Collect>() -> &'static VTable {
    struct Of<T>(PhantomData<T>);
    trait Tables {
        const TRACED: VTable;
        const PLAIN: VTable;
    }
    impl<T: Collect> Of<T> {
        const fn table(needs_trace: bool) -> VTable {
            // SAFETY: `Collect`'s contract is that of the vtable's `trace` and `drop`.
            unsafe {
                VTable::new(
                    std::alloc::Layout::new::<T>(),
                    needs_trace,
                    std::mem::needs_drop::<T>(),
                    trace_object::<T>,
                    drop_object::<T>,
                    std::any::type_name::<T>,
                )
            }
        }
    }
    impl<T: Collect> Tables for Of<T> {
        const TRACED: VTable = Self::table(true);
        const PLAIN: VTable = Self::table(false);
    }
    // The answer is a constant to the optimiser.
    if T::needs_trace() {
        &<Of<T> as Tables>::TRACED
    } else {
        &<Of<T> as Tables>::PLAIN
    }
}

/// Implemented for all types with a destructor of their own, so that the derive's impl of it for a type with
/// `#[collect(no_drop)]` does not compile if there is one.
#[doc(hidden)]
pub trait __MustNotImplDrop {}

#[allow(
    drop_bounds,
    reason = "the bound is the point: it finds types that implement `Drop` themselves"
)]
impl<T: Drop> __MustNotImplDrop for T {}
