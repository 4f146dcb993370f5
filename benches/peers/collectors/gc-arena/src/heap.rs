//! What an object weighs, and what whole collections cost.

use collectors::steps::cpu_ns;
use collectors::{Figure, Outcome, Size};
use gc_arena::{Arena, Collect, Gc, Mutation, Rootable};
use peers_common::proc;
use peers_common::samples::median;

/// 16 bytes.
#[derive(Collect)]
#[collect(no_drop)]
struct Small<'gc> {
    next: Option<Gc<'gc, Small<'gc>>>,
    value: u64,
}

/// Resident bytes for each object of 16 bytes.
pub fn payload_16(size: Size) -> Outcome {
    let before = proc::resident().rss_bytes;
    let arena = Arena::<Rootable![Option<Gc<'_, Small<'_>>>]>::new(|mc| {
        (0..size.live as u64).fold(None, |next, value| Some(Gc::new(mc, Small { next, value })))
    });
    let own = proc::resident().rss_bytes - before;
    let check = arena.mutate(|_, root| root.map_or(0, |first| first.value));
    Outcome::check(check).with(Figure::ObjectBytes, own as f64 / size.live as f64)
}

/// 32 bytes.
#[derive(Collect)]
#[collect(no_drop)]
struct Tree<'gc> {
    left: Option<Gc<'gc, Tree<'gc>>>,
    right: Option<Gc<'gc, Tree<'gc>>>,
    values: [u64; 2],
}

/// A balanced tree of `nodes` nodes.
fn tree<'gc>(mc: &Mutation<'gc>, nodes: usize) -> Option<Gc<'gc, Tree<'gc>>> {
    let below = nodes.checked_sub(1)?;
    let left = tree(mc, below / 2);
    let right = tree(mc, below - below / 2);
    let values = [nodes as u64; 2];
    Some(Gc::new(
        mc,
        Tree {
            left,
            right,
            values,
        },
    ))
}

#[derive(Collect)]
#[collect(no_drop)]
struct Forest<'gc> {
    trees: Vec<Option<Gc<'gc, Tree<'gc>>>>,
}

const TREES: usize = 1_000;

fn plant<'gc>(mc: &Mutation<'gc>, objects: usize) -> Forest<'gc> {
    Forest {
        trees: (0..TREES).map(|_| tree(mc, objects / TREES)).collect(),
    }
}

/// Whole collections with everything alive, one with everything dead, and the end of a heap.
pub fn full(size: Size) -> Outcome {
    let mut arena = Arena::<Rootable![Forest<'_>]>::new(|mc| plant(mc, size.live));
    let each = |ns: u64| ns as f64 / size.live as f64;
    arena.finish_cycle();
    let (mut mark, mut sweep) = (Vec::new(), Vec::new());
    for _ in 0..3 {
        let ((), ns) = cpu_ns(|| _ = arena.finish_marking());
        mark.push(each(ns));
        sweep.push(each(cpu_ns(|| arena.finish_cycle()).1));
    }
    let check = arena.mutate(|_, root| root.trees[0].map_or(0, |t| t.values[1]));
    arena.mutate_root(|_, root| root.trees.clear());
    _ = arena.finish_marking();
    let ((), dead_ns) = cpu_ns(|| arena.finish_cycle());
    arena.mutate_root(|mc, root| *root = plant(mc, size.live));
    let ((), drop_ns) = cpu_ns(|| drop(arena));
    Outcome::check(check)
        .with(Figure::MarkNs, median(&mark))
        .with(Figure::SweepNs, median(&sweep))
        .with(Figure::CollectNs, median(&mark) + median(&sweep))
        .with(Figure::SweepDeadNs, each(dead_ns))
        .with(Figure::DropNs, each(drop_ns))
}
