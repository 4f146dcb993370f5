//! A growable array with the semantics of a `Cell`.

use std::cell::Cell;
use std::marker::PhantomData;
use std::ptr::NonNull;

use crate::collect::{Collect, Trace};
use crate::error::AllocError;
use crate::gc::{Gc, Invariant};
use crate::heap::{Tail, VTable};
use crate::mutation::Mutation;

type Buffer<T> = Tail<Capacity, T>;

/// How many elements a buffer has room for.
#[derive(Clone, Copy)]
struct Capacity(u32);

// SAFETY: owns no pointer.
unsafe impl<'gc> Collect<'gc> for Capacity {
    const NEEDS_TRACE: bool = false;
    const SEND: bool = true;
}

/// A growable array of `Copy` values: one machine word, all methods on `&self`, no destructor.
///
/// It is to `Vec` what `Cell` is to a value: elements are copied in and out, and no reference to one is given. Stores
/// raise their own (forward) barrier, so a huge array is never traced again because one element changed. Buffers are
/// traced in slices.
///
/// ```
/// use sleepy_gc::{Arena, Gc, Rootable, collections::GcVec};
///
/// let arena = Arena::<Rootable![Gc<'_, GcVec<'_, Gc<'_, u64>>>]>::new(|mc| Gc::new(mc, GcVec::new()));
/// arena.mutate(|mc, root| {
///     for n in 0..1000 {
///         root.push(mc, Gc::new(mc, n));
///     }
///     assert_eq!(root.get(999).map(|n| *n), Some(999));
/// });
/// ```
pub struct GcVec<'gc, T: 'gc> {
    /// `None` until the first growth.
    buffer: Cell<Option<NonNull<Buffer<T>>>>,
    invariant: Invariant<'gc>,
}

// SAFETY: the buffer is an object of the arena, which is traced as such. A trace that is not the collector's gets copies
// of the elements instead: it must not keep a pointer to a buffer, which is freed as soon as it is outgrown.
unsafe impl<'gc, T: Collect<'gc> + Copy + 'gc> Collect<'gc> for GcVec<'gc, T> {
    const SEND: bool = T::SEND;

    #[inline]
    fn trace<C: Trace<'gc>>(&self, cc: &mut C) {
        if cc.__collector().is_none() {
            for value in self.iter() {
                cc.trace(&value);
            }
        } else if let Some(buffer) = self.buffer.get() {
            // SAFETY: the buffer is an object of this arena, alive as long as its owner.
            cc.trace_gc(unsafe { Gc::from_ptr(buffer.as_ptr().cast()) });
        }
    }
}

impl<'gc, T: Copy + 'gc> GcVec<'gc, T> {
    /// An empty array, without a buffer.
    #[inline]
    pub const fn new() -> Self {
        Self {
            buffer: Cell::new(None),
            invariant: PhantomData,
        }
    }

    /// How many elements there are.
    #[inline]
    pub fn len(&self) -> usize {
        // SAFETY: the buffer is alive as long as its owner.
        self.buffer
            .get()
            .map_or(0, |buffer| unsafe { buffer.as_ref() }.len())
    }

    /// Whether there is no element.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many elements fit before the buffer must grow.
    #[inline]
    pub fn capacity(&self) -> usize {
        // SAFETY: the buffer is alive as long as its owner.
        self.buffer
            .get()
            .map_or(0, |buffer| unsafe { buffer.as_ref() }.header.0 as usize)
    }

    /// A copy of element `index`.
    #[inline]
    pub fn get(&self, index: usize) -> Option<T> {
        let buffer = self.buffer.get()?;
        // SAFETY: the buffer is alive, and elements below its length are initialised.
        unsafe { (index < buffer.as_ref().len()).then(|| Tail::element(buffer, index).read()) }
    }

    /// A copy of element `index`.
    ///
    /// # Safety
    ///
    /// `index < self.len()`.
    #[inline]
    pub unsafe fn get_unchecked(&self, index: usize) -> T {
        debug_assert!(index < self.len());
        // SAFETY: there is an element, so there is a buffer.
        unsafe { Tail::element(self.buffer.get().unwrap_unchecked(), index).read() }
    }

    /// A copy of the last element.
    #[inline]
    pub fn last(&self) -> Option<T> {
        self.get(self.len().wrapping_sub(1))
    }

    /// Copies of all elements; what is pushed meanwhile is seen too.
    #[inline]
    pub fn iter(&self) -> impl Iterator<Item = T> + '_ {
        (0..).map_while(|index| self.get(index))
    }

    /// Where the elements are, until the array grows or shrinks its buffer; dangling while there is none.
    #[inline]
    pub fn as_ptr(&self) -> *const T {
        match self.buffer.get() {
            // SAFETY: the buffer is alive as long as its owner.
            Some(buffer) => unsafe { Tail::element(buffer, 0) }.as_ptr(),
            None => NonNull::dangling().as_ptr(),
        }
    }

    /// Takes the last element.
    #[inline]
    pub fn pop(&self) -> Option<T> {
        let last = self.len().checked_sub(1)?;
        let value = self.get(last);
        self.truncate(last);
        value
    }

    /// Shortens the array to at most `len` elements; the buffer stays.
    #[inline]
    pub fn truncate(&self, len: usize) {
        if let Some(buffer) = self.buffer.get() {
            // SAFETY: the buffer is alive; a prefix of initialised elements is initialised.
            unsafe {
                let buffer = buffer.as_ref();
                buffer.set_len(len.min(buffer.len()));
            }
        }
    }

    /// Removes all elements; the buffer stays.
    #[inline]
    pub fn clear(&self) {
        self.truncate(0);
    }
}

