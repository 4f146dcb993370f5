//! Containers whose memory is the arena's own: counted by the pacing, traced in slices, never in one long step.
//!
//! A container's buffer is itself an object of the arena, reached and marked through its owner. So a type that holds
//! containers needs no destructor, and its pages are swept by copying a bitmap.

mod directory;
mod gc_buffer;
mod gc_map;
mod gc_str;
mod gc_tail;
mod gc_vec;
mod intern_set;
mod late_stack;
mod segment;
mod sliced;

pub use gc_buffer::GcBuffer;
pub use gc_map::GcMap;
pub use gc_str::GcStr;
pub use gc_tail::GcTail;
pub use gc_vec::GcVec;
pub use intern_set::{InternHeader, InternSet};
pub use late_stack::LateStack;
pub use sliced::Sliced;
