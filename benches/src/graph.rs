//! The object graphs that the benches build.

use sleepy_gc::barrier::unlock;
use sleepy_gc::collections::GcVec;
use sleepy_gc::{Arena, Collect, Gc, Lock, Mutation, Rootable};

/// A node of a binary tree without payload.
#[derive(Collect)]
#[collect(no_drop)]
pub struct Tree<'gc> {
    left: Option<Gc<'gc, Tree<'gc>>>,
    right: Option<Gc<'gc, Tree<'gc>>>,
}

impl<'gc> Tree<'gc> {
    /// A full tree with `2^(depth + 1) - 1` nodes.
    pub fn build(mc: &Mutation<'gc>, depth: u32) -> Gc<'gc, Tree<'gc>> {
        let (left, right) = match depth.checked_sub(1) {
            None => (None, None),
            Some(depth) => (Some(Self::build(mc, depth)), Some(Self::build(mc, depth))),
        };
        Gc::new(mc, Tree { left, right })
    }

    /// The number of nodes.
    pub fn count(&self) -> usize {
        1 + self.left.map_or(0, |t| t.count()) + self.right.map_or(0, |t| t.count())
    }
}

/// The root of an arena that holds a tree.
#[derive(Collect)]
#[collect(no_drop)]
pub struct TreeRoot<'gc> {
    /// The tree that is live, if any.
    pub tree: Option<Gc<'gc, Tree<'gc>>>,
}

/// An arena without a tree yet.
pub fn tree_arena() -> Arena<Rootable![TreeRoot<'_>]> {
    Arena::new(|_| TreeRoot { tree: None })
}

/// A cell of a singly linked list.
#[derive(Collect)]
#[collect(no_drop)]
pub struct Chain<'gc> {
    value: u64,
    next: Option<Gc<'gc, Chain<'gc>>>,
}

impl<'gc> Chain<'gc> {
    /// A cell in front of `next`.
    pub fn cons(
        mc: &Mutation<'gc>,
        value: u64,
        next: Option<Gc<'gc, Chain<'gc>>>,
    ) -> Gc<'gc, Chain<'gc>> {
        Gc::new(mc, Chain { value, next })
    }

    /// The sum of the values from here on.
    pub fn sum(&self) -> u64 {
        let (mut sum, mut next) = (self.value, self.next);
        while let Some(cell) = next {
            sum += cell.value;
            next = cell.next;
        }
        sum
    }
}

/// The root of an arena that holds a list.
#[derive(Collect)]
#[collect(no_drop)]
pub struct ChainRoot<'gc> {
    /// The first cell.
    pub head: Option<Gc<'gc, Chain<'gc>>>,
}

/// An arena with a list of `cells` cells.
pub fn chain_arena(cells: usize) -> Arena<Rootable![ChainRoot<'_>]> {
    Arena::new(|mc| {
        let mut head = None;
        for n in 0..cells as u64 {
            head = Some(Chain::cons(mc, n, head));
        }
        ChainRoot { head }
    })
}

/// A node that points to another.
#[derive(Collect)]
#[collect(no_drop)]
pub struct Node<'gc> {
    edge: Lock<Option<Gc<'gc, Node<'gc>>>>,
}

impl<'gc> Node<'gc> {
    /// Stores the edge.
    pub fn set(this: Gc<'gc, Self>, mc: &Mutation<'gc>, to: Gc<'gc, Self>) {
        unlock!(Gc::write(mc, this), Node, edge).set(Some(to));
    }
}

/// The root of an arena that holds an array of nodes.
#[derive(Collect)]
#[collect(no_drop)]
pub struct ArrayRoot<'gc> {
    /// The nodes.
    pub nodes: GcVec<'gc, Gc<'gc, Node<'gc>>>,
}

/// An arena with an array of `nodes` nodes.
pub fn array_arena(nodes: usize) -> Arena<Rootable![ArrayRoot<'_>]> {
    Arena::new(|mc| {
        let array = GcVec::new();
        for _ in 0..nodes {
            let edge = Lock::new(None);
            array.push(mc, Gc::new(mc, Node { edge }));
        }
        ArrayRoot { nodes: array }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_graphs_have_the_sizes_they_claim() {
        let mut trees = tree_arena();
        let nodes = trees.mutate_root(|mc, root| {
            root.tree = Some(Tree::build(mc, 5));
            root.tree.map_or(0, |t| t.count())
        });
        assert_eq!(nodes, 63);
        let sum = chain_arena(1_000).mutate(|_, root| root.head.map_or(0, |c| c.sum()));
        assert_eq!(sum, 499_500);
        let nodes = array_arena(1_000).mutate(|mc, root| {
            if let (Some(first), Some(last)) = (root.nodes.get(0), root.nodes.last()) {
                Node::set(first, mc, last);
                assert!(first.edge.get().is_some_and(|to| Gc::ptr_eq(to, last)));
            }
            root.nodes.len()
        });
        assert_eq!(nodes, 1_000);
    }
}
