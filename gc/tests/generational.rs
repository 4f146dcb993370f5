//! Two generations: what young cycles free, what they must keep, and what is left to full ones.

mod support;

use std::hash::{Hash, Hasher};

use sleepy_gc::collections::{GcTail, GcVec, InternSet, LateStack};
use sleepy_gc::ephemeron::{EphemeronMap, Weakness};
use sleepy_gc::finalize::FinalizerQueue;
use sleepy_gc::pacing::Pacing;
use sleepy_gc::{
    Arena, Budget, Collect, CollectionPhase, Gc, GcWeak, Lock, Mutation, Rootable, barrier,
};
use support::{Census, Token, collect_all};

#[derive(Collect)]
#[collect(no_drop)]
struct Node<'gc> {
    next: Lock<Option<NodeRef<'gc>>>,
    weak: Lock<Option<GcWeak<'gc, Node<'gc>>>>,
    number: u32,
    #[allow(dead_code, reason = "counts the node")]
    token: Token,
}

// A key is the object that it is.
impl PartialEq for Node<'_> {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self, other)
    }
}

impl Eq for Node<'_> {}

impl Hash for Node<'_> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        std::ptr::from_ref(self).hash(state);
    }
}

type NodeRef<'gc> = Gc<'gc, Node<'gc>>;

#[derive(Collect)]
#[collect(no_drop)]
struct Root<'gc> {
    nodes: GcVec<'gc, NodeRef<'gc>>,
    stack: LateStack<'gc, Option<NodeRef<'gc>>>,
    by_key: EphemeronMap<'gc, NodeRef<'gc>, NodeRef<'gc>>,
    by_value: EphemeronMap<'gc, u32, NodeRef<'gc>>,
    queue: FinalizerQueue<'gc, Node<'gc>>,
    strings: InternSet<'gc, u32>,
}

type Heap = Arena<Rootable![Root<'_>]>;

fn node<'gc>(mc: &Mutation<'gc>, census: &Census, number: u32) -> NodeRef<'gc> {
    Gc::new(
        mc,
        Node {
            next: Lock::new(None),
            weak: Lock::new(None),
            number,
            token: census.token(),
        },
    )
}

/// A generational arena that has a full cycle behind it: what `fill` has made is old.
fn heap(fill: impl for<'gc> FnOnce(&'gc Mutation<'gc>, &'gc Root<'gc>)) -> Heap {
    let mut arena = Heap::new(|mc| Root {
        nodes: GcVec::new(),
        stack: LateStack::new(mc, 64, None),
        by_key: EphemeronMap::new(mc, Weakness::Keys),
        by_value: EphemeronMap::new(mc, Weakness::Values),
        queue: FinalizerQueue::new(mc),
        strings: InternSet::new(),
    });
    arena.set_generational(true);
    arena.mutate(fill);
    arena.finish_cycle();
    arena
}

/// A young cycle, in steps of so many bytes, with `between` between them.
fn young_cycle_with(arena: &mut Heap, step_bytes: usize, mut between: impl FnMut(&mut Heap)) {
    arena.metrics().adjust_debt(1e9);
    // A program that stores more than it has the collector do is not kept up with for ever.
    for budget in (0..300).map(|_| Budget::Work(step_bytes)) {
        arena.verify().unwrap();
        if arena.step(budget).finished_cycle {
            return;
        }
        between(arena);
    }
    while !arena.step(Budget::Work(1 << 20)).finished_cycle {}
    arena.verify().unwrap();
}

fn young_cycle(arena: &mut Heap) {
    young_cycle_with(arena, 1 << 30, |_| {});
}

fn link<'gc>(mc: &Mutation<'gc>, from: NodeRef<'gc>, to: Option<NodeRef<'gc>>) {
    let from = Gc::write(mc, from);
    barrier::unlock!(from, Node, next).set(to);
}

#[test]
fn young_garbage_goes_and_old_garbage_waits_for_a_full_cycle() {
    let census = Census::default();
    let mut arena = heap(|mc, root| {
        for n in 0..10 {
            root.nodes.push(mc, node(mc, &census, n));
        }
    });
    arena.mutate(|mc, root| {
        root.nodes.truncate(5);
        for n in 0..100 {
            node(mc, &census, n);
        }
    });
    young_cycle(&mut arena);
    assert_eq!(census.alive(), 10);
    arena.finish_cycle();
    assert_eq!(census.alive(), 5);
    arena.set_generational(false);
    collect_all(&mut arena);
    assert_eq!(census.alive(), 5);
}

