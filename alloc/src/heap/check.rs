//! Walks of a whole heap, for tests and `cfg(sleepy_check)`: what the figures say must be what the pages hold.

use super::inner::Inner;
use crate::arena::UNIT_BYTES;
use crate::page::{Kind, Page, Place};
use crate::size_class::CLASS_COUNT;

/// The pages of a list, by the link that `next` follows.
fn list(
    first: *const Page,
    next: impl Fn(&Page) -> *const Page,
) -> impl Iterator<Item = &'static Page> {
    let mut page = first;
    core::iter::from_fn(move || {
        // SAFETY: pages in the lists of a heap are its own, and their descriptors stay mapped.
        let here: &'static Page = unsafe { page.as_ref() }?;
        page = next(here);
        Some(here)
    })
}

impl Inner {
    /// Checks every page, every list and every figure of a heap that the caller owns.
    ///
    /// # Panics
    /// When something does not hold.
    pub(crate) fn check(&self) {
        let (mut live, mut committed, mut holed, mut open) = (0, 0, 0, 0);
        for page in list(self.pages.get(), |page| page.all_next.get()) {
            page.check();
            assert!(page.is_of(self) && page.kind.get() == Kind::Small);
            let out_units = page.out_units.get() as usize;
            assert_eq!(
                out_units,
                crate::hole::released_units(page),
                "units that are out"
            );
            live += page.used.get() as usize * page.block_bytes.get();
            committed += (page.touched_units() - out_units) * UNIT_BYTES;
            holed += out_units * UNIT_BYTES;
            open += usize::from(page.place.get() == Place::Open);
        }
        for page in list(self.runs.get(), |page| page.all_next.get()) {
            assert!(page.is_of(self) && page.kind.get() != Kind::Small);
            live += page.block_bytes.get();
            committed += page.block_bytes.get();
            if page.kind.get() == Kind::Collector {
                holed += page.bytes() - page.block_bytes.get();
            }
        }
        // A heap that gives pages away counts some of those still.
        if !self.gives_away {
            assert_eq!(self.live.get(), live, "live");
            assert_eq!(self.committed.get(), committed, "committed");
            assert_eq!(self.holed.get(), holed, "holed");
        }
        let in_bins: usize = (0..CLASS_COUNT).map(|class| self.check_bin(class)).sum();
        assert_eq!(open, in_bins, "open pages");
    }

    /// Checks the list of a class; gives its length.
    fn check_bin(&self, class: usize) -> usize {
        let head = self.head(class);
        if head.owner().is_none() {
            return 0;
        }
        // SAFETY: the last page of the list is a page of this heap.
        assert!(unsafe { (*head.prev.get()).next.get().is_null() });
        list(head, |page| page.next.get())
            .inspect(|page| {
                assert!(page.class.get() as usize == class && page.place.get() == Place::Open)
            })
            .count()
    }
}
