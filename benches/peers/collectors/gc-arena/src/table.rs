//! What a program for gc-arena takes from the standard library, and a program for Sleepy from the arena: arrays that may
//! be large, and bytes.

use gc_arena::{Collect, Gc, Mutation};

/// An array of pointers that does not change any more.
#[derive(Collect)]
#[collect(no_drop)]
pub struct Table<'gc, T: Collect<'gc> + 'gc> {
    #[cfg(feature = "sleepy")]
    entries: gc_arena::collections::GcVec<'gc, Gc<'gc, T>>,
    #[cfg(not(feature = "sleepy"))]
    entries: Vec<Gc<'gc, T>>,
}

impl<'gc, T: Collect<'gc> + 'gc> Table<'gc, T> {
    /// An array of `len` pointers, each made by `init`, in the order that `shuffle` brings them into.
    pub fn new(
        mc: &Mutation<'gc>,
        len: usize,
        mut init: impl FnMut(usize) -> Gc<'gc, T>,
        mut swap_with: impl FnMut(usize) -> usize,
    ) -> Self {
        #[cfg(feature = "sleepy")]
        {
            let entries = gc_arena::collections::GcVec::new();
            for i in 0..len {
                entries.push(mc, init(i));
            }
            for i in (1..len).rev() {
                entries.swap(mc, i, swap_with(i));
            }
            Self { entries }
        }
        #[cfg(not(feature = "sleepy"))]
        {
            let _ = mc;
            let mut entries: Vec<_> = (0..len).map(&mut init).collect();
            for i in (1..len).rev() {
                entries.swap(i, swap_with(i));
            }
            Self { entries }
        }
    }

    /// Entry `index`.
    #[inline]
    pub fn at(&self, index: usize) -> Gc<'gc, T> {
        #[cfg(feature = "sleepy")]
        let entry = self.entries.get(index);
        #[cfg(not(feature = "sleepy"))]
        let entry = self.entries.get(index).copied();
        entry.expect("the workloads ask for entries that there are")
    }
}

/// Bytes that a cell owns.
#[cfg(feature = "sleepy")]
pub type Bytes<'gc> = gc_arena::collections::GcTail<'gc, (), u8>;

/// Bytes that a cell owns: outside of the arena, where gc-arena does not count them.
#[cfg(not(feature = "sleepy"))]
pub type Bytes<'gc> = Box<[u8]>;

/// A copy of `text`.
#[inline]
pub fn bytes<'gc>(mc: &Mutation<'gc>, text: &[u8]) -> Bytes<'gc> {
    #[cfg(feature = "sleepy")]
    {
        Bytes::from_slice(mc, (), text)
    }
    #[cfg(not(feature = "sleepy"))]
    {
        let _ = mc;
        text.into()
    }
}

/// How many there are.
#[inline]
pub fn bytes_len(bytes: &Bytes<'_>) -> usize {
    bytes.len()
}
