//! The remote word of a page: blocks that other threads have freed, and whether the page belongs to a heap.
//!
//! ```text
//! 63..48  count    blocks in the list
//! 47..3   head     address of the block that was freed last, or 0
//! 1       MAPPED   the page's bit in a bitmap of unowned pages is set, or about to be
//! 0       UNOWNED  the page belongs to no heap
//! ```
//!
//! | flags | who owns the page | who may change what |
//! |---|---|---|
//! | none | a heap, or the thread that claimed the page just now | anybody: push; the owner: take the list, and give the page away while the list is empty |
//! | `UNOWNED` | nobody: its heap had no room left in it, or is gone | anybody: push (which maps it), claim |
//! | `UNOWNED + MAPPED` | nobody; there is room in it, and allocations can find it | anybody: push, claim |
//!
//! A push publishes what the freeing thread did with the block (release) to whoever takes the list (acquire). Giving a
//! page away publishes everything about it (release) to whoever claims it, and how many blocks are left in it to whoever
//! pushes (acquire). A page can't be given away while
//! there are blocks in the list, so no free is overlooked.

use crate::sync::{AtomicU64, Ordering};

const UNOWNED: u64 = 1;
const MAPPED: u64 = 2;
const FLAGS: u64 = 7;
const COUNT_SHIFT: u32 = 48;
const HEAD: u64 = ((1 << COUNT_SHIFT) - 1) & !FLAGS;

/// Blocks that were freed by others, threaded through their first words.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct List {
    /// Address of the first block; 0 if there is none.
    pub head: usize,
    /// Number of blocks.
    pub count: u32,
}

impl List {
    fn of(word: u64) -> Self {
        Self {
            head: (word & HEAD) as usize,
            count: (word >> COUNT_SHIFT) as u32,
        }
    }
}

/// What a claim found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Claimed {
    /// The blocks that others have freed.
    pub list: List,
    /// The page's bit is set, or about to be.
    pub mapped: bool,
}

/// What a push found and made.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Pushed {
    /// Blocks in the list now.
    pub count: u32,
    /// The page belonged to no heap.
    pub unowned: bool,
    /// The page was not mapped before: who pushed is to set its bit.
    pub to_map: bool,
}

/// See the module's documentation.
#[repr(transparent)]
pub struct RemoteWord(AtomicU64);

impl RemoteWord {
    /// The word of a page that is owned and has no list.
    #[cfg(not(loom))]
    pub const fn new() -> Self {
        Self(AtomicU64::new(0))
    }

    /// The word of a page that is owned and has no list.
    #[cfg(loom)]
    #[expect(clippy::new_without_default, reason = "the real one is const")]
    pub fn new() -> Self {
        Self(AtomicU64::new(0))
    }

    /// Makes this the word of a new page. Relaxed: nobody else knows the page yet.
    #[cfg(not(loom))]
    pub fn reset(&self) {
        self.0.store(0, Ordering::Relaxed);
    }

    /// The block that was freed last, or 0. Relaxed: for checks.
    #[cfg(all(not(loom), any(debug_assertions, sleepy_check)))]
    pub fn head(&self) -> usize {
        List::of(self.0.load(Ordering::Relaxed)).head
    }

    /// Whether the page belongs to no heap at this moment. Relaxed: a hint, a claim tells.
    #[inline]
    pub fn is_unowned(&self) -> bool {
        self.0.load(Ordering::Relaxed) & UNOWNED != 0
    }

    /// Adds a block; `link` writes into it which block comes next (0: none).
    #[inline]
    pub fn push(&self, block: usize, mut link: impl FnMut(usize)) -> Pushed {
        debug_assert_eq!(block as u64 & !HEAD, 0);
        let mut old = self.0.load(Ordering::Relaxed);
        loop {
            let list = List::of(old);
            link(list.head);
            let unowned = old & UNOWNED != 0;
            let mut flags = old & FLAGS;
            if unowned {
                flags |= MAPPED;
            }
            let new = u64::from(list.count + 1) << COUNT_SHIFT | block as u64 | flags;
            match self
                .0
                .compare_exchange_weak(old, new, Ordering::AcqRel, Ordering::Relaxed)
            {
                Ok(_) => {
                    return Pushed {
                        count: list.count + 1,
                        unowned,
                        to_map: unowned && old & MAPPED == 0,
                    };
                }
                Err(now) => old = now,
            }
        }
    }

