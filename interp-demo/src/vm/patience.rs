//! Natives that may work for long by themselves look now and then whether the program is to stop.

use std::cell::Cell;

use super::error::Error;
use super::state::Ctx;

/// After so many steps the clock is looked at: a step is some ten instructions, so that is every 50 µs or so.
const STEPS: usize = 1 << 14;

impl<'gc> Ctx<'gc> {
    /// Whether the program is to stop. [`Ctx::look`] gives the error.
    #[must_use]
    pub fn is_to_stop(self) -> bool {
        crate::runtime::is_to_stop(self)
    }

    /// Looks whether the program is to stop.
    ///
    /// # Errors
    ///
    /// If it was interrupted or its time is over.
    pub fn look(self) -> Result<(), Error<'gc>> {
        crate::runtime::look(self)
    }
}

/// What a native has left before it looks again.
pub struct Patience<'gc> {
    ctx: Ctx<'gc>,
    left: Cell<usize>,
}

impl<'gc> Patience<'gc> {
    /// All of it.
    #[must_use]
    pub fn new(ctx: Ctx<'gc>) -> Patience<'gc> {
        Patience {
            ctx,
            left: Cell::new(STEPS),
        }
    }

    /// Counts a step.
    ///
    /// # Errors
    ///
    /// If the program was interrupted or its time is over.
    #[inline]
    pub fn step(&self) -> Result<(), Error<'gc>> {
        let left = self.left.get();
        if left > 0 {
            self.left.set(left - 1);
            return Ok(());
        }
        self.look()
    }

    #[cold]
    fn look(&self) -> Result<(), Error<'gc>> {
        self.left.set(STEPS);
        self.ctx.look()
    }
}
