//! Pointers to objects as pointers to trait objects and slices.

use std::marker::PhantomData;
use std::ptr::NonNull;

use crate::{Gc, GcWeak};

/// Turns a `Gc<T>` or `GcWeak<T>` into one of a type that `T` can be coerced to: `unsize!(gc => dyn Trait)`.
#[macro_export]
macro_rules! unsize {
    ($gc:expr => $ty:ty) => {{
        let gc = $gc;
        // SAFETY: the closure is a coercion and nothing else.
        unsafe {
            $crate::__CoercePtrInternal::__coerce_unchecked(gc, |ptr: *mut _| -> *mut $ty { ptr })
        }
    }};
}

/// # Safety
///
/// The result names the object that `self` does.
#[doc(hidden)]
pub unsafe trait __CoercePtrInternal<To> {
    type FromPtr;
    type ToPtr: ?Sized;

    /// # Safety
    ///
    /// `coerce` answers its argument, with another type.
    unsafe fn __coerce_unchecked<F>(self, coerce: F) -> To
    where
        F: FnOnce(*mut Self::FromPtr) -> *mut Self::ToPtr;
}

// SAFETY: only the type changes.
unsafe impl<'gc, T, U: ?Sized> __CoercePtrInternal<Gc<'gc, U>> for Gc<'gc, T> {
    type FromPtr = T;
    type ToPtr = U;

    #[inline(always)]
    unsafe fn __coerce_unchecked<F>(self, coerce: F) -> Gc<'gc, U>
    where
        F: FnOnce(*mut T) -> *mut U,
    {
        Gc {
            // SAFETY: the address is an object's, as the caller promises.
            ptr: unsafe { NonNull::new_unchecked(coerce(self.ptr.as_ptr())) },
            invariant: PhantomData,
        }
    }
}

// SAFETY: only the type changes.
unsafe impl<'gc, T, U: ?Sized> __CoercePtrInternal<GcWeak<'gc, U>> for GcWeak<'gc, T> {
    type FromPtr = T;
    type ToPtr = U;

    #[inline(always)]
    unsafe fn __coerce_unchecked<F>(self, coerce: F) -> GcWeak<'gc, U>
    where
        F: FnOnce(*mut T) -> *mut U,
    {
        GcWeak {
            // SAFETY: passed on to the caller.
            inner: unsafe { self.inner.__coerce_unchecked(coerce) },
        }
    }
}
