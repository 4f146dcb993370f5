//! Random programs against a naive oracle: whatever is reachable in the model is alive in the arena, what is not is
//! gone after a whole cycle, and the verifier agrees at every step.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use sleepy_gc::collections::{GcTail, GcVec};
use sleepy_gc::{Arena, Budget, Collect, Gc, GcWeak, Lock, Rootable};

type Alive = Rc<RefCell<HashSet<u32>>>;

/// Removes its number from the set of the living when it is dropped.
#[derive(Collect)]
#[collect(require_static)]
struct Ticket {
    id: u32,
    alive: Alive,
}

impl Drop for Ticket {
    fn drop(&mut self) {
        assert!(
            self.alive.borrow_mut().remove(&self.id),
            "{} is dropped twice",
            self.id
        );
    }
}

#[derive(Collect)]
#[collect(no_drop)]
struct Node<'gc> {
    ticket: Ticket,
    many: GcVec<'gc, Gc<'gc, Node<'gc>>>,
    one: Lock<Option<Gc<'gc, Node<'gc>>>>,
    tail: Lock<Option<Tail<'gc>>>,
    weak: Lock<Option<GcWeak<'gc, Node<'gc>>>>,
    weak_id: Lock<u32>,
}

type RootArena = Arena<Rootable![GcVec<'_, Gc<'_, Node<'_>>>]>;

type Tail<'gc> = GcTail<'gc, u32, Lock<Option<Gc<'gc, Node<'gc>>>>>;

/// What the oracle knows of a node.
#[derive(Default, Clone)]
struct Model {
    many: Vec<u32>,
    one: Option<u32>,
    tail: Option<Vec<Option<u32>>>,
}

struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % n as u64) as usize
    }
}

struct World {
    arena: RootArena,
    alive: Alive,
    models: HashMap<u32, Model>,
    roots: Vec<u32>,
    next_id: u32,
    random: Random,
}

impl World {
    fn new(seed: u64, generational: bool) -> Self {
        let mut arena = RootArena::new(|_| GcVec::new());
        arena.set_generational(generational);
        Self {
            arena,
            alive: Alive::default(),
            models: HashMap::new(),
            roots: Vec::new(),
            next_id: 0,
            random: Random(seed * 2 + 1),
        }
    }

    fn reachable(&self) -> HashSet<u32> {
        let mut seen = HashSet::new();
        let mut todo = self.roots.clone();
        while let Some(id) = todo.pop() {
            if seen.insert(id) {
                let model = &self.models[&id];
                todo.extend(&model.many);
                todo.extend(model.one);
                todo.extend(model.tail.iter().flatten().flatten());
            }
        }
        seen
    }

    /// Changes the graph somewhere.
    fn mutate(&mut self) {
        let Self {
            arena,
            alive,
            models,
            roots,
            next_id,
            random,
        } = self;
        arena.mutate(|mc, root| {
            for _ in 0..1 + random.below(4) {
                // Two nodes, each found by a random walk.
                let mut walk = || {
                    if root.is_empty() {
                        return None;
                    }
                    let mut node = root.get(random.below(root.len()))?;
                    for _ in 0..random.below(6) {
                        let next = match random.below(3) {
                            0 if !node.many.is_empty() => {
                                node.many.get(random.below(node.many.len()))
                            }
                            1 => node.one.get(),
                            2 => node
                                .tail
                                .get()
                                .and_then(|tail| tail.tail().first().and_then(Lock::get)),
                            _ => None,
                        };
                        node = next.unwrap_or(node);
                    }
                    Some(node)
                };
                let (from, to) = (walk(), walk());
                let what = random.below(16);
                if what < 4 || from.is_none() {
                    let id = *next_id;
                    *next_id += 1;
                    alive.borrow_mut().insert(id);
                    let node = Gc::new(
                        mc,
                        Node {
                            ticket: Ticket {
                                id,
                                alive: alive.clone(),
                            },
                            many: GcVec::new(),
                            one: Lock::new(to),
                            tail: Lock::new(None),
                            weak: Lock::new(to.map(Gc::downgrade)),
                            weak_id: Lock::new(to.map_or(0, |to| to.ticket.id)),
                        },
                    );
                    let one = to.map(|to| to.ticket.id);
                    models.insert(
                        id,
                        Model {
                            one,
                            ..Model::default()
                        },
                    );
                    match from {
                        Some(from) if random.below(4) != 0 => {
                            from.many.push(mc, node);
                            models.get_mut(&from.ticket.id).unwrap().many.push(id);
                        }
                        _ => {
                            root.push(mc, node);
                            roots.push(id);
                        }
                    }
                    continue;
                }
                let (Some(from), Some(to)) = (from, to) else {
                    continue;
                };
                let (from_id, to_id) = (from.ticket.id, to.ticket.id);
                let model = models.get_mut(&from_id).unwrap();
                match what {
                    4..=6 => {
                        let write = Gc::write(mc, from);
                        sleepy_gc::barrier::unlock!(write, Node, one).set(Some(to));
                        model.one = Some(to_id);
                    }
                    7 => {
                        let write = Gc::write(mc, from);
                        sleepy_gc::barrier::unlock!(write, Node, one).set(None);
                        model.one = None;
                    }
                    8 => {
                        from.many.push(mc, to);
                        model.many.push(to_id);
                    }
                    9 if !from.many.is_empty() => {
                        let at = random.below(from.many.len());
                        from.many.swap_remove(mc, at);
                        model.many.swap_remove(at);
                    }
                    10 if !from.many.is_empty() => {
                        let at = random.below(from.many.len());
                        from.many.set(mc, at, to);
                        model.many[at] = to_id;
                    }
                    11 => {
                        from.many.shrink_to_fit(mc);
                    }
                    12 => {
                        let len = random.below(300);
                        let filled = random.below(2) == 0;
                        let tail = GcTail::new(mc, 0, len, |_| Lock::new(filled.then_some(to)));
                        let write = Gc::write(mc, from);
                        sleepy_gc::barrier::unlock!(write, Node, tail).set(Some(tail));
                        model.tail = Some(vec![filled.then_some(to_id); len]);
                    }
                    13 => {
                        if let Some(tail) = from.tail.get().filter(|tail| tail.len() > 0) {
                            let at = random.below(tail.len());
                            tail.write_tail(mc)[at].unlock().set(Some(to));
                            model.tail.as_mut().unwrap()[at] = Some(to_id);
                        }
                    }
                    14 => {
                        let write = Gc::write(mc, from);
                        sleepy_gc::barrier::unlock!(write, Node, weak).set(Some(Gc::downgrade(to)));
                        let write = Gc::write(mc, from);
                        sleepy_gc::barrier::unlock!(write, Node, weak_id).set(to_id);
                    }
                    _ => {
                        if let Some(strong) = from.weak.get().and_then(|weak| weak.upgrade(mc)) {
                            assert_eq!(strong.ticket.id, from.weak_id.get());
                            let write = Gc::write(mc, from);
                            sleepy_gc::barrier::unlock!(write, Node, one).set(Some(strong));
                            model.one = Some(strong.ticket.id);
                        }
                    }
                }
            }
            if random.below(40) == 0 && !root.is_empty() {
                let at = random.below(root.len());
                root.swap_remove(mc, at);
                roots.swap_remove(at);
            }
        });
    }

