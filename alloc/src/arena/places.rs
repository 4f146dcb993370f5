//! Which gigabytes of the address space start with an arena, for questions about pointers that may be anybody's.
//!
//! A few slots hold the numbers of most of them. Arenas lie one behind the other where that can be, so the slot of a
//! number is the number's remainder, and hardly ever taken by another. For those whose slot is taken there is a bit for
//! each gigabyte, in a table that is mapped when the first of them comes.

use super::ARENA_BYTES;
use crate::lazy::Lazy;
use crate::os;
use core::ptr::NonNull;
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// Bits of an address that user programs use on the targets that we know.
const ADDRESS_BITS: u32 = 48;
const WORDS: usize = (1usize << ADDRESS_BITS) / ARENA_BYTES / 64;
type Table = [AtomicU64; WORDS];

const SLOTS: usize = 64;
/// The number of a gigabyte and one, or 0. Release publishes the header of an arena to the acquire of [`has`].
static SLOT: [AtomicU32; SLOTS] = [const { AtomicU32::new(0) }; SLOTS];
/// The rest. A bit publishes as a slot does.
static TABLE: Lazy<Table> = Lazy::new();

/// A gigabyte of the address space.
#[derive(Clone, Copy)]
struct Place {
    nth: usize,
}

impl Place {
    fn of(address: usize) -> Option<Self> {
        let nth = address / ARENA_BYTES;
        (nth < WORDS * 64).then_some(Self { nth })
    }

    fn code(self) -> u32 {
        self.nth as u32 + 1
    }

    fn slot(self) -> &'static AtomicU32 {
        &SLOT[self.nth % SLOTS]
    }

    fn bit(self, table: &Table) -> (&AtomicU64, u64) {
        (&table[self.nth / 64 % WORDS], 1 << (self.nth % 64))
    }
}

/// An arena starts at this address. False: that cannot be noted.
pub(super) fn add(address: usize) -> bool {
    let Some(place) = Place::of(address) else {
        return false;
    };
    let taken =
        place
            .slot()
            .compare_exchange(0, place.code(), Ordering::Release, Ordering::Relaxed);
    if taken.is_ok() {
        return true;
    }
    let make = || os::map(size_of::<Table>()).map(NonNull::cast);
    // SAFETY: a mapping of this size that nobody else has seen.
    let discard = |table: NonNull<Table>| unsafe { os::unmap(table.cast(), size_of::<Table>()) };
    // SAFETY: a mapping holds zeroes, which are a valid table, and is kept for good once it is published.
    let Some(table) = (unsafe { TABLE.get_or_make(make, discard) }) else {
        return false;
    };
    let (word, bit) = place.bit(table);
    word.fetch_or(bit, Ordering::Release);
    true
}

/// The arena at this address is about to be unmapped.
pub(super) fn remove(address: usize) {
    let Some(place) = Place::of(address) else {
        return;
    };
    let given_up =
        place
            .slot()
            .compare_exchange(place.code(), 0, Ordering::Relaxed, Ordering::Relaxed);
    if given_up.is_err()
        && let Some(table) = TABLE.get()
    {
        let (word, bit) = place.bit(table);
        word.fetch_and(!bit, Ordering::Relaxed);
    }
}

/// Whether an arena starts at the gigabyte that an address lies in.
pub(super) fn has(address: usize) -> bool {
    let Some(place) = Place::of(address) else {
        return false;
    };
    place.slot().load(Ordering::Acquire) == place.code()
        || TABLE.get().is_some_and(|table| {
            let (word, bit) = place.bit(table);
            word.load(Ordering::Acquire) & bit != 0
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The address of a gigabyte where no arena can be, as the kernel keeps it.
    fn address(nth: usize) -> usize {
        ((1 << 17) + nth) * ARENA_BYTES
    }

    #[test]
    fn places_with_the_same_slot_are_told_apart() {
        let places = [address(0), address(SLOTS), address(2 * SLOTS)];
        for &place in &places {
            assert!(!has(place));
            assert!(add(place));
        }
        assert!(places.iter().all(|&place| has(place + ARENA_BYTES - 1)));
        assert!(!has(address(1)) && !has(address(3 * SLOTS)));
        remove(places[0]);
        assert!(!has(places[0]) && has(places[1]) && has(places[2]));
        remove(places[2]);
        assert!(has(places[1]) && !has(places[2]));
        remove(places[1]);
        assert!(!has(places[1]));
    }

    #[test]
    fn what_no_program_has_is_no_place() {
        assert!(!add(1 << ADDRESS_BITS) && !has(usize::MAX));
        remove(usize::MAX);
    }
}
