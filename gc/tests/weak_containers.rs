//! Weak maps, weak sets and finalizers against a model of what a full cycle does.

mod support;

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use sleepy_gc::{
    Arena, Budget, Collect, Gc, Mutation, Rootable,
    barrier::unlock,
    collections::{GcTail, InternSet},
    ephemeron::{EphemeronMap, Weakness},
    finalize::FinalizerQueue,
    lock::{Lock, RefLock},
};
use support::{Census, Token, collect_all};

const KEPT: usize = 6;
const WEAKNESSES: [Weakness; 3] = [Weakness::Keys, Weakness::Values, Weakness::Both];

#[derive(Collect)]
#[collect(no_drop)]
struct Object<'gc> {
    number: u32,
    edge: Lock<Option<ObjectRef<'gc>>>,
    #[allow(dead_code, reason = "counts the object")]
    token: Token,
}

type ObjectRef<'gc> = Gc<'gc, Object<'gc>>;
type WeakMap<'gc> = EphemeronMap<'gc, ObjectRef<'gc>, ObjectRef<'gc>>;

impl PartialEq for Object<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.number == other.number
    }
}

impl Eq for Object<'_> {}

impl std::hash::Hash for Object<'_> {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        (self.number % 5).hash(state);
    }
}

#[derive(Collect)]
#[collect(no_drop)]
struct Root<'gc> {
    kept: Gc<'gc, RefLock<Vec<Option<ObjectRef<'gc>>>>>,
    maps: [Gc<'gc, WeakMap<'gc>>; 3],
    queue: FinalizerQueue<'gc, Object<'gc>>,
}

#[derive(Clone, Debug)]
enum Op {
    New {
        at: usize,
    },
    Forget {
        at: usize,
    },
    Edge {
        from: usize,
        to: usize,
    },
    Insert {
        map: usize,
        key: usize,
        value: usize,
    },
    Remove {
        map: usize,
        key: usize,
    },
    Fetch {
        map: usize,
        key: usize,
        to: usize,
    },
    Register {
        at: usize,
    },
    Pop {
        to: usize,
    },
    Step {
        bytes: u16,
    },
    Start,
    Collect,
}

fn op() -> impl Strategy<Value = Op> {
    let (at, map) = (0..KEPT, 0..3usize);
    prop_oneof![
        6 => at.clone().prop_map(|at| Op::New { at }),
        2 => at.clone().prop_map(|at| Op::Forget { at }),
        2 => (at.clone(), at.clone()).prop_map(|(from, to)| Op::Edge { from, to }),
        8 => (map.clone(), at.clone(), at.clone()).prop_map(|(map, key, value)| Op::Insert { map, key, value }),
        1 => (map.clone(), at.clone()).prop_map(|(map, key)| Op::Remove { map, key }),
        3 => (map, at.clone(), at.clone()).prop_map(|(map, key, to)| Op::Fetch { map, key, to }),
        1 => at.clone().prop_map(|at| Op::Register { at }),
        1 => at.prop_map(|to| Op::Pop { to }),
        10 => (1u16..2000).prop_map(|bytes| Op::Step { bytes }),
        2 => Just(Op::Start),
        1 => Just(Op::Collect),
    ]
}

#[derive(Clone, Default)]
struct Model {
    kept: [Option<u32>; KEPT],
    edges: BTreeMap<u32, u32>,
    maps: [BTreeMap<u32, u32>; 3],
    registered: Vec<u32>,
    ready: BTreeSet<u32>,
    /// Whether a finalizer was registered. An object that a cycle brings back, and when, depends on what else that cycle has kept for
    /// another one; so from then on the model says only what must be there, not what must not.
    resurrects: bool,
    next: u32,
}

