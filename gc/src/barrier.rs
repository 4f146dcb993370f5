//! Write barriers, as a type.
//!
//! While the collector marks, an object that was traced already must not adopt a pointer that it does not know of. So a store needs a
//! barrier, and a [`&Write<T>`](Write) is the proof that one was raised: it can be had from [`Gc::write`](crate::Gc::write) only, or
//! from a value that nobody else can see yet. From it, one goes on to the parts of the value ([`field!`], [`Write::as_deref`],
//! indexing), and in the end to an interior-mutable one, with [`Write::unlock`].
//!
//! ```
//! use sleepy_gc::{Collect, Gc, Mutation, barrier, lock::Lock};
//!
//! #[derive(Collect)]
//! #[collect(no_drop)]
//! struct Node<'gc> {
//!     next: Lock<Option<Gc<'gc, Node<'gc>>>>,
//! }
//!
//! fn link<'gc>(mc: &Mutation<'gc>, from: Gc<'gc, Node<'gc>>, to: Gc<'gc, Node<'gc>>) {
//!     barrier::unlock!(Gc::write(mc, from), Node, next).set(Some(to));
//! }
//! ```
//!
//! # What a `Write` may be carried to
//! Only to values that its object alone owns. A value behind an `Rc`, an `Arc` or a reference has other owners, for which no barrier
//! was raised, so these can only be passed if what is behind them is `'static`, and holds no pointers into an arena at all. (The
//! barrier of one owner is not enough: if that one is about to die it does nothing, and the other may have been traced already.)

use std::{
    borrow::Borrow,
    collections::{BTreeMap, HashMap, VecDeque},
    hash::{BuildHasher, Hash},
    mem,
    ops::{
        Deref, DerefMut, Index, Range, RangeFrom, RangeFull, RangeInclusive, RangeTo,
        RangeToInclusive,
    },
    rc::Rc,
    sync::Arc,
};

use smallvec::{Array, SmallVec};

#[doc(inline)]
pub use crate::{__field as field, __unlock as unlock};

/// A value whose owner may adopt any pointer until the end of this `mutate`.
#[non_exhaustive]
#[repr(transparent)]
pub struct Write<T: ?Sized> {
    // Public for the pattern of `field!`; nobody else can build one, since the struct is non-exhaustive.
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

impl<I, T: IndexWrite<I> + ?Sized> Index<I> for Write<T> {
    type Output = Write<T::Output>;

    #[inline]
    fn index(&self, index: I) -> &Self::Output {
        // SAFETY: what `IndexWrite` finds is owned by the container, for whose owner the barrier was raised.
        unsafe { Write::assume(&self.__inner[index]) }
    }
}

impl<T: ?Sized> Write<T> {
    /// Claims that a barrier was raised.
    ///
    /// # Safety
    /// * In this `mutate`, a barrier was raised for the object that owns `value`, and for each other one that does; or
    /// * no pointer into an arena is ever put into `value` through the result, except one for which a barrier of its own was raised
    ///   (a forward barrier).
    #[inline(always)]
    pub unsafe fn assume(value: &T) -> &Self {
        // SAFETY: `Write` has the layout of its only field.
        unsafe { mem::transmute(value) }
    }

    /// A value that can't hold pointers into an arena needs no barrier.
    #[inline(always)]
    pub fn from_static(value: &T) -> &Self
    where
        T: 'static,
    {
        // SAFETY: nothing that an arena branded can be put into a `'static` value.
        unsafe { Self::assume(value) }
    }

    /// A value that only the caller can see needs no barrier: if it is in an object, the caller came to it through one.
    #[inline(always)]
    pub fn from_mut(value: &mut T) -> &mut Self {
        // SAFETY: `Write` has the layout of its only field. Parts that others own too can't be reached from it.
        unsafe { mem::transmute(value) }
    }

    /// The field at `field`, which is a part of `owner`.
    ///
    /// # Safety
    /// The reference was made by a pattern that takes a `T` apart.
    #[doc(hidden)]
    #[inline(always)]
    pub unsafe fn __field<'a, F: ?Sized>(owner: &'a Self, field: &'a F) -> &'a Write<F>
    where
        T: Sized,
    {
        // A field that was found through a pointer lies elsewhere. The compiler knows both addresses and removes the check.
        let start = std::ptr::from_ref(owner).addr();
        let at = std::ptr::from_ref(field).cast::<u8>().addr();
        assert!(
            at >= start && at + size_of_val(field) <= start + size_of::<T>(),
            "`field!` can only name a field of the value itself"
        );
        // SAFETY: the field is a part of a value for whose owner a barrier was raised.
        unsafe { Write::assume(field) }
    }

    /// Opens an interior-mutable value.
    #[inline(always)]
    pub fn unlock(&self) -> &T::Unlocked
    where
        T: Unlock,
    {
        // SAFETY: a `&Write` proves that the barrier was raised.
        unsafe { self.__inner.unlock_unchecked() }
    }

