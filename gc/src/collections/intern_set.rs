//! A weak set of byte strings, by content.

use std::cell::Cell;
use std::marker::PhantomData;
use std::ptr::NonNull;

use crate::collect::{Collect, Trace};
use crate::collections::GcTail;
use crate::collections::segment::Directory;
use crate::error::AllocError;
use crate::gc::Gc;
use crate::mutation::Mutation;

/// A weak set of interned strings: `GcTail`s of bytes with a header `H`, found by hash and content.
///
/// Two levels, so that nothing that it does is long: a directory, indexed by the top bits of the hash, of segments of
/// about a hundred entries, each an open-addressing table of its own (extendible hashing). A segment that is full splits; a
/// segment that the collector has emptied shrinks.
///
/// Weak: an entry keeps no string alive. A string found again before it was swept is alive again.
pub struct InternSet<'gc, H: 'gc> {
    directory: Cell<Option<NonNull<Directory>>>,
    marker: PhantomData<Cell<GcTail<'gc, H, u8>>>,
}

impl<'gc, H: Collect<'gc> + 'gc> InternSet<'gc, H> {
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
        // SAFETY: the directory is alive as long as the set; segments as long as it. Entries name strings of this
        // set's type that are alive or dead but not swept: `Clear` removes the dead before the sweep.
        unsafe {
            let segment = Directory::segment(directory, hash);
            let mut probe = segment.first(hash);
            while let Some(string) = segment.entry(probe) {
                if segment.hash(probe) == hash {
                    let tail = GcTail::<H, u8>::from_erased(Gc::from_ptr(string.as_ptr().cast()));
                    if tail.tail() == bytes {
                        mc.context().revive(string);
                        return Some(tail);
                    }
                }
                probe = segment.after(probe);
            }
        }
        None
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

    /// Adds a string that [`InternSet::find`] does not find. `hash` must be the one that it will be looked up with.
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
                if segment.insert(hash, tail.erase().raw(), true) {
                    Directory::count_inserted(directory, hash);
                    return Ok(());
                }
                let grown =
                    Directory::make_room(directory, context, hash).ok_or(AllocError::new(()))?;
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

impl<'gc, H: Collect<'gc> + 'gc> Default for InternSet<'gc, H> {
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
