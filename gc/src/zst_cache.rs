//! One object for all values without a size.

use std::mem::{self, needs_drop};

use crate::{
    Gc, Mutation, Static,
    collect::{Collect, Trace},
};

/// Saves the allocation for values of zero-sized types: all pointers to them point to one object, whose alignment is `MAX_ALIGN`.
///
/// An interpreter's callbacks are an example: most of them are functions without captured values, behind a `Gc<dyn Callback>`.
///
/// ```
/// use sleepy_gc::{Gc, ZstCache, arena::rootless_mutate};
///
/// rootless_mutate(|mc| {
///     let cache = ZstCache::<'_, 16>::new(mc);
///     let nothing = cache.alloc(mc, ());
///     assert!(cache.is_cached(nothing));
///     assert!(!cache.is_cached(cache.alloc(mc, 7)));
/// });
/// ```
#[derive(Clone, Copy)]
pub struct ZstCache<'gc, const MAX_ALIGN: usize> {
    object: Gc<'gc, ()>,
}

// SAFETY: the one pointer is traced.
unsafe impl<'gc, const MAX_ALIGN: usize> Collect<'gc> for ZstCache<'gc, MAX_ALIGN> {
    const SEND: bool = true;

    #[inline]
    fn trace<T: Trace<'gc>>(&self, cc: &mut T) {
        cc.trace_gc(self.object);
    }
}

impl<'gc, const MAX_ALIGN: usize> ZstCache<'gc, MAX_ALIGN>
where
    Alignment<MAX_ALIGN>: ValidAlignment,
{
    /// Allocates the object.
    pub fn new(mc: &Mutation<'gc>) -> Self {
        let object = Gc::new(mc, <Alignment<MAX_ALIGN> as HasAlignedType>::VALUE);
        Self {
            object: Gc::erase(object),
        }
    }

    /// The object that all of the pointers point to.
    #[inline]
    pub fn cached_ptr(&self) -> Gc<'gc, ()> {
        self.object
    }

    /// Whether the pointer is one to the object.
    #[inline]
    pub fn is_cached<T: ?Sized>(&self, pointer: Gc<'gc, T>) -> bool {
        Gc::ptr_eq(self.object, Gc::erase(pointer))
    }

    /// A pointer to a value of `T`; nothing if its type has a size, a destructor, or too large an alignment.
    ///
    /// # Safety
    /// A value of `T` exists, or could be made by anyone; and if the arena may move between threads, so may the value. (An empty `enum` has no size either, and a type may be zero-sized but guard
    /// who makes its values.) [`ZstCache::alloc`] takes the value and is safe.
    #[inline]
    pub unsafe fn alloc_zst<T: 'gc>(&self) -> Option<Gc<'gc, T>> {
        let fits = size_of::<T>() == 0 && align_of::<T>() <= MAX_ALIGN && !needs_drop::<T>();
        // SAFETY: any address that is aligned well enough is that of a value without a size, since the caller says that there can be
        // one. It is never dropped, which is all right as there is no destructor.
        fits.then(|| unsafe { Gc::cast(self.object) })
    }

    /// Allocates a value, or saves the allocation.
    #[inline]
    pub fn alloc<T: Collect<'gc> + 'gc>(&self, mc: &Mutation<'gc>, value: T) -> Gc<'gc, T> {
        if !T::SEND && mc.context().is_send() {
            // It is refused there.
            return Gc::new(mc, value);
        }
        // SAFETY: here is a value.
        match unsafe { self.alloc_zst() } {
            Some(pointer) => {
                mem::forget(value);
                pointer
            }
            None => Gc::new(mc, value),
        }
    }

    /// [`ZstCache::alloc`] for a type that is not [`Collect`], but `'static`.
    #[inline]
    pub fn alloc_static<T: 'static>(&self, mc: &Mutation<'gc>, value: T) -> Gc<'gc, T> {
        let pointer = self.alloc(mc, Static(value));
        // SAFETY: `Static` has the layout of its only field.
        unsafe { Gc::cast(pointer) }
    }
}

/// An alignment, as a type.
pub struct Alignment<const ALIGN: usize>;

/// Implemented for each [`Alignment`] that is a power of two, up to 4096.
#[allow(private_bounds, reason = "the type behind it is nobody's business")]
pub trait ValidAlignment: HasAlignedType {}

impl<T: HasAlignedType> ValidAlignment for T {}

/// Names a type of that alignment.
trait HasAlignedType {
    type Aligned: for<'gc> Collect<'gc> + 'static;
    const VALUE: Self::Aligned;
}

macro_rules! alignments {
    ($($align:literal)*) => { $(
        const _: () = {
            #[repr(align($align))]
            pub struct Aligned;
            $crate::static_collect!(Aligned);

            impl HasAlignedType for Alignment<$align> {
                type Aligned = Aligned;
                const VALUE: Aligned = Aligned;
            }
        };
    )* };
}

alignments!(1 2 4 8 16 32 64 128 256 512 1024 2048 4096);
