//! Cells whose contents may be, or hold, [`Gc`] pointers: a store needs a write barrier.
//!
//! | lock | is a | use it for |
//! |---|---|---|
//! | [`Lock`] | [`Cell`] | small `Copy` values: a pointer, an `Option` of one, a number |
//! | [`RefLock`] | [`RefCell`] | anything that is changed in place |
//! | [`OnceLock`] | [`OnceCell`] | what is set once, after its object was made |
//! | [`ForwardLock`] | [`Cell`] | the places of a large container: the barrier is for what is stored, not for the container |
//!
//! As fields they are opened with [`unlock!`](crate::barrier::unlock); a [`Gc`] of one can be used directly. To read needs no barrier.
//!
//! ```
//! use sleepy_gc::{Arena, Gc, Rootable, lock::{GcRefLock, RefLock}};
//!
//! let arena = Arena::<Rootable![GcRefLock<'_, Vec<Gc<'_, u32>>>]>::new(|mc| Gc::new(mc, RefLock::new(Vec::new())));
//! arena.mutate(|mc, root| {
//!     root.borrow_mut(mc).push(Gc::new(mc, 7));
//!     assert_eq!(*root.borrow()[0], 7);
//! });
//! ```

mod cell;
mod forward;
mod once_cell;
mod ref_cell;

#[cfg(doc)]
use std::cell::{Cell, OnceCell, RefCell};

#[cfg(doc)]
use crate::Gc;

pub use cell::{GcLock, Lock};
pub use forward::ForwardLock;
pub use once_cell::{GcOnceLock, OnceLock};
pub use ref_cell::{GcRefLock, RefLock};
