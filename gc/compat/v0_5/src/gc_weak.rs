//! The weak pointer.

use std::fmt;

use sleepy_gc::raw;

use crate::collect::{Collect, Collection};
use crate::{Finalization, Gc, Mutation};

/// A pointer that does not keep its object alive.
pub struct GcWeak<'gc, T: ?Sized + 'gc> {
    pub(crate) inner: Gc<'gc, T>,
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
unsafe impl<'gc, T: ?Sized + 'gc> Collect for GcWeak<'gc, T> {
    #[inline]
    fn trace(&self, cc: &Collection) {
        // SAFETY: the pointer was given to each cycle since it was made.
        unsafe { cc.weak(self.inner.raw()) };
    }
}

impl<'gc, T: ?Sized + 'gc> GcWeak<'gc, T> {
    /// The object, where it is still alive.
    #[inline]
    pub fn upgrade(self, mc: &Mutation<'gc>) -> Option<Gc<'gc, T>> {
        // SAFETY: a weak pointer of this arena.
        unsafe { mc.state().can_upgrade(self.inner.raw()) }.then_some(self.inner)
    }

    /// Whether the object's value has been dropped.
    #[inline]
    pub fn is_dropped(self, _cc: &Collection) -> bool {
        self.is_gone()
    }

    fn is_gone(self) -> bool {
        // SAFETY: the weak pointer holds the cell.
        !unsafe { raw::is_there(self.inner.raw()) }
    }

    /// Whether the marking that has just ended found the object unreachable.
    #[inline]
    pub fn is_dead(self, fc: &Finalization<'gc>) -> bool {
        Gc::is_dead(fc, self.inner)
    }

    /// Makes an unreachable object reachable again for this cycle; `None` where it is dropped already.
    #[inline]
    pub fn resurrect(self, fc: &Finalization<'gc>) -> Option<Gc<'gc, T>> {
        if self.is_gone() {
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
}

impl<'gc, T: 'gc> GcWeak<'gc, T> {
    /// Reinterprets the type of the object.
    ///
    /// # Safety
    ///
    /// As for [`Gc::cast`].
    #[inline]
    pub unsafe fn cast<U: 'gc>(this: Self) -> GcWeak<'gc, U> {
        GcWeak {
            // SAFETY: passed on to the caller.
            inner: unsafe { Gc::cast(this.inner) },
        }
    }

    /// Takes back a pointer that [`GcWeak::as_ptr`] gave.
    ///
    /// # Safety
    ///
    /// It is of this arena, and a weak or strong pointer to the object has been reachable ever since.
    #[inline]
    pub unsafe fn from_ptr(ptr: *const T) -> Self {
        Self {
            // SAFETY: passed on to the caller.
            inner: unsafe { Gc::from_ptr(ptr) },
        }
    }
}
