//! A machine that runs programs on a heap and on a model of it.
//!
//! The heap holds nodes with several kinds of edges, each stored through a barrier of its own. The model is a table of nodes and edges;
//! what is reachable in it is found by a plain search. After each program, and at each `Check` in it, both are compared: every node
//! that the model can reach has its content, and after a full collection no other node is alive.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use crate::support::{Census, Token, collect_all};
use sleepy_gc::{
    Arena, Budget, Collect, Gc, GcWeak, Mutation, Rootable,
    barrier::{field, unlock},
    collections::{GcMap, GcTail, GcVec, LateStack},
    lock::{Lock, RefLock},
};

/// How many edges of each kind a node has, where there is a choice.
pub const WIDTH: usize = 4;
/// How many nodes the root can name.
pub const ROOTS: usize = 8;

#[derive(Collect)]
#[collect(no_drop)]
struct Node<'gc> {
    number: u32,
    /// Must stay what it was when the node was made: its number.
    check: [u32; 3],
    lock: Lock<Option<NodeRef<'gc>>>,
    list: RefLock<Vec<Option<NodeRef<'gc>>>>,
    array: [Lock<Option<NodeRef<'gc>>>; WIDTH],
    vec: GcVec<'gc, Option<NodeRef<'gc>>>,
    map: GcMap<'gc, u32, NodeRef<'gc>>,
    tail: Lock<Option<GcTail<'gc, u32, Option<NodeRef<'gc>>>>>,
    weak: Lock<Option<GcWeak<'gc, Node<'gc>>>>,
    #[allow(dead_code, reason = "counts the node")]
    token: Token,
}

type NodeRef<'gc> = Gc<'gc, Node<'gc>>;

#[derive(Collect)]
#[collect(no_drop)]
struct Root<'gc> {
    nodes: Gc<'gc, RefLock<Vec<Option<NodeRef<'gc>>>>>,
    stack: LateStack<'gc, Option<NodeRef<'gc>>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    Lock,
    List,
    Array,
    Vec,
    Map,
    Tail,
}

pub const KINDS: [Kind; 6] = [
    Kind::Lock,
    Kind::List,
    Kind::Array,
    Kind::Vec,
    Kind::Map,
    Kind::Tail,
];

#[derive(Clone, Debug)]
pub enum Op {
    /// A new node at a root, which points to what another root names.
    New {
        root: usize,
        child: usize,
    },
    /// `from.kind[slot] = to`, where the nodes are found by walking from roots.
    Link {
        from: Path,
        kind: usize,
        slot: usize,
        to: Path,
    },
    /// `from.kind[slot] = nothing`.
    Cut {
        from: Path,
        kind: usize,
        slot: usize,
    },
    /// The old edge is taken out and stored elsewhere, which is what barriers are for.
    Move {
        from: Path,
        kind: usize,
        slot: usize,
        to: Path,
        to_kind: usize,
        to_slot: usize,
    },
    Root {
        root: usize,
        node: Path,
    },
    Drop {
        root: usize,
    },
    /// `from.weak = to`.
    Weaken {
        from: Path,
        to: Path,
    },
    /// What a weak edge points to is given to a root, if it is there.
    Upgrade {
        from: Path,
        root: usize,
    },
    /// A node is put on the stack.
    Push {
        node: Path,
    },
    Pop {
        root: usize,
    },
    /// Many objects that nobody keeps.
    Garbage {
        count: u8,
    },
    Step {
        bytes: u16,
    },
    Start,
    Mark,
    Cycle,
    /// The arena's memory is lent, and taken back by whatever comes next.
    Park {
        forget: bool,
    },
    Check,
}

/// A root, and which edges to follow from there.
#[derive(Clone, Debug)]
pub struct Path {
    pub root: usize,
    pub edges: Vec<(usize, usize)>,
}

/// The naive side.
#[derive(Default)]
struct Model {
    edges: BTreeMap<u32, BTreeMap<(Kind, usize), u32>>,
    roots: [Option<u32>; ROOTS],
    stack: Vec<Option<u32>>,
    weak: BTreeMap<u32, u32>,
    next: u32,
}

impl Model {
    fn walk(&self, path: &Path) -> Option<u32> {
        let mut node = self.roots[path.root]?;
        for &(kind, slot) in &path.edges {
            let kind = KINDS[kind];
            match self.edges[&node].get(&(kind, place(kind, slot))) {
                Some(&next) => node = next,
                None => break,
            }
        }
        Some(node)
    }