#[test]
fn an_old_object_keeps_what_it_has_adopted() {
    let census = Census::default();
    let mut arena = heap(|mc, root| {
        root.nodes.push(mc, node(mc, &census, 0));
        root.stack.set_top(mc, 8);
    });
    for round in 1..20 {
        arena.mutate(|mc, root| {
            let old = root.nodes.get(0).unwrap();
            // By a backward barrier, by a forward one, by a window on a stack.
            let first = node(mc, &census, 4 * round);
            link(mc, old, Some(first));
            link(mc, first, Some(node(mc, &census, 4 * round + 1)));
            root.nodes.push(mc, node(mc, &census, 4 * round + 2));
            root.stack.window::<1>(mc, 3).unwrap()[0].set(Some(node(mc, &census, 4 * round + 3)));
        });
        arena.verify().unwrap();
        young_cycle(&mut arena);
        arena.mutate(|_, root| {
            let old = root.nodes.get(0).unwrap();
            let first = old.next.get().unwrap();
            assert_eq!(first.number, 4 * round);
            assert_eq!(first.next.get().unwrap().number, 4 * round + 1);
            assert_eq!(root.nodes.last().unwrap().number, 4 * round + 2);
            assert_eq!(root.stack.get(3).flatten().unwrap().number, 4 * round + 3);
        });
    }
    collect_all(&mut arena);
    assert_eq!(census.alive(), 1 + 19 + 3);
}

#[test]
fn stores_between_the_decision_and_the_end_of_the_sweep_are_remembered() {
    let census = Census::default();
    for step_bytes in [1, 64, 4096] {
        let mut arena = heap(|mc, root| {
            for n in 0..200 {
                root.nodes.push(mc, node(mc, &census, n));
            }
        });
        for _ in 0..3 {
            let mut number = 1000;
            young_cycle_with(&mut arena, step_bytes, |arena| {
                arena.mutate(|mc, root| {
                    let old = root.nodes.get(number as usize * 7 % 200).unwrap();
                    link(mc, old, Some(node(mc, &census, number)));
                    link(
                        mc,
                        old.next.get().unwrap(),
                        Some(node(mc, &census, number + 1)),
                    );
                    number += 2;
                });
            });
            arena.mutate(|mc, _| {
                node(mc, &census, 0);
            });
            young_cycle(&mut arena);
            arena.mutate(|_, root| {
                for old in root.nodes.iter() {
                    if let Some(first) = old.next.get() {
                        let second = first.next.get().expect("it was linked at once");
                        assert_eq!(first.number + 1, second.number);
                    }
                }
            });
        }
        collect_all(&mut arena);
        let reachable = arena.mutate(|_, root| {
            let linked = root.nodes.iter().filter(|old| old.next.get().is_some());
            200 + 2 * linked.count()
        });
        assert_eq!(census.alive(), reachable);
    }
    assert_eq!(census.alive(), 0);
}

#[test]
fn the_cell_that_an_old_weak_pointer_names_is_not_given_away() {
    let census = Census::default();
    let mut arena = heap(|mc, root| root.nodes.push(mc, node(mc, &census, 0)));
    arena.mutate(|mc, root| {
        let old = Gc::write(mc, root.nodes.get(0).unwrap());
        let target = node(mc, &census, 1);
        barrier::unlock!(old, Node, weak).set(Some(Gc::downgrade(target)));
    });
    for _ in 0..4 {
        young_cycle(&mut arena);
        arena.mutate(|mc, root| {
            let weak = root.nodes.get(0).unwrap().weak.get().unwrap();
            assert!(weak.is_dropped() && weak.upgrade(mc).is_none());
            for n in 0..1000 {
                assert!(!std::ptr::eq(
                    weak.as_ptr(),
                    Gc::as_ptr(node(mc, &census, n))
                ));
            }
        });
    }
}

#[test]
fn old_containers_forget_the_young_dead_and_keep_the_young_alive() {
    let census = Census::default();
    let string = |n: u32| format!("string {n}").into_bytes();
    let mut arena = heap(|_, _| {});
    let mut popped = Vec::new();
    for round in 0..30 {
        arena.mutate(|mc, root| {
            let key = node(mc, &census, round);
            root.nodes.push(mc, key);
            root.by_key.insert(mc, key, node(mc, &census, round));
            root.by_key
                .insert(mc, node(mc, &census, 0), node(mc, &census, 0));
            root.by_value.insert(mc, 2 * round, key);
            root.by_value
                .insert(mc, 2 * round + 1, node(mc, &census, 0));
            root.queue.register(mc, node(mc, &census, round));
            root.queue.register(mc, key);
            root.strings
                .insert(mc, round, GcTail::from_slice(mc, round, &string(round)));
        });
        young_cycle_with(&mut arena, 256, |arena| {
            arena
                .mutate(|mc, root| assert!(root.strings.find(mc, 1 << 20, b"no string").is_none()));
        });
        arena.mutate(|mc, root| {
            popped.extend(std::iter::from_fn(|| root.queue.pop(mc)).map(|node| node.number));
            assert!(
                root.strings.find(mc, round, &string(round)).is_none(),
                "it is garbage"
            );
            for (n, key) in root.nodes.iter().enumerate() {
                assert_eq!(root.by_key.get(mc, &key).unwrap().number, n as u32);
                assert!(root.by_value.get(mc, &(2 * n as u32)).is_some());
            }
        });
    }
    assert!(popped.into_iter().eq(0..30));
    arena.mutate(|_, root| assert_eq!(root.queue.registered(), 30));
    collect_all(&mut arena);
    arena.mutate(|_, root| {
        assert_eq!(
            (root.by_key.len(), root.by_value.len(), root.strings.len()),
            (30, 30, 0)
        )
    });
    assert_eq!(census.alive(), 60);
}

