//! Replacement strings of `gsub`.

use super::{Captured, Matcher, PatternError};
use crate::text::number;

/// Appends `replacement` with `%0` to `%9` and `%%` expanded for the last match of `matcher`, from `start` to `end` of `subject`.
///
/// # Errors
/// When a percent sign stands before something else, or a capture does not exist.
pub fn expand(
    out: &mut Vec<u8>,
    replacement: &[u8],
    subject: &[u8],
    matcher: &Matcher<'_, '_>,
    start: usize,
    end: usize,
) -> Result<(), PatternError> {
    let mut rest = replacement;
    while let Some(percent) = memchr::memchr(b'%', rest) {
        out.extend_from_slice(&rest[..percent]);
        match rest.get(percent + 1) {
            Some(b'%') => out.push(b'%'),
            Some(b'0') => out.extend_from_slice(&subject[start..end]),
            Some(digit @ b'1'..=b'9') => {
                match matcher.capture(usize::from(digit - b'1'), start, end)? {
                    Captured::Text(text) => out.extend_from_slice(text),
                    Captured::Position(position) => number::write_int(out, position as i64),
                }
            }
            _ => return Err(PatternError::Replacement),
        }
        rest = &rest[percent + 2..];
    }
    out.extend_from_slice(rest);
    Ok(())
}
