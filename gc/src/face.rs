//! Where this crate's own face meets the core: vtables are made of [`Collect`], and the core's marker is a [`Trace`].
//!
//! `heap` knows neither trait, nor `Gc`, nor `Mutation`; another face stands on it through [`raw`](crate::raw).

use std::marker::PhantomData;
use std::ptr::NonNull;

use crate::collect::{Collect, CollectorToken, Trace};
use crate::heap::{DROPPED, Marker, Tail, VTable};
use crate::{Gc, GcWeak};

impl<'gc> Trace<'gc> for Marker {
    #[inline(always)]
    fn trace_gc(&mut self, gc: Gc<'gc, ()>) {
        self.mark(gc.raw());
    }

    #[inline]
    fn trace_gc_weak(&mut self, gc: GcWeak<'gc, ()>) {
        self.mark_weak(gc.inner().raw());
    }

    #[inline]
    fn __collector(&self) -> Option<CollectorToken> {
        Some(CollectorToken::STOPPED)
    }
}

/// What the core's marker gives to an object that is traced in slices by a cursor of its own.
pub struct Slicer<'a> {
    pub(crate) marker: &'a mut Marker,
    /// The object that is traced.
    pub(crate) object: NonNull<u8>,
}

impl VTable {
    /// The vtable of a sized type.
    #[inline]
    pub(crate) fn of<'gc, T: Collect<'gc>>() -> &'static VTable {
        struct Of<T>(PhantomData<T>);
        trait HasVTable {
            const VTABLE: VTable;
        }
        impl<'gc, T: Collect<'gc>> HasVTable for Of<(PhantomData<&'gc ()>, T)> {
            const VTABLE: VTable = VTable {
                object_bytes: {
                    assert!(
                        align_of::<T>() <= 1 << 16,
                        "types aligned to more than 64 KiB can't live in an arena"
                    );
                    let bytes = if size_of::<T>() < 8 {
                        8
                    } else {
                        size_of::<T>()
                    };
                    bytes.next_multiple_of(if align_of::<T>() < 8 {
                        8
                    } else {
                        align_of::<T>()
                    })
                },
                align: align_of::<T>(),
                needs_trace: T::NEEDS_TRACE,
                needs_drop: std::mem::needs_drop::<T>(),
                send: T::SEND,
                trace: if T::__HAS_CURSOR {
                    trace_by_cursor::<T>
                } else {
                    trace_sized::<T>
                },
                drop: drop_sized::<T>,
                name: std::any::type_name::<T>,
            };
        }
        &<Of<(PhantomData<&'gc ()>, T)> as HasVTable>::VTABLE
    }

    /// The vtable of objects with a header and a tail of `T`.
    #[inline]
    pub(crate) fn tail<'gc, H: Collect<'gc>, T: Collect<'gc>>() -> &'static VTable {
        struct Of<T>(PhantomData<T>);
        trait HasVTable {
            const VTABLE: VTable;
        }
        impl<'gc, H: Collect<'gc>, T: Collect<'gc>> HasVTable for Of<(PhantomData<&'gc ()>, H, T)> {
            const VTABLE: VTable = VTable {
                object_bytes: 0,
                align: {
                    assert!(
                        align_of::<Tail<H, T>>() <= 1 << 16,
                        "types aligned to more than 64 KiB can't live in an arena"
                    );
                    align_of::<Tail<H, T>>()
                },
                needs_trace: H::NEEDS_TRACE || T::NEEDS_TRACE,
                needs_drop: std::mem::needs_drop::<H>() || std::mem::needs_drop::<T>(),
                send: H::SEND && T::SEND,
                trace: trace_tail::<H, T>,
                drop: drop_tail::<H, T>,
                name: std::any::type_name::<Tail<H, T>>,
            };
        }
        &<Of<(PhantomData<&'gc ()>, H, T)> as HasVTable>::VTABLE
    }
}

/// # Safety
///
/// `ptr` is a live `T`.
unsafe fn trace_sized<'gc, T: Collect<'gc>>(ptr: NonNull<u8>, _from: usize, marker: &mut Marker) {
    // SAFETY: the caller's contract; the mutator is not running, so nothing holds a unique borrow.
    unsafe { ptr.cast::<T>().as_ref() }.trace(marker);
}

/// # Safety
///
/// `object` is a live `T`.
unsafe fn trace_by_cursor<'gc, T: Collect<'gc>>(
    object: NonNull<u8>,
    from: usize,
    marker: &mut Marker,
) {
    // SAFETY: the caller's contract; the mutator is not running, so nothing holds a unique borrow.
    let value = unsafe { object.cast::<T>().as_ref() };
    value.__trace_slice(from == 0, &mut Slicer { marker, object });
}

/// # Safety
///
/// `ptr` is a live `T`, not used again.
unsafe fn drop_sized<T>(ptr: NonNull<u8>, from: &mut usize, _limit: usize) {
    *from = DROPPED;
    // SAFETY: the caller's contract.
    unsafe { ptr.cast::<T>().drop_in_place() };
}

/// Elements of a tail that are traced at a time: each may be a miss of the cache, or two.
const SLICE_ELEMENTS: usize = 32;

/// # Safety
///
/// `ptr` is a live `Tail<H, T>`.
unsafe fn trace_tail<'gc, H: Collect<'gc>, T: Collect<'gc>>(
    ptr: NonNull<u8>,
    from: usize,
    marker: &mut Marker,
) {
    let this = ptr.cast::<Tail<H, T>>();
    // SAFETY: the caller's contract.
    let tail = unsafe { this.as_ref() };
    if from == 0 && H::NEEDS_TRACE {
        tail.header.trace(marker);
    }
    if T::NEEDS_TRACE {
        let len = tail.len();
        let end = len.min(from.saturating_add(SLICE_ELEMENTS));
        let count = end - from.min(end);
        marker.count_elements::<T>(count);
        // SAFETY: at most the end of the elements.
        let first = unsafe { Tail::element(this, from.min(end)) };
        marker.fetch(first.cast(), count * size_of::<T>());
        for index in from..end {
            // SAFETY: elements below `len` are initialised; none is borrowed uniquely while the mutator stands.
            unsafe { Tail::element(this, index).as_ref() }.trace(marker);
        }
        if end < len {
            marker.push_slice(ptr, end);
        }
    }
}

/// # Safety
///
/// `ptr` is a live `Tail<H, T>`, not used again; calls go on where the last one stopped.
unsafe fn drop_tail<H, T>(ptr: NonNull<u8>, from: &mut usize, limit: usize) {
    let tail = ptr.cast::<Tail<H, T>>();
    // SAFETY: the caller's contract.
    let len = unsafe { tail.as_ref() }.len();
    if std::mem::needs_drop::<T>() && *from < len {
        // SAFETY: `from` is below the length.
        let first = unsafe { Tail::element(tail, *from) };
        let count = (len - *from).min(limit.max(1));
        *from += count;
        // SAFETY: these elements are initialised and have not been dropped yet.
        unsafe { NonNull::slice_from_raw_parts(first, count).drop_in_place() };
    } else {
        *from = DROPPED;
        // SAFETY: the header is dropped once, after the elements.
        unsafe { (&raw mut (*tail.as_ptr()).header).drop_in_place() };
    }
}