    fn reachable(&self) -> BTreeSet<u32> {
        let mut found: BTreeSet<u32> = self
            .roots
            .iter()
            .chain(&self.stack)
            .flatten()
            .copied()
            .collect();
        let mut queue: VecDeque<u32> = found.iter().copied().collect();
        while let Some(node) = queue.pop_front() {
            queue.extend(
                self.edges[&node]
                    .values()
                    .filter(|&&next| found.insert(next)),
            );
        }
        found
    }

    fn set(&mut self, from: u32, kind: Kind, slot: usize, to: Option<u32>) -> Option<u32> {
        let edges = self.edges.get_mut(&from).expect("each node has a row");
        match to {
            Some(to) => edges.insert((kind, slot), to),
            None => edges.remove(&(kind, slot)),
        }
    }
}

/// A kind with one place has only the first.
fn place(kind: Kind, slot: usize) -> usize {
    if kind == Kind::Lock { 0 } else { slot }
}

/// The real side.
pub struct Machine {
    arena: Arena<Rootable![Root<'_>]>,
    census: Census,
    model: Model,
}

fn get<'gc>(node: NodeRef<'gc>, kind: Kind, slot: usize) -> Option<NodeRef<'gc>> {
    match kind {
        Kind::Lock => node.lock.get(),
        Kind::List => node.list.borrow().get(slot).copied().flatten(),
        Kind::Array => node.array[slot].get(),
        Kind::Vec => node.vec.get(slot).flatten(),
        Kind::Map => node.map.get(&(slot as u32)),
        Kind::Tail => node
            .tail
            .get()
            .and_then(|tail| tail.tail().get(slot).copied().flatten()),
    }
}

fn set<'gc>(
    mc: &Mutation<'gc>,
    node: NodeRef<'gc>,
    kind: Kind,
    slot: usize,
    to: Option<NodeRef<'gc>>,
) {
    match kind {
        Kind::Lock => unlock!(Gc::write(mc, node), Node, lock).set(to),
        Kind::List => {
            let mut list = unlock!(Gc::write(mc, node), Node, list).borrow_mut();
            if list.len() <= slot {
                list.resize(slot + 1, None);
            }
            list[slot] = to;
        }
        Kind::Array => field!(Gc::write(mc, node), Node, array)[slot]
            .unlock()
            .set(to),
        Kind::Vec => {
            while node.vec.len() <= slot {
                node.vec.push(mc, None);
            }
            node.vec.set(mc, slot, to);
        }
        Kind::Map => {
            match to {
                Some(to) => node.map.insert(mc, slot as u32, to),
                None => node.map.remove(mc, &(slot as u32)),
            };
        }
        Kind::Tail => {
            // A tail that holds what the old one held, with one element exchanged: a new object made of old pointers.
            let old = node.tail.get();
            let len = old.map_or(0, GcTail::len).max(slot + 1);
            let new = GcTail::new(mc, node.number, len, |at| {
                if at == slot {
                    to
                } else {
                    old.and_then(|old| old.tail().get(at).copied().flatten())
                }
            });
            unlock!(Gc::write(mc, node), Node, tail).set(Some(new));
        }
    }
}

fn walk<'gc>(root: &Root<'gc>, path: &Path) -> Option<NodeRef<'gc>> {
    let mut node = root.nodes.borrow()[path.root]?;
    for &(kind, slot) in &path.edges {
        match get(node, KINDS[kind], place(KINDS[kind], slot)) {
            Some(next) => node = next,
            None => break,
        }
    }
    Some(node)
}

impl Machine {
    pub fn new() -> Self {
        Self {
            arena: Arena::new(|mc| Root {
                nodes: Gc::new(mc, RefLock::new(vec![None; ROOTS])),
                stack: LateStack::new(mc, 4, None),
            }),
            census: Census::default(),
            model: Model::default(),
        }
    }