impl Model {
    /// What is reachable, with values of ephemerons whose keys are.
    fn marked(&self) -> BTreeSet<u32> {
        let mut marked: BTreeSet<u32> = self.kept.iter().flatten().copied().collect();
        marked.extend(&self.ready);
        marked.extend(self.maps[1].keys());
        loop {
            let before = marked.len();
            marked.extend(
                self.edges
                    .iter()
                    .filter(|(from, _)| marked.contains(from))
                    .map(|(_, to)| *to)
                    .collect::<Vec<_>>(),
            );
            marked.extend(
                self.maps[0]
                    .iter()
                    .filter(|(key, _)| marked.contains(key))
                    .map(|(_, value)| *value)
                    .collect::<Vec<_>>(),
            );
            if marked.len() == before {
                return marked;
            }
        }
    }

    /// What is reachable once cycles have done all that they can.
    fn marked_in_the_end(&self) -> BTreeSet<u32> {
        let mut model = self.clone();
        model.settle();
        model.marked()
    }

    /// Cycles, until nothing is left to be decided.
    fn settle(&mut self) {
        for _ in 0..16 {
            self.cycle();
        }
    }

    /// One whole cycle.
    fn cycle(&mut self) {
        let marked = self.marked();
        // Weak values go before anything is resurrected, weak keys after.
        for map in &mut self.maps[1..] {
            map.retain(|_, value| marked.contains(value));
        }
        // The latest registration comes first, and what it brings back is alive for the earlier ones.
        for at in (0..self.registered.len()).rev() {
            let number = self.registered[at];
            if !marked.contains(&number) && self.ready.insert(number) {
                self.registered.remove(at);
            }
        }
        let marked = self.marked();
        for (map, weakness) in self.maps.iter_mut().zip(WEAKNESSES) {
            map.retain(|key, value| {
                (weakness == Weakness::Values || marked.contains(key))
                    && (weakness == Weakness::Keys || marked.contains(value))
            });
        }
    }
}

struct Machine {
    arena: Arena<Rootable![Root<'_>]>,
    census: Census,
    model: Model,
}

impl Machine {
    fn new() -> Self {
        let arena = Arena::<Rootable![Root<'_>]>::new(|mc| Root {
            kept: Gc::new(mc, RefLock::new(vec![None; KEPT])),
            maps: WEAKNESSES.map(|weakness| Gc::new(mc, EphemeronMap::new(mc, weakness))),
            queue: FinalizerQueue::new(mc),
        });
        Self {
            arena,
            census: Census::default(),
            model: Model::default(),
        }
    }

    fn run(&mut self, op: &Op) {
        self.run_unchecked(op);
        if let Err(what) = self.arena.verify() {
            panic!("after {op:?}: {what}");
        }
    }

