//! Lua strings: bytes behind a small header, in one allocation.
//!
//! Short strings (up to [`SHORT_MAX`] bytes) are interned: equal content means the same object, so that a table
//! compares keys by address. Long strings are not, and are hashed only when one becomes a key.

use std::cell::Cell;

use sleepy_gc::collect::Trace;
use sleepy_gc::collections::{GcTail, InternHeader, InternSet};
use sleepy_gc::{Collect, Gc, Mutation};

use super::state::Ctx;

/// The longest string that is interned.
pub const SHORT_MAX: usize = 40;

/// The longest string for which the collector's reserve is drawn upon where memory is short.
const RESERVED_MAX: usize = 16 * 1024;

/// What stands before the bytes.
pub struct StrHeader {
    /// The hash of the content; of a long string only once `state` says so.
    hash: Cell<u32>,
    state: Cell<HashState>,
}

impl StrHeader {
    fn short(hash: u32) -> StrHeader {
        StrHeader {
            hash: Cell::new(hash),
            state: Cell::new(HashState::Short),
        }
    }

    fn long() -> StrHeader {
        StrHeader {
            hash: Cell::new(0),
            state: Cell::new(HashState::LongUnhashed),
        }
    }
}

/// | state | meaning |
/// |---|---|
/// | `Short` | interned; `hash` is set |
/// | `LongUnhashed` | not interned; `hash` is unset |
/// | `Long` | not interned; `hash` is set |
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
enum HashState {
    Short,
    LongUnhashed,
    Long,
}

// SAFETY: a header holds no pointer.
unsafe impl<'gc> Collect<'gc> for StrHeader {
    const SEND: bool = true;
    const NEEDS_TRACE: bool = false;
}

impl InternHeader for StrHeader {
    #[inline]
    fn hash(&self) -> u32 {
        self.hash.get()
    }
}

/// A string of any bytes.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub struct LuaStr<'gc>(GcTail<'gc, StrHeader, u8>);

impl<'gc> LuaStr<'gc> {
    /// A string with this content; see [`Ctx::string`].
    #[must_use]
    pub fn new(ctx: Ctx<'gc>, bytes: &[u8]) -> LuaStr<'gc> {
        if bytes.len() <= SHORT_MAX {
            Self::intern(ctx.mc, &ctx.state.interned, ctx.state.seed, bytes)
        } else if bytes.len() > RESERVED_MAX {
            Self::try_new(ctx, bytes).unwrap_or_else(|| ctx.lose_string())
        } else {
            LuaStr(GcTail::from_slice(ctx.mc, StrHeader::long(), bytes))
        }
    }

    /// A string with this content; none if there is no memory for it.
    #[must_use]
    pub fn try_new(ctx: Ctx<'gc>, bytes: &[u8]) -> Option<LuaStr<'gc>> {
        if bytes.len() <= SHORT_MAX {
            let (interned, hash) = (&ctx.state.interned, hash_bytes(bytes, ctx.state.seed));
            if let Some(found) = interned.find(ctx.mc, hash, bytes) {
                return Some(LuaStr(found));
            }
            let string = GcTail::try_from_slice(ctx.mc, StrHeader::short(hash), bytes).ok()?;
            interned.try_insert(ctx.mc, hash, string).ok()?;
            return Some(LuaStr(string));
        }
        GcTail::try_from_slice(ctx.mc, StrHeader::long(), bytes)
            .ok()
            .map(LuaStr)
    }

    /// The one short string with this content.
    pub(super) fn intern(
        mc: &Mutation<'gc>,
        interned: &InternSet<'gc, StrHeader>,
        seed: u32,
        bytes: &[u8],
    ) -> LuaStr<'gc> {
        let hash = hash_bytes(bytes, seed);
        if let Some(found) = interned.find(mc, hash, bytes) {
            return LuaStr(found);
        }
        let string = GcTail::from_slice(mc, StrHeader::short(hash), bytes);
        interned.insert(mc, hash, string);
        LuaStr(string)
    }

    /// The content.
    #[inline]
    #[must_use]
    pub fn as_bytes(self) -> &'gc [u8] {
        self.0.tail()
    }

    /// The number of bytes.
    #[inline]
    #[must_use]
    pub fn len(self) -> usize {
        self.0.tail().len()
    }

    /// Whether there are no bytes.
    #[inline]
    #[must_use]
    pub fn is_empty(self) -> bool {
        self.len() == 0
    }

