//! A machine that runs programs on a heap and on a model of it.
//!
//! The heap holds nodes with several kinds of edges, each stored through a barrier of its own. The model is a table of nodes and edges;
//! what is reachable in it is found by a plain search. After each program, and at each `Check` in it, both are compared: every node
//! that the model can reach has its content, and after a full collection no other node is alive.

mod model;
mod program;

use std::collections::BTreeMap;
use std::hash::{Hash, Hasher};

use sleepy_gc::{
    Arena, Budget, Collect, DynamicRoot, DynamicRootSet, Gc, GcWeak, Mutation, Rootable,
    barrier::{field, unlock},
    collections::{GcMap, GcTail, GcVec, InternSet, LateStack},
    ephemeron::{EphemeronMap, Weakness},
    finalize::FinalizerQueue,
    lock::{Lock, RefLock},
};

use crate::support::{Census, Token, collect_all};
use model::{Model, place};
pub use program::{HANDLES, KINDS, Kind, Op, Path, ROOTS, STRINGS, WIDTH, decode};

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

impl PartialEq for Node<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.number == other.number
    }
}

impl Eq for Node<'_> {}

impl Hash for Node<'_> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.number.hash(state);
    }
}

type NodeRef<'gc> = Gc<'gc, Node<'gc>>;

#[derive(Collect)]
#[collect(no_drop)]
struct Root<'gc> {
    nodes: Gc<'gc, RefLock<Vec<Option<NodeRef<'gc>>>>>,
    stack: LateStack<'gc, Option<NodeRef<'gc>>>,
    handles: DynamicRootSet<'gc>,
    pairs: EphemeronMap<'gc, NodeRef<'gc>, NodeRef<'gc>>,
    queue: FinalizerQueue<'gc, Node<'gc>>,
    strings: InternSet<'gc, u32>,
    kept: GcVec<'gc, Option<GcTail<'gc, u32, u8>>>,
}

/// What an interned string says.
fn text_of(text: u8) -> Vec<u8> {
    vec![text; 1 + usize::from(text) * 3]
}

/// Strings collide, in their places or altogether.
fn hash_of(text: u8) -> u32 {
    u32::from(text % 4) << 30 | u32::from(text / 8)
}

type Handle = DynamicRoot<Rootable!['a => Node<'a>]>;

