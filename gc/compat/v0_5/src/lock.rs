//! Cells whose contents may be, or hold, pointers: a store needs a write barrier.

use std::cell::{BorrowError, BorrowMutError, Ref, RefMut};

pub use sleepy_gc::lock::{Lock, RefLock};

use crate::collect::{Collect, Collection};
use crate::{Gc, Mutation};

/// A [`Lock`] in an object of its own.
pub type GcLock<'gc, T> = Gc<'gc, Lock<T>>;

/// A [`RefLock`] in an object of its own.
pub type GcRefLock<'gc, T> = Gc<'gc, RefLock<T>>;

// SAFETY: the value is traced, and can only be changed behind a barrier.
unsafe impl<T: Collect + Copy> Collect for Lock<T> {
    #[inline]
    fn needs_trace() -> bool {
        T::needs_trace()
    }

    #[inline]
    fn trace(&self, cc: &Collection) {
        self.get().trace(cc);
    }
}

// SAFETY: the value is traced, and can only be changed behind a barrier.
unsafe impl<T: Collect> Collect for RefLock<T> {
    #[inline]
    fn needs_trace() -> bool {
        T::needs_trace()
    }

    #[inline]
    fn trace(&self, cc: &Collection) {
        // SAFETY: no program runs, and a borrow can't outlive a callback: if the cell says that it is borrowed, somebody has
        // forgotten a `RefMut`.
        unsafe { &*self.as_ptr() }.trace(cc);
    }
}

impl<'gc, T: Copy + 'gc> Gc<'gc, Lock<T>> {
    /// A copy of the value.
    #[inline]
    pub fn get(self) -> T {
        self.as_ref().get()
    }

    /// Raises the barrier and stores a value.
    #[inline]
    pub fn set(self, mc: &Mutation<'gc>, value: T) {
        self.unlock(mc).set(value);
    }
}

impl<'gc, T: ?Sized + 'gc> Gc<'gc, RefLock<T>> {
    /// Borrows the value.
    ///
    /// # Panics
    /// If it is mutably borrowed.
    #[inline]
    #[track_caller]
    pub fn borrow(self) -> Ref<'gc, T> {
        self.as_ref().borrow()
    }

    /// Borrows the value.
    ///
    /// # Errors
    /// If it is mutably borrowed.
    #[inline]
    pub fn try_borrow(self) -> Result<Ref<'gc, T>, BorrowError> {
        self.as_ref().try_borrow()
    }

    /// Raises the barrier and borrows the value mutably.
    ///
    /// # Panics
    /// If it is borrowed.
    #[inline]
    #[track_caller]
    pub fn borrow_mut(self, mc: &Mutation<'gc>) -> RefMut<'gc, T> {
        self.unlock(mc).borrow_mut()
    }

    /// Raises the barrier and borrows the value mutably.
    ///
    /// # Errors
    /// If it is borrowed.
    #[inline]
    pub fn try_borrow_mut(self, mc: &Mutation<'gc>) -> Result<RefMut<'gc, T>, BorrowMutError> {
        self.unlock(mc).try_borrow_mut()
    }
}
