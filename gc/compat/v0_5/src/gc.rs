//! The strong pointer.

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::marker::PhantomData;
use std::ops::Deref;
use std::ptr::NonNull;

use crate::barrier::{Unlock, Write};
use crate::collect::{Collect, Collection, vtable};
use crate::{Finalization, GcWeak, Mutation};

pub(crate) type Invariant<'gc> = PhantomData<std::cell::Cell<&'gc ()>>;

/// A pointer to an object that lives as long as it can be reached from the arena's root.
pub struct Gc<'gc, T: ?Sized + 'gc> {
    pub(crate) ptr: NonNull<T>,
    pub(crate) invariant: Invariant<'gc>,
}

impl<'gc, T: ?Sized + 'gc> Copy for Gc<'gc, T> {}

impl<'gc, T: ?Sized + 'gc> Clone for Gc<'gc, T> {
    #[inline]
    fn clone(&self) -> Self {
        *self
    }
}

// SAFETY: the one pointer is traced.
unsafe impl<'gc, T: ?Sized + 'gc> Collect for Gc<'gc, T> {
    #[inline]
    fn trace(&self, cc: &Collection) {
        // SAFETY: what a reachable value names is alive.
        unsafe { cc.strong(self.raw()) };
    }
}

impl<'gc, T: ?Sized + 'gc> Deref for Gc<'gc, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        Gc::as_ref(*self)
    }
}

impl<'gc, T: ?Sized + 'gc> AsRef<T> for Gc<'gc, T> {
    #[inline]
    fn as_ref(&self) -> &T {
        Gc::as_ref(*self)
    }
}

impl<'gc, T: Collect + 'gc> Gc<'gc, T> {
    /// Allocates an object.
    #[inline]
    pub fn new(mc: &Mutation<'gc>, value: T) -> Self {
        // SAFETY: the cell is of the layout of `T`, and written at once.
        let ptr = unsafe {
            let cell = mc.state().allocate_or_abort(vtable::<T>()).cast::<T>();
            cell.write(value);
            cell
        };
        Self {
            ptr,
            invariant: PhantomData,
        }
    }
}

impl<'gc, T: 'gc> Gc<'gc, T> {
    /// Reinterprets the type of the object.
    ///
    /// # Safety
    ///
    /// The object is valid as a `U` wherever the result is dereferenced.
    #[inline]
    pub unsafe fn cast<U: 'gc>(this: Self) -> Gc<'gc, U> {
        Gc {
            ptr: this.ptr.cast(),
            invariant: PhantomData,
        }
    }

    /// Takes back a pointer that [`Gc::as_ptr`] gave.
    ///
    /// # Safety
    ///
    /// It is of this arena, and the object has been reachable ever since.
    #[inline]
    pub unsafe fn from_ptr(ptr: *const T) -> Self {
        Self {
            // SAFETY: an object's address is never null.
            ptr: unsafe { NonNull::new_unchecked(ptr.cast_mut()) },
            invariant: PhantomData,
        }
    }
}

impl<'gc, T: Unlock + ?Sized + 'gc> Gc<'gc, T> {
    /// Raises a barrier and opens the object for interior mutability.
    #[inline]
    pub fn unlock(self, mc: &Mutation<'gc>) -> &'gc T::Unlocked {
        Gc::write(mc, self).unlock()
    }
}

impl<'gc, T: ?Sized + 'gc> Gc<'gc, T> {
    /// The object, for as long as the callback runs.
    #[inline]
    #[allow(clippy::should_implement_trait, reason = "the shape that users know")]
    pub fn as_ref(self) -> &'gc T {
        // SAFETY: the object was reachable in this callback, and nothing is freed before its end. A `&'gc T` can't be stored in
        // the root, since it is not `Collect`.
        unsafe { self.ptr.as_ref() }
    }

    /// A pointer that does not keep the object alive.
    #[inline]
    pub fn downgrade(this: Self) -> GcWeak<'gc, T> {
        GcWeak { inner: this }
    }

    /// Raises a barrier: the object may adopt any pointer until the callback ends.
    #[inline]
    pub fn write(mc: &Mutation<'gc>, gc: Self) -> &'gc Write<T> {
        // SAFETY: a live object of this arena; the barrier holds until the end of the callback.
        unsafe {
            mc.state().barrier(gc.raw());
            Write::assume(gc.as_ref())
        }
    }

    /// Whether two pointers name the same object.
    #[inline]
    pub fn ptr_eq(this: Self, other: Self) -> bool {
        std::ptr::addr_eq(this.ptr.as_ptr(), other.ptr.as_ptr())
    }

    /// The address of the object.
    #[inline]
    pub fn as_ptr(gc: Self) -> *const T {
        gc.ptr.as_ptr()
    }

    /// Whether the marking that has just ended found the object unreachable.
    #[inline]
    pub fn is_dead(fc: &Finalization<'gc>, gc: Self) -> bool {
        // SAFETY: an object of this arena.
        !unsafe { fc.state().is_reachable(gc.raw()) }
    }

    /// Makes an unreachable object reachable again for this cycle.
    #[inline]
    pub fn resurrect(fc: &Finalization<'gc>, gc: Self) {
        // SAFETY: it is not dropped before the sweep.
        unsafe { fc.state().keep(gc.raw()) };
    }

    #[inline]
    pub(crate) fn raw(self) -> NonNull<u8> {
        self.ptr.cast()
    }
}

impl<'gc, T: fmt::Debug + ?Sized + 'gc> fmt::Debug for Gc<'gc, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<'gc, T: fmt::Display + ?Sized + 'gc> fmt::Display for Gc<'gc, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<'gc, T: ?Sized + 'gc> fmt::Pointer for Gc<'gc, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Pointer::fmt(&self.ptr, f)
    }
}

impl<'gc, T: PartialEq + ?Sized + 'gc> PartialEq for Gc<'gc, T> {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl<'gc, T: Eq + ?Sized + 'gc> Eq for Gc<'gc, T> {}

impl<'gc, T: PartialOrd + ?Sized + 'gc> PartialOrd for Gc<'gc, T> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        (**self).partial_cmp(&**other)
    }
}

impl<'gc, T: Ord + ?Sized + 'gc> Ord for Gc<'gc, T> {
    fn cmp(&self, other: &Self) -> Ordering {
        (**self).cmp(&**other)
    }
}

impl<'gc, T: Hash + ?Sized + 'gc> Hash for Gc<'gc, T> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (**self).hash(state);
    }
}