    fn run_unchecked(&mut self, op: &Op) {
        let (arena, model, census) = (&mut self.arena, &mut self.model, &self.census);
        match *op {
            Op::New { at } => {
                let number = model.next;
                model.next += 1;
                model.kept[at] = Some(number);
                arena.mutate(|mc, root| {
                    let object = Object {
                        number,
                        edge: Lock::new(None),
                        token: census.token(),
                    };
                    root.kept.borrow_mut(mc)[at] = Some(Gc::new(mc, object));
                });
            }
            Op::Forget { at } => {
                model.kept[at] = None;
                arena.mutate(|mc, root| root.kept.borrow_mut(mc)[at] = None);
            }
            Op::Edge { from, to } => {
                if let (Some(from), Some(to)) = (model.kept[from], model.kept[to]) {
                    model.edges.insert(from, to);
                }
                arena.mutate(|mc, root| {
                    let kept = root.kept.borrow();
                    if let (Some(from), Some(to)) = (kept[from], kept[to]) {
                        unlock!(Gc::write(mc, from), Object, edge).set(Some(to));
                    }
                });
            }
            Op::Insert { map, key, value } => {
                if let (Some(key), Some(value)) = (model.kept[key], model.kept[value]) {
                    model.maps[map].insert(key, value);
                }
                arena.mutate(|mc, root| {
                    let kept = root.kept.borrow();
                    if let (Some(key), Some(value)) = (kept[key], kept[value]) {
                        root.maps[map].insert(mc, key, value);
                    }
                });
            }
            Op::Remove { map, key } => {
                if let Some(key) = model.kept[key] {
                    model.maps[map].remove(&key);
                }
                arena.mutate(|mc, root| {
                    if let Some(key) = root.kept.borrow()[key] {
                        root.maps[map].remove(mc, &key);
                    }
                });
            }
            Op::Fetch { map, key, to } => {
                let wanted = model.kept[key]
                    .and_then(|key| model.maps[map].get(&key))
                    .copied();
                let found = arena.mutate(|mc, root| {
                    let key = root.kept.borrow()[key];
                    let found = key.and_then(|key| root.maps[map].get(mc, &key));
                    root.kept.borrow_mut(mc)[to] = found;
                    found.map(|object| object.number)
                });
                // Where the value is weak, a cycle that the model does not know of may have removed it.
                match (wanted, found) {
                    (Some(wanted), None) => {
                        assert!(WEAKNESSES[map] != Weakness::Keys);
                        assert!(model.resurrects || !model.marked_in_the_end().contains(&wanted));
                        let key = model.kept[key].expect("it was looked up");
                        model.maps[map].remove(&key);
                    }
                    (None, Some(_)) if model.resurrects => {}
                    _ => assert_eq!(wanted, found),
                }
                model.kept[to] = found;
            }
            Op::Register { at } => {
                model.registered.extend(model.kept[at]);
                model.resurrects = true;
                arena.mutate(|mc, root| {
                    if let Some(object) = root.kept.borrow()[at] {
                        root.queue.register(mc, object);
                    }
                });
            }
            Op::Pop { to } => {
                let popped = arena.mutate(|mc, root| {
                    let object = root.queue.pop(mc);
                    if object.is_some() {
                        root.kept.borrow_mut(mc)[to] = object;
                    }
                    object.map(|object| object.number)
                });
                if let Some(number) = popped {
                    if !model.ready.remove(&number) {
                        // A cycle that the model does not know of has queued it, and has cleared weak values too.
                        let at = model.registered.iter().position(|other| *other == number);
                        model.registered.remove(at.expect("it was registered"));
                        arena.mutate(|mc, root| {
                            for (map, wanted) in root.maps.iter().zip(&mut model.maps) {
                                let found: BTreeSet<u32> =
                                    map.iter(mc).map(|(key, _)| key.number).collect();
                                wanted.retain(|key, _| found.contains(key));
                            }
                        });
                    }
                    model.kept[to] = Some(number);
                }
            }
            Op::Step { bytes } => {
                arena.step(Budget::Work(usize::from(bytes)));
            }
            Op::Start => arena.start_cycle(),
            Op::Collect => self.collect(),
        }
    }

    /// After some whole cycles nothing is left to be decided, and both sides agree.
    fn collect(&mut self) {
        for _ in 0..8 {
            collect_all(&mut self.arena);
        }
        self.model.settle();
        let model = &mut self.model;
        self.arena.mutate(|mc, root| {
            for ((map, wanted), weakness) in root.maps.iter().zip(&mut model.maps).zip(WEAKNESSES) {
                let found: BTreeMap<u32, u32> = map
                    .iter(mc)
                    .map(|(key, value)| (key.number, value.number))
                    .collect();
                assert_eq!(map.len(), found.len(), "{weakness:?}");
                if model.resurrects {
                    let kept: BTreeSet<u32> = model.kept.iter().flatten().copied().collect();
                    for (key, value) in &*wanted {
                        if kept.contains(key) && kept.contains(value) {
                            assert_eq!(found.get(key), Some(value), "{weakness:?}");
                        }
                    }
                    *wanted = found;
                } else {
                    assert_eq!(found, *wanted, "{weakness:?}");
                }
            }
        });
    }

