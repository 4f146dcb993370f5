//! Bitmaps of an arena: one atomic bit for each slice.
//!
//! Only the holder of the claim lock clears bits of the free map, anybody sets them: so a run that a search finds set
//! stays set until the searcher claims it, and giving slices back needs no lock.

use core::ops::Range;
use core::sync::atomic::{AtomicU64, Ordering};

/// Bits in the map of the largest arena.
pub(crate) const BITS: usize = 16 * 1024;
const WORDS: usize = BITS / 64;

/// A bit for each slice of an arena.
#[repr(transparent)]
pub(crate) struct Bitmap {
    words: [AtomicU64; WORDS],
}

impl Bitmap {
    #[cfg(test)]
    pub(crate) fn new() -> Self {
        Self {
            words: [const { AtomicU64::new(0) }; WORDS],
        }
    }

    /// Sets a range. Release: what was written about these slices before is seen by whoever acquires the bits.
    pub(crate) fn set(&self, bits: Range<usize>) {
        for (word, mask) in masks(bits) {
            self.words[word].fetch_or(mask, Ordering::Release);
        }
    }

    /// Clears a range. Acquire: pairs with [`Self::set`].
    pub(crate) fn clear(&self, bits: Range<usize>) {
        for (word, mask) in masks(bits) {
            self.words[word].fetch_and(!mask, Ordering::Acquire);
        }
    }

    /// Sets one bit unless it is set already, which spares the write.
    ///
    /// Sequentially consistent: see `Slice::mark_pending`.
    pub(crate) fn set_one(&self, bit: usize) {
        let mask = 1 << (bit % 64);
        if self.words[bit / 64].load(Ordering::SeqCst) & mask == 0 {
            self.words[bit / 64].fetch_or(mask, Ordering::SeqCst);
        }
    }

    /// Sets one bit; true if it was clear. Release: see [`Self::set`].
    pub(crate) fn insert(&self, bit: usize) -> bool {
        let mask = 1 << (bit % 64);
        self.words[bit / 64].fetch_or(mask, Ordering::Release) & mask == 0
    }

    /// Clears one bit; true if it was set. Acquire: pairs with [`Self::insert`].
    pub(crate) fn remove(&self, bit: usize) -> bool {
        let mask = 1 << (bit % 64);
        // Most bits that an owner clears are clear, and looking spares the write.
        self.words[bit / 64].load(Ordering::Relaxed) & mask != 0
            && self.words[bit / 64].fetch_and(!mask, Ordering::Acquire) & mask != 0
    }

    /// Whether word `word` has a bit. Sequentially consistent, as [`Self::set_one`].
    pub(crate) fn has_any(&self, word: usize) -> bool {
        self.words[word].load(Ordering::SeqCst) != 0
    }

    /// Takes all bits of word `word` (slices `64 * word ..`) away at once.
    pub(crate) fn take_word(&self, word: usize) -> u64 {
        self.words[word].swap(0, Ordering::SeqCst)
    }

    /// The first run of `count` set bits that starts at a multiple of `align` at or after `from`, below `end`.
    pub(crate) fn find_run(
        &self,
        from: usize,
        end: usize,
        count: usize,
        align: usize,
    ) -> Option<usize> {
        let mut start = from.next_multiple_of(align);
        while start + count <= end {
            match self.first_clear(start, start + count) {
                None => return Some(start),
                Some(clear) => {
                    // Every start up to the clear bit would contain it.
                    start = self.first_set(clear + 1, end)?.next_multiple_of(align);
                }
            }
        }
        None
    }

    /// The first set bit in `from..end`.
    pub(crate) fn first_set(&self, from: usize, end: usize) -> Option<usize> {
        self.first(from, end, |word| word)
    }

    /// The first clear bit in `from..end`.
    fn first_clear(&self, from: usize, end: usize) -> Option<usize> {
        self.first(from, end, |word| !word)
    }

    fn first(&self, from: usize, end: usize, view: impl Fn(u64) -> u64) -> Option<usize> {
        let mut bit = from;
        while bit < end {
            let rest = view(self.words[bit / 64].load(Ordering::Relaxed)) >> (bit % 64);
            if rest != 0 {
                let found = bit + rest.trailing_zeros() as usize;
                return (found < end).then_some(found);
            }
            bit = (bit / 64 + 1) * 64;
        }
        None
    }

    #[cfg(test)]
    pub(crate) fn get(&self, bit: usize) -> bool {
        self.words[bit / 64].load(Ordering::Relaxed) >> (bit % 64) & 1 == 1
    }
}

/// The words that a range of bits falls on, with the bits in each.
fn masks(bits: Range<usize>) -> impl Iterator<Item = (usize, u64)> {
    let Range { start, end } = bits;
    (start / 64..end.div_ceil(64)).map(move |word| {
        let low = start.max(word * 64) - word * 64;
        let high = end.min(word * 64 + 64) - word * 64;
        (word, (u64::MAX >> (64 - (high - low))) << low)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn naive_run(set: &[bool], from: usize, count: usize, align: usize) -> Option<usize> {
        (from..set.len()).find(|&start| {
            start % align == 0
                && start + count <= set.len()
                && set[start..start + count].iter().all(|&bit| bit)
        })
    }

    proptest! {
        #[test]
        fn runs_are_found_where_the_oracle_finds_them(
            ranges in prop::collection::vec((0usize..400, 1usize..150), 0..12),
            from in 0usize..300,
            count in 1usize..140,
            align_shift in 0u32..7,
        ) {
            let map = Bitmap::new();
            let mut oracle = [false; 500];
            for (nth, &(start, len)) in ranges.iter().enumerate() {
                let end = (start + len).min(500);
                if nth % 3 == 2 { map.clear(start..end) } else { map.set(start..end) }
                oracle[start..end].fill(nth % 3 != 2);
            }
            for (bit, &want) in oracle.iter().enumerate() {
                prop_assert_eq!(map.get(bit), want);
            }
            let align = 1 << align_shift;
            prop_assert_eq!(map.find_run(from, 500, count, align), naive_run(&oracle, from, count, align));
        }
    }

    #[test]
    fn a_word_is_taken_once() {
        let map = Bitmap::new();
        map.set_one(70);
        map.set_one(70);
        assert_eq!(map.take_word(1), 1 << 6);
        assert_eq!(map.take_word(1), 0);
    }
}