    pub fn run(&mut self, op: &Op) {
        let (arena, model, census) = (&mut self.arena, &mut self.model, &self.census);
        match op {
            Op::New { root, child } => {
                let number = model.next;
                model.next += 1;
                let mut edges = BTreeMap::new();
                if let Some(child) = model.roots[*child] {
                    edges.insert((Kind::Lock, 0), child);
                    edges.insert((Kind::List, 0), child);
                }
                model.edges.insert(number, edges);
                model.roots[*root] = Some(number);
                arena.mutate(|mc, heap| {
                    let child = heap.nodes.borrow()[*child];
                    let node = Node {
                        number,
                        check: [number; 3],
                        lock: Lock::new(child),
                        list: RefLock::new(vec![child]),
                        array: [const { Lock::new(None) }; WIDTH],
                        vec: GcVec::new(),
                        map: GcMap::new(),
                        tail: Lock::new(None),
                        weak: Lock::new(None),
                        token: census.token(),
                    };
                    heap.nodes.borrow_mut(mc)[*root] = Some(Gc::new(mc, node));
                });
            }
            Op::Link {
                from,
                kind,
                slot,
                to,
            } => {
                let (kind, slot) = (KINDS[*kind], place(KINDS[*kind], *slot));
                if let (Some(from), Some(to)) = (model.walk(from), model.walk(to)) {
                    model.set(from, kind, slot, Some(to));
                }
                arena.mutate(|mc, root| {
                    if let (Some(from), Some(to)) = (walk(root, from), walk(root, to)) {
                        set(mc, from, kind, slot, Some(to));
                    }
                });
            }
            Op::Cut { from, kind, slot } => {
                let (kind, slot) = (KINDS[*kind], place(KINDS[*kind], *slot));
                if let Some(from) = model.walk(from) {
                    model.set(from, kind, slot, None);
                }
                arena.mutate(|mc, root| {
                    if let Some(from) = walk(root, from) {
                        set(mc, from, kind, slot, None);
                    }
                });
            }
            Op::Move {
                from,
                kind,
                slot,
                to,
                to_kind,
                to_slot,
            } => {
                let (kind, slot) = (KINDS[*kind], place(KINDS[*kind], *slot));
                let (to_kind, to_slot) = (KINDS[*to_kind], place(KINDS[*to_kind], *to_slot));
                if let (Some(from), Some(to)) = (model.walk(from), model.walk(to)) {
                    let moved = model.set(from, kind, slot, None);
                    model.set(to, to_kind, to_slot, moved);
                }
                arena.mutate(|mc, root| {
                    if let (Some(from), Some(to)) = (walk(root, from), walk(root, to)) {
                        let moved = get(from, kind, slot);
                        set(mc, from, kind, slot, None);
                        set(mc, to, to_kind, to_slot, moved);
                    }
                });
            }
            Op::Root { root, node } => {
                model.roots[*root] = model.walk(node);
                arena.mutate(|mc, heap| {
                    let node = walk(heap, node);
                    heap.nodes.borrow_mut(mc)[*root] = node;
                });
            }
            Op::Drop { root } => {
                model.roots[*root] = None;
                arena.mutate(|mc, heap| heap.nodes.borrow_mut(mc)[*root] = None);
            }
            Op::Weaken { from, to } => {
                if let (Some(from), Some(to)) = (model.walk(from), model.walk(to)) {
                    model.weak.insert(from, to);
                }
                arena.mutate(|mc, root| {
                    if let (Some(from), Some(to)) = (walk(root, from), walk(root, to)) {
                        unlock!(Gc::write(mc, from), Node, weak).set(Some(Gc::downgrade(to)));
                    }
                });
            }
            Op::Upgrade { from, root } => {
                let reachable = model.reachable();
                let wanted = model
                    .walk(from)
                    .and_then(|from| model.weak.get(&from))
                    .copied();
                let found = arena.mutate(|mc, heap| {
                    let weak = walk(heap, from).and_then(|from| from.weak.get());
                    let upgraded = weak.and_then(|weak| weak.upgrade(mc));
                    if upgraded.is_some() {
                        heap.nodes.borrow_mut(mc)[*root] = upgraded;
                    }
                    upgraded.map(|node| node.number)
                });
                match (wanted, found) {
                    // It may have been dead for the model, but not collected yet.
                    (Some(wanted), Some(found)) => {
                        assert_eq!(wanted, found);
                        model.roots[*root] = Some(found);
                    }
                    (Some(wanted), None) => assert!(
                        !reachable.contains(&wanted),
                        "a weak pointer to a live node is good"
                    ),
                    (None, found) => assert_eq!(found, None),
                }
            }
            Op::Push { node } => {
                let number = model.walk(node);
                model.stack.push(number);
                let depth = model.stack.len();
                arena.mutate(|mc, root| {
                    let node = walk(root, node);
                    if root.stack.capacity() < depth {
                        root.stack.try_grow(mc, depth * 2).expect("there is memory");
                    }
                    let window = root
                        .stack
                        .slots(mc, depth - 1..depth)
                        .expect("there is room");
                    root.stack.set_top(mc, depth);
                    window[0].set(node);
                });
            }
            Op::Pop { root } => {
                if let Some(node) = model.stack.pop() {
                    model.roots[*root] = node;
                    let depth = model.stack.len();
                    arena.mutate(|mc, heap| {
                        let node = heap.stack.get(depth).expect("it was pushed");
                        heap.nodes.borrow_mut(mc)[*root] = node;
                        heap.stack.set_top(mc, depth);
                    });
                }
            }
            Op::Garbage { count } => arena.mutate(|mc, _| {
                for n in 0..*count {
                    Gc::new(mc, [n; 40]);
                    Gc::new(mc, census.token());
                }
            }),
            Op::Step { bytes } => {
                arena.step(Budget::Work(usize::from(*bytes)));
            }
            Op::Start => arena.start_cycle(),
            Op::Mark => {
                let _ = arena.finish_marking();
            }
            Op::Cycle => arena.finish_cycle(),
            Op::Park { forget } => {
                let parked = arena.park();
                if *forget {
                    std::mem::forget(parked);
                }
            }
            Op::Check => self.check(),
        }
    }

