//! Unsizing of pointers: from a concrete type to a trait object, from an array to a slice.

use crate::{Gc, GcWeak};

/// Turns a `Gc` or `GcWeak` of a type into one of a type that a reference to it could be coerced to.
///
/// ```
/// use std::fmt::Display;
/// use sleepy_gc::{Gc, arena::rootless_mutate, unsize};
///
/// rootless_mutate(|mc| {
///     let number: Gc<'_, dyn Display> = unsize!(Gc::new(mc, 7) => dyn Display);
///     let slice: Gc<'_, [u8]> = unsize!(Gc::new(mc, [1u8, 2, 3]) => [u8]);
///     assert_eq!((number.to_string(), slice.len()), ("7".to_owned(), 3));
/// });
/// ```
// The compiler itself checks that the closure is a coercion: a pointer can turn into another without a cast in no other way.
#[macro_export]
macro_rules! unsize {
    ($gc:expr => $type:ty) => {{
        let gc = $gc;
        // SAFETY: the closure does nothing but coerce its argument.
        unsafe { $crate::__Unsize::__unsize(gc, |pointer: *const _| -> *const $type { pointer }) }
    }};
}

/// A pointer that can be made from another by coercing the address in it.
///
/// # Safety
/// `Output` and `Self` belong to the same arena.
#[doc(hidden)]
pub unsafe trait __Unsize<Output> {
    /// What is pointed to before.
    type From;
    /// What is pointed to after.
    type To: ?Sized;

    /// # Safety
    /// `coerce` is a coercion: its result points to the same object.
    unsafe fn __unsize(self, coerce: impl FnOnce(*const Self::From) -> *const Self::To) -> Output;
}

// SAFETY: the arena's lifetime is the same.
unsafe impl<'gc, T, U: ?Sized> __Unsize<Gc<'gc, U>> for Gc<'gc, T> {
    type From = T;
    type To = U;

    #[inline(always)]
    unsafe fn __unsize(self, coerce: impl FnOnce(*const T) -> *const U) -> Gc<'gc, U> {
        // SAFETY: it is the same object as before, which is alive.
        unsafe { Gc::from_ptr(coerce(Gc::as_ptr(self))) }
    }
}

// SAFETY: the arena's lifetime is the same.
unsafe impl<'gc, T, U: ?Sized> __Unsize<GcWeak<'gc, U>> for GcWeak<'gc, T> {
    type From = T;
    type To = U;

    #[inline(always)]
    unsafe fn __unsize(self, coerce: impl FnOnce(*const T) -> *const U) -> GcWeak<'gc, U> {
        // SAFETY: it is the same object as before.
        unsafe { GcWeak::from_ptr(coerce(self.as_ptr())) }
    }
}
