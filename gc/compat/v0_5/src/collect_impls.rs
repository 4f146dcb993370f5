//! [`Collect`] for the types of the standard library.
//!
//! All of these trace each value that they own, have destructors that run those of these values and look at nothing else, and
//! change nothing behind a shared reference, except for what must be `'static` here.

use std::any::TypeId;
use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet, LinkedList, VecDeque};
use std::ffi::{CStr, CString, OsStr, OsString};
use std::marker::PhantomData;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;

use crate::collect::{Collect, Collection};

/// Implements `Collect` for a type that holds no pointers, in the words of the caller.
#[macro_export]
macro_rules! unsafe_empty_collect {
    ($type:ty) => {
        // SAFETY: the caller says that it holds no pointers.
        unsafe impl $crate::Collect for $type {
            #[inline]
            fn needs_trace() -> bool {
                false
            }
        }
    };
}

/// Implements `Collect` for a type that is `'static`.
#[macro_export]
macro_rules! static_collect {
    ($type:ty) => {
        // SAFETY: a `'static` value holds no pointer that an arena has branded.
        unsafe impl $crate::Collect for $type
        where
            $type: 'static,
        {
            #[inline]
            fn needs_trace() -> bool {
                false
            }
        }
    };
}

macro_rules! plain {
    ($($type:ty),* $(,)?) => { $( static_collect!($type); )* };
}

plain! {
    bool, char, u8, u16, u32, u64, u128, usize, i8, i16, i32, i64, i128, isize, f32, f64,
    String, CString, OsString, PathBuf, TypeId,
}

/// Types without a size, of which nobody can ask whether they need a trace.
macro_rules! unsized_plain {
    ($($type:ty),*) => { $(
        // SAFETY: a `'static` value holds no pointer that an arena has branded.
        unsafe impl Collect for $type {}
    )* };
}

unsized_plain! { str, CStr, OsStr, Path }

/// Types around any `'static` one. The bound on `T` must stay, although `&'static T` implies it: behind a `for<'gc>` the
/// compiler takes what is implied for granted, and would let `&'static Gc<'gc, _>` through.
macro_rules! holds_static {
    ($($type:ty),*) => { $(
        // SAFETY: a `'static` value holds no pointer into an arena.
        unsafe impl<T: 'static> Collect for $type {
            #[inline]
            fn needs_trace() -> bool {
                false
            }
        }
    )* };
}

holds_static! { Cell<T>, RefCell<T> }

// SAFETY: a `'static` value holds no pointer into an arena; as to the bound, see above.
unsafe impl<T: ?Sized + 'static> Collect for &'static T {
    #[inline]
    fn needs_trace() -> bool {
        false
    }
}

// SAFETY: it holds nothing.
unsafe impl<T> Collect for PhantomData<T> {
    #[inline]
    fn needs_trace() -> bool {
        false
    }
}

macro_rules! pointers {
    ($($type:ty),*) => { $(
        // SAFETY: the value is traced.
        unsafe impl<T: Collect + ?Sized> Collect for $type {
            #[inline]
            fn trace(&self, cc: &Collection) {
                (**self).trace(cc);
            }
        }
    )* };
}

pointers! { Box<T>, Rc<T>, Arc<T> }

macro_rules! sequences {
    ($([$($params:tt)*] $type:ty;)*) => { $(
        // SAFETY: each element is traced.
        unsafe impl<$($params)*> Collect for $type {
            #[inline]
            fn needs_trace() -> bool {
                T::needs_trace()
            }

            #[inline]
            fn trace(&self, cc: &Collection) {
                for value in self.iter() {
                    value.trace(cc);
                }
            }
        }
    )* };
}

sequences! {
    [T: Collect, const N: usize] [T; N];
    [T: Collect] Option<T>;
    [T: Collect] Vec<T>;
    [T: Collect] VecDeque<T>;
    [T: Collect] LinkedList<T>;
    [T: Collect] BTreeSet<T>;
    [T: Collect, S: 'static] HashSet<T, S>;
}

// SAFETY: each element is traced.
unsafe impl<T: Collect> Collect for [T] {
    #[inline]
    fn trace(&self, cc: &Collection) {
        for value in self {
            value.trace(cc);
        }
    }
}

macro_rules! maps {
    ($([$($params:tt)*] $type:ty;)*) => { $(
        // SAFETY: each key and value is traced.
        unsafe impl<$($params)*> Collect for $type {
            #[inline]
            fn needs_trace() -> bool {
                K::needs_trace() || V::needs_trace()
            }

            #[inline]
            fn trace(&self, cc: &Collection) {
                for (key, value) in self {
                    key.trace(cc);
                    value.trace(cc);
                }
            }
        }
    )* };
}

maps! {
    [K: Collect, V: Collect] BTreeMap<K, V>;
    [K: Collect, V: Collect, S: 'static] HashMap<K, V, S>;
}

// SAFETY: whichever value there is is traced.
unsafe impl<T: Collect, E: Collect> Collect for Result<T, E> {
    #[inline]
    fn needs_trace() -> bool {
        T::needs_trace() || E::needs_trace()
    }

    #[inline]
    fn trace(&self, cc: &Collection) {
        match self {
            Ok(value) => value.trace(cc),
            Err(error) => error.trace(cc),
        }
    }
}

macro_rules! tuples {
    ($(($($name:ident)*))*) => { $(
        // SAFETY: each part is traced.
        unsafe impl<$($name: Collect),*> Collect for ($($name,)*) {
            #[inline]
            fn needs_trace() -> bool {
                $($name::needs_trace() ||)* false
            }

            #[inline]
            #[allow(non_snake_case, unused_variables)]
            fn trace(&self, cc: &Collection) {
                let ($($name,)*) = self;
                $($name.trace(cc);)*
            }
        }
    )* };
}

tuples! {
    () (A) (A B) (A B C) (A B C D) (A B C D E) (A B C D E F) (A B C D E F G) (A B C D E F G H) (A B C D E F G H I)
    (A B C D E F G H I J) (A B C D E F G H I J K) (A B C D E F G H I J K L) (A B C D E F G H I J K L M)
    (A B C D E F G H I J K L M N) (A B C D E F G H I J K L M N O) (A B C D E F G H I J K L M N O P)
}
