//! The floors: reference counts, owned boxes, and a bump allocator that frees everything at once.

mod bump;
mod count;
mod own;

pub use bump::COLLECTOR as BUMP;
pub use count::COLLECTOR as RC;
pub use own::COLLECTOR as BOX;
