//! [`ForwardLock`].

use std::{cell::Cell, fmt};

use crate::{
    Mutation,
    collect::{Collect, Trace},
};

/// A [`Cell`] whose stores raise the barrier for what is stored: whoever owns the cell needs none.
///
/// It is for the many places of a large container. With a [`Lock`](crate::Lock), each store has the owner traced again if it
/// was traced already, all of it; here what is stored is marked, at once, and lives until the next cycle even if it is removed right
/// after. In an object with few fields a [`Lock`](crate::Lock) keeps less garbage.
///
/// ```
/// use sleepy_gc::{Arena, ForwardLock, Gc, Rootable};
///
/// let arena = Arena::<Rootable![Gc<'_, [ForwardLock<Option<Gc<'_, u32>>>; 2]>]>::new(|mc| {
///     Gc::new(mc, [ForwardLock::new(None), ForwardLock::new(None)])
/// });
/// arena.mutate(|mc, places| {
///     places[0].set(mc, Some(Gc::new(mc, 7)));
///     places[1].set(mc, places[0].take());
///     assert_eq!((places[0].get(), *places[1].get().unwrap()), (None, 7));
/// });
/// ```
#[derive(Default)]
#[repr(transparent)]
pub struct ForwardLock<T> {
    cell: Cell<T>,
}

impl<T> ForwardLock<T> {
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
    // As `Lock::take`: a `Default` can name no arena.
    #[inline]
    pub fn take(&self) -> T
    where
        T: Default,
    {
        self.cell.take()
    }

    /// The value, of which the caller is the only user.
    ///
    /// A `&mut` to a part of an object can't be had without the barrier of its owner.
    #[inline]
    pub fn get_mut(&mut self) -> &mut T {
        self.cell.get_mut()
    }

    /// Marks what a value owns, and stores it.
    #[inline]
    pub fn set<'gc>(&self, mc: &Mutation<'gc>, value: T)
    where
        T: Collect<'gc>,
    {
        self.replace(mc, value);
    }

    /// Marks what a value owns, and stores it; the value that was there.
    #[inline]
    pub fn replace<'gc>(&self, mc: &Mutation<'gc>, value: T) -> T
    where
        T: Collect<'gc>,
    {
        mc.shade(&value);
        self.cell.replace(value)
    }
}

impl<T> From<T> for ForwardLock<T> {
    fn from(value: T) -> Self {
        Self::new(value)
    }
}

impl<T: Copy> Clone for ForwardLock<T> {
    #[inline]
    fn clone(&self) -> Self {
        Self::new(self.get())
    }
}

impl<T: Copy + fmt::Debug> fmt::Debug for ForwardLock<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ForwardLock").field(&self.get()).finish()
    }
}

// SAFETY: the value is traced, a copy of it, since a tracer that is not the collector's might change the cell meanwhile (rule 1);
// a store raises a forward barrier for it, which is the matching one for any owner (rule 3).
unsafe impl<'gc, T: Collect<'gc> + Copy> Collect<'gc> for ForwardLock<T> {
    const NEEDS_TRACE: bool = T::NEEDS_TRACE;
    const SEND: bool = T::SEND;

    #[inline]
    fn trace<C: Trace<'gc>>(&self, cc: &mut C) {
        cc.trace(&self.get());
    }
}
