//! Values that can be traced a slice at a time.

use std::collections::VecDeque;

use smallvec::SmallVec;

use crate::collect::{Collect, CollectorToken, Trace};
use crate::lock::RefLock;

/// A value whose entries can be traced a slice at a time, so that the collector can stop between two of them.
///
/// An object is traced that way if it is a [`Sliced`](crate::collections::Sliced) of such a value. Derive the trait together with
/// [`Collect`](derive@crate::Collect), by marking the fields that hold the entries with `#[collect(slices)]`: then nothing
/// unsafe is left. Vectors, boxed slices and arrays have it, and so has what wraps one.
///
/// # Safety
///
/// Beside the rules of [`Collect`]:
///
/// 1. **All slices are all.** [`trace_slice`](Self::trace_slice) from 0 on, and then from each answer on until it is `None`, gives
///    everything to the tracer that [`trace`](Collect::trace) gives, provided that the value does not change meanwhile.
/// 2. **Any place is a place.** A `from` that was not answered, or was before the value changed, leads to nothing worse than
///    pointers that are left out or given twice.
///
/// What is traced already, and what is not yet, is the collector's business: a [write barrier](crate::barrier) for the owner has it
/// begin again at 0, and a forward barrier ([`Mutation::shade`](crate::Mutation::shade)) for what is stored needs no owner.
#[diagnostic::on_unimplemented(
    message = "`{Self}` can't be traced in slices: it is not `CollectSlices`",
    note = "vectors, boxed slices, arrays, `VecDeque`, and `RefLock`, `Box` and `Option` of these can",
    note = "for a type of your own, mark the fields that hold many entries with `#[collect(slices)]` where it derives `Collect`"
)]
pub unsafe trait CollectSlices<'gc>: Collect<'gc> {
    /// Traces about `limit` entries (1 at least), and what else the value owns if `from` is 0, and answers where to go on:
    /// `None` at the end.
    fn trace_slice<T: Trace<'gc>>(&self, from: usize, limit: usize, cc: &mut T) -> Option<usize>;
}

/// Traces the entries `from..from + limit` of those that `at` finds.
#[inline]
fn trace_range<'a, 'gc, E, T>(
    range: (usize, usize),
    len: usize,
    at: impl Fn(usize) -> Option<&'a E>,
    cc: &mut T,
) -> Option<usize>
where
    E: Collect<'gc> + 'a,
    T: Trace<'gc>,
{
    let (from, limit) = range;
    if !E::NEEDS_TRACE {
        return None;
    }
    let end = len.min(from.saturating_add(limit.max(1)));
    for index in from..end {
        if let Some(entry) = at(index) {
            cc.trace(entry);
        }
    }
    (end < len && from < end).then_some(end)
}

/// Containers whose entries have numbers.
macro_rules! indexed {
    ($([$($params:tt)*] $type:ty, $entry:ty;)*) => { $(
        // SAFETY: the entries are traced in the order of their numbers; what lies beyond the end is nothing.
        unsafe impl<'gc, $($params)*> CollectSlices<'gc> for $type {
            #[inline]
            fn trace_slice<C: Trace<'gc>>(&self, from: usize, limit: usize, cc: &mut C) -> Option<usize> {
                trace_range::<$entry, C>((from, limit), self.len(), |index| self.get(index), cc)
            }
        }
    )* };
}

indexed! {
    [T: Collect<'gc>] [T], T;
    [T: Collect<'gc>, const N: usize] [T; N], T;
    [T: Collect<'gc>] Vec<T>, T;
    [T: Collect<'gc>] VecDeque<T>, T;
    [A: smallvec::Array<Item: Collect<'gc>>] SmallVec<A>, A::Item;
}

// SAFETY: the value's slices are the box's.
unsafe impl<'gc, T: CollectSlices<'gc> + ?Sized> CollectSlices<'gc> for Box<T> {
    #[inline]
    fn trace_slice<C: Trace<'gc>>(&self, from: usize, limit: usize, cc: &mut C) -> Option<usize> {
        (**self).trace_slice(from, limit, cc)
    }
}

// SAFETY: where there is a value, its slices are the option's.
unsafe impl<'gc, T: CollectSlices<'gc>> CollectSlices<'gc> for Option<T> {
    #[inline]
    fn trace_slice<C: Trace<'gc>>(&self, from: usize, limit: usize, cc: &mut C) -> Option<usize> {
        self.as_ref()?.trace_slice(from, limit, cc)
    }
}

// SAFETY: the value's slices are the lock's.
unsafe impl<'gc, T: CollectSlices<'gc> + ?Sized> CollectSlices<'gc> for RefLock<T> {
    #[inline]
    fn trace_slice<C: Trace<'gc>>(&self, from: usize, limit: usize, cc: &mut C) -> Option<usize> {
        if cc
            .__collector()
            .is_some_and(CollectorToken::mutator_stopped)
        {
            // SAFETY: as where a `RefLock` is traced as a whole: no `mutate` is running, so nothing is borrowed, although
            // somebody may have forgotten a `RefMut`.
            unsafe { &*self.as_ptr() }.trace_slice(from, limit, cc)
        } else {
            self.borrow().trace_slice(from, limit, cc)
        }
    }
}

/// Divides one cursor among several fields: its remainder by their number says which field, the rest how far in it.
///
/// 0 is the start of the first field and of all. What does not fit into a cursor is traced in one piece.
#[doc(hidden)]
pub fn __split_cursor(from: usize, fields: usize) -> (usize, usize) {
    (from % fields, from / fields)
}

/// `None`: it does not fit. `Some(None)`: there is nothing left.
#[doc(hidden)]
pub fn __join_cursor(field: usize, next: Option<usize>, fields: usize) -> Option<Option<usize>> {
    match next {
        Some(next) => Some(Some(next.checked_mul(fields)?.checked_add(field)?)),
        None => Some((field + 1 < fields).then_some(field + 1)),
    }
}
