//! The trait of everything that may live in an arena, and of what traces it.

use crate::{Gc, GcWeak};

/// A type whose reachable `Gc` pointers the collector can find.
///
/// # Safety
///
/// 1. `trace` hands *every* `Gc` and `GcWeak` that the value owns to `cc`, each time it is called.
/// 2. `NEEDS_TRACE` is `false` only where the value can own no such pointer.
/// 3. Neither `Drop` nor `trace` of the value reaches through an owned `Gc`, and interior mutability adopts a
///    pointer only after a write barrier.
pub unsafe trait Collect<'gc> {
    /// Whether a value of this type may own `Gc` pointers.
    const NEEDS_TRACE: bool = true;

    /// Whether the value may be dropped on another thread than the one that made it.
    #[doc(hidden)]
    const SEND: bool = false;

    /// Hands every owned pointer to `cc`.
    #[inline]
    #[allow(unused_variables)]
    fn trace<T: Trace<'gc>>(&self, cc: &mut T) {}
}

/// Proof that a trace runs for the collector itself and not for a user inside `mutate`.
#[doc(hidden)]
#[derive(Clone, Copy)]
pub struct CollectorToken(pub(crate) ());

/// What receives the pointers of a traced value.
pub trait Trace<'gc> {
    /// Takes a strong pointer.
    fn trace_gc(&mut self, gc: Gc<'gc, ()>);

    /// Takes a weak pointer.
    fn trace_gc_weak(&mut self, gc: GcWeak<'gc, ()>);

    /// Traces a part of a value.
    #[inline]
    fn trace<C: Collect<'gc> + ?Sized>(&mut self, value: &C)
    where
        Self: Sized,
    {
        if C::NEEDS_TRACE {
            value.trace(self);
        }
    }

    /// Whether this is the collector's own trace.
    #[doc(hidden)]
    #[inline]
    fn __collector(&self) -> Option<CollectorToken> {
        None
    }
}

macro_rules! static_impls {
    ($($t:ty),* $(,)?) => {$(
        // SAFETY: the type owns no `Gc` pointer.
        unsafe impl<'gc> Collect<'gc> for $t {
            const NEEDS_TRACE: bool = false;
            const SEND: bool = true;
        }
    )*};
}

static_impls!(
    (),
    bool,
    char,
    u8,
    u16,
    u32,
    u64,
    u128,
    usize,
    i8,
    i16,
    i32,
    i64,
    i128,
    isize,
    f32,
    f64,
    String
);

// SAFETY: traces the value where there is one.
unsafe impl<'gc, T: Collect<'gc>> Collect<'gc> for Option<T> {
    const NEEDS_TRACE: bool = T::NEEDS_TRACE;
    const SEND: bool = T::SEND;

    #[inline]
    fn trace<C: Trace<'gc>>(&self, cc: &mut C) {
        if let Some(value) = self {
            cc.trace(value);
        }
    }
}

// SAFETY: traces every element.
unsafe impl<'gc, T: Collect<'gc>> Collect<'gc> for Vec<T> {
    const NEEDS_TRACE: bool = T::NEEDS_TRACE;
    const SEND: bool = T::SEND;

    #[inline]
    fn trace<C: Trace<'gc>>(&self, cc: &mut C) {
        for value in self {
            cc.trace(value);
        }
    }
}
