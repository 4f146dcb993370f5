//! Blocks that fit no arena: a mapping for each, with the head of an arena, so that a block's descriptor is found as ever.

use super::layout::{FIRST, MAX_SLICES};
use super::{Arena, Run, SLICE_BYTES, Slice, pending, places};
use crate::os;
use core::ptr::{self, NonNull};
use core::sync::atomic::{AtomicPtr, Ordering};

/// Mappings of huge blocks to unmap. Release publishes a block's last use to the acquire of the purger.
static GIVEN_UP: AtomicPtr<Arena> = AtomicPtr::new(ptr::null_mut());

/// What no system has room for. Asking for it would only use up the addresses that are tried next.
const MAX_BYTES: usize = 1 << 46;

/// Maps memory for one block that fits no arena. It starts at a multiple of `align` slices, and has a descriptor like any
/// other: so it starts in the first GiB of the mapping.
pub(crate) fn map(bytes: usize, align: usize) -> Option<Run> {
    let index = FIRST.next_multiple_of(align.min(MAX_SLICES));
    if bytes > MAX_BYTES || index >= MAX_SLICES {
        return None;
    }
    let arena = Arena::map_head(bytes + index * SLICE_BYTES)?;
    Some(Run {
        ptr: Slice { arena, index }.start(),
        dirty_units: 0,
        zeroed: true,
    })
}

/// Gives the memory of a huge block up, for the purger to unmap.
///
/// # Safety
/// `ptr` came from [`map`], and nobody uses the block or its descriptor any more.
pub(crate) unsafe fn give_up(ptr: NonNull<u8>) {
    // SAFETY: the block starts in the first GiB of its own mapping.
    let arena = unsafe { Slice::of(ptr.addr().get()) }.arena;
    // Before the purger can know of the mapping: it may be gone as soon as it does.
    pending::add(arena.mapped_bytes.load(Ordering::Relaxed));
    let mut top = GIVEN_UP.load(Ordering::Relaxed);
    loop {
        arena.older.store(top, Ordering::Relaxed);
        match GIVEN_UP.compare_exchange_weak(
            top,
            ptr::from_ref(arena).cast_mut(),
            Ordering::Release,
            Ordering::Relaxed,
        ) {
            Ok(_) => break,
            Err(now) => top = now,
        }
    }
}

/// Whether there are blocks to unmap. Relaxed: who gives one up looks at the schedule afterwards.
pub(crate) fn has_given_up() -> bool {
    !GIVEN_UP.load(Ordering::Relaxed).is_null()
}

/// Unmaps the huge blocks that were given up; gives their bytes. With the work lock held: no fork may come in between.
pub(crate) fn unmap_given_up() -> usize {
    let mut next = GIVEN_UP.swap(ptr::null_mut(), Ordering::Acquire);
    let mut bytes = 0;
    // SAFETY: whoever takes the stack is the only one that knows these mappings, whose heads are intact.
    while let Some(arena) = unsafe { next.as_ref() } {
        next = arena.older.load(Ordering::Relaxed);
        let mapped_bytes = arena.mapped_bytes.load(Ordering::Relaxed);
        let base = arena.start();
        places::remove(base.addr().get());
        // SAFETY: the whole mapping, which its block gave up; the header is not used any more.
        unsafe { os::unmap(base, mapped_bytes) };
        pending::sub(mapped_bytes);
        bytes += mapped_bytes;
    }
    bytes
}

/// Bytes of the blocks that were given up and are still mapped, when nobody unmaps them.
pub(super) fn given_up_bytes() -> usize {
    let mut next = GIVEN_UP.load(Ordering::Acquire);
    let mut bytes = 0;
    // SAFETY: the heads of mappings in this stack are intact until it is taken.
    while let Some(mapping) = unsafe { next.as_ref() } {
        bytes += mapping.mapped_bytes.load(Ordering::Relaxed);
        next = mapping.older.load(Ordering::Relaxed);
    }
    bytes
}