#[test]
fn containers_that_are_made_while_others_are_cleared_are_looked_at_later() {
    let census = Census::default();
    let mut arena = Arena::<Rootable![GcVec<'_, Gc<'_, Root<'_>>>]>::new(|_| GcVec::new());
    arena.set_generational(true);
    arena.mutate(|mc, roots| {
        for _ in 0..50 {
            roots.push(mc, Gc::new(mc, empty(mc)));
        }
    });
    arena.finish_cycle();
    for _ in 0..20 {
        arena.metrics().adjust_debt(1e9);
        for bytes in (0..13).map(|shift| 1 << shift).cycle().take(100) {
            if arena.step(Budget::Work(bytes)).finished_cycle {
                break;
            }
            arena.mutate(|mc, roots| {
                if roots.len() > 300 {
                    roots.truncate(20);
                }
                let fresh = Gc::new(mc, empty(mc));
                roots.push(mc, fresh);
                for root in roots.iter().step_by(9).chain([fresh]) {
                    root.by_key
                        .insert(mc, node(mc, &census, 0), node(mc, &census, 1));
                    root.queue.register(mc, node(mc, &census, 2));
                    root.strings
                        .insert(mc, 7, GcTail::from_slice(mc, 7, b"a string"));
                    while root.queue.pop(mc).is_some() {}
                }
            });
            arena.verify().unwrap();
        }
    }
    for _ in 0..3 {
        collect_all(&mut arena);
        arena.mutate(|mc, roots| {
            for root in roots.iter() {
                while root.queue.pop(mc).is_some() {}
            }
        });
    }
    assert_eq!(census.alive(), 0);
}

fn empty<'gc>(mc: &Mutation<'gc>) -> Root<'gc> {
    Root {
        nodes: GcVec::new(),
        stack: LateStack::new(mc, 4, None),
        by_key: EphemeronMap::new(mc, Weakness::Keys),
        by_value: EphemeronMap::new(mc, Weakness::Values),
        queue: FinalizerQueue::new(mc),
        strings: InternSet::new(),
    }
}

#[test]
fn generations_come_and_go_at_any_moment() {
    let census = Census::default();
    for phase in [
        CollectionPhase::Sleeping,
        CollectionPhase::Marking,
        CollectionPhase::Sweeping,
    ] {
        let mut arena = heap(|mc, root| {
            for n in 0..300 {
                root.nodes.push(mc, node(mc, &census, n));
            }
        });
        for round in 0..12 {
            arena.mutate(|mc, root| {
                let old = root.nodes.get(round * 17).unwrap();
                link(mc, old, Some(node(mc, &census, 1)));
                node(mc, &census, 2);
            });
            if phase != CollectionPhase::Sleeping {
                arena.metrics().adjust_debt(1e9);
                // With zeal steps may be whole cycles.
                for _ in 0..100_000 {
                    if arena.collection_phase() == phase {
                        break;
                    }
                    arena.step(Budget::Work(1));
                }
            }
            arena.set_generational(round % 2 == 1);
            assert_eq!(arena.is_generational(), round % 2 == 1);
            arena.verify().unwrap();
            arena.mutate(|mc, root| {
                link(mc, root.nodes.get(1).unwrap(), Some(node(mc, &census, 3)))
            });
            young_cycle(&mut arena);
            arena.mutate(|_, root| {
                assert_eq!(root.nodes.get(1).unwrap().next.get().unwrap().number, 3);
                assert!(root.nodes.get(round * 17).unwrap().next.get().is_some());
            });
        }
        collect_all(&mut arena);
        // Nodes 1 and 17 times each round have adopted one.
        assert_eq!(census.alive(), 300 + 13);
    }
}

#[test]
fn the_heap_is_bounded_where_everything_dies_old() {
    let census = Census::default();
    let mut arena = heap(|_, _| {});
    const LIVE: usize = 20_000;
    arena.metrics().set_pacing(Pacing {
        min_sleep: 1 << 14,
        ..Pacing::DEFAULT
    });
    let mut peak = 0;
    for n in 0..20 * LIVE {
        arena.mutate(|mc, root| {
            let node = node(mc, &census, 0);
            match root.nodes.len() < LIVE {
                true => root.nodes.push(mc, node),
                false => root.nodes.set(mc, n % LIVE, node),
            }
        });
        arena.collect_debt();
        peak = peak.max(census.alive());
    }
    arena.verify().unwrap();
    assert!(peak < 2 * LIVE + LIVE / 4, "{peak} nodes at the peak");
}
