//! A list in the shape that gc-arena's users write: this crate depends on the package `gc-arena` and nothing else, so
//! the derive has to find the traits there. Its tests use every item of gc-arena 0.7.

use gc_arena::{Collect, Gc, Mutation, RefLock};

/// A node of a doubly linked list.
#[derive(Collect)]
#[collect(no_drop)]
pub struct Node<'gc, T> {
    prev: Option<NodePtr<'gc, T>>,
    next: Option<NodePtr<'gc, T>>,
    /// What the node holds.
    pub value: T,
}

/// A pointer to a node.
pub type NodePtr<'gc, T> = Gc<'gc, RefLock<Node<'gc, T>>>;

/// Makes a node that is linked to no other.
pub fn node<'gc, T: Collect<'gc> + 'gc>(mc: &Mutation<'gc>, value: T) -> NodePtr<'gc, T> {
    Gc::new(
        mc,
        RefLock::new(Node {
            prev: None,
            next: None,
            value,
        }),
    )
}

/// Links two nodes.
pub fn join<'gc, T>(mc: &Mutation<'gc>, left: NodePtr<'gc, T>, right: NodePtr<'gc, T>) {
    left.borrow_mut(mc).next = Some(right);
    right.borrow_mut(mc).prev = Some(left);
}

/// The nodes from one on.
pub fn walk<'gc, T>(from: NodePtr<'gc, T>) -> impl Iterator<Item = NodePtr<'gc, T>> {
    std::iter::successors(Some(from), |node| node.borrow().next)
}
