//! What marking does where the code that it calls panics.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};

use super::super::cycle::Goal;
use super::super::vtable::VTable;
use super::*;
use crate::metrics::Cause;

/// An object whose first trace may panic.
struct Node {
    panics: Cell<bool>,
    next: Option<NonNull<u8>>,
}

/// # Safety
///
/// `object` is a live [`Node`].
unsafe fn trace(object: NonNull<u8>, _from: usize, marker: &mut Marker) {
    // SAFETY: the caller's contract.
    let node = unsafe { object.cast::<Node>().as_ref() };
    assert!(!node.panics.take(), "told to");
    if let Some(next) = node.next {
        marker.mark(next);
    }
}

static NODE: VTable = VTable {
    object_bytes: size_of::<Node>(),
    align: align_of::<Node>(),
    needs_trace: true,
    needs_drop: false,
    send: true,
    trace,
    drop: super::super::drop_nothing,
    name: || "Node",
};

#[test]
fn a_rescan_that_panics_is_done_again() {
    let context = Context::new_owned(true);
    let make = |panics, next| {
        let object = context.alloc(&NODE).expect("there is memory");
        let panics = Cell::new(panics);
        // SAFETY: a fresh cell for a node.
        unsafe { object.cast::<Node>().write(Node { panics, next }) };
        object
    };
    let shy = make(true, None);
    let last = make(false, None);
    let first = make(false, Some(last));
    let root = RootTrace {
        root: std::ptr::null(),
        trace: |_, _| (),
    };
    context.start_cycle(Cause::Explicit);
    // Marked where there was no memory to queue them.
    for object in [shy, first] {
        // SAFETY: both are objects.
        let page = unsafe { PageRef::of(object) };
        page.set_marked(page.bit_of(object));
    }
    context.overflowed.set(true);
    let marks = || catch_unwind(AssertUnwindSafe(|| context.run(&root, Goal::Marked)));
    assert!(marks().is_err());
    assert!(marks().is_ok());
    assert!(context.is_marked(last), "named by a marked object");
}
