//! Text as Lua sees it: bytes in, bytes out, no collector and no interpreter state.
//!
//! Everything here is a plain function over byte slices, so that the lexer, the virtual machine and the standard library
//! share one reading of numbers, patterns, formats and binary layouts, and so that each can be tested without a heap.
//! Only [`date`] talks to the C library (for the time zone).

pub mod date;
pub mod format;
pub mod mime;
pub mod number;
pub mod pack;
pub mod pattern;
pub mod utf8;
