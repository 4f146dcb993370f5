//! Compiled functions outside of memory: as a listing to read, and as the bytes of `string.dump`.

mod format;
mod listing;
mod load;
mod save;
mod verify;

pub use listing::listing;
pub use load::{is_binary, load};
pub use save::save;
