//! What may live in an arena, and what traces it.
//!
//! The unsafe contract of the whole crate stands once, at [`Collect`]. Code that has to rely on it, or keep it, refers to its rules by
//! their numbers.

use crate::face::Slicer;
use crate::{Gc, GcWeak};

pub use crate::collect_slices::{__join_cursor, __split_cursor, CollectSlices};

#[doc(inline)]
pub use crate::{__dyn_collect as dyn_collect, static_collect};
#[doc(inline)]
pub use sleepy_gc_derive::Collect;

/// A type whose values may be owned by objects of an arena, since the collector can find the pointers in them.
///
/// Derive it (see [`derive@Collect`](derive@crate::Collect)): the compiler then checks all of what follows.
///
/// ```
/// use sleepy_gc::{Collect, Gc};
///
/// #[derive(Collect)]
/// #[collect(no_drop)]
/// struct Pair<'gc> {
///     name: String,
///     left: Gc<'gc, u32>,
///     right: Option<Gc<'gc, Pair<'gc>>>,
/// }
/// ```
///
/// # Safety
///
/// Objects that are not found are freed, so an implementation must keep three rules:
///
/// 1. **All is traced.** [`trace`](Self::trace) gives *each* [`Gc`] and [`GcWeak`] that the value owns to the tracer, every time it
///    is called (also when an earlier call was cut short by a panic). `NEEDS_TRACE` may be `false` only if there can be none.
/// 2. **Destructors touch nothing.** `Drop` of the value does not look at an owned `Gc` or `GcWeak`, whose object may be gone already.
/// 3. **Stores pass a barrier.** What the value owns changes behind a shared reference only if, in the same `mutate`, the matching
///    [write barrier](crate::barrier) was raised for the object that owns the value; never from within `trace`.
///
/// `SEND` has its own condition.
#[diagnostic::on_unimplemented(
    message = "`{Self}` can't be owned by objects of an arena: it is not `Collect`",
    note = "derive it: `#[derive(Collect)]` with `#[collect(no_drop)]`, or with `#[collect(require_static)]` for a type without `Gc` pointers",
    note = "a type of another crate that is `'static` can be wrapped in `Static`, or its field marked with `#[collect(require_static)]`"
)]
pub unsafe trait Collect<'gc> {
    /// Whether values of this type can own a `Gc` or a `GcWeak` at all. Objects that can't are never queued for tracing.
    const NEEDS_TRACE: bool = true;

    /// Whether a value may be used and dropped on a thread other than the one that made it, provided that the same is true of all
    /// objects of its arena (so that a `Gc` is one). Only such values can be allocated in an arena that moves between threads.
    ///
    /// `false` is always right. `true` is under this trait's contract as [`Send`] is under its own.
    const SEND: bool = false;

    /// Gives everything that the value owns to `cc`: [`Trace::trace`] for each part.
    #[inline]
    #[allow(unused_variables)]
    fn trace<T: Trace<'gc>>(&self, cc: &mut T) {}

    /// Whether an object of this type is traced by [`Collect::__trace_slice`]: [`Sliced`](crate::collections::Sliced) is.
    #[doc(hidden)]
    const __HAS_CURSOR: bool = false;

    /// Traces the next slice of an object, or the first one where it is traced anew.
    #[doc(hidden)]
    #[inline]
    #[allow(unused_variables)]
    fn __trace_slice(&self, anew: bool, slicer: &mut Slicer<'_>) {
        self.trace(slicer.marker);
    }
}

/// Takes the pointers of a value that is traced.
///
/// The collector is one; another can be written in safe code, to find out what a value refers to.
pub trait Trace<'gc> {
    /// Takes a strong pointer.
    fn trace_gc(&mut self, gc: Gc<'gc, ()>);

    /// Takes a weak pointer.
    fn trace_gc_weak(&mut self, gc: GcWeak<'gc, ()>);

    /// Traces a part of a value; nothing happens if its type needs no trace.
    #[inline(always)]
    fn trace<C: Collect<'gc> + ?Sized>(&mut self, value: &C)
    where
        Self: Sized,
    {
        if C::NEEDS_TRACE {
            value.trace(self);
        }
    }

    /// The collector's own tracers can prove that they are.
    #[doc(hidden)]
    #[inline]
    fn __collector(&self) -> Option<CollectorToken> {
        None
    }
}

/// Proof that a trace is the collector's. Only such a tracer may be given objects that a container uses inside and frees itself.
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub struct CollectorToken {
    mutator_stopped: bool,
}

impl CollectorToken {
    /// No `mutate` is running: nothing is borrowed from an arena's objects.
    pub(crate) const STOPPED: Self = Self {
        mutator_stopped: true,
    };
    /// The collector looks at a value on behalf of a running `mutate`, for a barrier.
    pub(crate) const MUTATING: Self = Self {
        mutator_stopped: false,
    };

    pub(crate) fn mutator_stopped(self) -> bool {
        self.mutator_stopped
    }
}

/// [`Collect`] for trait objects. Each type that is `Collect` has it; a trait that wants `Gc<dyn Trait>` or `Box<dyn Trait>` to be
/// traced has it as a supertrait and is given to [`dyn_collect!`](crate::collect::dyn_collect).
///
/// # Safety
///
/// As for [`Collect`].
pub unsafe trait DynCollect<'gc> {
    /// Gives everything that the value owns to `cc`.
    fn dyn_trace(&self, cc: &mut dyn Trace<'gc>);
}

// SAFETY: the concrete type's `trace` is called, through `Sized` types only, so that this impl can't find itself.
unsafe impl<'gc, T: Collect<'gc>> DynCollect<'gc> for T {
    #[inline]
    fn dyn_trace(&self, cc: &mut dyn Trace<'gc>) {
        if T::NEEDS_TRACE {
            self.trace(&mut Dispatch(cc));
        }
    }
}

