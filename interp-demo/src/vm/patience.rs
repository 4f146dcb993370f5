//! Natives that may work for long by themselves look now and then whether the program is to stop.

use std::cell::Cell;

use super::error::Error;
use super::state::Ctx;
use super::string::LuaStr;

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

/// Moving so many values counts as a look's worth of work.
const MANY_VALUES: u32 = 1 << 10;

impl<'gc> Ctx<'gc> {
    /// To be called where `count` values are moved at once, which loops and calls do not count: looks whether the program is to stop,
    /// if they are many.
    ///
    /// # Errors
    ///
    /// As [`Ctx::look`].
    #[inline]
    pub fn look_for(self, count: u32) -> Result<(), Error<'gc>> {
        if count < MANY_VALUES {
            Ok(())
        } else {
            self.look()
        }
    }
}

impl<'gc> Ctx<'gc> {
    /// To be called before a text is read through: looks whether the program is to stop, if it is long. A loop of such calls does not
    /// come to safe points often.
    ///
    /// # Errors
    ///
    /// As [`Ctx::look`].
    #[inline]
    pub fn look_in(self, text: LuaStr<'gc>) -> Result<(), Error<'gc>> {
        if is_long(text) { self.look() } else { Ok(()) }
    }
}

/// Whether reading a text takes long.
#[inline(always)]
pub(super) fn is_long(text: LuaStr<'_>) -> bool {
    text.len() >= PIECE_BYTES
}

/// Bytes of a large text are worked on in pieces of so many, between which a native looks.
pub const PIECE_BYTES: usize = 1 << 20;

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
