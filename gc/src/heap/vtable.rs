//! What the collector knows of a type: a page holds objects of one vtable only. A face makes them.

use std::ptr::NonNull;

use super::Marker;

/// What a vtable's `drop` stores in its second argument when nothing is left to drop.
pub const DROPPED: usize = usize::MAX;

/// The collector's view of a type.
///
/// Aligned so that the low bits of its address are free for a size class: the two together key a space of pages.
#[repr(align(128))]
pub struct VTable {
    /// Bytes of an object; 0 where they differ from object to object ([`Tail`]).
    pub(crate) object_bytes: usize,
    /// Alignment of an object.
    pub(crate) align: usize,
    /// Whether an object may own pointers.
    pub(crate) needs_trace: bool,
    /// Whether an object has a destructor.
    pub(crate) needs_drop: bool,
    /// Whether an object may be dropped on another thread.
    pub(crate) send: bool,
    /// Traces an object, or a slice of a [`Tail`] from the element given.
    ///
    /// # Safety
    ///
    /// The pointer is a live object of the type.
    pub(crate) trace: unsafe fn(NonNull<u8>, usize, &mut Marker),
    /// Drops an object, or at most so many elements of a [`Tail`] from the element given, and says where to go on,
    /// [`DROPPED`] at the end. It says so before it runs a destructor: where that panics, nothing is dropped twice.
    ///
    /// # Safety
    ///
    /// The pointer is a live object of the type, not used again; calls go on where the last one stopped.
    pub(crate) drop: unsafe fn(NonNull<u8>, &mut usize, usize),
    /// The type's name, for reports.
    pub(crate) name: fn() -> &'static str,
}
