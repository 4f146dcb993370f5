//! How large a buffer outside of the heap may become: natives that build long strings, or read without bound, ask here, so
//! that the limit on the heap holds for what is about to become a string too.

use std::sync::atomic::{AtomicUsize, Ordering};

use crate::vm::error::Error;
use crate::vm::state::Ctx;

/// The limit in bytes. It publishes nothing but itself, so relaxed order is enough.
static LIMIT_BYTES: AtomicUsize = AtomicUsize::new(usize::MAX);

/// Sets the limit; none for no limit.
pub fn set_limit(bytes: Option<usize>) {
    LIMIT_BYTES.store(bytes.unwrap_or(usize::MAX), Ordering::Relaxed);
}

/// Makes room for `more` bytes in `buffer`; false if there is none, or the limit forbids it.
pub(super) fn try_make(buffer: &mut Vec<u8>, more: usize) -> bool {
    let fits = buffer
        .len()
        .checked_add(more)
        .is_some_and(|bytes| bytes <= LIMIT_BYTES.load(Ordering::Relaxed));
    fits && buffer.try_reserve(more).is_ok()
}

/// As [`try_make`], with the error "not enough memory".
pub(super) fn make<'gc>(
    ctx: Ctx<'gc>,
    buffer: &mut Vec<u8>,
    more: usize,
) -> Result<(), Error<'gc>> {
    if try_make(buffer, more) {
        Ok(())
    } else {
        Err(ctx.out_of_memory())
    }
}
