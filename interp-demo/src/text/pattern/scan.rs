//! Walking a subject from match to match.

use super::{Matcher, PatternError};

/// Where a walk stands. It holds no subject, so that a native that calls Lua between two matches can keep it.
///
/// An empty match is not taken at the place where the previous match ended, so `("abc d"):gsub("%w*", "x")` gives `x x`.
#[derive(Clone, Copy, Debug)]
pub struct Scan {
    at: usize,
    last_end: Option<usize>,
    anchored: bool,
    finished: bool,
}

impl Scan {
    /// Starts at byte `start` (from 0). `anchored`: only there.
    #[must_use]
    pub const fn new(start: usize, anchored: bool) -> Self {
        Self {
            at: start,
            last_end: None,
            anchored,
            finished: false,
        }
    }

    /// Goes on, unanchored, at byte `start`, after a match that ended at `last_end`.
    #[must_use]
    pub const fn resume(start: usize, last_end: Option<usize>) -> Self {
        Self {
            at: start,
            last_end,
            anchored: false,
            finished: false,
        }
    }

    /// The next match as start and end; its captures stay in `matcher`, whose subject has `size` bytes.
    ///
    /// # Errors
    /// Those of [`Matcher::match_at`].
    pub fn next_match(
        &mut self,
        matcher: &mut Matcher<'_, '_>,
        size: usize,
    ) -> Result<Option<(usize, usize)>, PatternError> {
        while !self.finished && self.at <= size {
            self.finished = self.anchored;
            let mut start = self.at;
            if !self.anchored {
                match matcher.candidate(start)? {
                    Some(candidate) => start = candidate,
                    None => break,
                }
            }
            if let Some(end) = matcher.match_at(start)?
                && self.last_end != Some(end)
            {
                self.at = end;
                self.last_end = Some(end);
                return Ok(Some((start, end)));
            }
            self.at = start + 1;
        }
        self.finished = true;
        Ok(None)
    }
}
