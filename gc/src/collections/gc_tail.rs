//! An object of variable size in one allocation: a header, then elements.

use std::fmt;
use std::marker::PhantomData;
use std::ptr::NonNull;

use crate::barrier::Write;
use crate::collect::{Collect, Trace};
use crate::error::AllocError;
use crate::gc::{Gc, Invariant};
use crate::heap::{Context, Tail, VTable};
use crate::mutation::Mutation;

/// A header `H` and a tail `[T]` in one allocation, behind one machine word.
///
/// ```
/// use sleepy_gc::{Arena, Rootable, collections::GcTail};
///
/// let arena = Arena::<Rootable![GcTail<'_, u32, u8>]>::new(|mc| GcTail::from_slice(mc, 7, b"seven"));
/// arena.mutate(|_, root| {
///     assert_eq!((*root.header(), root.tail()), (7, &b"seven"[..]));
/// });
/// ```
pub struct GcTail<'gc, H: 'gc, T: 'gc> {
    ptr: NonNull<Tail<H, T>>,
    invariant: Invariant<'gc>,
}

impl<'gc, H: 'gc, T: 'gc> Copy for GcTail<'gc, H, T> {}

impl<'gc, H: 'gc, T: 'gc> Clone for GcTail<'gc, H, T> {
    #[inline]
    fn clone(&self) -> Self {
        *self
    }
}

// SAFETY: the one pointer is traced.
unsafe impl<'gc, H: 'gc, T: 'gc> Collect<'gc> for GcTail<'gc, H, T> {
    const SEND: bool = true;

    #[inline]
    fn trace<C: Trace<'gc>>(&self, cc: &mut C) {
        cc.trace_gc(self.erase());
    }
}

/// Drops what a panicking initialiser leaves behind.
struct Unfinished<'a, H, T> {
    context: &'a Context,
    ptr: NonNull<Tail<H, T>>,
}

impl<H, T> Drop for Unfinished<'_, H, T> {
    fn drop(&mut self) {
        // SAFETY: the cell is alive, nobody else has seen it, and `len` has counted exactly the elements that are
        // initialised. Another panic in here aborts, so that nothing is dropped twice.
        unsafe {
            let elements =
                NonNull::slice_from_raw_parts(Tail::element(self.ptr, 0), self.ptr.as_ref().len());
            elements.drop_in_place();
            (&raw mut (*self.ptr.as_ptr()).header).drop_in_place();
        }
        // Whatever the phase: the cell may be black already, but no trace and no store has come by it.
        self.context.free_unseen(self.ptr.cast());
    }
}

impl<'gc, H: Collect<'gc> + 'gc, T: Collect<'gc> + 'gc> GcTail<'gc, H, T> {
    /// Allocates a header and `len` elements, element `i` being `init(i)`.
    ///
    /// # Panics
    ///
    /// Where `init` does. Where memory runs out, it does as [`Gc::new`].
    #[inline]
    pub fn new(
        mc: &Mutation<'gc>,
        header: H,
        len: usize,
        mut init: impl FnMut(usize) -> T,
    ) -> Self {
        match Self::try_new(mc, header, len, &mut init) {
            Ok(tail) => tail,
            Err(error) => {
                Self::from_reserve(mc, || Self::try_new(mc, error.into_inner(), len, init).ok())
            }
        }
    }

    /// Draws on the reserve beyond the heap limit, as `Gc::new` does.
    #[cold]
    fn from_reserve(mc: &Mutation<'gc>, again: impl FnOnce() -> Option<Self>) -> Self {
        let context = mc.context();
        context
            .beyond_limit(again)
            .unwrap_or_else(|| crate::heap::out_of_memory())
    }

    /// As [`GcTail::new`], or gives the header back where memory has run out.
    ///
    /// # Errors
    ///
    /// [`AllocError`] holds the header.
    #[inline]
    pub fn try_new(
        mc: &Mutation<'gc>,
        header: H,
        len: usize,
        mut init: impl FnMut(usize) -> T,
    ) -> Result<Self, AllocError<H>> {
        let ptr = Self::allocate(mc, header, len)?;
        let unfinished = Unfinished {
            context: mc.context(),
            ptr,
        };
        for index in 0..len {
            let value = init(index);
            // SAFETY: the cell has room for `len` elements, and this one is the first that is not initialised.
            unsafe {
                Tail::element(ptr, index).write(value);
                ptr.as_ref().set_len(index + 1);
            }
        }
        std::mem::forget(unfinished);
        Ok(Self {
            ptr,
            invariant: PhantomData,
        })
    }

