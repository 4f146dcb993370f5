//! [`Lock`].

use std::{cell::Cell, cmp::Ordering, fmt};

use crate::{
    Gc, Mutation,
    barrier::Unlock,
    collect::{Collect, Trace},
};

/// A [`Lock`] in an object of its own.
pub type GcLock<'gc, T> = Gc<'gc, Lock<T>>;

/// A [`Cell`] whose changes need a write barrier.
#[derive(Default)]
#[repr(transparent)]
pub struct Lock<T: ?Sized> {
    cell: Cell<T>,
}

impl<T> Lock<T> {
    /// A lock with a value.
    #[inline]
    pub const fn new(value: T) -> Self {
        Self {
            cell: Cell::new(value),
        }
    }

    /// The value.
    #[inline]
    pub fn into_inner(self) -> T {
        self.cell.into_inner()
    }

    /// A copy of the value.
    #[inline]
    pub fn get(&self) -> T
    where
        T: Copy,
    {
        self.cell.get()
    }

    /// Takes the value and leaves its default. That needs no barrier.
    // A `Default` can name no arena: it is for all lifetimes or for none, so the value that it makes holds no pointer
    // that is branded by `'gc`, and a pointer that only goes away needs no barrier.
    #[inline]
    pub fn take(&self) -> T
    where
        T: Default,
    {
        self.cell.take()
    }
}

impl<T: ?Sized> Lock<T> {
    /// Where the value is. What is written through the pointer is under the terms of [`Lock::as_cell`].
    #[inline]
    pub fn as_ptr(&self) -> *mut T {
        self.cell.as_ptr()
    }

    /// The value, of which the caller is the only user.
    #[inline]
    pub fn get_mut(&mut self) -> &mut T {
        self.cell.get_mut()
    }

    /// The cell.
    ///
    /// # Safety
    /// As for [`Write::assume`](crate::barrier::Write::assume).
    #[inline]
    pub unsafe fn as_cell(&self) -> &Cell<T> {
        &self.cell
    }
}

impl<T: ?Sized> Unlock for Lock<T> {
    type Unlocked = Cell<T>;

    #[inline(always)]
    unsafe fn unlock_unchecked(&self) -> &Cell<T> {
        &self.cell
    }
}

impl<T> From<T> for Lock<T> {
    fn from(value: T) -> Self {
        Self::new(value)
    }
}

impl<T> From<Cell<T>> for Lock<T> {
    fn from(cell: Cell<T>) -> Self {
        Self { cell }
    }
}

impl<T: Copy> Clone for Lock<T> {
    #[inline]
    fn clone(&self) -> Self {
        Self::new(self.get())
    }
}

impl<T: Copy + fmt::Debug> fmt::Debug for Lock<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Lock").field(&self.get()).finish()
    }
}

impl<T: Copy + PartialEq> PartialEq for Lock<T> {
    fn eq(&self, other: &Self) -> bool {
        self.get() == other.get()
    }
}

impl<T: Copy + Eq> Eq for Lock<T> {}

impl<T: Copy + PartialOrd> PartialOrd for Lock<T> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        self.get().partial_cmp(&other.get())
    }
}

impl<T: Copy + Ord> Ord for Lock<T> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.get().cmp(&other.get())
    }
}

// SAFETY: the value is traced, a copy of it, since a tracer that is not the collector's might change the cell meanwhile (rule 1); it can
// only be changed behind a barrier (rule 3).
unsafe impl<'gc, T: Collect<'gc> + Copy> Collect<'gc> for Lock<T> {
    const NEEDS_TRACE: bool = T::NEEDS_TRACE;
    const SEND: bool = T::SEND;

    #[inline]
    fn trace<C: Trace<'gc>>(&self, cc: &mut C) {
        cc.trace(&self.get());
    }
}

impl<'gc, T: Copy + 'gc> Gc<'gc, Lock<T>> {
    /// A copy of the value.
    #[inline]
    pub fn get(self) -> T {
        self.cell.get()
    }

    /// Raises the barrier and stores a value.
    #[inline]
    pub fn set(self, mc: &Mutation<'gc>, value: T) {
        self.unlock(mc).set(value);
    }
}
