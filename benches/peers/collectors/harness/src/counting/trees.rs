//! Trees that are built bottom up.

use super::Owned;
use crate::list::Size;
use crate::outcome::{Figure, Outcome};
use crate::steps::cpu_ns;
use peers_common::samples::median;

fn tree<P: Owned>(depth: usize) -> P::Tree {
    match depth {
        0 => P::tree(None, None),
        _ => {
            let left = tree::<P>(depth - 1);
            P::tree(Some(left), Some(tree::<P>(depth - 1)))
        }
    }
}

fn count<P: Owned>(tree: &P::Tree) -> u64 {
    let [left, right] = P::branches(tree);
    1 + left.map_or(0, count::<P>) + right.map_or(0, count::<P>)
}

/// The benchmark of that name.
pub fn binary_trees<P: Owned>(size: Size) -> Outcome {
    let deepest = size.live;
    let mut check = count::<P>(&tree::<P>(deepest + 1));
    let long = tree::<P>(deepest);
    for depth in (4..=deepest).step_by(2) {
        for _ in 0..1 << (deepest - depth + 4) {
            check += count::<P>(&tree::<P>(depth));
        }
    }
    Outcome::check(check + count::<P>(&long))
}

fn big<P: Owned>(nodes: usize) -> Option<P::Big> {
    let below = nodes.checked_sub(1)?;
    let left = big::<P>(below / 2);
    let right = big::<P>(below - below / 2);
    Some(P::big(left, right, [nodes as u64; 2]))
}

const TREES: usize = 1_000;

/// Whole collections, where they can be asked for; then everything is dropped.
pub fn full<P: Owned>(size: Size) -> Outcome {
    let trees: Vec<Option<P::Big>> = (0..TREES).map(|_| big::<P>(size.live / TREES)).collect();
    let each = |ns: u64| ns as f64 / size.live as f64;
    let mut outcome = Outcome::check(trees[0].as_ref().map_or(0, P::big_value));
    if let Some(collect) = P::COLLECT {
        let times: Vec<f64> = (0..3)
            .map(|_| {
                trees.iter().flatten().for_each(P::TOUCH);
                each(cpu_ns(collect).1)
            })
            .collect();
        outcome = outcome.with(Figure::CollectNs, median(&times));
    }
    let ((), ns) = cpu_ns(|| {
        drop(trees);
        if let Some(collect) = P::COLLECT {
            collect();
        }
    });
    outcome.with(Figure::DropNs, each(ns))
}
