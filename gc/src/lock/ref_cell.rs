//! [`RefLock`].

use std::{
    cell::{BorrowError, BorrowMutError, Ref, RefCell, RefMut},
    fmt,
};

use crate::{
    Gc, Mutation,
    barrier::Unlock,
    collect::{Collect, CollectorToken, Trace},
};

/// A [`RefLock`] in an object of its own.
pub type GcRefLock<'gc, T> = Gc<'gc, RefLock<T>>;

/// A [`RefCell`] whose mutable borrows need a write barrier.
#[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
#[repr(transparent)]
pub struct RefLock<T: ?Sized> {
    cell: RefCell<T>,
}

impl<T> RefLock<T> {
    /// A lock with a value.
    #[inline]
    pub const fn new(value: T) -> Self {
        Self {
            cell: RefCell::new(value),
        }
    }

    /// The value.
    #[inline]
    pub fn into_inner(self) -> T {
        self.cell.into_inner()
    }

    /// Takes the value and leaves its default. That needs no barrier: see [`Lock::take`](crate::Lock::take).
    ///
    /// # Panics
    /// If it is borrowed.
    #[inline]
    #[track_caller]
    pub fn take(&self) -> T
    where
        T: Default,
    {
        self.cell.take()
    }
}

impl<T: ?Sized> RefLock<T> {
    /// Borrows the value.
    ///
    /// # Panics
    /// If it is mutably borrowed.
    #[inline]
    #[track_caller]
    pub fn borrow(&self) -> Ref<'_, T> {
        self.cell.borrow()
    }

    /// Borrows the value.
    ///
    /// # Errors
    /// If it is mutably borrowed.
    #[inline]
    pub fn try_borrow(&self) -> Result<Ref<'_, T>, BorrowError> {
        self.cell.try_borrow()
    }

    /// Where the value is. What is written through the pointer is under the terms of [`RefLock::as_ref_cell`].
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
    pub unsafe fn as_ref_cell(&self) -> &RefCell<T> {
        &self.cell
    }
}

impl<T: ?Sized> Unlock for RefLock<T> {
    type Unlocked = RefCell<T>;

    #[inline(always)]
    unsafe fn unlock_unchecked(&self) -> &RefCell<T> {
        &self.cell
    }
}

impl<T> From<T> for RefLock<T> {
    fn from(value: T) -> Self {
        Self::new(value)
    }
}

impl<T> From<RefCell<T>> for RefLock<T> {
    fn from(cell: RefCell<T>) -> Self {
        Self { cell }
    }
}

impl<T: fmt::Debug + ?Sized> fmt::Debug for RefLock<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut tuple = f.debug_tuple("RefLock");
        match self.try_borrow() {
            Ok(value) => tuple.field(&&*value),
            Err(_) => tuple.field(&format_args!("<mutably borrowed>")),
        };
        tuple.finish()
    }
}

// SAFETY: the value is traced (rule 1) and can only be changed behind a barrier (rule 3).
unsafe impl<'gc, T: Collect<'gc> + ?Sized> Collect<'gc> for RefLock<T> {
    const NEEDS_TRACE: bool = T::NEEDS_TRACE;
    const SEND: bool = T::SEND;

    #[inline]
    fn trace<C: Trace<'gc>>(&self, cc: &mut C) {
        if cc
            .__collector()
            .is_some_and(CollectorToken::mutator_stopped)
        {
            // SAFETY: no `mutate` is running, and a borrow can't outlive one: if the cell says that it is borrowed, somebody has
            // forgotten a `RefMut`. The pointers in it must be found all the same.
            cc.trace(unsafe { &*self.cell.as_ptr() });
        } else {
            // Somebody looks through the graph inside of `mutate`.
            cc.trace(&*self.cell.borrow());
        }
    }
}

impl<'gc, T: ?Sized + 'gc> Gc<'gc, RefLock<T>> {
    /// Borrows the value, for as long as this `mutate` lasts.
    ///
    /// # Panics
    /// If it is mutably borrowed.
    #[inline]
    #[track_caller]
    pub fn borrow(self) -> Ref<'gc, T> {
        self.as_ref().cell.borrow()
    }

    /// Borrows the value.
    ///
    /// # Errors
    /// If it is mutably borrowed.
    #[inline]
    pub fn try_borrow(self) -> Result<Ref<'gc, T>, BorrowError> {
        self.as_ref().cell.try_borrow()
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
