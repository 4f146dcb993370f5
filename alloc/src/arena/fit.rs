//! Which of the free slices fits a use of a part of it best. Pure.
#![forbid(unsafe_code)]

use crate::units::{UnitMask, Word};

/// Free slices that are looked at.
const CANDIDATES: u32 = 64;

/// The search for a slice of which so many units, from the first on, will be used.
pub(super) struct Fit {
    units: u32,
    seen: u32,
    best: Option<(usize, u32)>,
}

impl Fit {
    pub(super) fn new(units: usize) -> Self {
        Self {
            units: units as u32,
            seen: 0,
            best: None,
        }
    }

    /// Looks at one more free slice, at a higher address than those before; true if the search is over.
    pub(super) fn is_found(&mut self, index: usize, word: Word) -> bool {
        self.seen += 1;
        if word.flight() == 0 {
            let resident = UnitMask::BITS - word.free().leading_zeros();
            let misfit = resident.abs_diff(self.units);
            // The lowest of equals: what lies above may become free as a whole.
            if self.best.is_none_or(|(_, least)| misfit < least) {
                self.best = Some((index, misfit));
            }
        }
        self.seen == CANDIDATES || self.best.is_some_and(|(_, misfit)| misfit == 0)
    }

    /// The best slice seen.
    pub(super) fn best(&self) -> Option<usize> {
        self.best.map(|(index, _)| index)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::{ALL_UNITS, mask_of};

    fn resident(units: usize) -> Word {
        let free = Word::USED.release(ALL_UNITS, 0);
        let gone = mask_of(units..16);
        free.depart(gone).land(gone)
    }

    fn best(units: usize, slices: &[Word]) -> Option<usize> {
        let mut fit = Fit::new(units);
        let _ = slices
            .iter()
            .enumerate()
            .any(|(index, &word)| fit.is_found(index, word));
        fit.best()
    }

    #[test]
    fn the_nearest_resident_part_wins_and_the_lowest_of_equals() {
        let slices = [resident(16), resident(0), resident(5), resident(5)];
        assert_eq!(best(5, &slices), Some(2));
        assert_eq!(best(16, &slices), Some(0));
        assert_eq!(best(1, &slices), Some(1));
        assert_eq!(best(5, &slices[..2]), Some(1));
        assert_eq!(best(5, &slices[..1]), Some(0));
    }

    #[test]
    fn a_slice_in_flight_is_passed_by() {
        let leaving = Word::USED.release(ALL_UNITS, 0).depart(1);
        assert_eq!(best(15, &[leaving]), None);
        assert_eq!(best(15, &[leaving, resident(0)]), Some(1));
    }

    #[test]
    fn the_search_ends() {
        let mut fit = Fit::new(8);
        let seen = (0..).find(|&index| fit.is_found(index, resident(0)));
        assert_eq!(seen, Some(CANDIDATES as usize - 1));
    }
}
