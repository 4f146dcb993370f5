//! The waits that collect.

mod kinds;
mod recorder;
mod start;
mod table;
mod waits;
