//! The waits that collect.

mod arena;
mod c_waits;
mod environment;
mod gil;
mod kinds;
mod recorder;
mod start;
mod table;
mod waits;