    /// Compares the arena with the model.
    fn compare(&self) {
        let reachable = self.reachable();
        let alive = self.alive.borrow();
        for id in &reachable {
            assert!(alive.contains(id), "{id} is reachable but dead");
        }
        self.arena.mutate(|_, root| {
            assert_eq!(
                root.iter().map(|node| node.ticket.id).collect::<Vec<_>>(),
                self.roots
            );
            let mut seen = HashSet::new();
            let mut todo: Vec<_> = root.iter().collect();
            while let Some(node) = todo.pop() {
                let id = node.ticket.id;
                if seen.insert(id) {
                    let model = &self.models[&id];
                    assert_eq!(
                        node.many
                            .iter()
                            .map(|node| node.ticket.id)
                            .collect::<Vec<_>>(),
                        model.many
                    );
                    assert_eq!(node.one.get().map(|node| node.ticket.id), model.one);
                    let tail = node.tail.get().map(|tail| {
                        tail.tail()
                            .iter()
                            .map(|node| node.get().map(|node| node.ticket.id))
                            .collect::<Vec<_>>()
                    });
                    assert_eq!(tail, model.tail);
                    todo.extend(node.many.iter());
                    todo.extend(node.one.get());
                    todo.extend(
                        node.tail
                            .get()
                            .iter()
                            .flat_map(|tail| tail.tail().iter().filter_map(Lock::get)),
                    );
                }
            }
            assert_eq!(seen, reachable);
        });
    }

    fn run(&mut self, rounds: usize) {
        for round in 0..rounds {
            self.mutate();
            match self.random.below(8) {
                // A young cycle, where one has ended.
                0 if self.arena.is_generational() => self.arena.metrics().adjust_debt(1e5),
                0 => self.arena.start_cycle(),
                1..=5 => {
                    let bytes = 1 << self.random.below(14);
                    self.arena.step(Budget::Work(bytes));
                }
                6 if self.random.below(20) == 0 => self.arena.finish_cycle(),
                _ => {}
            }
            if round % 16 == 0 {
                self.arena.verify().unwrap();
            }
            if round % 256 == 0 {
                self.compare();
            }
        }
        self.arena.finish_cycle();
        self.arena.finish_cycle();
        self.arena.verify().unwrap();
        self.compare();
        assert_eq!(
            *self.alive.borrow(),
            self.reachable(),
            "what is unreachable is gone after a whole cycle"
        );
    }
}

#[test]
fn random_programs_agree_with_the_oracle() {
    for (seed, generational) in (1..=24).flat_map(|seed| [(seed, false), (seed, true)]) {
        let mut world = World::new(seed, generational);
        world.run(2_000);
        let alive = world.alive.clone();
        drop(world);
        assert!(alive.borrow().is_empty(), "all is dropped with the arena");
    }
}

#[test]
fn random_programs_agree_with_the_oracle_under_zeal() {
    for every in [1, 2, 7] {
        sleepy_gc::set_zeal(every);
        for seed in 100..=104 {
            World::new(seed, false).run(600);
            World::new(seed, true).run(600);
        }
    }
    sleepy_gc::set_zeal(0);
}