impl<'gc, T: Collect<'gc> + Copy + 'gc> GcVec<'gc, T> {
    /// An empty array with room for `capacity` elements.
    ///
    /// # Errors
    ///
    /// Where memory has run out.
    pub fn try_with_capacity(mc: &Mutation<'gc>, capacity: usize) -> Result<Self, AllocError> {
        let vec = Self::new();
        vec.try_reserve(mc, capacity)?;
        Ok(vec)
    }

    /// An array of `len` copies of `fill`.
    ///
    /// # Errors
    ///
    /// Where memory has run out.
    pub fn try_filled(mc: &Mutation<'gc>, len: usize, fill: T) -> Result<Self, AllocError> {
        let buffer = Self::allocate(mc, len)?;
        // SAFETY: there is room for `len` elements; each is written before the length says so.
        unsafe {
            for index in 0..len {
                Tail::element(buffer, index).write(fill);
            }
            buffer.as_ref().set_len(len);
        }
        Ok(Self {
            buffer: Cell::new(Some(buffer)),
            invariant: PhantomData,
        })
    }

    /// Takes the elements and leaves an empty array.
    #[inline]
    pub fn take(&self) -> Self {
        Self {
            buffer: Cell::new(self.buffer.take()),
            invariant: PhantomData,
        }
    }

    /// Stores another array in its place and answers the one that was there.
    pub fn replace(&self, mc: &Mutation<'gc>, other: Self) -> Self {
        let old = self.take();
        if let (true, Some(buffer)) = (mc.is_marking(), other.buffer.get()) {
            mc.context().shade(buffer.cast());
        }
        self.buffer.set(other.buffer.take());
        old
    }

    /// As [`GcVec::replace`] for an array that is known to be a part of `owner`: shades nothing while that is not marked.
    ///
    /// # Safety
    ///
    /// `self` is a part of the object `owner`, whose trace traces it.
    pub unsafe fn replace_in(&self, mc: &Mutation<'gc>, owner: Gc<'gc, ()>, other: Self) -> Self {
        let old = self.take();
        if let Some(buffer) = other.buffer.take() {
            if mc.is_marking() && mc.context().is_marked(owner.raw()) {
                mc.context().shade(buffer.cast());
            }
            self.buffer.set(Some(buffer));
        }
        old
    }