    /// Everything that the model can reach is there and whole.
    fn check(&self) {
        self.arena.mutate(|_, root| {
            let mut seen = BTreeMap::new();
            let mut queue: Vec<(u32, NodeRef<'_>)> = Vec::new();
            for (at, wanted) in self.model.roots.iter().enumerate() {
                let found = root.nodes.borrow()[at];
                assert_eq!(found.map(|node| node.number), *wanted);
                queue.extend(wanted.zip(found));
            }
            for (at, wanted) in self.model.stack.iter().enumerate() {
                let found = root.stack.get(at).expect("it was pushed");
                assert_eq!(found.map(|node| node.number), *wanted);
                queue.extend(wanted.zip(found));
            }
            while let Some((number, node)) = queue.pop() {
                assert_eq!(node.check, [number; 3]);
                match seen.insert(number, Gc::as_ptr(node)) {
                    Some(before) => assert_eq!(before, Gc::as_ptr(node)),
                    None => {
                        for kind in KINDS {
                            for slot in 0..=place(kind, WIDTH - 1) {
                                let wanted = self.model.edges[&number].get(&(kind, slot)).copied();
                                let found = get(node, kind, slot);
                                assert_eq!(
                                    found.map(|node| node.number),
                                    wanted,
                                    "{kind:?}[{slot}] of {number}"
                                );
                                queue.extend(wanted.zip(found));
                            }
                        }
                    }
                }
            }
        });
    }

    /// Compares both sides for the last time.
    pub fn finish(mut self) {
        self.check();
        collect_all(&mut self.arena);
        self.check();
        assert_eq!(
            self.census.alive(),
            self.model.reachable().len(),
            "exactly what can be reached is alive"
        );
        drop(self.arena);
        assert_eq!(self.census.alive(), 0);
    }
}

/// Any bytes as a program.
struct Tape<'a>(std::slice::Iter<'a, u8>);

impl Tape<'_> {
    fn number(&mut self, limit: usize) -> usize {
        usize::from(self.0.next().copied().unwrap_or(0)) % limit
    }

    fn path(&mut self) -> Path {
        let root = self.number(ROOTS);
        let edges = (0..self.number(4))
            .map(|_| (self.number(KINDS.len()), self.number(WIDTH)))
            .collect();
        Path { root, edges }
    }
}

/// The program that the bytes stand for.
pub fn decode(bytes: &[u8]) -> Vec<Op> {
    let mut tape = Tape(bytes.iter());
    let mut ops = Vec::new();
    while tape.0.len() > 0 {
        ops.push(match tape.number(32) {
            0..4 => Op::New {
                root: tape.number(ROOTS),
                child: tape.number(ROOTS),
            },
            4..9 => Op::Link {
                from: tape.path(),
                kind: tape.number(KINDS.len()),
                slot: tape.number(WIDTH),
                to: tape.path(),
            },
            9 => Op::Cut {
                from: tape.path(),
                kind: tape.number(KINDS.len()),
                slot: tape.number(WIDTH),
            },
            10..14 => Op::Move {
                from: tape.path(),
                kind: tape.number(KINDS.len()),
                slot: tape.number(WIDTH),
                to: tape.path(),
                to_kind: tape.number(KINDS.len()),
                to_slot: tape.number(WIDTH),
            },
            14 | 15 => Op::Root {
                root: tape.number(ROOTS),
                node: tape.path(),
            },
            16 | 17 => Op::Drop {
                root: tape.number(ROOTS),
            },
            18 => Op::Weaken {
                from: tape.path(),
                to: tape.path(),
            },
            19 => Op::Upgrade {
                from: tape.path(),
                root: tape.number(ROOTS),
            },
            20 => Op::Push { node: tape.path() },
            21 => Op::Pop {
                root: tape.number(ROOTS),
            },
            22 => Op::Garbage {
                count: tape.number(256) as u8,
            },
            23 => Op::Start,
            24 => Op::Mark,
            25 => Op::Cycle,
            26 => Op::Check,
            27 => Op::Park {
                forget: tape.number(2) == 0,
            },
            _ => Op::Step {
                bytes: 1 + 16 * tape.number(256) as u16,
            },
        });
    }
    ops
}
