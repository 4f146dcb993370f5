//! Where unowned pages with room in them are found: a bitmap for each arena and size class, made at the first need.
//!
//! A bit is a hint, the page's remote word tells: whoever finds a bit claims the page, and passes on when the claim
//! fails. A bit that stays behind costs one look; a page that is mapped always gets its bit, because it is set after the
//! page was given away (release), and cleared by those who look for pages (acquire) or own the page.
//!
//! A program whose threads don't end, and whose blocks are freed where they were allocated, makes none of them.

use crate::arena::{self, Arena, Slice};
use crate::bitmap::Bitmap;
use crate::lazy::Lazy;
use crate::size_class::CLASS_COUNT;
use crate::{os, stats};
use core::sync::atomic::{AtomicU32, Ordering};

/// The bitmaps of one arena. Zeroed memory is a valid empty one.
#[repr(transparent)]
pub(crate) struct Maps([Lazy<Bitmap>; CLASS_COUNT]);

/// Bits that are set, for each class, so that nobody looks for what is not there. Relaxed: a hint; it changes after
/// the bit.
static COUNTS: [AtomicU32; CLASS_COUNT] = [const { AtomicU32::new(0) }; CLASS_COUNT];

/// Sets the bit of a page; false when there is no memory for the bitmap.
pub(super) fn set(slice: Slice, class: usize) -> bool {
    let make = || {
        let map = os::map(size_of::<Bitmap>())?;
        stats::ABANDONED_BITMAPS.add(1);
        Some(map.cast())
    };
    let discard = |map: core::ptr::NonNull<Bitmap>| {
        stats::ABANDONED_BITMAPS.sub(1);
        // SAFETY: a mapping of this size that nobody else has seen.
        unsafe { os::unmap(map.cast(), size_of::<Bitmap>()) };
    };
    // SAFETY: a mapping holds zeroes, which are a valid bitmap, and is kept for good once it is published.
    let Some(map) = (unsafe { slice.arena.maps().0[class].get_or_make(make, discard) }) else {
        return false;
    };
    if map.insert(slice.index) {
        COUNTS[class].fetch_add(1, Ordering::Relaxed);
    }
    true
}

/// Clears the bit of a page that the caller owns.
pub(super) fn clear(slice: Slice, class: usize) {
    if let Some(map) = slice.arena.maps().0[class].get() {
        remove(map, slice.index, class);
    }
}

fn remove(map: &Bitmap, index: usize, class: usize) -> bool {
    let was_set = map.remove(index);
    if was_set {
        COUNTS[class].fetch_sub(1, Ordering::Relaxed);
    }
    was_set
}

/// Whether a search for pages of this class may find something.
#[inline]
pub(super) fn may_have(class: usize) -> bool {
    COUNTS[class].load(Ordering::Relaxed) != 0
}

/// Takes the bit of some page of this class away, and gives its slice.
pub(super) fn find(class: usize) -> Option<Slice> {
    arena::arenas().find_map(|arena| {
        let map = arena.maps().0[class].get()?;
        bits(arena, map).find(|slice| remove(map, slice.index, class))
    })
}

/// The slices whose bits are set, of all classes.
pub(super) fn all() -> impl Iterator<Item = Slice> {
    arena::arenas().flat_map(|arena| {
        (0..CLASS_COUNT)
            .filter_map(|class| arena.maps().0[class].get())
            .flat_map(move |map| bits(arena, map))
    })
}

/// The slices whose bits are set in a bitmap.
fn bits(arena: &'static Arena, map: &'static Bitmap) -> impl Iterator<Item = Slice> {
    let mut from = 0;
    core::iter::from_fn(move || {
        let index = map.first_set(from, arena.high())?;
        from = index + 1;
        Some(Slice { arena, index })
    })
}