    fn finish(mut self) {
        self.collect();
        let wanted = self.model.marked().len();
        if !self.model.resurrects {
            assert_eq!(self.census.alive(), wanted);
        }
        let registered = self.arena.mutate(|mc, root| {
            let mut kept = root.kept.borrow_mut(mc);
            kept.fill(None);
            root.queue.registered() + root.queue.ready()
        });
        let mut popped = 0;
        let mut idle = 0;
        while idle < 3 {
            collect_all(&mut self.arena);
            let more = self
                .arena
                .mutate(|mc, root| std::iter::from_fn(|| root.queue.pop(mc)).count());
            popped += more;
            idle = if more == 0 { idle + 1 } else { 0 };
        }
        // Keys are held by the map with weak values, and what they refer to.
        assert!(popped <= registered && (popped == registered || !self.model.maps[1].is_empty()));
        drop(self.arena);
        assert_eq!(self.census.alive(), 0);
    }
}

type Interned<'gc> = GcTail<'gc, u32, u8>;

#[derive(Collect)]
#[collect(no_drop)]
struct Strings<'gc> {
    set: Gc<'gc, InternSet<'gc, u32>>,
    kept: Gc<'gc, RefLock<Vec<Option<Interned<'gc>>>>>,
}

/// A hash with collisions, and with few different top bits.
fn hash(text: &[u8], poor: bool) -> u32 {
    let sum = text.iter().fold(7u32, |sum, byte| {
        sum.wrapping_mul(31).wrapping_add(u32::from(*byte))
    });
    if poor {
        sum % 3
    } else {
        sum.wrapping_mul(0x9E37_79B1)
    }
}

fn intern<'gc>(
    mc: &Mutation<'gc>,
    strings: &Strings<'gc>,
    text: &str,
    poor: bool,
) -> GcTail<'gc, u32, u8> {
    let hash = hash(text.as_bytes(), poor);
    if let Some(found) = strings.set.find(mc, hash, text.as_bytes()) {
        assert_eq!((found.tail(), *found.header()), (text.as_bytes(), hash));
        return found;
    }
    let new = GcTail::from_slice(mc, hash, text.as_bytes());
    strings
        .set
        .try_insert(mc, hash, new)
        .expect("there is memory");
    new
}

fn config() -> ProptestConfig {
    ProptestConfig {
        max_shrink_iters: 20_000,
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn weak_maps_agree_with_the_model(ops in proptest::collection::vec(op(), 1..150)) {
        let mut machine = Machine::new();
        for op in ops.iter().filter(|op| !matches!(op, Op::Register { .. })) {
            machine.run(op);
        }
        machine.finish();
    }

    #[test]
    fn finalizers_keep_what_must_be_there(ops in proptest::collection::vec(op(), 1..150)) {
        let mut machine = Machine::new();
        for op in &ops {
            machine.run(op);
        }
        machine.finish();
    }

    #[test]
    fn a_string_is_interned_once(poor in any::<bool>(), ops in proptest::collection::vec((0u32..60, 0usize..20, 0u16..1500), 1..300)) {
        let mut arena = Arena::<Rootable![Strings<'_>]>::new(|mc| Strings {
            set: Gc::new(mc, InternSet::new()),
            kept: Gc::new(mc, RefLock::new(vec![None; 20])),
        });
        let mut kept: Vec<Option<String>> = vec![None; 20];
        for (number, at, bytes) in ops {
            let text = format!("string {number}");
            arena.mutate(|mc, root| {
                let found = intern(mc, root, &text, poor);
                for (other, string) in root.kept.borrow().iter().zip(&kept) {
                    assert_eq!(other.is_some_and(|other| GcTail::ptr_eq(other, found)), string.as_ref() == Some(&text));
                }
                root.kept.borrow_mut(mc)[at] = (number % 3 != 0).then_some(found);
            });
            kept[at] = (number % 3 != 0).then_some(text);
            if bytes == 7 {
                arena.start_cycle();
            }
            arena.step(Budget::Work(usize::from(bytes)));
        }
        collect_all(&mut arena);
        let wanted: BTreeSet<_> = kept.iter().flatten().collect();
        arena.mutate(|mc, root| {
            assert_eq!(root.set.len(), wanted.len());
            for text in wanted {
                assert!(root.set.find(mc, hash(text.as_bytes(), poor), text.as_bytes()).is_some());
            }
            assert!(root.set.find(mc, hash(b"nobody", poor), b"nobody").is_none());
        });
    }
}
