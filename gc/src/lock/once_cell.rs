//! [`OnceLock`].

use std::{cell::OnceCell, fmt};

use crate::{
    Gc, Mutation,
    barrier::Unlock,
    collect::{Collect, Trace},
};

/// A [`OnceLock`] in an object of its own.
pub type GcOnceLock<'gc, T> = Gc<'gc, OnceLock<T>>;

/// A [`OnceCell`] that needs a write barrier to be set.
#[derive(Clone, PartialEq, Eq)]
#[repr(transparent)]
pub struct OnceLock<T> {
    cell: OnceCell<T>,
}

impl<T> OnceLock<T> {
    /// An empty lock.
    #[inline]
    pub const fn new() -> Self {
        Self {
            cell: OnceCell::new(),
        }
    }

    /// The value, if it was set.
    #[inline]
    pub fn into_inner(self) -> Option<T> {
        self.cell.into_inner()
    }

    /// The value, if it was set.
    #[inline]
    pub fn get(&self) -> Option<&T> {
        self.cell.get()
    }

    /// The value, if it was set, of which the caller is the only user.
    #[inline]
    pub fn get_mut(&mut self) -> Option<&mut T> {
        self.cell.get_mut()
    }

    /// The cell.
    ///
    /// # Safety
    /// As for [`Write::assume`](crate::barrier::Write::assume).
    #[inline]
    pub unsafe fn as_once_cell(&self) -> &OnceCell<T> {
        &self.cell
    }
}

impl<T> Default for OnceLock<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> Unlock for OnceLock<T> {
    type Unlocked = OnceCell<T>;

    #[inline(always)]
    unsafe fn unlock_unchecked(&self) -> &OnceCell<T> {
        &self.cell
    }
}

impl<T> From<T> for OnceLock<T> {
    fn from(value: T) -> Self {
        Self { cell: value.into() }
    }
}

impl<T> From<OnceCell<T>> for OnceLock<T> {
    fn from(cell: OnceCell<T>) -> Self {
        Self { cell }
    }
}

impl<T: fmt::Debug> fmt::Debug for OnceLock<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut tuple = f.debug_tuple("OnceLock");
        match self.get() {
            Some(value) => tuple.field(value),
            None => tuple.field(&format_args!("<not set>")),
        };
        tuple.finish()
    }
}

// SAFETY: the value, which does not change once it is there, is traced (rule 1); it can only be set behind a barrier (rule 3).
unsafe impl<'gc, T: Collect<'gc>> Collect<'gc> for OnceLock<T> {
    const NEEDS_TRACE: bool = T::NEEDS_TRACE;
    const SEND: bool = T::SEND;

    #[inline]
    fn trace<C: Trace<'gc>>(&self, cc: &mut C) {
        if let Some(value) = self.cell.get() {
            cc.trace(value);
        }
    }
}

impl<'gc, T: 'gc> Gc<'gc, OnceLock<T>> {
    /// The value, if it was set.
    #[inline]
    pub fn get(self) -> Option<&'gc T> {
        self.as_ref().cell.get()
    }

    /// Raises the barrier and sets the value.
    ///
    /// # Errors
    /// Gives the value back if there is one already.
    #[inline]
    pub fn set(self, mc: &Mutation<'gc>, value: T) -> Result<(), T> {
        if self.cell.get().is_some() {
            return Err(value);
        }
        self.unlock(mc).set(value)
    }

    /// The value; if it was not set, it is made, and set behind a barrier.
    ///
    /// # Panics
    /// If `make` sets the lock itself.
    #[inline]
    pub fn get_or_init(self, mc: &Mutation<'gc>, make: impl FnOnce() -> T) -> &'gc T {
        match self.as_ref().cell.get() {
            Some(value) => value,
            None => self.unlock(mc).get_or_init(make),
        }
    }
}
