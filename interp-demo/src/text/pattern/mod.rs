//! Lua patterns.
//!
//! [`Matcher`] tries one pattern at one place of one subject by backtracking, exactly as far as needed: a malformed pattern
//! is an error only when matching reaches the fault. [`Scan`] walks a subject from match to match, as `gmatch` and `gsub` do.
//! Recursion is bounded; a pattern that needs more is [`PatternError::TooComplex`].

mod class;
mod matcher;
mod replace;
mod scan;
#[cfg(test)]
mod tests;

pub use matcher::{Captured, Matcher};
pub use replace::expand;
pub use scan::Scan;

use thiserror::Error;

/// Why a pattern or a replacement was refused; the text is the message of the Lua error.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum PatternError {
    /// The pattern ends in a lone percent sign.
    #[error("malformed pattern (ends with '%')")]
    EndsWithPercent,
    /// A set is not closed.
    #[error("malformed pattern (missing ']')")]
    MissingBracket,
    /// `%f` without a set.
    #[error("missing '[' after '%f' in pattern")]
    FrontierWithoutSet,
    /// `%b` without its two characters.
    #[error("malformed pattern (missing arguments to '%b')")]
    BalanceWithoutArguments,
    /// A capture index that names no finished capture.
    #[error("invalid capture index %{0}")]
    CaptureIndex(i32),
    /// A closing parenthesis without an opening one.
    #[error("invalid pattern capture")]
    UnopenedCapture,
    /// An opening parenthesis without a closing one.
    #[error("unfinished capture")]
    UnfinishedCapture,
    /// More captures than a pattern may have.
    #[error("too many captures")]
    TooManyCaptures,
    /// The pattern nests too deep.
    #[error("pattern too complex")]
    TooComplex,
    /// Whoever asked for the match has given up.
    #[error("interrupted!")]
    Stopped,
    /// A percent sign in a replacement before something that is neither a digit nor a percent sign.
    #[error("invalid use of '%' in replacement string")]
    Replacement,
}

/// Whether `pattern` has no magic characters, so that it matches only itself.
#[must_use]
#[inline]
pub fn is_plain(pattern: &[u8]) -> bool {
    !pattern.iter().any(|b| {
        matches!(
            b,
            b'^' | b'$' | b'*' | b'+' | b'?' | b'.' | b'(' | b'[' | b'%' | b'-'
        )
    })
}

/// Where `needle` first occurs in `text`.
#[must_use]
pub fn find_plain(text: &[u8], needle: &[u8]) -> Option<usize> {
    match needle {
        &[byte] => memchr::memchr(byte, text),
        _ => memchr::memmem::find(text, needle),
    }
}
