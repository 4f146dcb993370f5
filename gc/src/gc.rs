//! The strong pointer to an object of an arena.

use std::borrow::Borrow;
use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::marker::PhantomData;
use std::ops::Deref;
use std::ptr::NonNull;

use crate::barrier::{Unlock, Write};
use crate::collect::{Collect, Trace};
use crate::error::AllocError;
use crate::heap::VTable;
use crate::mutation::{Finalization, Mutation};
use crate::static_::Static;
use crate::weak::GcWeak;

/// Makes `'gc` invariant: a pointer of one arena is never taken for a pointer of another.
pub(crate) type Invariant<'gc> = PhantomData<std::cell::Cell<&'gc ()>>;

/// A pointer to an object that lives as long as it can be reached from the arena's root.
///
/// One machine word for a sized type. `Copy`, and free to make: no count, no registration. It can't leave the
/// callback in which `'gc` was given, except inside the root.
pub struct Gc<'gc, T: ?Sized + 'gc> {
    ptr: NonNull<T>,
    invariant: Invariant<'gc>,
}

impl<'gc, T: ?Sized + 'gc> Copy for Gc<'gc, T> {}

impl<'gc, T: ?Sized + 'gc> Clone for Gc<'gc, T> {
    #[inline]
    fn clone(&self) -> Self {
        *self
    }
}

// SAFETY: the one pointer is traced.
unsafe impl<'gc, T: ?Sized + 'gc> Collect<'gc> for Gc<'gc, T> {
    const SEND: bool = true;

    #[inline(always)]
    fn trace<C: Trace<'gc>>(&self, cc: &mut C) {
        cc.trace_gc(Self::erase(*self));
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

impl<'gc, T: ?Sized + 'gc> Borrow<T> for Gc<'gc, T> {
    #[inline]
    fn borrow(&self) -> &T {
        Gc::as_ref(*self)
    }
}

impl<'gc, T: Collect<'gc> + 'gc> Gc<'gc, T> {
    /// Allocates an object.
    ///
    /// Where memory runs out it draws on an emergency reserve, and aborts the process with a message when that is
    /// used up too; [`Gc::try_new`] reports instead.
    #[inline]
    pub fn new(mc: &Mutation<'gc>, value: T) -> Self {
        match Self::try_new(mc, value) {
            Ok(gc) => gc,
            Err(error) => {
                let value = error.into_inner();
                let cell = mc.context().alloc_or_abort(VTable::of::<T>());
                // SAFETY: a fresh cell of the layout of `T`.
                unsafe { Self::emplace(cell, value) }
            }
        }
    }

    /// Allocates an object, or gives the value back where memory has run out or the heap limit is reached.
    ///
    /// No collection can run inside `mutate`: leave it, collect, and try again.
    ///
    /// # Errors
    ///
    /// [`AllocError`] holds the value.
    #[inline]
    pub fn try_new(mc: &Mutation<'gc>, value: T) -> Result<Self, AllocError<T>> {
        match mc.context().alloc(VTable::of::<T>()) {
            // SAFETY: a fresh cell of the layout of `T`.
            Some(cell) => Ok(unsafe { Self::emplace(cell, value) }),
            None => Err(AllocError::new(value)),
        }
    }

    /// # Safety
    ///
    /// `cell` is a fresh cell of this arena for a `T`.
    #[inline]
    unsafe fn emplace(cell: NonNull<u8>, value: T) -> Self {
        let ptr = cell.cast::<T>();
        // SAFETY: the caller's contract.
        unsafe { ptr.write(value) };
        Gc {
            ptr,
            invariant: PhantomData,
        }
    }
}

impl<'gc, T: 'static> Gc<'gc, T> {
    /// Allocates an object of a type that holds no pointer into an arena, and need not be [`Collect`].
    #[inline]
    pub fn new_static(mc: &Mutation<'gc>, value: T) -> Self {
        // SAFETY: `Static` is transparent over its value.
        unsafe { Gc::cast(Gc::new(mc, Static(value))) }
    }
}

impl<'gc, T: ?Sized + 'gc> Gc<'gc, T> {
    /// Reinterprets the type of the object.
    ///
    /// # Safety
    ///
    /// The object is valid as a `U` for as long as the result, or a copy, is dereferenced as one.
    #[inline]
    pub unsafe fn cast<U: 'gc>(this: Self) -> Gc<'gc, U> {
        Gc {
            ptr: this.ptr.cast(),
            invariant: PhantomData,
        }
    }

    /// Forgets the type.
    #[inline]
    pub fn erase(this: Self) -> Gc<'gc, ()> {
        Gc {
            ptr: this.ptr.cast(),
            invariant: PhantomData,
        }
    }

    /// The object, for as long as the callback runs: no collection can come before its end.
    #[inline]
    #[allow(
        clippy::should_implement_trait,
        reason = "the shape that gc-arena's users know"
    )]
    pub fn as_ref(self) -> &'gc T {
        // SAFETY: `'gc` is the callback's own lifetime, the object was reachable in it, and nothing is freed before
        // the callback has ended. A `&'gc T` can't be stored in the root, since it does not implement `Collect`.
        unsafe { self.ptr.as_ref() }
    }

    /// The address of the object.
    #[inline]
    pub fn as_ptr(gc: Self) -> *const T {
        gc.ptr.as_ptr()
    }

    /// Takes back a pointer that [`Gc::as_ptr`] gave.
    ///
    /// # Safety
    ///
    /// `ptr` came from `as_ptr` of a pointer of this arena, and the object has been reachable ever since.
    #[inline]
    pub unsafe fn from_ptr(ptr: *const T) -> Self {
        // SAFETY: an object's address is never null.
        let ptr = unsafe { NonNull::new_unchecked(ptr.cast_mut()) };
        Gc {
            ptr,
            invariant: PhantomData,
        }
    }

    /// A weak pointer to the object.
    #[inline]
    pub fn downgrade(this: Self) -> GcWeak<'gc, T> {
        GcWeak::new(this)
    }

    /// Raises a backward barrier for the object: it may then adopt any pointer until the callback ends.
    #[inline]
    pub fn write(mc: &Mutation<'gc>, gc: Self) -> &'gc Write<T> {
        mc.backward_barrier(Gc::erase(gc), None);
        // SAFETY: the barrier holds until the end of the callback, since no collection can come before.
        unsafe { Write::assume(gc.as_ref()) }
    }

    /// Whether two pointers name the same object.
    #[inline]
    pub fn ptr_eq(this: Self, other: Self) -> bool {
        std::ptr::addr_eq(this.ptr.as_ptr(), other.ptr.as_ptr())
    }

    /// Whether the marking that has just ended found the object unreachable.
    #[inline]
    pub fn is_dead(fc: &Finalization<'gc>, gc: Self) -> bool {
        !fc.context().is_marked(gc.raw())
    }

    /// Makes an unreachable object reachable again for this cycle.
    #[inline]
    pub fn resurrect(fc: &Finalization<'gc>, gc: Self) {
        fc.context().shade(gc.raw());
    }

    #[inline]
    pub(crate) fn raw(self) -> NonNull<u8> {
        self.ptr.cast()
    }
}

impl<'gc, T: Unlock + ?Sized + 'gc> Gc<'gc, T> {
    /// Raises a barrier and opens the object for interior mutability.
    #[inline]
    pub fn unlock(self, mc: &Mutation<'gc>) -> &'gc T::Unlocked {
        Gc::write(mc, self).unlock()
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
