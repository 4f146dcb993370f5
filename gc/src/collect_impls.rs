//! [`Collect`] for the types of `core`, `alloc`, `std` and `smallvec`.
//!
//! All of these trace each value that they own (rule 1), have destructors that run those of these values and look at nothing else
//! (rule 2), and change nothing behind a shared reference, except for what must be `'static` here (rule 3).
//!
//! A standard container in an object is traced in one go, however long it is; [`collections`](crate::collections) has those that
//! are traced in slices, and [`Sliced`](crate::collections::Sliced) for a `Vec`.

use std::{
    any::TypeId,
    borrow::Cow,
    cell::{Cell, OnceCell, RefCell},
    collections::{BTreeMap, BTreeSet, BinaryHeap, HashMap, HashSet, LinkedList, VecDeque},
    convert::Infallible,
    ffi::{CStr, CString, OsStr, OsString},
    marker::PhantomData,
    num,
    path::{Path, PathBuf},
    rc::Rc,
    sync::{Arc, atomic},
    time::{Duration, Instant, SystemTime},
};

use smallvec::SmallVec;

use crate::collect::{Collect, Trace};

/// Types that hold no pointer into an arena and are `Send`.
macro_rules! plain {
    ($($type:ty),* $(,)?) => { $(
        // SAFETY: there is nothing to trace; the type is `Send`.
        unsafe impl<'gc> Collect<'gc> for $type {
            const NEEDS_TRACE: bool = false;
            const SEND: bool = $crate::__is_send!($type);
        }
    )* };
}

plain! {
    bool, char, u8, u16, u32, u64, u128, usize, i8, i16, i32, i64, i128, isize, f32, f64,
    num::NonZeroU8, num::NonZeroU16, num::NonZeroU32, num::NonZeroU64, num::NonZeroU128, num::NonZeroUsize,
    num::NonZeroI8, num::NonZeroI16, num::NonZeroI32, num::NonZeroI64, num::NonZeroI128, num::NonZeroIsize,
    atomic::AtomicBool, atomic::AtomicU8, atomic::AtomicU16, atomic::AtomicU32, atomic::AtomicU64, atomic::AtomicUsize,
    atomic::AtomicI8, atomic::AtomicI16, atomic::AtomicI32, atomic::AtomicI64, atomic::AtomicIsize,
    str, String, CStr, CString, OsStr, OsString, Path, PathBuf,
    TypeId, Infallible, Duration, Instant, SystemTime,
}

/// Types that are wrapped around any `'static` one, of which it can't be said here whether it is `Send`.
macro_rules! holds_static {
    ($(<$param:ident> $type:ty),* $(,)?) => { $(
        // SAFETY: a `'static` value holds no pointer into an arena.
        unsafe impl<'gc, $param: ?Sized + 'static> Collect<'gc> for $type {
            const NEEDS_TRACE: bool = false;
        }
    )* };
}

// The bound on `T` must stay, although `&'static T` implies it: where the type stands behind a `for<'gc>`, the compiler takes what
// is implied for granted, and would let `&'static Gc<'gc, _>` through.
holds_static! { <T> &'static T, <T> Cell<T>, <T> RefCell<T> }

// SAFETY: a `'static` value holds no pointer into an arena.
unsafe impl<'gc, T: 'static> Collect<'gc> for OnceCell<T> {
    const NEEDS_TRACE: bool = false;
}

// SAFETY: both forms are `'static`.
unsafe impl<'gc, T: ToOwned<Owned: 'static> + ?Sized + 'static> Collect<'gc> for Cow<'static, T> {
    const NEEDS_TRACE: bool = false;
}

// SAFETY: it holds nothing. What it stands for may be bound to a thread.
unsafe impl<'gc, T: ?Sized> Collect<'gc> for PhantomData<T> {
    const NEEDS_TRACE: bool = false;
}

/// Containers of one kind of value.
macro_rules! sequences {
    ($($type:ty),* $(,)?) => { $(
        // SAFETY: each element is traced.
        unsafe impl<'gc, T: Collect<'gc>> Collect<'gc> for $type {
            const NEEDS_TRACE: bool = T::NEEDS_TRACE;
            const SEND: bool = T::SEND;

            #[inline]
            fn trace<C: Trace<'gc>>(&self, cc: &mut C) {
                for value in self {
                    cc.trace(value);
                }
            }
        }
    )* };
}

sequences! { [T], Vec<T>, VecDeque<T>, LinkedList<T>, BinaryHeap<T>, BTreeSet<T> }

/// Pointers to one value; `$send`: whether it is theirs alone, so that it moves between threads as they do.
macro_rules! pointers {
    ($($type:ty, $send:expr;)*) => { $(
        // SAFETY: the value is traced.
        unsafe impl<'gc, T: Collect<'gc> + ?Sized> Collect<'gc> for $type {
            const NEEDS_TRACE: bool = T::NEEDS_TRACE;
            const SEND: bool = $send;

            #[inline]
            fn trace<C: Trace<'gc>>(&self, cc: &mut C) {
                cc.trace(&**self);
            }
        }
    )* };
}

