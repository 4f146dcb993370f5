//! A bump allocator: each tree and each list is a region that is reset as a whole. Nothing can free less, so this is the
//! limit for what allocation costs.

use bumpalo::Bump;
use collectors::list::{CHURN_CELLS, SHORT_BATCH};
use collectors::steps::cpu_ns;
use collectors::{Collector, Figure, NotDone, Outcome, Result, Size};
use peers_common::proc;
use std::hint::black_box;
use workloads::random::Random;

/// Regions.
pub const COLLECTOR: Collector = Collector {
    name: "bump",
    version: "bumpalo 3",
    run,
    recursive: false,
};

fn run(workload: &str, size: Size) -> Result {
    Ok(match workload {
        "binary_trees" => binary_trees(size),
        "short_lived" => short_lived(size),
        "list_churn" => list_churn(size),
        "payload_16" => payload_16(size),
        "full_1m" | "full_10m" => full(size),
        _ => return Err(NotDone("frees whole regions only")),
    })
}

struct Tree<'b> {
    left: Option<&'b Tree<'b>>,
    right: Option<&'b Tree<'b>>,
}

fn tree(bump: &Bump, depth: usize) -> &Tree<'_> {
    let (left, right) = match depth {
        0 => (None, None),
        _ => (Some(tree(bump, depth - 1)), Some(tree(bump, depth - 1))),
    };
    bump.alloc(Tree { left, right })
}

fn count(tree: &Tree<'_>) -> u64 {
    1 + tree.left.map_or(0, count) + tree.right.map_or(0, count)
}

fn binary_trees(size: Size) -> Outcome {
    let deepest = size.live;
    let mut bump = Bump::new();
    let mut check = count(tree(&bump, deepest + 1));
    bump.reset();
    let long_bump = Bump::new();
    let long = tree(&long_bump, deepest);
    for depth in (4..=deepest).step_by(2) {
        for _ in 0..1 << (deepest - depth + 4) {
            check += count(tree(&bump, depth));
            bump.reset();
        }
    }
    Outcome::check(check + count(long))
}

fn short_lived(size: Size) -> Outcome {
    let mut bump = Bump::new();
    let mut check = 0u64;
    for batch in 0..size.ops / SHORT_BATCH {
        for n in 0..SHORT_BATCH as u64 {
            check += black_box(bump.alloc([batch as u64, n]))[1];
        }
        bump.reset();
    }
    Outcome::check(check)
}

// Read by nobody but the head's last value: the others are there to be written.
#[allow(dead_code)]
struct Cell<'b> {
    next: Option<&'b Cell<'b>>,
    values: [u64; 5],
}

fn list_churn(size: Size) -> Outcome {
    let lists = size.live / CHURN_CELLS;
    let mut bumps: Vec<(Bump, u64)> = (0..lists).map(|_| (Bump::new(), 0)).collect();
    let mut random = Random::new(1);
    let mut check = 0u64;
    for n in 0..size.ops / CHURN_CELLS {
        let place = if n < lists { n } else { random.below(lists) };
        let (bump, head) = &mut bumps[place];
        check += *head;
        bump.reset();
        let first = (0..CHURN_CELLS as u64).fold(None, |next, i| {
            let values = [n as u64 + i; 5];
            Some(&*bump.alloc(Cell { next, values }))
        });
        *head = first.map_or(0, |cell| cell.values[4]);
    }
    Outcome::check(check).live(size.live * 48)
}

fn payload_16(size: Size) -> Outcome {
    let before = proc::resident().rss_bytes;
    let bump = Bump::new();
    for value in 0..size.live as u64 {
        black_box(bump.alloc([value; 2]));
    }
    let own = proc::resident().rss_bytes - before;
    let check = size.live as u64 - 1;
    Outcome::check(check).with(Figure::ObjectBytes, own as f64 / size.live as f64)
}

fn full(size: Size) -> Outcome {
    let bump = Bump::new();
    for value in 0..size.live as u64 {
        black_box(bump.alloc([value; 4]));
    }
    let ((), ns) = cpu_ns(|| drop(bump));
    // What the trees of the others begin with.
    let check = size.live as u64 / 1_000;
    Outcome::check(check).with(Figure::DropNs, ns as f64 / size.live as f64)
}