    /// Whether the string is interned: equal content then means the same object.
    #[inline(always)]
    #[must_use]
    pub fn is_short(self) -> bool {
        self.0.header().state.get() == HashState::Short
    }

    /// The hash of a string that is known to be short.
    #[inline(always)]
    #[must_use]
    pub(super) fn short_hash(self) -> u32 {
        self.0.header().hash.get()
    }

    /// The hash of the content.
    #[must_use]
    pub(super) fn hash(self) -> u32 {
        let header = self.0.header();
        if header.state.get() == HashState::LongUnhashed {
            header.hash.set(hash_bytes(self.as_bytes(), 0));
            header.state.set(HashState::Long);
        }
        header.hash.get()
    }

    /// Whether both are the same object.
    #[inline(always)]
    #[must_use]
    pub fn ptr_eq(self, other: LuaStr<'gc>) -> bool {
        self.address() == other.address()
    }

    /// The object's address.
    #[inline(always)]
    #[must_use]
    pub fn address(self) -> *const () {
        GcTail::as_ptr(self.0).cast()
    }

    /// The object, its type forgotten.
    #[inline(always)]
    pub(super) fn erase(self) -> Gc<'gc, ()> {
        self.0.erase()
    }

    /// The content as text, with what is not UTF-8 replaced: for messages.
    #[must_use]
    pub fn to_text(self) -> std::borrow::Cow<'gc, str> {
        String::from_utf8_lossy(self.as_bytes())
    }
}

impl PartialEq for LuaStr<'_> {
    #[inline]
    fn eq(&self, other: &Self) -> bool {
        self.ptr_eq(*other)
            || (!self.is_short() && !other.is_short() && self.as_bytes() == other.as_bytes())
    }
}

impl Eq for LuaStr<'_> {}

// SAFETY: the one pointer is traced.
unsafe impl<'gc> Collect<'gc> for LuaStr<'gc> {
    const SEND: bool = true;

    #[inline]
    fn trace<T: Trace<'gc>>(&self, cc: &mut T) {
        self.0.trace(cc);
    }
}

/// All of less than eight bytes.
#[inline]
fn word_of(bytes: &[u8]) -> u64 {
    match (bytes.first_chunk(), bytes.last_chunk(), bytes) {
        (Some(&first), Some(&last), _) => {
            u64::from(u32::from_le_bytes(first)) | u64::from(u32::from_le_bytes(last)) << 32
        }
        (_, _, &[first, .., last]) => {
            u64::from(first) | u64::from(bytes[bytes.len() / 2]) << 8 | u64::from(last) << 16
        }
        (_, _, &[only]) => u64::from(only),
        _ => 0,
    }
}

/// A hash of any bytes, eight at a time.
#[must_use]
pub(super) fn hash_bytes(bytes: &[u8], seed: u32) -> u32 {
    const MULTIPLIER: u64 = 0x9E37_79B9_7F4A_7C15;
    let mut hash = u64::from(seed) ^ (bytes.len() as u64).wrapping_mul(MULTIPLIER);
    // Some bytes are taken twice: the length, which is a part of the hash, tells which.
    let last = match bytes.last_chunk() {
        Some(&last) => {
            for chunk in bytes[..bytes.len() - 1].chunks_exact(8) {
                let word = u64::from_le_bytes(chunk.try_into().unwrap_or_default());
                hash = (hash.rotate_left(23) ^ word).wrapping_mul(MULTIPLIER);
            }
            u64::from_le_bytes(last)
        }
        None => word_of(bytes),
    };
    hash = (hash.rotate_left(23) ^ last).wrapping_mul(MULTIPLIER);
    hash ^= hash >> 32;
    hash = hash.wrapping_mul(MULTIPLIER);
    (hash >> 32) as u32
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::hash_bytes;

    #[test]
    fn a_hash_depends_on_each_byte_and_on_the_length() {
        for len in 0..=24_usize {
            let mut hashes = HashSet::from([hash_bytes(&vec![0; len], 7)]);
            for at in 0..len {
                for byte in 1..=u8::MAX {
                    let mut bytes = vec![0; len];
                    bytes[at] = byte;
                    hashes.insert(hash_bytes(&bytes, 7));
                }
            }
            // The highest bit of a word goes no further than one of the next: a few collide.
            let all = 1 + 255 * len;
            assert!(
                hashes.len() * 16 >= all * 15,
                "{} of length {len}",
                hashes.len()
            );
        }
        let zeros: HashSet<_> = (0..=24).map(|len| hash_bytes(&vec![0; len], 7)).collect();
        assert_eq!(zeros.len(), 25);
    }
}
