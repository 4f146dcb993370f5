//! One program: operations, and between them whatever drives a cycle on.

use sleepy_gc::idle::Collector;
use sleepy_gc::{Arena, Budget, Gc, Rootable};

use crate::node::{Random, Root};
use crate::ops::{Handles, operate};

type StormArena = Arena<Rootable![Gc<'_, Root<'_>>]>;

/// Runs the program of a seed; panics where something is not as it should be.
pub fn run(seed: u64, rounds: u64) {
    let mut random = Random::new(seed);
    let mut handles = Handles::new();
    let mut arena = StormArena::new(|mc| Root::new(mc));
    arena.set_generational(random.one_in(2));
    let toggles = random.one_in(2);
    // Not all of them: the verifier's own pass must not be what keeps the heap in order.
    let verifies = !random.one_in(3);
    for round in 0..rounds {
        arena.mutate(|mc, root| {
            for _ in 0..random.below(30) {
                operate(mc, root, &mut random, &mut handles);
            }
        });
        drive(&mut arena, &mut random, &mut handles, toggles);
        if verifies {
            verify(&mut arena, seed, round);
        }
    }
    arena.finish_cycle();
    verify(&mut arena, seed, rounds);
}

fn verify(arena: &mut StormArena, seed: u64, round: u64) {
    if let Err(error) = arena.verify() {
        panic!("seed {seed}, round {round}: {error}");
    }
}

/// Starts, drives on or ends a cycle; most often by a small step, so that operations fall into every phase.
fn drive(arena: &mut StormArena, random: &mut Random, handles: &mut Handles, toggles: bool) {
    match random.below(30) {
        0 => arena.start_cycle(),
        1 => Collector::start_cycle(arena),
        2 => arena.start_full_cycle(),
        3 => arena.collect_debt(),
        4 if random.one_in(4) => arena.finish_cycle(),
        5 if toggles && random.one_in(4) => arena.set_generational(random.one_in(2)),
        4 | 5 => {}
        6 => end_marking(arena, random, handles),
        7 => drop(arena.park()),
        8..=15 => {
            Collector::step(arena, Budget::Work(1 + random.index(3_000)));
        }
        _ => {
            arena.step(Budget::Work(1 + random.index(600)));
        }
    }
}

/// Marks to the end, and does there what only may be done there.
fn end_marking(arena: &mut StormArena, random: &mut Random, handles: &mut Handles) {
    let marked = if random.one_in(2) {
        arena.finish_marking()
    } else {
        arena.mark_debt()
    };
    let Some(marked) = marked else { return };
    match random.below(3) {
        0 => marked.start_sweeping(),
        1 => marked.finalize(|fc, root| {
            for weak in root.weaks.borrow().iter() {
                if weak.is_dead(fc)
                    && random.one_in(4)
                    && let Some(node) = weak.resurrect(fc)
                {
                    node.check();
                    root.nodes.push(fc, node);
                }
            }
            for _ in 0..3 {
                operate(fc, root, random, handles);
            }
        }),
        _ => {}
    }
}
