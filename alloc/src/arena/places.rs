//! Which gigabytes of the address space start with an arena: one bit for each, for questions about pointers that may be
//! anybody's.

use super::ARENA_BYTES;
use core::sync::atomic::{AtomicU64, Ordering};

/// Bits of an address that user programs use on the targets that we know.
const ADDRESS_BITS: u32 = 48;
const WORDS: usize = (1usize << ADDRESS_BITS) / ARENA_BYTES / 64;

/// Release publishes the header of an arena to the acquire of [`has`].
static PLACES: [AtomicU64; WORDS] = [const { AtomicU64::new(0) }; WORDS];

fn place(address: usize) -> Option<(&'static AtomicU64, u64)> {
    let nth = address / ARENA_BYTES;
    Some((PLACES.get(nth / 64)?, 1 << (nth % 64)))
}

/// An arena starts at this address.
pub(super) fn add(address: usize) {
    if let Some((word, bit)) = place(address) {
        word.fetch_or(bit, Ordering::Release);
    }
}

/// The arena at this address is about to be unmapped.
pub(super) fn remove(address: usize) {
    if let Some((word, bit)) = place(address) {
        word.fetch_and(!bit, Ordering::Relaxed);
    }
}

/// Whether an arena starts at the gigabyte that an address lies in.
pub(super) fn has(address: usize) -> bool {
    place(address).is_some_and(|(word, bit)| word.load(Ordering::Acquire) & bit != 0)
}
