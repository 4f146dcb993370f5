//! The error of a source text that is no Lua.

use std::fmt;

/// Why a source text does not compile.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
pub struct SyntaxError {
    /// The whole message, `file:line: what near 'token'`; it may hold any bytes of the source.
    pub message: Vec<u8>,
    /// Whether the text ended too soon: with more of it, it could be right.
    pub incomplete: bool,
}

impl fmt::Display for SyntaxError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&String::from_utf8_lossy(&self.message))
    }
}

impl fmt::Debug for SyntaxError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SyntaxError({self})")
    }
}
