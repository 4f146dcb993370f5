//! The waits that collect.

mod arena;
mod environment;
mod gil;
mod kinds;
mod recorder;
mod start;
mod table;
mod waits;