    /// The owner takes the list.
    #[inline]
    pub fn take(&self) -> Option<List> {
        if self.0.load(Ordering::Relaxed) == 0 {
            return None;
        }
        let word = self.0.swap(0, Ordering::Acquire);
        debug_assert_eq!(word & FLAGS, 0, "only the owner takes the list");
        Some(List::of(word))
    }

    /// The owner gives the page away; false if there are blocks in the list, and then it is still the owner.
    pub fn give_away(&self, mapped: bool) -> bool {
        let flags = if mapped { UNOWNED | MAPPED } else { UNOWNED };
        self.0
            .compare_exchange(0, flags, Ordering::Release, Ordering::Relaxed)
            .is_ok()
    }

    /// Makes the caller the owner of a page that belongs to no heap. `None`: somebody owns it.
    #[inline]
    pub fn claim(&self) -> Option<Claimed> {
        let mut old = self.0.load(Ordering::Relaxed);
        while old & UNOWNED != 0 {
            match self
                .0
                .compare_exchange_weak(old, 0, Ordering::Acquire, Ordering::Relaxed)
            {
                Ok(_) => {
                    return Some(Claimed {
                        list: List::of(old),
                        mapped: old & MAPPED != 0,
                    });
                }
                Err(now) => old = now,
            }
        }
        None
    }

    /// The page's bit could not be set: the next push is to try again.
    pub fn set_unmapped(&self) {
        let mut old = self.0.load(Ordering::Relaxed);
        while old & (UNOWNED | MAPPED) == UNOWNED | MAPPED {
            match self.0.compare_exchange_weak(
                old,
                old & !MAPPED,
                Ordering::Relaxed,
                Ordering::Relaxed,
            ) {
                Ok(_) => return,
                Err(now) => old = now,
            }
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    /// Pushes a block and gives what it was linked to.
    fn push(word: &RemoteWord, block: usize) -> (Pushed, usize) {
        let mut next = usize::MAX;
        let pushed = word.push(block, |head| next = head);
        (pushed, next)
    }

    #[test]
    fn blocks_come_back_last_first_and_counted() {
        let word = RemoteWord::new();
        assert_eq!(word.take(), None);
        let (first, end) = push(&word, 0x1000);
        let (second, next) = push(&word, 0x7fff_ffff_fff8);
        assert_eq!((first.count, end), (1, 0));
        assert_eq!((second.count, next), (2, 0x1000));
        assert!(!second.unowned && !second.to_map);
        let list = word.take().unwrap();
        assert_eq!((list.head, list.count), (0x7fff_ffff_fff8, 2));
        assert_eq!(word.take(), None);
    }

    #[test]
    fn a_page_with_blocks_in_its_list_is_not_given_away() {
        let word = RemoteWord::new();
        push(&word, 8);
        assert!(!word.give_away(true));
        word.take();
        assert!(word.give_away(false));
        assert!(word.is_unowned());
    }

    #[test]
    fn the_first_free_maps_a_full_page_and_one_claim_gets_it() {
        let word = RemoteWord::new();
        assert!(word.give_away(false));
        assert!(push(&word, 8).0.to_map);
        assert!(!push(&word, 16).0.to_map);
        word.set_unmapped();
        assert!(push(&word, 24).0.to_map);
        assert_eq!(word.claim().unwrap().list.count, 3);
        assert!(word.claim().is_none());
        assert!(!push(&word, 8).0.unowned);
    }

    #[test]
    fn a_full_page_of_the_smallest_blocks_can_be_counted() {
        let word = RemoteWord::new();
        for nth in 1..=8192 {
            push(&word, nth * 8);
        }
        assert_eq!(word.take().unwrap().count, 8192);
    }
}
