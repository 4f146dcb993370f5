//! A wrapper that makes any `'static` type collectable.

use std::{
    borrow::{Borrow, BorrowMut},
    ops::{Deref, DerefMut},
};

use crate::{Rootable, collect::Collect};

/// A value without pointers into an arena, whatever its type: `Gc<'gc, Static<File>>`, or a whole root that holds none.
///
/// ```
/// use sleepy_gc::{Arena, Static};
///
/// let arena = Arena::<Static<u32>>::new(|_| Static(7));
/// assert_eq!(arena.mutate(|_, root| root.0), 7);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(transparent)]
pub struct Static<T: ?Sized>(pub T);

impl<'a, T: ?Sized + 'static> Rootable<'a> for Static<T> {
    type Root = Self;
}

// SAFETY: a `'static` value holds no pointer that an arena has branded.
unsafe impl<'gc, T: ?Sized + 'static> Collect<'gc> for Static<T> {
    const NEEDS_TRACE: bool = false;
}

impl<T> From<T> for Static<T> {
    fn from(value: T) -> Self {
        Self(value)
    }
}

impl<T: ?Sized> Deref for Static<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T: ?Sized> DerefMut for Static<T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.0
    }
}

impl<T: ?Sized> AsRef<T> for Static<T> {
    fn as_ref(&self) -> &T {
        &self.0
    }
}

impl<T: ?Sized> AsMut<T> for Static<T> {
    fn as_mut(&mut self) -> &mut T {
        &mut self.0
    }
}

impl<T: ?Sized> Borrow<T> for Static<T> {
    fn borrow(&self) -> &T {
        &self.0
    }
}

impl<T: ?Sized> BorrowMut<T> for Static<T> {
    fn borrow_mut(&mut self) -> &mut T {
        &mut self.0
    }
}