// SAFETY: as the impl below each use of `dyn_collect!`.
unsafe impl<'gc> Collect<'gc> for dyn DynCollect<'gc> + '_ {
    #[inline]
    fn trace<T: Trace<'gc>>(&self, cc: &mut T) {
        self.dyn_trace(cc);
    }
}

/// Makes a tracer with a size of one that has none.
struct Dispatch<'a, 'gc>(&'a mut dyn Trace<'gc>);

impl<'gc> Trace<'gc> for Dispatch<'_, 'gc> {
    fn trace_gc(&mut self, gc: Gc<'gc, ()>) {
        self.0.trace_gc(gc);
    }

    fn trace_gc_weak(&mut self, gc: GcWeak<'gc, ()>) {
        self.0.trace_gc_weak(gc);
    }

    fn __collector(&self) -> Option<CollectorToken> {
        self.0.__collector()
    }
}

/// Implements [`Collect`] for a type that is `'static`, and therefore holds no pointer into an arena.
///
/// ```
/// use sleepy_gc::static_collect;
///
/// struct Handle(std::fs::File);
/// static_collect!(Handle);
///
/// struct Wrapper<T>(T);
/// static_collect!(<T> Wrapper<T> where T: Clone);
/// ```
#[macro_export]
macro_rules! static_collect {
    (<$($params:tt),+ $(,)?> $type:ty $(where $($bounds:tt)+)?) => {
        // SAFETY: a `'static` value holds no pointer that an arena has branded.
        unsafe impl<'gc, $($params),+> $crate::Collect<'gc> for $type
        where
            $type: 'static,
            $($($bounds)+)?
        {
            const NEEDS_TRACE: bool = false;
            const SEND: bool = $crate::__is_send!($type);
        }
    };
    ($type:ty) => {
        // SAFETY: a `'static` value holds no pointer that an arena has branded.
        unsafe impl<'gc> $crate::Collect<'gc> for $type
        where
            $type: 'static,
        {
            const NEEDS_TRACE: bool = false;
            const SEND: bool = $crate::__is_send!($type);
        }
    };
}

/// Implements [`Collect`] for a trait object whose trait has [`DynCollect`](crate::collect::DynCollect) as a supertrait.
///
/// ```
/// use sleepy_gc::{Gc, collect::{DynCollect, dyn_collect}};
///
/// trait Callback<'gc>: DynCollect<'gc> {
///     fn call(&self) -> u32;
/// }
/// dyn_collect!(dyn Callback<'gc>);
///
/// trait Convert<'gc, T>: DynCollect<'gc> {
///     fn convert(&self) -> T;
/// }
/// dyn_collect!(<T> dyn Convert<'gc, T> where T: Clone);
/// ```
///
/// The arena's lifetime is called `'gc` in it.
// Only `dyn` types are accepted. For another type the impl would find its `DynCollect` through itself, and with it a type could
// have both a destructor and `Collect`, against rule 2.
#[doc(hidden)]
#[macro_export]
macro_rules! __dyn_collect {
    (<$($params:tt),+ $(,)?> dyn $($rest:tt)+) => {
        $crate::__dyn_collect!(@split [$($params),+] [] $($rest)+);
    };
    (dyn $($rest:tt)+) => {
        $crate::__dyn_collect!(@split [] [] $($rest)+);
    };
    (@split [$($params:tt)*] [$($trait:tt)+] where $($bounds:tt)+) => {
        $crate::__dyn_collect!(@impl [$($params)*] [$($trait)+] [$($bounds)+]);
    };
    (@split [$($params:tt)*] [$($trait:tt)*] $next:tt $($rest:tt)*) => {
        $crate::__dyn_collect!(@split [$($params)*] [$($trait)* $next] $($rest)*);
    };
    (@split [$($params:tt)*] [$($trait:tt)+]) => {
        $crate::__dyn_collect!(@impl [$($params)*] [$($trait)+] []);
    };
    (@impl [$($params:tt)*] [$($trait:tt)+] [$($bounds:tt)*]) => {
        // SAFETY: a `dyn` type can have `DynCollect` only from its trait, whose implementors have it from `Collect`.
        unsafe impl<'gc, $($params)*> $crate::Collect<'gc> for dyn $($trait)+
        where
            $($bounds)*
        {
            fn trace<T_: $crate::collect::Trace<'gc>>(&self, cc: &mut T_) {
                $crate::collect::DynCollect::dyn_trace(self, cc);
            }
        }
    };
}

/// Whether a type is known to be `Send` where the macro stands: an inherent constant is preferred to a trait's.
#[doc(hidden)]
#[macro_export]
macro_rules! __is_send {
    ($type:ty) => {{
        #[allow(unused_imports)]
        use $crate::collect::__NotKnownSend as _;
        $crate::collect::__SendProbe::<$type>::SEND
    }};
}

#[doc(hidden)]
pub struct __SendProbe<T: ?Sized>(std::marker::PhantomData<T>);

impl<T: ?Sized + Send> __SendProbe<T> {
    #[doc(hidden)]
    pub const SEND: bool = true;
}

#[doc(hidden)]
pub trait __NotKnownSend {
    #[doc(hidden)]
    const SEND: bool = false;
}

impl<T: ?Sized> __NotKnownSend for __SendProbe<T> {}

/// Implemented for all types with a destructor of their own, so that a derived impl of it for a type with `#[collect(no_drop)]` does
/// not compile if there is one.
#[doc(hidden)]
pub trait __MustNotImplDrop {}

#[allow(
    drop_bounds,
    reason = "the bound is the point: it finds types that implement `Drop` themselves"
)]
impl<T: Drop> __MustNotImplDrop for T {}
