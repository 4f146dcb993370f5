//! A weak set of byte strings, by content.

use std::cell::Cell;
use std::marker::PhantomData;
use std::ptr::NonNull;

use crate::collect::{Collect, Trace};
use crate::collections::GcTail;
use crate::collections::directory::Directory;
use crate::collections::segment::Slot;
use crate::error::AllocError;
use crate::gc::Gc;
use crate::mutation::Mutation;

/// What stands before the bytes of an interned string: it keeps the string's hash, for when the set grows.
pub trait InternHeader {
    /// The hash with which the string was given to [`InternSet::try_insert`].
    fn hash(&self) -> u32;
}

/// A header that is the hash and nothing else.
impl InternHeader for u32 {
    fn hash(&self) -> u32 {
        *self
    }
}

/// A weak set of interned strings: `GcTail`s of bytes with a header `H`, found by hash and content.
///
/// Two levels, so that nothing that it does is long: a directory, indexed by the top bits of the hash, of segments of
/// about a hundred entries, each a hash table of its own (extendible hashing: R. Fagin et al., "Extendible hashing – a fast access
/// method for dynamic files", 1979). A segment that is full splits; a segment that the collector has emptied shrinks.
///
/// An entry is a word, the string's address with a part of its hash; eight of them share a line of the cache, which is what a search reads
/// besides the directory and the string that it finds.
///
/// Weak: an entry keeps no string alive. A string found again before it was swept is alive again.
pub struct InternSet<'gc, H: 'gc> {
    directory: Cell<Option<NonNull<Directory>>>,
    marker: PhantomData<Cell<GcTail<'gc, H, u8>>>,
}

impl<'gc, H: Collect<'gc> + InternHeader + 'gc> InternSet<'gc, H> {
    const HEADER_OWNS_NOTHING: () = assert!(
        !H::NEEDS_TRACE,
        "the header of an interned string can't own pointers"
    );

    /// An empty set, without memory.
    pub const fn new() -> Self {
        let () = Self::HEADER_OWNS_NOTHING;
        Self {
            directory: Cell::new(None),
            marker: PhantomData,
        }
    }

    /// The interned string with this content.
    #[inline]
    pub fn find(&self, mc: &Mutation<'gc>, hash: u32, bytes: &[u8]) -> Option<GcTail<'gc, H, u8>> {
        let directory = self.directory.get()?;
        // SAFETY: the directory is alive as long as the set.
        let segment = unsafe { Directory::segment(directory, hash) };
        // SAFETY: entries name strings of this set's type.
        let tail_of = |string: NonNull<u8>| unsafe {
            GcTail::<H, u8>::from_erased(Gc::from_ptr(string.as_ptr().cast()))
        };
        // Segments are alive as long as the set, and strings alive or dead but not swept: `Clear` removes the dead before the sweep.
        let string = segment.find(hash, |string| tail_of(string).tail() == bytes)?;
        mc.context().revive(string);
        Some(tail_of(string))
    }

    /// # Safety
    ///
    /// `string` is one of this set's type, alive or dead but not swept.
    unsafe fn hash_of(string: NonNull<u8>) -> u32 {
        // SAFETY: the caller's contract.
        let tail = unsafe { GcTail::<H, u8>::from_erased(Gc::from_ptr(string.as_ptr().cast())) };
        tail.header().hash()
    }

    /// Adds a string that is not in the set. Where memory runs out, it does as [`Gc::new`].
    pub fn insert(&self, mc: &Mutation<'gc>, hash: u32, tail: GcTail<'gc, H, u8>) {
        let inserted = self.try_insert(mc, hash, tail).or_else(|error| {
            let again = || self.try_insert(mc, hash, tail).ok();
            mc.context().beyond_limit(again).ok_or(error)
        });
        if inserted.is_err() {
            crate::heap::out_of_memory();
        }
    }

    /// Adds a string that [`InternSet::find`] does not find. `hash` must be the one that it will be looked up with, and that its header
    /// tells.
    ///
    /// # Errors
    ///
    /// Where memory has run out; the string is then not interned.
    pub fn try_insert(
        &self,
        mc: &Mutation<'gc>,
        hash: u32,
        tail: GcTail<'gc, H, u8>,
    ) -> Result<(), AllocError> {
        debug_assert_eq!(tail.header().hash(), hash, "the header has the hash");
        let context = mc.context();
        loop {
            let directory = match self.directory.get() {
                Some(directory) => directory,
                None => {
                    let directory = Directory::allocate(context).ok_or(AllocError::new(()))?;
                    self.directory.set(Some(directory));
                    directory
                }
            };
            // SAFETY: as in `find`.
            unsafe {
                let segment = Directory::segment(directory, hash);
                if segment.insert(Slot::new(hash, tail.erase().raw())) {
                    Directory::count_inserted(directory, hash);
                    return Ok(());
                }
                let grown = Directory::make_room(directory, context, hash, Self::hash_of)
                    .ok_or(AllocError::new(()))?;
                self.directory.set(Some(grown));
            }
        }
    }

    /// How many strings there are; dead ones count until the collector has removed them.
    pub fn len(&self) -> usize {
        // SAFETY: the directory is alive as long as the set.
        self.directory
            .get()
            .map_or(0, |directory| unsafe { directory.as_ref() }.len())
    }

    /// Whether there is no string.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl<'gc, H: Collect<'gc> + InternHeader + 'gc> Default for InternSet<'gc, H> {
    fn default() -> Self {
        Self::new()
    }
}

// SAFETY: the directory is an object of the arena, which is traced as such; entries are weak, and removed before what
// they name is freed.
unsafe impl<'gc, H: 'gc> Collect<'gc> for InternSet<'gc, H> {
    const SEND: bool = true;

    #[inline]
    fn trace<C: Trace<'gc>>(&self, cc: &mut C) {
        if cc.__collector().is_none() {
            // A trace that is not the collector's has no business with the parts of a weak set.
            return;
        }
        if let Some(directory) = self.directory.get() {
            // SAFETY: the directory is an object of this arena, alive as long as the set.
            cc.trace_gc(unsafe { Gc::from_ptr(directory.as_ptr().cast()) });
        }
    }
}
