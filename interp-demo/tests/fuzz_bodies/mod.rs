//! What fuzzers and property tests do with any input: one file for each kind of text that a program may hand to the libraries.

pub mod dump;
pub mod format;
pub mod lua;
pub mod number;
pub mod pack;
pub mod pattern;
