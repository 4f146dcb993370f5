//! A wrapper that makes any `'static` type collectable.

use std::borrow::{Borrow, BorrowMut};
use std::ops::{Deref, DerefMut};

use crate::Collect;

/// A value without pointers into an arena.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(transparent)]
pub struct StaticCollect<T>(pub T);

// SAFETY: a `'static` value holds no pointer that an arena has branded.
unsafe impl<T: 'static> Collect for StaticCollect<T> {
    #[inline]
    fn needs_trace() -> bool {
        false
    }
}

impl<T> From<T> for StaticCollect<T> {
    fn from(value: T) -> Self {
        Self(value)
    }
}

impl<T> AsRef<T> for StaticCollect<T> {
    fn as_ref(&self) -> &T {
        &self.0
    }
}

impl<T> AsMut<T> for StaticCollect<T> {
    fn as_mut(&mut self) -> &mut T {
        &mut self.0
    }
}

impl<T> Deref for StaticCollect<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T> DerefMut for StaticCollect<T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.0
    }
}

impl<T> Borrow<T> for StaticCollect<T> {
    fn borrow(&self) -> &T {
        &self.0
    }
}

impl<T> BorrowMut<T> for StaticCollect<T> {
    fn borrow_mut(&mut self) -> &mut T {
        &mut self.0
    }
}
