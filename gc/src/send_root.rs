//! Which roots may move between threads.

use std::{
    collections::{BTreeMap, BTreeSet, BinaryHeap, HashMap, HashSet, LinkedList, VecDeque},
    marker::PhantomData,
    sync::Arc,
};

use smallvec::{Array, SmallVec};

use crate::{
    DynamicRootSet, Gc, GcWeak, Root, Rootable, Static, ZstCache,
    arena::__DynRootable,
    collections::{GcBuffer, GcMap, GcStr, GcTail, GcVec, InternSet, LateStack, Sliced},
    ephemeron::EphemeronMap,
    finalize::FinalizerQueue,
    lock::{ForwardLock, Lock, OnceLock, RefLock},
};

/// A type whose values, with all that can be reached from them, may move to another thread together with their arena.
///
/// [`Gc`] is not [`Send`], as the arena must not stay behind; so a root can't be either, and this trait takes the place of `Send`. Derive
/// it: `#[derive(SendRoot)]` checks each field. Plain fields, for which `Send` is enough, are marked with `#[send_root(send)]` or
/// `#[collect(require_static)]`.
///
/// What lies in such an arena without being reachable matters as well, since its destructor may run on any thread. Therefore only
/// types whose [`Collect::SEND`](crate::Collect::SEND) is true can be allocated in it.
///
/// ```
/// use sleepy_gc::{Collect, Gc, SendRoot, lock::RefLock};
///
/// #[derive(Collect, SendRoot)]
/// #[collect(no_drop)]
/// struct Root<'gc> {
///     names: Gc<'gc, RefLock<Vec<Gc<'gc, String>>>>,
///     #[collect(require_static)]
///     sender: std::sync::mpsc::Sender<u32>,
/// }
/// ```
///
/// # Safety
/// Whatever can be reached from a value through safe code may be used and dropped on another thread than the one that made it,
/// provided that the whole arena is used by one thread at a time.
pub unsafe trait SendRoot {}

/// Types that are `Send` by themselves.
macro_rules! plain {
    ($($type:ty),* $(,)?) => { $(
        // SAFETY: the check beside it.
        unsafe impl SendRoot for $type {}
        const _: () = __assert_send::<$type>();
    )* };
}

plain! {
    (), bool, char, u8, u16, u32, u64, u128, usize, i8, i16, i32, i64, i128, isize, f32, f64, str, String,
    std::ffi::CString, std::ffi::OsString, std::path::PathBuf, std::any::TypeId,
    std::time::Duration, std::time::Instant, std::time::SystemTime,
}

/// Types that own, and give access to, values of their parameters only.
macro_rules! owners {
    ($(<$($param:ident),+> $type:ty),* $(,)?) => { $(
        // SAFETY: all that can be reached from it is reached through its values.
        unsafe impl<$($param: SendRoot),+> SendRoot for $type {}
    )* };
}

owners! {
    <T> [T], <T> Option<T>, <T> Vec<T>, <T> VecDeque<T>, <T> LinkedList<T>, <T> BinaryHeap<T>, <T> BTreeSet<T>,
    <K, V> BTreeMap<K, V>, <T, E> Result<T, E>, <T> Lock<T>, <T> ForwardLock<T>, <T> OnceLock<T>, <C> Sliced<C>,
    <A> (A,), <A, B> (A, B), <A, B, C> (A, B, C), <A, B, C, D> (A, B, C, D), <A, B, C, D, E> (A, B, C, D, E), <A, B, C, D, E, F> (A, B, C, D, E, F),
}

// SAFETY: the elements.
unsafe impl<T: SendRoot, const N: usize> SendRoot for [T; N] {}
// SAFETY: the elements.
unsafe impl<A: Array<Item: SendRoot>> SendRoot for SmallVec<A> {}
// SAFETY: keys and values; the hasher is `Send`.
unsafe impl<K: SendRoot, V: SendRoot, S: Send> SendRoot for HashMap<K, V, S> {}
// SAFETY: the elements; the hasher is `Send`.
unsafe impl<T: SendRoot, S: Send> SendRoot for HashSet<T, S> {}
// SAFETY: the value.
unsafe impl<T: SendRoot + ?Sized> SendRoot for Box<T> {}
// SAFETY: the value.
unsafe impl<T: SendRoot + ?Sized> SendRoot for RefLock<T> {}
// SAFETY: it is `Send`.
unsafe impl<T: Send + Sync + ?Sized> SendRoot for Arc<T> {}
// SAFETY: it is `Send`.
unsafe impl<T: Send + ?Sized> SendRoot for Static<T> {}
// SAFETY: what it stands for may move.
unsafe impl<T: SendRoot + ?Sized> SendRoot for PhantomData<T> {}
// SAFETY: the object moves with its arena, and so does everything else that refers to it.
unsafe impl<'gc, T: SendRoot + ?Sized + 'gc> SendRoot for Gc<'gc, T> {}
// SAFETY: as for `Gc`.
unsafe impl<'gc, T: SendRoot + ?Sized + 'gc> SendRoot for GcWeak<'gc, T> {}

/// Collections of this crate: what they reach are their elements, and buffers that are objects of the arena.
macro_rules! collections {
    ($(<$($param:ident),+> $type:ty),* $(,)?) => { $(
        // SAFETY: the buffers move with the arena, and the elements may.
        unsafe impl<'gc, $($param: SendRoot + 'gc),+> SendRoot for $type {}
    )* };
}

collections! {
    <T> GcVec<'gc, T>, <T> LateStack<'gc, T>, <H> InternSet<'gc, H>, <H, T> GcTail<'gc, H, T>,
    <H, T> GcBuffer<'gc, H, T>,
}

// SAFETY: it is bytes.
unsafe impl SendRoot for GcStr<'_> {}
// SAFETY: keys and values; the hasher is `Send`.
unsafe impl<'gc, K: SendRoot + 'gc, V: SendRoot + 'gc, S: Send> SendRoot for GcMap<'gc, K, V, S> {}
// SAFETY: keys and values; the hasher is `Send`.
unsafe impl<'gc, K: SendRoot + 'gc, V: SendRoot + 'gc, S: Send> SendRoot
    for EphemeronMap<'gc, K, V, S>
{
}
// SAFETY: the registered objects.
unsafe impl<'gc, T: SendRoot + ?Sized + 'gc> SendRoot for FinalizerQueue<'gc, T> {}

// SAFETY: it reaches any object that was stashed, of whatever type, and each was allocated in an arena that takes `SEND` types only.
unsafe impl SendRoot for DynamicRootSet<'_> {}
// SAFETY: it reaches values without a size, which were allocated as if by `Gc::new`.
unsafe impl<const MAX_ALIGN: usize> SendRoot for ZstCache<'_, MAX_ALIGN> {}

// The type that `Rootable![...]` stands for.
// SAFETY: every root that it names.
unsafe impl<R: ?Sized + for<'a> Rootable<'a>> SendRoot for __DynRootable<R> where
    for<'a> Root<'a, R>: SendRoot
{
}

#[doc(hidden)]
pub const fn __assert_send_root<T: SendRoot + ?Sized>() {}

#[doc(hidden)]
pub const fn __assert_send<T: Send + ?Sized>() {}
