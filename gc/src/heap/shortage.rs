//! Requests for memory that are refused on purpose, so that tests see what comes of each. Debug builds only.

use std::cell::Cell;

/// Which requests of an arena for memory fail, counted from now on: what stays within the heap limit and what the system has are
/// looked at only after this. Requests that draw on the reserve beyond the limit, because they can't fail, are not counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shortage {
    /// None.
    Never,
    /// The one after so many.
    Once(u64),
    /// All after so many.
    Lasting(u64),
}

/// The shortage of an arena.
pub(super) struct Shortages {
    now: Cell<Shortage>,
}

impl Shortages {
    pub(super) const fn new() -> Self {
        Self {
            now: Cell::new(Shortage::Never),
        }
    }

    /// Sets which requests fail; what is left of the last setting.
    pub(super) fn set(&self, shortage: Shortage) -> Shortage {
        self.now.replace(shortage)
    }

    /// Counts a request; whether it is to fail.
    pub(super) fn refuses(&self) -> bool {
        let (next, refused) = match self.now.get() {
            Shortage::Never => return false,
            Shortage::Once(0) => (Shortage::Never, true),
            Shortage::Once(left) => (Shortage::Once(left - 1), false),
            Shortage::Lasting(0) => (Shortage::Lasting(0), true),
            Shortage::Lasting(left) => (Shortage::Lasting(left - 1), false),
        };
        self.now.set(next);
        refused
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn once_and_lasting() {
        let shortages = Shortages::new();
        let next = || [(); 4].map(|()| shortages.refuses());
        assert_eq!(next(), [false; 4]);
        shortages.set(Shortage::Once(2));
        assert_eq!(next(), [false, false, true, false]);
        shortages.set(Shortage::Lasting(1));
        assert_eq!(next(), [false, true, true, true]);
        assert_eq!(shortages.set(Shortage::Never), Shortage::Lasting(0));
        assert_eq!(next(), [false; 4]);
    }
}