    /// Allocates a header and a copy of `elements`.
    ///
    /// Where memory runs out, it does as [`Gc::new`].
    #[inline]
    pub fn from_slice(mc: &Mutation<'gc>, header: H, elements: &[T]) -> Self
    where
        T: Copy,
    {
        match Self::try_from_slice(mc, header, elements) {
            Ok(tail) => tail,
            Err(error) => Self::from_reserve(mc, || {
                Self::try_from_slice(mc, error.into_inner(), elements).ok()
            }),
        }
    }

    /// As [`GcTail::from_slice`], or gives the header back where memory has run out.
    ///
    /// # Errors
    ///
    /// [`AllocError`] holds the header.
    #[inline]
    pub fn try_from_slice(
        mc: &Mutation<'gc>,
        header: H,
        elements: &[T],
    ) -> Result<Self, AllocError<H>>
    where
        T: Copy,
    {
        let ptr = Self::allocate(mc, header, elements.len())?;
        // SAFETY: the cell has room for the elements, which are `Copy`.
        unsafe {
            Tail::element(ptr, 0)
                .copy_from_nonoverlapping(NonNull::from(elements).cast(), elements.len());
            ptr.as_ref().set_len(elements.len());
        }
        Ok(Self {
            ptr,
            invariant: PhantomData,
        })
    }

    #[inline]
    fn allocate(
        mc: &Mutation<'gc>,
        header: H,
        len: usize,
    ) -> Result<NonNull<Tail<H, T>>, AllocError<H>> {
        let cell = Tail::<H, T>::bytes_for(len)
            .and_then(|bytes| mc.context().alloc_sized(VTable::tail::<H, T>(), bytes));
        match cell {
            // SAFETY: the cell is fresh, and large enough.
            Some(cell) => Ok(unsafe { Tail::init(cell, header) }),
            None => Err(AllocError::new(header)),
        }
    }
}

impl<'gc, H: 'gc, T: 'gc> GcTail<'gc, H, T> {
    /// The header.
    #[inline]
    pub fn header(self) -> &'gc H {
        // SAFETY: as `Gc::as_ref`; the header is never borrowed uniquely.
        unsafe { &(*self.ptr.as_ptr()).header }
    }

    /// The elements.
    #[inline]
    pub fn tail(self) -> &'gc [T] {
        // SAFETY: as `Gc::as_ref`; elements below `len` are initialised and never borrowed uniquely.
        unsafe {
            NonNull::slice_from_raw_parts(Tail::element(self.ptr, 0), self.ptr.as_ref().len())
                .as_ref()
        }
    }

    /// How many elements there are.
    #[inline]
    #[allow(
        clippy::len_without_is_empty,
        reason = "the length of a tail, not of a container"
    )]
    pub fn len(self) -> usize {
        // SAFETY: as `Gc::as_ref`.
        unsafe { self.ptr.as_ref() }.len()
    }

    /// Raises a backward barrier and opens the header for interior mutability.
    #[inline]
    pub fn write_header(self, mc: &Mutation<'gc>) -> &'gc Write<H> {
        mc.backward_barrier(self.erase(), None);
        // SAFETY: the barrier holds until the end of the callback.
        unsafe { Write::assume(self.header()) }
    }

    /// Raises a backward barrier and opens the elements for interior mutability.
    #[inline]
    pub fn write_tail(self, mc: &Mutation<'gc>) -> &'gc Write<[T]> {
        mc.backward_barrier(self.erase(), None);
        // SAFETY: the barrier holds until the end of the callback.
        unsafe { Write::assume(self.tail()) }
    }

    /// Whether two pointers name the same object.
    #[inline]
    pub fn ptr_eq(this: Self, other: Self) -> bool {
        this.ptr == other.ptr
    }

    /// The address of the object.
    #[inline]
    pub fn as_ptr(self) -> *const () {
        self.ptr.as_ptr().cast()
    }

    /// The object with its type forgotten: for barriers, identity and weak pointers.
    #[inline]
    pub fn erase(self) -> Gc<'gc, ()> {
        // SAFETY: the object is alive and belongs to `'gc`; `()` is valid at any address.
        unsafe { Gc::from_ptr(self.ptr.as_ptr().cast()) }
    }

    /// Takes back a pointer that [`GcTail::erase`] gave.
    ///
    /// # Safety
    ///
    /// `gc` came from `erase` of a tail of exactly this type.
    #[inline]
    pub unsafe fn from_erased(gc: Gc<'gc, ()>) -> Self {
        Self {
            ptr: gc.raw().cast(),
            invariant: PhantomData,
        }
    }
}

impl<'gc, H: fmt::Debug + 'gc, T: fmt::Debug + 'gc> fmt::Debug for GcTail<'gc, H, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GcTail")
            .field("header", self.header())
            .field("tail", &self.tail())
            .finish()
    }
}
