//! The weak pointer.

use std::fmt;

use crate::collect::{Collect, Trace};
use crate::gc::Gc;
use crate::mutation::{Finalization, Mutation};

/// A pointer that does not keep its object alive.
pub struct GcWeak<'gc, T: ?Sized + 'gc> {
    inner: Gc<'gc, T>,
}

impl<'gc, T: ?Sized + 'gc> Copy for GcWeak<'gc, T> {}

impl<'gc, T: ?Sized + 'gc> Clone for GcWeak<'gc, T> {
    #[inline]
    fn clone(&self) -> Self {
        *self
    }
}

impl<'gc, T: ?Sized + 'gc> fmt::Debug for GcWeak<'gc, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("(GcWeak)")
    }
}

// SAFETY: the one pointer is traced.
unsafe impl<'gc, T: ?Sized + 'gc> Collect<'gc> for GcWeak<'gc, T> {
    const SEND: bool = true;

    #[inline]
    fn trace<C: Trace<'gc>>(&self, cc: &mut C) {
        cc.trace_gc_weak(Self::erase(*self));
    }
}

impl<'gc, T: ?Sized + 'gc> GcWeak<'gc, T> {
    #[inline]
    pub(crate) fn new(inner: Gc<'gc, T>) -> Self {
        Self { inner }
    }

    /// The object, where it is still alive.
    ///
    /// Fails for an object that the cycle under way has found dead, even before it is swept.
    #[inline]
    pub fn upgrade(self, mc: &Mutation<'gc>) -> Option<Gc<'gc, T>> {
        mc.context()
            .is_upgradable(self.inner.raw())
            .then_some(self.inner)
    }

    /// Whether the object's value has been dropped.
    #[inline]
    pub fn is_dropped(self) -> bool {
        !crate::heap::is_allocated(self.inner.raw())
    }

    /// Whether the marking that has just ended found the object unreachable.
    #[inline]
    pub fn is_dead(self, fc: &Finalization<'gc>) -> bool {
        Gc::is_dead(fc, self.inner)
    }

    /// Makes an unreachable object reachable again for this cycle; `None` where it is dropped already.
    #[inline]
    pub fn resurrect(self, fc: &Finalization<'gc>) -> Option<Gc<'gc, T>> {
        if self.is_dropped() {
            return None;
        }
        Gc::resurrect(fc, self.inner);
        Some(self.inner)
    }

    /// Whether two pointers name the same object.
    #[inline]
    pub fn ptr_eq(this: Self, other: Self) -> bool {
        Gc::ptr_eq(this.inner, other.inner)
    }

    /// The address; the object may be gone.
    #[inline]
    pub fn as_ptr(self) -> *const T {
        Gc::as_ptr(self.inner)
    }

    /// Forgets the type.
    #[inline]
    pub fn erase(this: Self) -> GcWeak<'gc, ()> {
        GcWeak {
            inner: Gc::erase(this.inner),
        }
    }

    /// Reinterprets the type of the object.
    ///
    /// # Safety
    ///
    /// As [`Gc::cast`].
    #[inline]
    pub unsafe fn cast<U: 'gc>(this: Self) -> GcWeak<'gc, U> {
        // SAFETY: passed on to the caller.
        let inner = unsafe { Gc::cast(this.inner) };
        GcWeak { inner }
    }

    /// Takes back a pointer that [`GcWeak::as_ptr`] gave.
    ///
    /// # Safety
    ///
    /// `ptr` came from `as_ptr` of a weak or strong pointer of this arena, and a weak or strong pointer to the
    /// object has been reachable ever since.
    #[inline]
    pub unsafe fn from_ptr(ptr: *const T) -> Self {
        // SAFETY: passed on to the caller.
        let inner = unsafe { Gc::from_ptr(ptr) };
        Self { inner }
    }

    #[inline]
    pub(crate) fn inner(self) -> Gc<'gc, T> {
        self.inner
    }
}
