//! Bytes outside of the heap, most of which are to become a string: they count against the limit on memory before they are allocated.

use std::ops::{Deref, DerefMut};

use sleepy_gc::metrics::Metrics;

use super::error::Error;
use super::state::Ctx;

/// Makes room for so many bytes in a buffer, or says that there is none: for who has no [`Ctx`].
pub type MakeRoom<'a> = &'a mut dyn FnMut(&mut Buffer, usize) -> bool;

/// Room that counts against the limit.
pub fn counted(ctx: Ctx<'_>) -> impl FnMut(&mut Buffer, usize) -> bool {
    move |buffer, more| buffer.try_make_room(ctx, more)
}

/// Room that does not count until the next time that room is made: for the host's own streams.
pub fn uncounted(buffer: &mut Buffer, more: usize) -> bool {
    buffer.bytes.try_reserve(more).is_ok()
}

/// Buffers of so many bytes need not be counted: a native has a few at most.
const SMALL_BYTES: usize = 16 << 10;

/// A growing buffer. What is appended without [`Buffer::make_room`] is to be small: it is counted the next time that room is made.
#[derive(Debug, Default)]
pub struct Buffer {
    bytes: Vec<u8>,
    reserved: Option<Reservation>,
}

/// Bytes outside of the heap that count for as long as this lives.
#[derive(Debug)]
pub struct Reservation {
    metrics: Metrics,
    bytes: usize,
}

impl Reservation {
    /// Has `bytes` count; none if the limit forbids it.
    #[must_use]
    pub fn new(ctx: Ctx<'_>, bytes: usize) -> Option<Reservation> {
        let has_room = ctx.mc.try_reserve_external_bytes(bytes);
        has_room.then(|| Reservation {
            metrics: ctx.mc.metrics().clone(),
            bytes,
        })
    }

    /// Has so many bytes count, if that is more; false if the limit forbids it.
    pub(super) fn grow_to(&mut self, ctx: Ctx<'_>, bytes: usize) -> bool {
        self.grow(ctx, bytes.saturating_sub(self.bytes))
    }

    fn grow(&mut self, ctx: Ctx<'_>, bytes: usize) -> bool {
        let has_room = ctx.mc.try_reserve_external_bytes(bytes);
        self.bytes += if has_room { bytes } else { 0 };
        has_room
    }

    fn forget(&mut self, bytes: usize) {
        self.metrics.mark_external_deallocation(bytes);
        self.bytes -= bytes;
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        self.forget(self.bytes);
    }
}

impl Buffer {
    /// An empty buffer.
    #[must_use]
    pub const fn new() -> Buffer {
        Buffer {
            bytes: Vec::new(),
            reserved: None,
        }
    }

    /// Makes room for `more` bytes.
    ///
    /// # Errors
    ///
    /// "not enough memory", if there is none or the limit forbids it; the content stays.
    pub fn make_room<'gc>(&mut self, ctx: Ctx<'gc>, more: usize) -> Result<(), Error<'gc>> {
        if self.try_make_room(ctx, more) {
            Ok(())
        } else {
            Err(ctx.out_of_memory())
        }
    }

    /// As [`Buffer::make_room`], and false if there is no room.
    #[inline]
    #[must_use]
    pub fn try_make_room(&mut self, ctx: Ctx<'_>, more: usize) -> bool {
        let free = self.bytes.capacity() - self.bytes.len();
        more <= free || self.grow(ctx, more)
    }

    #[cold]
    fn grow(&mut self, ctx: Ctx<'_>, more: usize) -> bool {
        let Some(least) = self.bytes.len().checked_add(more) else {
            return false;
        };
        if !ctx.has_memory_limit() {
            return self.bytes.try_reserve(more).is_ok();
        }
        // The old bytes stay until they have been copied; what was appended without asking counts now.
        let (old, known) = (self.bytes.capacity(), self.reserved_bytes());
        let unknown = match old {
            0..=SMALL_BYTES => 0,
            _ => old.saturating_sub(known),
        };
        let wanted = least.max(old.saturating_mul(2));
        let size = [wanted, least]
            .into_iter()
            .find(|&size| size <= SMALL_BYTES || self.reserve(ctx, unknown + size));
        let Some(size) = size else {
            return false;
        };
        let is_made = self
            .bytes
            .try_reserve_exact(size - self.bytes.len())
            .is_ok();
        let beyond = self.reserved_bytes().saturating_sub(self.bytes.capacity());
        if let Some(reserved) = &mut self.reserved {
            reserved.forget(beyond);
        }
        is_made
    }

    fn reserved_bytes(&self) -> usize {
        self.reserved.as_ref().map_or(0, |reserved| reserved.bytes)
    }

    /// Has `bytes` count beside those that do.
    fn reserve(&mut self, ctx: Ctx<'_>, bytes: usize) -> bool {
        match &mut self.reserved {
            Some(reserved) => reserved.grow(ctx, bytes),
            None => {
                self.reserved = Reservation::new(ctx, bytes);
                self.reserved.is_some()
            }
        }
    }

    /// Gives the storage back.
    pub fn free(&mut self) {
        *self = Buffer::new();
    }
}

impl Deref for Buffer {
    type Target = Vec<u8>;

    fn deref(&self) -> &Vec<u8> {
        &self.bytes
    }
}

impl DerefMut for Buffer {
    fn deref_mut(&mut self) -> &mut Vec<u8> {
        &mut self.bytes
    }
}
