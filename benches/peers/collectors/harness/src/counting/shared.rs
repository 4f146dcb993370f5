//! What needs pointers that may be copied, to objects that change.

use super::Shared;
use crate::list::{EDGES, FRESH, STEP_BATCH, Size, WRITE_BATCH};
use crate::outcome::{Figure, Outcome};
use crate::steps::Steps;
use std::collections::VecDeque;
use std::hint::black_box;
use workloads::random::Random;

fn bottom_up<P: Shared>(depth: usize) -> P::Node {
    let node = P::node();
    if depth > 0 {
        let left = bottom_up::<P>(depth - 1);
        P::set_branches(&node, &left, &bottom_up::<P>(depth - 1));
    }
    node
}

fn populate<P: Shared>(depth: usize, top: &P::Node) {
    if depth > 0 {
        let (left, right) = (P::node(), P::node());
        P::set_branches(top, &left, &right);
        populate::<P>(depth - 1, &left);
        populate::<P>(depth - 1, &right);
    }
}

/// Boehm's benchmark.
pub fn gcbench<P: Shared>(size: Size) -> Outcome {
    let stretch = size.live;
    let mut check = P::count(&bottom_up::<P>(stretch));
    let long = P::node();
    populate::<P>(stretch - 2, &long);
    let array: Box<[f64]> = (0..500_000).map(|i| 1.0 / f64::from(i + 1)).collect();
    for depth in (4..=stretch - 2).step_by(2) {
        let nodes = |depth: usize| (2usize << depth) - 1;
        let times = 2 * nodes(stretch) / nodes(depth);
        for _ in 0..times {
            let top = P::node();
            populate::<P>(depth, &top);
            black_box(&top);
            check += 1;
        }
        for _ in 0..times {
            black_box(&bottom_up::<P>(depth));
            check += 1;
        }
    }
    let numbers = black_box(array).len() as u64;
    Outcome::check(check + numbers + P::count(&long))
}

fn check<P: Shared>(nodes: &[P::Graph]) -> u64 {
    let ids = nodes
        .iter()
        .flat_map(|node| (0..EDGES).map(move |e| (e as u64 + 1) * P::edge_id(node, e)));
    ids.fold(0, u64::wrapping_add)
}

/// Stores only.
pub fn writes<P: Shared>(size: Size) -> Outcome {
    let nodes: Vec<P::Graph> = (0..size.live).map(|id| P::graph(id as u64)).collect();
    let mut random = Random::new(2);
    for _ in 0..size.ops / WRITE_BATCH * WRITE_BATCH {
        let from = &nodes[random.below(size.live)];
        let to = &nodes[random.below(size.live)];
        P::set_edge(from, random.below(EDGES), to);
    }
    let outcome = Outcome::check(check::<P>(&nodes));
    // Counted pointers in circles stay anyway; and of deep structures the drop would need a deep stack.
    std::mem::forget(nodes);
    outcome
}

/// Stores, every [`FRESH`]th of a new node: the collector begins its cycles when it likes. What is measured is the batch of
/// stores, since the collector runs inside of it.
pub fn writes_and_allocates<P: Shared>(size: Size) -> Outcome {
    let nodes: Vec<P::Graph> = (0..size.live).map(|id| P::graph(id as u64)).collect();
    let mut random = Random::new(2);
    let mut steps = Steps::new();
    let mut id = size.live as u64;
    for _ in 0..size.ops / WRITE_BATCH {
        steps.measure(|| {
            for n in 0..WRITE_BATCH {
                let from = &nodes[random.below(size.live)];
                let edge = |random: &mut Random| random.below(EDGES);
                if n % FRESH == 0 {
                    id += 1;
                    let new = P::graph(id);
                    P::set_edge(from, edge(&mut random), &new);
                } else {
                    let to = &nodes[random.below(size.live)];
                    P::set_edge(from, edge(&mut random), to);
                }
            }
            false
        });
    }
    let outcome = Outcome::check(check::<P>(&nodes));
    std::mem::forget(nodes);
    steps.into_figures(outcome, Figure::MaxStepUs, Figure::P99StepUs)
}

/// A list of [`STEP_BATCH`] cells with the values from `first` on.
fn list<P: Shared>(first: u64) -> P::Queue {
    let head = P::queue(first);
    let mut tail = head.clone();
    for value in first + 1..first + STEP_BATCH as u64 {
        let new = P::queue(value);
        P::set_next(&tail, &new);
        tail = new;
    }
    head
}

/// A queue that is pushed to and popped from, a list of cells at a time: one list of all would be too deep for those who
/// mark by recursion. What is measured is the batch, since the collector runs inside of it.
pub fn pauses<P: Shared>(size: Size) -> Outcome {
    let batch = STEP_BATCH as u64;
    let lists = size.live as u64 / batch + 1;
    let mut queue: VecDeque<P::Queue> = (0..lists).map(|n| list::<P>(n * batch)).collect();
    let mut check = 0u64;
    let mut steps = Steps::new();
    for n in 0..size.ops as u64 / batch {
        steps.measure(|| {
            queue.push_back(list::<P>((lists + n) * batch));
            let mut first = queue.pop_front();
            while let Some(cell) = first {
                let (next, value) = P::next(&cell);
                check += value;
                first = next;
            }
            false
        });
    }
    let outcome = Outcome::check(check).live(size.live * 32);
    std::mem::forget(queue);
    steps.into_figures(outcome, Figure::MaxStepUs, Figure::P99StepUs)
}