// Of an `Rc` or `Arc` several objects may own the value. That is no breach of rule 3 as long as nothing in it can change: there is no
// way to a `Write` of the value through either of them.
pointers! {
    Box<T>, T::SEND;
    Rc<T>, false;
    Arc<T>, false;
}

// SAFETY: each element is traced.
unsafe impl<'gc, T: Collect<'gc>, const N: usize> Collect<'gc> for [T; N] {
    const NEEDS_TRACE: bool = N > 0 && T::NEEDS_TRACE;
    const SEND: bool = T::SEND;

    #[inline]
    fn trace<C: Trace<'gc>>(&self, cc: &mut C) {
        for value in self {
            cc.trace(value);
        }
    }
}

// SAFETY: each element is traced.
unsafe impl<'gc, A: smallvec::Array<Item: Collect<'gc>>> Collect<'gc> for SmallVec<A> {
    const NEEDS_TRACE: bool = <A::Item as Collect<'gc>>::NEEDS_TRACE;
    const SEND: bool = <A::Item as Collect<'gc>>::SEND;

    #[inline]
    fn trace<C: Trace<'gc>>(&self, cc: &mut C) {
        for value in self {
            cc.trace(value);
        }
    }
}

// SAFETY: the value is traced where there is one.
unsafe impl<'gc, T: Collect<'gc>> Collect<'gc> for Option<T> {
    const NEEDS_TRACE: bool = T::NEEDS_TRACE;
    const SEND: bool = T::SEND;

    #[inline(always)]
    fn trace<C: Trace<'gc>>(&self, cc: &mut C) {
        if let Some(value) = self {
            cc.trace(value);
        }
    }
}

// SAFETY: whichever value there is, is traced.
unsafe impl<'gc, T: Collect<'gc>, E: Collect<'gc>> Collect<'gc> for Result<T, E> {
    const NEEDS_TRACE: bool = T::NEEDS_TRACE || E::NEEDS_TRACE;
    const SEND: bool = T::SEND && E::SEND;

    #[inline]
    fn trace<C: Trace<'gc>>(&self, cc: &mut C) {
        match self {
            Ok(value) => cc.trace(value),
            Err(error) => cc.trace(error),
        }
    }
}

// SAFETY: keys and values are traced.
unsafe impl<'gc, K: Collect<'gc>, V: Collect<'gc>> Collect<'gc> for BTreeMap<K, V> {
    const NEEDS_TRACE: bool = K::NEEDS_TRACE || V::NEEDS_TRACE;
    const SEND: bool = K::SEND && V::SEND;

    #[inline]
    fn trace<C: Trace<'gc>>(&self, cc: &mut C) {
        for (key, value) in self {
            cc.trace(key);
            cc.trace(value);
        }
    }
}

// SAFETY: keys and values are traced; the hasher is `'static`, thus without pointers into an arena, and `Send`.
unsafe impl<'gc, K: Collect<'gc>, V: Collect<'gc>, S: Send + 'static> Collect<'gc>
    for HashMap<K, V, S>
{
    const NEEDS_TRACE: bool = K::NEEDS_TRACE || V::NEEDS_TRACE;
    const SEND: bool = K::SEND && V::SEND;

    #[inline]
    fn trace<C: Trace<'gc>>(&self, cc: &mut C) {
        for (key, value) in self {
            cc.trace(key);
            cc.trace(value);
        }
    }
}

// SAFETY: the elements are traced; the hasher is `'static`, thus without pointers into an arena, and `Send`.
unsafe impl<'gc, T: Collect<'gc>, S: Send + 'static> Collect<'gc> for HashSet<T, S> {
    const NEEDS_TRACE: bool = T::NEEDS_TRACE;
    const SEND: bool = T::SEND;

    #[inline]
    fn trace<C: Trace<'gc>>(&self, cc: &mut C) {
        for value in self {
            cc.trace(value);
        }
    }
}

/// Tuples of all sizes up to the number of names.
macro_rules! tuples {
    () => {
        // SAFETY: there is nothing in it.
        unsafe impl<'gc> Collect<'gc> for () {
            const NEEDS_TRACE: bool = false;
            const SEND: bool = true;
        }
    };
    ($first:ident $($rest:ident)*) => {
        // SAFETY: each part is traced.
        unsafe impl<'gc, $first: Collect<'gc>, $($rest: Collect<'gc>),*> Collect<'gc> for ($first, $($rest,)*) {
            const NEEDS_TRACE: bool = $first::NEEDS_TRACE $(|| $rest::NEEDS_TRACE)*;
            const SEND: bool = $first::SEND $(&& $rest::SEND)*;

            #[inline]
            #[allow(non_snake_case, reason = "a type's name stands for its value too")]
            fn trace<Tracer: Trace<'gc>>(&self, cc: &mut Tracer) {
                let ($first, $($rest,)*) = self;
                cc.trace($first);
                $( cc.trace($rest); )*
            }
        }
        tuples!($($rest)*);
    };
}

tuples!(A B C D E F G H I J K L M N O P);