    /// Goes on to what a smart pointer points to.
    #[inline(always)]
    pub fn as_deref(&self) -> &Write<T::Target>
    where
        T: DerefWrite,
    {
        // SAFETY: the target of a `DerefWrite` is owned by the pointer, for whose owner the barrier was raised.
        unsafe { Write::assume(&*self.__inner) }
    }
}

impl<T> Write<Option<T>> {
    /// Goes on to the value, if there is one.
    #[inline(always)]
    pub fn as_write(&self) -> Option<&Write<T>> {
        // SAFETY: the value is a part of the option.
        self.__inner
            .as_ref()
            .map(|value| unsafe { Write::assume(value) })
    }
}

impl<T, E> Write<Result<T, E>> {
    /// Goes on to the value or the error.
    ///
    /// # Errors
    /// What the result holds as its error.
    #[inline(always)]
    pub fn as_write(&self) -> Result<&Write<T>, &Write<E>> {
        match &self.__inner {
            // SAFETY: the value is a part of the result.
            Ok(value) => Ok(unsafe { Write::assume(value) }),
            // SAFETY: the error is a part of the result.
            Err(error) => Err(unsafe { Write::assume(error) }),
        }
    }
}

/// Smart pointers through which a [`Write`] may be carried.
///
/// # Safety
/// `Deref` and `DerefMut` find a value that the pointer alone owns, or a `'static` one; and never through a `Gc`.
pub unsafe trait DerefWrite: Deref {}

// SAFETY: a box is the only owner of its value.
unsafe impl<T: ?Sized> DerefWrite for Box<T> {}
// SAFETY: a vector is the only owner of its elements.
unsafe impl<T> DerefWrite for Vec<T> {}
// SAFETY: a vector is the only owner of its elements.
unsafe impl<A: Array> DerefWrite for SmallVec<A> {}
// SAFETY: the value is `'static`.
unsafe impl<T: ?Sized + 'static> DerefWrite for &'static T {}
// SAFETY: the value is `'static`.
unsafe impl<T: ?Sized + 'static> DerefWrite for Rc<T> {}
// SAFETY: the value is `'static`.
unsafe impl<T: ?Sized + 'static> DerefWrite for Arc<T> {}

/// Containers into whose elements a [`Write`] may be carried by indexing.
///
/// # Safety
/// `Index` finds a value that the container alone owns, or a `'static` one; and never through a `Gc`.
// Each index type is listed, as an `impl` for all that fit would take in those of other crates, which may find anything.
pub unsafe trait IndexWrite<I: ?Sized>: Index<I> {}

/// Indexes that find elements of a slice.
macro_rules! slice_indexes {
    ($($index:ty),*) => { $(
        // SAFETY: the elements are parts of the slice.
        unsafe impl<T> IndexWrite<$index> for [T] {}
    )* };
}

slice_indexes!(
    usize,
    Range<usize>,
    RangeFrom<usize>,
    RangeFull,
    RangeInclusive<usize>,
    RangeTo<usize>,
    RangeToInclusive<usize>
);

// SAFETY: an array indexes itself as a slice.
unsafe impl<T, I, const N: usize> IndexWrite<I> for [T; N]
where
    [T]: IndexWrite<I>,
    Self: Index<I>,
{
}
// SAFETY: a vector indexes its elements as a slice.
unsafe impl<T, I> IndexWrite<I> for Vec<T>
where
    [T]: IndexWrite<I>,
    Self: Index<I>,
{
}
// SAFETY: the elements are the queue's own.
unsafe impl<T> IndexWrite<usize> for VecDeque<T> {}
// SAFETY: whatever the order, a value that is found is the map's own.
unsafe impl<K: Borrow<Q> + Ord, V, Q: Ord + ?Sized> IndexWrite<&Q> for BTreeMap<K, V> {}
// SAFETY: whatever the hash, a value that is found is the map's own.
unsafe impl<K: Eq + Hash + Borrow<Q>, V, S: BuildHasher, Q: Eq + Hash + ?Sized> IndexWrite<&Q>
    for HashMap<K, V, S>
{
}

/// A type that hides an interior-mutable value until a barrier was raised.
pub trait Unlock {
    /// The interior-mutable value.
    type Unlocked: ?Sized;

    /// Gives out the interior-mutable value.
    ///
    /// # Safety
    /// As for [`Write::assume`], of `self`.
    unsafe fn unlock_unchecked(&self) -> &Self::Unlocked;
}

/// Goes on from a `&Write<Struct>` to the `&Write<Field>` of one of its fields: `field!(write, Struct, field)`.
///
/// The field must be visible where the macro is used.
// The pattern can't call `Deref`, as a field access could, and in our edition a `ref` does not look through references either, so a
// field of something that others own is never found; `__field` looks again.
#[doc(hidden)]
#[macro_export]
macro_rules! __field {
    ($value:expr, $type:path, $field:ident) => {{
        let owner: &$crate::barrier::Write<_> = $value;
        match owner {
            &$crate::barrier::Write {
                __inner: $type { ref $field, .. },
                ..
            } => {
                // SAFETY: the reference was made by the pattern.
                unsafe { $crate::barrier::Write::__field(owner, $field) }
            }
        }
    }};
}

/// [`field!`](crate::barrier::field) and then [`Write::unlock`](crate::barrier::Write::unlock).
#[doc(hidden)]
#[macro_export]
macro_rules! __unlock {
    ($value:expr, $type:path, $field:ident) => {
        $crate::barrier::field!($value, $type, $field).unlock()
    };
}