/// The real side.
pub struct Machine {
    arena: Arena<Rootable![Root<'_>]>,
    census: Census,
    handles: [Option<Handle>; HANDLES],
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

/// Clears a kind of edges, and adds many beyond those that programs follow.
fn fill<'gc>(mc: &Mutation<'gc>, node: NodeRef<'gc>, kind: Kind, count: usize, to: NodeRef<'gc>) {
    let edge = |slot: usize| (slot >= WIDTH).then_some(to);
    match kind {
        Kind::List => {
            *unlock!(Gc::write(mc, node), Node, list).borrow_mut() =
                (0..WIDTH + count).map(edge).collect()
        }
        Kind::Vec => {
            node.vec.clear();
            for slot in 0..WIDTH + count {
                node.vec.push(mc, edge(slot));
            }
        }
        Kind::Map => {
            node.map.clear(mc);
            for slot in WIDTH..WIDTH + count {
                node.map.insert(mc, slot as u32, to);
            }
        }
        Kind::Tail => {
            let tail = GcTail::new(mc, node.number, WIDTH + count, edge);
            unlock!(Gc::write(mc, node), Node, tail).set(Some(tail));
        }
        Kind::Lock | Kind::Array => unreachable!("it has a few edges only"),
    }
}

/// How many places for edges of a kind there are.
fn extent(node: NodeRef<'_>, kind: Kind) -> usize {
    match kind {
        Kind::Lock => 1,
        Kind::List => node.list.borrow().len(),
        Kind::Array => WIDTH,
        Kind::Vec => node.vec.len(),
        Kind::Map => 0,
        Kind::Tail => node.tail.get().map_or(0, GcTail::len),
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

impl Default for Machine {
    fn default() -> Self {
        Self::new()
    }
}

impl Machine {
    /// A machine whose arena has generations.
    pub fn generational() -> Self {
        let mut machine = Self::new();
        machine.arena.set_generational(true);
        machine
    }

    pub fn new() -> Self {
        Self {
            arena: Arena::new(|mc| Root {
                nodes: Gc::new(mc, RefLock::new(vec![None; ROOTS])),
                stack: LateStack::new(mc, 4, None),
                handles: DynamicRootSet::new(mc),
                pairs: EphemeronMap::new(mc, Weakness::Keys),
                queue: FinalizerQueue::new(mc),
                strings: InternSet::new(),
                kept: {
                    let kept = GcVec::new();
                    kept.try_resize(mc, STRINGS, None).expect("there is memory");
                    kept
                },
            }),
            census: Census::default(),
            handles: [const { None }; HANDLES],
            model: Model::default(),
        }
    }

    /// Runs a step, and has the heap check its own books.
    pub fn run(&mut self, op: &Op) {
        self.run_unchecked(op);
        if let Err(what) = self.arena.verify() {
            panic!("after {op:?}: {what}");
        }
    }

    fn run_unchecked(&mut self, op: &Op) {
        let (arena, model, census, handles) = (
            &mut self.arena,
            &mut self.model,
            &self.census,
            &mut self.handles,
        );
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
            Op::Fill {
                from,
                kind,
                count,
                to,
            } => {
                let kind = KINDS[*kind];
                if matches!(kind, Kind::Lock | Kind::Array) {
                    return;
                }
                if let (Some(from), Some(to)) = (model.walk(from), model.walk(to)) {
                    model.clear(from, kind);
                    for slot in WIDTH..WIDTH + count {
                        model.set(from, kind, slot, Some(to));
                    }
                }
                arena.mutate(|mc, root| {
                    if let (Some(from), Some(to)) = (walk(root, from), walk(root, to)) {
                        fill(mc, from, kind, *count, to);
                    }
                });
            }
            Op::Shrink { from } => arena.mutate(|mc, root| {
                if let Some(from) = walk(root, from) {
                    while from.vec.last().is_some_and(|last| last.is_none()) {
                        from.vec.pop();
                    }
                    from.vec.shrink_to_fit(mc);
                }
            }),
            Op::Take { from, to } => {
                if let (Some(from), Some(to)) = (model.walk(from), model.walk(to)) {
                    model.take(from, to, Kind::Vec);
                }
                arena.mutate(|mc, root| {
                    if let (Some(from), Some(to)) = (walk(root, from), walk(root, to)) {
                        to.vec.replace(mc, from.vec.take());
                    }
                });
            }
            Op::Stash { handle, node } => {
                model.handles[*handle] = model.walk(node);
                handles[*handle] = arena
                    .mutate(|mc, root| walk(root, node).map(|node| root.handles.stash(mc, node)));
            }
            Op::Unstash { handle } => {
                model.handles[*handle] = None;
                handles[*handle] = None;
            }
            Op::Fetch { handle, root } => {
                if let Some(handle_ref) = &handles[*handle] {
                    model.roots[*root] = model.handles[*handle];
                    arena.mutate(|mc, heap| {
                        heap.nodes.borrow_mut(mc)[*root] = Some(heap.handles.fetch(handle_ref))
                    });
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
            Op::Pair { key, value } => {
                if let (Some(key), Some(value)) = (model.walk(key), model.walk(value)) {
                    model.pairs.insert(key, value);
                }
                arena.mutate(|mc, root| {
                    if let (Some(key), Some(value)) = (walk(root, key), walk(root, value)) {
                        root.pairs.insert(mc, key, value);
                    }
                });
            }
            Op::Unpair { key } => {
                let wanted = model.walk(key).and_then(|key| model.pairs.remove(&key));
                let found = arena.mutate(|mc, root| {
                    let value = walk(root, key).and_then(|key| root.pairs.remove(mc, &key));
                    value.map(|value| value.number)
                });
                assert_eq!(found, wanted);
            }
            Op::Register { node } => arena.mutate(|mc, root| {
                if let Some(node) = walk(root, node) {
                    root.queue.register(mc, node);
                }
            }),
            Op::Finalize { root } => {
                let found = arena.mutate(|mc, heap| {
                    let node = heap.queue.pop(mc)?;
                    heap.nodes.borrow_mut(mc)[*root] = Some(node);
                    Some(node.number)
                });
                if found.is_some() {
                    model.roots[*root] = found;
                }
            }
            Op::Intern { text, place } => {
                model.strings[*place] = Some(*text);
                let (bytes, hash) = (text_of(*text), hash_of(*text));
                arena.mutate(|mc, root| {
                    let found = root.strings.find(mc, hash, &bytes);
                    let string = found.unwrap_or_else(|| {
                        let string = GcTail::from_slice(mc, hash, &bytes);
                        root.strings.insert(mc, hash, string);
                        string
                    });
                    root.kept.set(mc, *place, Some(string));
                });
            }
            Op::Poke { slot, node } => {
                if !model.stack.is_empty() {
                    let slot = slot % model.stack.len();
                    model.stack[slot] = model.walk(node);
                    arena.mutate(|mc, root| {
                        let window = root.stack.slots(mc, slot..slot + 1);
                        window.expect("it was pushed")[0].set(walk(root, node));
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
            // A young cycle, where there are generations and one has ended.
            Op::Start if arena.is_generational() => arena.metrics().adjust_debt(1e6),
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
        self.arena.mutate(|mc, root| {
            for (string, wanted) in root.kept.iter().zip(&self.model.strings) {
                assert_eq!(
                    string.map(|string| string.tail()),
                    wanted.map(text_of).as_deref()
                );
                if let Some(string) = string {
                    let found = root.strings.find(mc, *string.header(), string.tail());
                    assert!(found.is_some_and(|found| GcTail::ptr_eq(found, string)));
                }
            }
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
                        let wanted = self.model.pairs.get(&number).copied();
                        let value = root.pairs.get(mc, &node);
                        assert_eq!(value.map(|value| value.number), wanted);
                        queue.extend(wanted.zip(value));
                        for kind in KINDS {
                            let edges: BTreeMap<usize, u32> =
                                self.model.edges_of(number, kind).collect();
                            if kind == Kind::Map {
                                assert_eq!(node.map.len(), edges.len());
                            }
                            let beyond = edges.last_key_value().map_or(0, |(slot, _)| slot + 1);
                            for slot in 0..extent(node, kind).max(beyond) {
                                let (wanted, found) =
                                    (edges.get(&slot).copied(), get(node, kind, slot));
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
        // Nothing is left that is to come back.
        loop {
            collect_all(&mut self.arena);
            let came_back = self
                .arena
                .mutate(|mc, root| std::iter::from_fn(|| root.queue.pop(mc)).count());
            if came_back == 0 {
                break;
            }
        }
        self.check();
        let reachable = self.model.reachable();
        let pairs = self
            .model
            .pairs
            .keys()
            .filter(|key| reachable.contains(key));
        assert_eq!(self.arena.mutate(|_, root| root.pairs.len()), pairs.count());
        assert_eq!(
            self.census.alive(),
            self.model.reachable().len(),
            "exactly what can be reached is alive"
        );
        drop(self.arena);
        assert_eq!(self.census.alive(), 0);
    }
}
