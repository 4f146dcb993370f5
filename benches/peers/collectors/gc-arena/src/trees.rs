//! Binary trees, and GCBench.

use collectors::{Outcome, Size};
use gc_arena::metrics::Pacing;
use gc_arena::{Arena, Collect, Gc, Lock, Mutation, Rootable, Static, barrier::unlock};
use std::hint::black_box;

#[derive(Collect)]
#[collect(no_drop)]
struct Tree<'gc> {
    left: Option<Gc<'gc, Tree<'gc>>>,
    right: Option<Gc<'gc, Tree<'gc>>>,
}

fn tree<'gc>(mc: &Mutation<'gc>, depth: usize) -> Gc<'gc, Tree<'gc>> {
    let (left, right) = match depth {
        0 => (None, None),
        _ => (Some(tree(mc, depth - 1)), Some(tree(mc, depth - 1))),
    };
    Gc::new(mc, Tree { left, right })
}

fn count(tree: &Tree<'_>) -> u64 {
    1 + tree.left.map_or(0, |t| count(&t)) + tree.right.map_or(0, |t| count(&t))
}

/// The benchmark of that name.
pub fn binary_trees(size: Size, pacing: Pacing) -> Outcome {
    let deepest = size.live;
    let mut arena = Arena::<Rootable![Option<Gc<'_, Tree<'_>>>]>::new(|_| None);
    arena.metrics().set_pacing(pacing);
    let mut check = arena.mutate(|mc, _| count(&tree(mc, deepest + 1)));
    arena.collect_debt();
    arena.mutate_root(|mc, root| *root = Some(tree(mc, deepest)));
    arena.collect_debt();
    for depth in (4..=deepest).step_by(2) {
        for _ in 0..1 << (deepest - depth + 4) {
            check += arena.mutate(|mc, _| count(&tree(mc, depth)));
            arena.collect_debt();
        }
    }
    check += arena.mutate(|_, root| root.map_or(0, |t| count(&t)));
    Outcome::check(check)
}

type Link<'gc> = Lock<Option<Gc<'gc, Node<'gc>>>>;

#[derive(Collect)]
#[collect(no_drop)]
struct Node<'gc> {
    left: Link<'gc>,
    right: Link<'gc>,
    i: i32,
    j: i32,
}

fn node<'gc>(
    mc: &Mutation<'gc>,
    left: Option<Gc<'gc, Node<'gc>>>,
    right: Option<Gc<'gc, Node<'gc>>>,
) -> Gc<'gc, Node<'gc>> {
    Gc::new(
        mc,
        Node {
            left: Lock::new(left),
            right: Lock::new(right),
            i: 0,
            j: 0,
        },
    )
}

fn bottom_up<'gc>(mc: &Mutation<'gc>, depth: usize) -> Gc<'gc, Node<'gc>> {
    match depth {
        0 => node(mc, None, None),
        _ => {
            let left = bottom_up(mc, depth - 1);
            node(mc, Some(left), Some(bottom_up(mc, depth - 1)))
        }
    }
}

fn populate<'gc>(mc: &Mutation<'gc>, depth: usize, top: Gc<'gc, Node<'gc>>) {
    if depth > 0 {
        let (left, right) = (node(mc, None, None), node(mc, None, None));
        let top = Gc::write(mc, top);
        unlock!(top, Node, left).set(Some(left));
        unlock!(top, Node, right).set(Some(right));
        populate(mc, depth - 1, left);
        populate(mc, depth - 1, right);
    }
}

fn count_nodes(node: &Node<'_>) -> u64 {
    let own = 1 + (node.i + node.j) as u64;
    own + node.left.get().map_or(0, |n| count_nodes(&n))
        + node.right.get().map_or(0, |n| count_nodes(&n))
}

#[derive(Collect)]
#[collect(no_drop)]
struct Long<'gc> {
    tree: Option<Gc<'gc, Node<'gc>>>,
    array: Option<Gc<'gc, Static<Box<[f64]>>>>,
}

/// Boehm's benchmark.
pub fn gcbench(size: Size, pacing: Pacing) -> Outcome {
    let stretch = size.live;
    let mut arena = Arena::<Rootable![Long<'_>]>::new(|_| Long {
        tree: None,
        array: None,
    });
    arena.metrics().set_pacing(pacing);
    let mut check = arena.mutate(|mc, _| count_nodes(&bottom_up(mc, stretch)));
    arena.collect_debt();
    arena.mutate_root(|mc, root| {
        let top = node(mc, None, None);
        populate(mc, stretch - 2, top);
        let array: Box<[f64]> = (0..500_000).map(|i| 1.0 / f64::from(i + 1)).collect();
        *root = Long {
            tree: Some(top),
            array: Some(Gc::new(mc, Static(array))),
        };
    });
    arena.collect_debt();
    for depth in (4..=stretch - 2).step_by(2) {
        let nodes = |depth: usize| (2usize << depth) - 1;
        let times = 2 * nodes(stretch) / nodes(depth);
        for _ in 0..times {
            check += arena.mutate(|mc, _| {
                let top = node(mc, None, None);
                populate(mc, depth, top);
                u64::from(black_box(top).left.get().is_some())
            });
            arena.collect_debt();
        }
        for _ in 0..times {
            check += arena.mutate(|mc, _| {
                let top = bottom_up(mc, depth);
                u64::from(black_box(top).left.get().is_some())
            });
            arena.collect_debt();
        }
    }
    check += arena.mutate(|_, root| {
        let numbers = root.array.map_or(0, |a| a.0.len() as u64);
        numbers + root.tree.map_or(0, |t| count_nodes(&t))
    });
    Outcome::check(check)
}
