//! The heap of an arena and its collector.
//!
//! ```text
//! Gc ─▶ cell in a page ─(slice word)▶ Page ─▶ vtable, mark and alloc bits
//! Context ─▶ cache ─▶ Space (vtable, class) ─▶ open Page ─▶ reserved cells
//! ```
//!
//! The core knows vtables: no `Collect`, no `Gc`, no `Mutation`. These are the face's, which stands on it (`face.rs`), as another
//! can (`raw`).
//!
//! One noun a file: `source` (memory), `page` (side tables), `space` (pages of a type), `alloc`, `mark`, `special` (weak
//! containers), `sweep`, `cycle` (phases), `generations` (marks that stay), `context` (the state of it all).

mod alloc;
mod census;
mod context;
mod cycle;
mod delegate;
mod events;
mod generations;
mod lap;
mod mark;
mod meter;
mod nursery;
mod page;
mod queue;
#[cfg(debug_assertions)]
mod shortage;
mod size_class;
mod source;
mod space;
mod special;
mod sweep;
mod tail;
mod verify;
mod vtable;
mod waiting;
mod zeal;

use std::ptr::NonNull;

pub use context::Context;
pub use cycle::Goal;
pub(crate) use cycle::RootTrace;
pub(crate) use delegate::{Door, Owned};
pub use mark::Marker;
#[cfg(debug_assertions)]
pub use shortage::Shortage;
pub(crate) use special::{Link, Stage, WeakOps};
pub(crate) use tail::Tail;
pub use vtable::{DROPPED, VTable};
pub use zeal::set_zeal;

/// Whether the value of an object that a weak pointer names is still there.
pub(crate) fn is_allocated(object: NonNull<u8>) -> bool {
    // SAFETY: a weak pointer names an object, or a cell that it holds.
    let page = unsafe { page::PageRef::of(object) };
    page.is_allocated(page.bit_of(object))
}

/// The `drop` of types without a destructor.
///
/// # Safety
///
/// None.
pub(crate) unsafe fn drop_nothing(_object: NonNull<u8>, from: &mut usize, _limit: usize) {
    *from = DROPPED;
}

/// The `trace` of types without pointers.
///
/// # Safety
///
/// None.
pub(crate) unsafe fn trace_nothing(_object: NonNull<u8>, _from: usize, _marker: &mut Marker) {}

/// Ends the process: there is no memory, and the caller can't go on without.
#[cold]
pub(crate) fn out_of_memory() -> ! {
    eprintln!("sleepy-gc: out of memory");
    std::process::abort()
}
