//! A buffer of fixed length that is a part of one object: what hash tables are made of.

use std::marker::PhantomData;
use std::ptr::NonNull;

use crate::collect::{Collect, Trace};
use crate::error::AllocError;
use crate::gc::{Gc, Invariant};
use crate::heap::{Tail, VTable};
use crate::mutation::Mutation;

/// A header `H` and a fixed number of `Copy` elements, in an object of the arena that one other object owns.
///
/// It is the raw material of containers: where a [`GcVec`](super::GcVec) keeps its capacity and copies its elements in and out, the
/// owner of a buffer gets the address of the elements, may keep that alone, and does the rest itself. Stores through the
/// address raise the forward barrier [`GcBuffer::shade_in`]. The elements are traced in slices.
///
/// ```
/// use std::cell::Cell;
/// use sleepy_gc::{Arena, Collect, Mutation, Rootable, collections::GcBuffer};
///
/// /// Some numbers, and a sum that is kept with them.
/// #[derive(Collect)]
/// #[collect(no_drop)]
/// struct Numbers<'gc>(GcBuffer<'gc, Cell<u32>, u32>);
///
/// let arena = Arena::<Rootable![Numbers<'_>]>::new(|mc| {
///     let len = GcBuffer::<Cell<u32>, u32>::len_in_cell_of(mc, 5);
///     let buffer = GcBuffer::try_filled(mc, len, Cell::new(0), 7);
///     Numbers(buffer.expect("there is memory"))
/// });
/// arena.mutate(|_, root| {
///     let numbers = &root.0;
///     // SAFETY: the elements are alive as long as the owner, and nothing changes them.
///     let sum = (0..numbers.len()).map(|i| unsafe { numbers.elements().add(i).read() }).sum();
///     numbers.header().set(sum);
///     assert!(numbers.len() >= 5 && sum == 7 * numbers.len() as u32);
/// });
/// ```
pub struct GcBuffer<'gc, H: 'gc, T: 'gc> {
    ptr: NonNull<Tail<H, T>>,
    invariant: Invariant<'gc>,
}

// SAFETY: the buffer is an object of the arena, which is traced as such. A trace that is not the collector's gets the header and
// copies of the elements instead: it must not keep a pointer to a buffer, which is freed as soon as its owner gives it up.
unsafe impl<'gc, H: Collect<'gc> + 'gc, T: Collect<'gc> + Copy + 'gc> Collect<'gc>
    for GcBuffer<'gc, H, T>
{
    const SEND: bool = H::SEND && T::SEND;

    #[inline]
    fn trace<C: Trace<'gc>>(&self, cc: &mut C) {
        if cc.__collector().is_none() {
            cc.trace(self.header());
            for index in 0..self.len() {
                // SAFETY: elements below the length are initialised.
                cc.trace(&unsafe { Tail::element(self.ptr, index).read() });
            }
        } else {
            cc.trace_gc(self.erase());
        }
    }
}

impl<'gc, H: 'gc, T: Copy + 'gc> GcBuffer<'gc, H, T> {
    /// How many elements there are.
    #[inline]
    #[allow(
        clippy::len_without_is_empty,
        reason = "the length is the owner's choice"
    )]
    pub fn len(&self) -> usize {
        // SAFETY: the buffer is alive as long as its owner.
        unsafe { self.ptr.as_ref() }.len()
    }

    /// The header.
    #[inline]
    pub fn header(&self) -> &H {
        // SAFETY: the buffer is alive as long as its owner; the header is never borrowed uniquely.
        unsafe { &(*self.ptr.as_ptr()).header }
    }

    /// Where the elements are, for as long as the buffer is.
    #[inline]
    pub fn elements(&self) -> NonNull<T> {
        // SAFETY: the place of the first element, or the end of the fixed part.
        unsafe { Tail::element(self.ptr, 0) }
    }

    /// The buffer again, of whose parts only the address of the elements was kept.
    ///
    /// # Safety
    ///
    /// `elements` came from [`GcBuffer::elements`] of a buffer of exactly this type, which has not been freed and is a part of an
    /// object of an arena in which `'gc` holds.
    #[inline]
    pub unsafe fn from_elements(elements: NonNull<T>) -> Self {
        // SAFETY: by the caller's contract the fixed part is before the elements.
        let ptr = unsafe { elements.byte_sub(Tail::<H, T>::FIRST) }.cast();
        Self {
            ptr,
            invariant: PhantomData,
        }
    }

    #[inline]
    fn erase(&self) -> Gc<'gc, ()> {
        // SAFETY: the buffer is an object of this arena, alive as long as its owner.
        unsafe { Gc::from_ptr(self.ptr.as_ptr().cast()) }
    }
}

impl<'gc, H: Collect<'gc> + 'gc, T: Collect<'gc> + Copy + 'gc> GcBuffer<'gc, H, T> {
    /// A buffer of `len` copies of `fill`.
    ///
    /// # Errors
    ///
    /// Where memory has run out.
    pub fn try_filled(
        mc: &Mutation<'gc>,
        len: usize,
        header: H,
        fill: T,
    ) -> Result<Self, AllocError> {
        let ptr = Tail::<H, T>::bytes_for(len)
            .and_then(|bytes| mc.context().alloc_sized(VTable::tail::<H, T>(), bytes))
            .ok_or(AllocError::new(()))?;
        // SAFETY: the cell is fresh and has room for `len` elements; each is written before the length says so.
        let ptr = unsafe {
            let ptr = Tail::<H, T>::init(ptr, header);
            for index in 0..len {
                Tail::element(ptr, index).write(fill);
            }
            ptr.as_ref().set_len(len);
            ptr
        };
        Ok(Self {
            ptr,
            invariant: PhantomData,
        })
    }

    /// How many elements fit in the cell that a buffer of `len` takes: so many cost no more memory.
    pub fn len_in_cell_of(mc: &Mutation<'gc>, len: usize) -> usize {
        Tail::<H, T>::bytes_for(len).map_or(len, |bytes| {
            let cell_bytes = mc.context().cell_bytes_for(VTable::tail::<H, T>(), bytes);
            Tail::<H, T>::cap_in(cell_bytes)
        })
    }

    /// Shades what `value` owns where the buffer is marked: the forward barrier for a store through [`GcBuffer::elements`].
    #[inline]
    pub fn shade_in<V: Collect<'gc> + ?Sized>(&self, mc: &Mutation<'gc>, value: &V) {
        if V::NEEDS_TRACE && mc.is_marking() {
            mc.shade_in_slow(self.ptr.cast(), value);
        }
    }

    /// The barrier for a buffer that becomes a part of `owner`: shades it where that is marked.
    #[inline]
    pub fn join(&self, mc: &Mutation<'gc>, owner: Gc<'gc, ()>) {
        if mc.is_marking() && mc.context().is_marked(owner.raw()) {
            mc.context().shade(self.ptr.cast());
        }
    }

    /// Frees the buffer at once, where the collector need not see it any more; otherwise the next cycle does.
    ///
    /// # Safety
    ///
    /// No object has the buffer as a part any more, and it is not used again.
    pub unsafe fn free(self, mc: &Mutation<'gc>) {
        mc.context().free_now(self.ptr.cast());
    }
}

impl<H: std::fmt::Debug, T: Copy> std::fmt::Debug for GcBuffer<'_, H, T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("GcBuffer")
            .field("header", self.header())
            .field("len", &self.len())
            .finish()
    }
}
