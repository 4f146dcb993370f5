//! An immutable string.

use std::fmt;
use std::ops::Deref;

use crate::collect::{Collect, Trace};
use crate::collections::GcTail;
use crate::error::AllocError;
use crate::gc::Gc;
use crate::mutation::Mutation;

/// An immutable UTF-8 string in one allocation of the arena.
#[derive(Clone, Copy)]
pub struct GcStr<'gc> {
    bytes: GcTail<'gc, (), u8>,
}

impl<'gc> GcStr<'gc> {
    /// Copies a string into the arena. Where memory runs out, it does as [`crate::Gc::new`].
    pub fn new(mc: &Mutation<'gc>, text: &str) -> Self {
        Self {
            bytes: GcTail::from_slice(mc, (), text.as_bytes()),
        }
    }

    /// Copies a string into the arena.
    ///
    /// # Errors
    ///
    /// Where memory has run out.
    pub fn try_new(mc: &Mutation<'gc>, text: &str) -> Result<Self, AllocError> {
        Ok(Self {
            bytes: GcTail::try_from_slice(mc, (), text.as_bytes())?,
        })
    }

    /// The string.
    #[inline]
    pub fn as_str(self) -> &'gc str {
        // SAFETY: the bytes were copied from a `str`, and nothing can change them.
        unsafe { std::str::from_utf8_unchecked(self.bytes.tail()) }
    }

    /// The string as an object of unknown type.
    #[inline]
    pub fn erase(self) -> Gc<'gc, ()> {
        self.bytes.erase()
    }

    /// Whether two pointers name the same string object.
    #[inline]
    pub fn ptr_eq(this: Self, other: Self) -> bool {
        GcTail::ptr_eq(this.bytes, other.bytes)
    }
}

// SAFETY: the one pointer is traced.
unsafe impl<'gc> Collect<'gc> for GcStr<'gc> {
    const SEND: bool = true;

    #[inline]
    fn trace<C: Trace<'gc>>(&self, cc: &mut C) {
        cc.trace(&self.bytes);
    }
}

impl Deref for GcStr<'_> {
    type Target = str;

    #[inline]
    fn deref(&self) -> &str {
        self.as_str()
    }
}

impl PartialEq for GcStr<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.as_str() == other.as_str()
    }
}

impl Eq for GcStr<'_> {}

impl std::hash::Hash for GcStr<'_> {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.as_str().hash(state);
    }
}

impl fmt::Debug for GcStr<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_str().fmt(f)
    }
}

impl fmt::Display for GcStr<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_str().fmt(f)
    }
}
