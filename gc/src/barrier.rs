//! Write barriers as types: a `&Write<T>` proves that the object which holds the `T` may adopt any pointer.

use std::ops::{Deref, DerefMut};

/// A value whose owner has seen a write barrier in this callback.
#[non_exhaustive]
#[repr(transparent)]
pub struct Write<T: ?Sized> {
    #[doc(hidden)]
    pub __inner: T,
}

impl<T: ?Sized> Deref for Write<T> {
    type Target = T;

    #[inline(always)]
    fn deref(&self) -> &T {
        &self.__inner
    }
}

impl<T: ?Sized> DerefMut for Write<T> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut T {
        &mut self.__inner
    }
}

impl<T: ?Sized> Write<T> {
    /// Claims that a barrier was raised.
    ///
    /// # Safety
    ///
    /// In this callback, a backward barrier was raised for the object that owns `v`, or `v` adopts nothing.
    #[inline(always)]
    pub unsafe fn assume(v: &T) -> &Self {
        // SAFETY: `Write` is transparent over its value.
        unsafe { &*(std::ptr::from_ref(v) as *const Self) }
    }

    /// Opens the value for interior mutability.
    #[inline]
    pub fn unlock(&self) -> &T::Unlocked
    where
        T: Unlock,
    {
        // SAFETY: a `&Write<T>` proves the barrier.
        unsafe { self.__inner.unlock_unchecked() }
    }
}

/// A type that wraps an interior-mutable value and gives it out only behind a barrier.
pub trait Unlock {
    /// What is given out.
    type Unlocked: ?Sized;

    /// Gives out the interior-mutable value.
    ///
    /// # Safety
    ///
    /// As [`Write::assume`].
    unsafe fn unlock_unchecked(&self) -> &Self::Unlocked;
}
