//! `list_allocate`: singly linked, counted nodes with a payload.

use crate::block::{get_cleared, make, put, take};
use crate::list::{Rounds, Size};
use std::io;
use std::ptr::null_mut;

struct Node {
    references: usize,
    next: *mut Node,
    payload: *mut u8,
    payload_bytes: usize,
}

const NODES: usize = 32 * 1024;
const TIMES: usize = 70;

/// Builds lists at the head, and takes them down from there.
pub fn list_allocate(size: &Size) -> io::Result<Rounds> {
    let nodes = size.each(NODES);
    // Shorter lists of more threads, twice as often.
    let times = if size.threads == 1 { TIMES } else { 2 * TIMES };
    Ok(Rounds::copies(size, move |_| {
        for _ in 0..times {
            let head = build(nodes);
            // SAFETY: `head` is the only reference to the list just built.
            unsafe { tear_down(head) };
        }
    }))
}

fn build(nodes: usize) -> *mut Node {
    let mut head: *mut Node = null_mut();
    for _ in 0..nodes {
        // Of the number of nodes, as the original has it: 1 for every power of two from 64 on.
        let payload_bytes = (nodes & 63) | 1;
        head = make(Node {
            references: 1,
            next: head,
            payload: get_cleared(payload_bytes),
            payload_bytes,
        });
    }
    head
}

/// # Safety
/// `head` is null or the only reference to a list of [`build`].
unsafe fn tear_down(mut head: *mut Node) {
    while !head.is_null() {
        // SAFETY: a live node, whose last reference this is.
        unsafe {
            (*head).references -= 1;
            if (*head).references > 0 {
                return;
            }
            let node = take(head);
            put(node.payload, node.payload_bytes);
            head = node.next;
        }
    }
}
