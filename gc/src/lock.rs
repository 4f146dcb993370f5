//! Cells whose contents may be, or hold, [`Gc`] pointers: a store needs a write barrier.
//!
//! | lock | is a | use it for |
//! |---|---|---|
//! | [`Lock`] | [`Cell`] | small `Copy` values: a pointer, an `Option` of one, a number |
//! | [`RefLock`] | [`RefCell`] | anything that is changed in place |
//! | [`OnceLock`] | [`OnceCell`] | what is set once, after its object was made |
//!
//! As fields they are opened with [`unlock!`](crate::barrier::unlock); a [`Gc`] of one can be used directly. To read needs no barrier.
//!
//! ```
//! use sleepy_gc::{Arena, Gc, Rootable, lock::{GcRefLock, RefLock}};
//!
//! let arena = Arena::<Rootable![GcRefLock<'_, Vec<Gc<'_, u32>>>]>::new(|mc| Gc::new(mc, RefLock::new(Vec::new())));
//! arena.mutate(|mc, root| {
//!     root.borrow_mut(mc).push(Gc::new(mc, 7));
//!     assert_eq!(*root.borrow()[0], 7);
//! });
//! ```

use std::{
    cell::{BorrowError, BorrowMutError, Cell, OnceCell, Ref, RefCell, RefMut},
    cmp::Ordering,
    fmt,
};

use crate::{
    Gc, Mutation,
    barrier::Unlock,
    collect::{Collect, CollectorToken, Trace},
};

/// A [`Lock`] in an object of its own.
pub type GcLock<'gc, T> = Gc<'gc, Lock<T>>;
/// A [`RefLock`] in an object of its own.
pub type GcRefLock<'gc, T> = Gc<'gc, RefLock<T>>;
/// A [`OnceLock`] in an object of its own.
pub type GcOnceLock<'gc, T> = Gc<'gc, OnceLock<T>>;

/// A [`Cell`] whose changes need a write barrier.
#[derive(Default)]
#[repr(transparent)]
pub struct Lock<T: ?Sized> {
    cell: Cell<T>,
}

/// A [`RefCell`] whose mutable borrows need a write barrier.
#[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
#[repr(transparent)]
pub struct RefLock<T: ?Sized> {
    cell: RefCell<T>,
}

/// A [`OnceCell`] that needs a write barrier to be set.
#[derive(Clone, PartialEq, Eq)]
#[repr(transparent)]
pub struct OnceLock<T> {
    cell: OnceCell<T>,
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

    /// Takes the value and leaves its default.
    #[inline]
    pub fn take(&mut self) -> T
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

    /// Takes the value and leaves its default.
    #[inline]
    pub fn take(&mut self) -> T
    where
        T: Default,
    {
        std::mem::take(self.cell.get_mut())
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
