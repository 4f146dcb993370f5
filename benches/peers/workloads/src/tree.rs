//! `tree_allocate` and `tree_churn`: full binary trees of counted nodes with payloads.

use crate::block::{get_cleared, make, put, take};
use crate::list::{Rounds, Size};
use std::io;
use std::ptr::null_mut;

struct Node {
    references: usize,
    left: *mut Node,
    right: *mut Node,
    id: usize,
    payload: *mut u8,
    payload_bytes: usize,
}

/// Builds full trees in order, and drops them.
pub fn tree_allocate(size: &Size) -> io::Result<Rounds> {
    let (depth, full) = if size.threads == 1 {
        (16, 24)
    } else {
        (13, 96)
    };
    let times = size.of(full);
    Ok(Rounds::copies(size, move |_| {
        for _ in 0..times {
            let mut next_id = 0;
            let root = build(depth, &mut next_id);
            // SAFETY: `root` is the only reference to the tree just built.
            unsafe { release(root) };
        }
    }))
}

/// Walks a tree in order, and replaces the children of every eighth node by new ones with the same grandchildren.
pub fn tree_churn(size: &Size) -> io::Result<Rounds> {
    let (depth, full) = if size.threads == 1 {
        (15, 160)
    } else {
        (12, 640)
    };
    let walks = size.of(full);
    Ok(Rounds::copies(size, move |_| {
        let root = build(depth, &mut 0);
        for _ in 0..walks {
            // From 1: in a full tree the inner nodes have the odd places, counted from 0, so that from there on only
            // leaves would be hit.
            // SAFETY: `root` is a live tree that nobody else uses.
            unsafe { walk(root, &mut 1) };
        }
        // SAFETY: the only reference.
        unsafe { release(root) };
    }))
}

fn node(left: *mut Node, right: *mut Node, id: usize, payload_bytes: usize) -> *mut Node {
    make(Node {
        references: 1,
        left,
        right,
        id,
        payload: get_cleared(payload_bytes),
        payload_bytes,
    })
}

/// A full tree of `2^depth - 1` nodes, numbered in order.
fn build(depth: usize, next_id: &mut usize) -> *mut Node {
    if depth == 0 {
        return null_mut();
    }
    let left = build(depth - 1, next_id);
    let id = *next_id;
    *next_id += 1;
    let right = build(depth - 1, next_id);
    node(left, right, id, ((depth * 8) & 63) | 1)
}

/// Gives up one reference to a tree.
///
/// # Safety
/// `tree` is null or a live node, and the caller owns one of its references.
unsafe fn release(tree: *mut Node) {
    if tree.is_null() {
        return;
    }
    // SAFETY: a live node; with its last reference it and its references go.
    unsafe {
        (*tree).references -= 1;
        if (*tree).references == 0 {
            let node = take(tree);
            put(node.payload, node.payload_bytes);
            release(node.left);
            release(node.right);
        }
    }
}

/// # Safety
/// `tree` is null or a live tree that nobody else uses.
unsafe fn walk(tree: *mut Node, counter: &mut usize) {
    if tree.is_null() {
        return;
    }
    // SAFETY: a live node; its children are live or null.
    unsafe {
        walk((*tree).left, counter);
        let inner = !(*tree).left.is_null() && !(*tree).right.is_null();
        if (*counter).is_multiple_of(8) && inner {
            (*tree).left = renew((*tree).left, *counter);
            (*tree).right = renew((*tree).right, *counter);
        }
        *counter += 1;
        walk((*tree).right, counter);
    }
}

/// A new node in the place of `old`, which goes.
///
/// # Safety
/// `old` is a live node, and the caller owns its only reference.
unsafe fn renew(old: *mut Node, counter: usize) -> *mut Node {
    // SAFETY: `old` is live; its children move to the new node, so releasing it must not find them.
    unsafe {
        let (left, right, id) = ((*old).left, (*old).right, (*old).id);
        let new = node(left, right, id, (counter & 63) | 1);
        ((*old).left, (*old).right) = (null_mut(), null_mut());
        release(old);
        new
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// # Safety
    /// `tree` is null or a live tree.
    unsafe fn ids(tree: *const Node, all: &mut Vec<usize>) {
        if !tree.is_null() {
            // SAFETY: a live node.
            unsafe {
                ids((*tree).left, all);
                all.push((*tree).id);
                ids((*tree).right, all);
            }
        }
    }

    #[test]
    fn a_walk_keeps_the_tree_and_renews_an_eighth() {
        let root = build(8, &mut 0);
        // SAFETY: one tree, used here only.
        unsafe {
            let old: *mut Node = (*(*root).left).left;
            walk(root, &mut 1);
            let mut all = Vec::new();
            ids(root, &mut all);
            assert_eq!(all, (0..255).collect::<Vec<_>>());
            // Place 64 of 255 is the left child; its children were renewed.
            assert_ne!((*(*root).left).left, old);
            release(root);
        }
    }
}
