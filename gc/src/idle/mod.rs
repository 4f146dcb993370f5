//! Waits that collect: a thread that would sleep first works, then lends its heap, then sleeps.

pub mod collector;

pub use collector::{Collector, IdleHint, StackDepth};
