//! The waits that collect.

mod arena;
mod kinds;
mod recorder;
mod start;
mod table;
mod waits;