    /// Shades what `value` owns where the buffer is marked: the forward barrier for a store through [`GcVec::as_ptr`].
    #[inline]
    pub fn shade_in<V: Collect<'gc> + ?Sized>(&self, mc: &Mutation<'gc>, value: &V) {
        if V::NEEDS_TRACE
            && mc.is_marking()
            && let Some(buffer) = self.buffer.get()
        {
            mc.shade_in_slow(buffer.cast(), value);
        }
    }

    /// Gives the memory of long runs of blank elements back to the system: of each, the OS pages that lie wholly in it.
    /// These elements are zero bits from now on, whatever they were, and resident again when they are stored to. Goes
    /// through all elements. Returns the bytes.
    ///
    /// # Safety
    ///
    /// An element of zero bits is a valid value, which may stand for any element that `is_blank` holds for.
    pub unsafe fn give_back_blank(
        &self,
        _mc: &Mutation<'gc>,
        is_blank: impl Fn(&T) -> bool,
    ) -> usize {
        let (len, mut bytes, mut at) = (self.len(), 0, 0);
        let Some(buffer) = self.buffer.get() else {
            return 0;
        };
        // SAFETY: the buffer is alive, and elements below its length are initialised.
        let element = |index| unsafe { Tail::element(buffer, index) };
        while at < len {
            let start = at;
            // SAFETY: as above.
            while at < len && is_blank(&unsafe { element(at).read() }) {
                at += 1;
            }
            // SAFETY: the elements from `start` on are in a block of the arena's heap, which only the thread with the
            // arena uses; by the caller's contract zeros may take their place.
            bytes += unsafe {
                sleepy_alloc::pages::blank(element(start).cast(), (at - start) * size_of::<T>())
            };
            at += 1;
        }
        bytes
    }

    /// Frees the buffer at once, where the collector need not see it any more; otherwise the next cycle does.
    pub fn free(self, mc: &Mutation<'gc>) {
        if let Some(buffer) = self.buffer.take() {
            mc.context().free_now(buffer.cast());
        }
    }

    /// Replaces element `index`.
    ///
    /// # Panics
    ///
    /// Where `index` is out of range.
    #[inline]
    #[track_caller]
    pub fn set(&self, mc: &Mutation<'gc>, index: usize, value: T) {
        assert!(
            index < self.len(),
            "index {index} is out of range of {} elements",
            self.len()
        );
        // SAFETY: just checked.
        unsafe { self.set_unchecked(mc, index, value) };
    }

    /// Replaces element `index`.
    ///
    /// # Safety
    ///
    /// `index < self.len()`.
    #[inline]
    pub unsafe fn set_unchecked(&self, mc: &Mutation<'gc>, index: usize, value: T) {
        debug_assert!(index < self.len());
        self.shade_in(mc, &value);
        // SAFETY: there is an element, so there is a buffer.
        unsafe { Tail::element(self.buffer.get().unwrap_unchecked(), index).write(value) };
    }

    /// Exchanges two elements.
    ///
    /// # Panics
    ///
    /// Where an index is out of range.
    #[track_caller]
    pub fn swap(&self, mc: &Mutation<'gc>, a: usize, b: usize) {
        let (Some(x), Some(y)) = (self.get(a), self.get(b)) else {
            panic!(
                "index {} is out of range of {} elements",
                a.max(b),
                self.len()
            );
        };
        self.set(mc, a, y);
        self.set(mc, b, x);
    }

    /// Appends an element. Where memory runs out, it does as [`Gc::new`].
    #[inline]
    pub fn push(&self, mc: &Mutation<'gc>, value: T) {
        if self.try_push(mc, value).is_err() {
            crate::heap::out_of_memory();
        }
    }

    /// Appends an element.
    ///
    /// # Errors
    ///
    /// Where memory has run out; nothing has changed then.
    #[inline]
    pub fn try_push(&self, mc: &Mutation<'gc>, value: T) -> Result<(), AllocError> {
        let len = self.len();
        if len == self.capacity() {
            self.grow(mc, 1)?;
        }
        // SAFETY: there is room for one more element, so there is a buffer.
        unsafe {
            let buffer = self.buffer.get().unwrap_unchecked();
            self.shade_in(mc, &value);
            Tail::element(buffer, len).write(value);
            buffer.as_ref().set_len(len + 1);
        }
        Ok(())
    }

    /// Appends copies of all elements of a slice.
    ///
    /// # Errors
    ///
    /// Where memory has run out; nothing has changed then.
    pub fn try_extend_from_slice(
        &self,
        mc: &Mutation<'gc>,
        values: &[T],
    ) -> Result<(), AllocError> {
        self.try_reserve(mc, values.len())?;
        for &value in values {
            self.try_push(mc, value)?;
        }
        Ok(())
    }

    /// Inserts an element before element `index`.
    ///
    /// # Errors
    ///
    /// Where memory has run out; nothing has changed then.
    ///
    /// # Panics
    ///
    /// Where `index` is beyond the end.
    #[track_caller]
    pub fn try_insert(&self, mc: &Mutation<'gc>, index: usize, value: T) -> Result<(), AllocError> {
        let len = self.len();
        assert!(
            index <= len,
            "index {index} is beyond the end of {len} elements"
        );
        self.try_push(mc, value)?;
        for at in (index..len).rev() {
            // SAFETY: both places are below the new length.
            unsafe { self.set_unchecked(mc, at + 1, self.get_unchecked(at)) };
        }
        self.set(mc, index, value);
        Ok(())
    }

    /// Removes element `index` and moves those behind it down.
    ///
    /// # Panics
    ///
    /// Where `index` is out of range.
    #[track_caller]
    pub fn remove(&self, mc: &Mutation<'gc>, index: usize) -> T {
        let len = self.len();
        let Some(value) = self.get(index) else {
            panic!("index {index} is out of range of {len} elements");
        };
        for at in index + 1..len {
            // SAFETY: both places are below the length.
            unsafe { self.set_unchecked(mc, at - 1, self.get_unchecked(at)) };
        }
        self.truncate(len - 1);
        value
    }

    /// Removes element `index` and puts the last one in its place.
    ///
    /// # Panics
    ///
    /// Where `index` is out of range.
    #[track_caller]
    pub fn swap_remove(&self, mc: &Mutation<'gc>, index: usize) -> T {
        let last = self.len().wrapping_sub(1);
        self.swap(mc, index, last);
        self.truncate(last + 1);
        match self.pop() {
            Some(value) => value,
            None => unreachable!("`swap` has checked that there is a last element"),
        }
    }

    /// Makes the length `len`, filling with `fill`; a longer buffer is made exactly large enough.
    ///
    /// # Errors
    ///
    /// Where memory has run out; nothing has changed then.
    pub fn try_resize(&self, mc: &Mutation<'gc>, len: usize, fill: T) -> Result<(), AllocError> {
        let old = self.len();
        if len <= old {
            self.truncate(len);
            return Ok(());
        }
        if len > self.capacity() {
            self.reallocate(mc, len)?;
        }
        self.shade_in(mc, &fill);
        // SAFETY: there is room for `len` elements; each is written before the length says so.
        unsafe {
            let buffer = self.buffer.get().unwrap_unchecked();
            for index in old..len {
                Tail::element(buffer, index).write(fill);
            }
            buffer.as_ref().set_len(len);
        }
        Ok(())
    }

    /// Makes room for `additional` more elements.
    ///
    /// # Errors
    ///
    /// Where memory has run out; nothing has changed then.
    pub fn try_reserve(&self, mc: &Mutation<'gc>, additional: usize) -> Result<(), AllocError> {
        let wanted = self
            .len()
            .checked_add(additional)
            .ok_or(AllocError::new(()))?;
        if wanted > self.capacity() {
            self.reallocate(mc, wanted)
        } else {
            Ok(())
        }
    }

    /// Moves to the smallest buffer that holds the elements; where there is no memory for it, nothing changes.
    pub fn shrink_to_fit(&self, mc: &Mutation<'gc>) {
        let len = self.len();
        if len == 0 {
            if let Some(buffer) = self.buffer.take() {
                mc.context().free_now(buffer.cast());
            }
        } else if Buffer::<T>::bytes_for(len)
            .is_some_and(|bytes| mc.context().would_shrink(self.capacity_bytes(), bytes))
        {
            // Without memory the old buffer serves on.
            let _ = self.reallocate(mc, len);
        }
    }

    fn capacity_bytes(&self) -> usize {
        Buffer::<T>::bytes_for(self.capacity()).unwrap_or(usize::MAX)
    }

    #[cold]
    fn grow(&self, mc: &Mutation<'gc>, additional: usize) -> Result<(), AllocError> {
        let len = self.len();
        let wanted = len.checked_add(additional).ok_or(AllocError::new(()))?;
        self.reallocate(mc, wanted.max(len.saturating_mul(2)).max(4))
    }

    /// An empty buffer with room for at least `capacity` elements.
    fn allocate(mc: &Mutation<'gc>, capacity: usize) -> Result<NonNull<Buffer<T>>, AllocError> {
        let context = mc.context();
        let bytes = Buffer::<T>::bytes_for(capacity).ok_or(AllocError::new(()))?;
        let cell_bytes = context.cell_bytes_for(VTable::tail::<Capacity, T>(), bytes);
        let cell = context
            .alloc_sized(VTable::tail::<Capacity, T>(), bytes)
            .ok_or(AllocError::new(()))?;
        #[allow(
            clippy::cast_possible_truncation,
            reason = "`cap_in` answers no more than a u32 counts"
        )]
        let room = Capacity(Buffer::<T>::cap_in(cell_bytes) as u32);
        // SAFETY: the cell is fresh and has `cell_bytes`.
        Ok(unsafe { Buffer::<T>::init(cell, room) })
    }

    /// Moves the elements to a buffer with room for `capacity`, which is at least the length.
    fn reallocate(&self, mc: &Mutation<'gc>, capacity: usize) -> Result<(), AllocError> {
        let context = mc.context();
        let new = Self::allocate(mc, capacity)?;
        let old = self.buffer.get();
        if let Some(old) = old {
            // SAFETY: the elements are `Copy`, and at most as many as fit.
            unsafe {
                let len = old.as_ref().len();
                Tail::element(new, 0).copy_from_nonoverlapping(Tail::element(old, 0), len);
                new.as_ref().set_len(len);
            }
        }
        self.buffer.set(Some(new));
        // The owner may be black already: the new buffer is then traced from its start.
        if context.is_marking() && old.is_none_or(|old| context.is_marked(old.cast())) {
            context.shade(new.cast());
        }
        if let Some(old) = old {
            context.free_now(old.cast());
        }
        Ok(())
    }
}

impl<'gc, T: Copy + 'gc> Default for GcVec<'gc, T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<'gc, T: Copy + std::fmt::Debug + 'gc> std::fmt::Debug for GcVec<'gc, T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}
