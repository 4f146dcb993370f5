//! What the programs work on, and how they find their way through it.

use std::hash::{Hash, Hasher};

use sleepy_gc::collections::{GcMap, GcTail, GcVec, InternSet, LateStack, Sliced};
use sleepy_gc::ephemeron::{EphemeronMap, WeakTarget};
use sleepy_gc::finalize::FinalizerQueue;
use sleepy_gc::{
    Collect, DynamicRootSet, ForwardLock, Gc, GcWeak, Lock, Mutation, OnceLock, RefLock,
};

const MASK: u64 = 0xdead_beef_1234_5678;

pub type NodeRef<'gc> = Gc<'gc, Node<'gc>>;
pub type Links<'gc> = GcTail<'gc, u64, Lock<Option<NodeRef<'gc>>>>;
pub type Map<'gc> = EphemeronMap<'gc, Key<'gc>, Key<'gc>>;
pub type Stack<'gc> = LateStack<'gc, Option<NodeRef<'gc>>>;
/// A number in decimal, with its hash.
pub type Text<'gc> = GcTail<'gc, u32, u8>;
type Slots<'gc> = Sliced<RefLock<Vec<ForwardLock<Option<NodeRef<'gc>>>>>>;

/// An object with an edge of each kind.
#[derive(Collect)]
#[collect(no_drop)]
pub struct Node<'gc> {
    id: u64,
    /// `id ^ MASK`.
    masked: u64,
    /// The number again, outside the cell.
    text: Option<String>,
    /// The number and the masked one, in a cell without edges.
    leaf: Option<Gc<'gc, (u64, u64)>>,
    pub next: Lock<Option<NodeRef<'gc>>>,
    pub list: RefLock<Vec<NodeRef<'gc>>>,
    pub vec: GcVec<'gc, NodeRef<'gc>>,
    pub forward: ForwardLock<Option<NodeRef<'gc>>>,
    pub once: OnceLock<NodeRef<'gc>>,
    pub weak: Lock<Option<GcWeak<'gc, Node<'gc>>>>,
    pub links: Lock<Option<Links<'gc>>>,
    pub map: GcMap<'gc, u32, NodeRef<'gc>>,
}

impl<'gc> Node<'gc> {
    pub fn new(mc: &Mutation<'gc>, random: &mut Random) -> NodeRef<'gc> {
        let id = random.below(1 << 52);
        Gc::new(
            mc,
            Node {
                id,
                masked: id ^ MASK,
                text: random.one_in(3).then(|| id.to_string()),
                leaf: random.one_in(2).then(|| Gc::new(mc, (id, id ^ MASK))),
                next: Lock::new(None),
                list: RefLock::new(Vec::new()),
                vec: GcVec::new(),
                forward: ForwardLock::new(None),
                once: OnceLock::new(),
                weak: Lock::new(None),
                links: Lock::new(None),
                map: GcMap::new(),
            },
        )
    }

    /// Panics unless the object is as it was made.
    pub fn check(&self) {
        assert_eq!(self.id ^ MASK, self.masked, "an object was freed");
        if let Some(text) = &self.text {
            assert_eq!(*text, self.id.to_string());
        }
        if let Some(leaf) = self.leaf {
            assert_eq!(*leaf, (self.id, self.masked), "a leaf was freed");
        }
    }

    /// What a random edge leads to.
    fn follow(&self, mc: &Mutation<'gc>, random: &mut Random) -> Option<NodeRef<'gc>> {
        match random.below(9) {
            0 => self.next.get(),
            1 => {
                let list = self.list.borrow();
                list.get(random.index(list.len())).copied()
            }
            2 => self.vec.get(random.index(self.vec.len())),
            3 => self.forward.get(),
            4 => self.once.get().copied(),
            5 => self.weak.get()?.upgrade(mc),
            6 => {
                let links = self.links.get()?;
                assert_eq!(*links.header(), links.len() as u64);
                links.tail().get(random.index(links.len()))?.get()
            }
            7 => self.map.get(&random.map_key()),
            _ => None,
        }
    }
}

/// A node in a weak map, equal only to itself.
#[derive(Clone, Copy, Collect)]
#[collect(no_drop)]
pub struct Key<'gc>(pub NodeRef<'gc>);

impl PartialEq for Key<'_> {
    fn eq(&self, other: &Self) -> bool {
        // A map compares with what it holds: that must not be a dead key.
        self.0.check();
        other.0.check();
        Gc::ptr_eq(self.0, other.0)
    }
}

impl Eq for Key<'_> {}

impl Hash for Key<'_> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (Gc::as_ptr(self.0) as usize).hash(state);
    }
}

// SAFETY: the node is the one pointer that a key owns; its address is its target, at each call and unread.
unsafe impl<'gc> WeakTarget<'gc> for Key<'gc> {
    fn weak_target(&self) -> Option<Gc<'gc, ()>> {
        self.0.weak_target()
    }
}

/// One container of each kind, or a few.
#[derive(Collect)]
#[collect(no_drop)]
pub struct Root<'gc> {
    pub nodes: GcVec<'gc, NodeRef<'gc>>,
    pub maps: GcVec<'gc, Gc<'gc, Map<'gc>>>,
    pub finalizers: FinalizerQueue<'gc, Node<'gc>>,
    pub roots: DynamicRootSet<'gc>,
    pub interned: Gc<'gc, InternSet<'gc, u32>>,
    /// Some of the interned texts; the others die.
    pub texts: GcVec<'gc, Text<'gc>>,
    pub stacks: GcVec<'gc, Gc<'gc, Stack<'gc>>>,
    pub sliced: Gc<'gc, Slots<'gc>>,
    pub weaks: Gc<'gc, RefLock<Vec<GcWeak<'gc, Node<'gc>>>>>,
}

impl<'gc> Root<'gc> {
    pub fn new(mc: &Mutation<'gc>) -> Gc<'gc, Self> {
        Gc::new(
            mc,
            Root {
                nodes: GcVec::new(),
                maps: GcVec::new(),
                finalizers: FinalizerQueue::new(mc),
                roots: DynamicRootSet::new(mc),
                interned: Gc::new(mc, InternSet::new()),
                texts: GcVec::new(),
                stacks: GcVec::new(),
                sliced: Gc::new(mc, Sliced::new(RefLock::new(Vec::new()))),
                weaks: Gc::new(mc, RefLock::new(Vec::new())),
            },
        )
    }

    /// A random weak map.
    pub fn map(&self, random: &mut Random) -> Option<Gc<'gc, Map<'gc>>> {
        self.maps.get(random.index(self.maps.len()))
    }

    /// A random stack.
    pub fn stack(&self, random: &mut Random) -> Option<Gc<'gc, Stack<'gc>>> {
        self.stacks.get(random.index(self.stacks.len()))
    }

    /// A node that a random walk comes to, or a new one.
    pub fn pick(&self, mc: &Mutation<'gc>, random: &mut Random) -> NodeRef<'gc> {
        let mut node = self
            .start(mc, random)
            .unwrap_or_else(|| Node::new(mc, random));
        node.check();
        for _ in 0..random.below(6) {
            if let Some(next) = node.follow(mc, random) {
                next.check();
                node = next;
            }
        }
        node
    }

    /// A node that a container of the root holds.
    fn start(&self, mc: &Mutation<'gc>, random: &mut Random) -> Option<NodeRef<'gc>> {
        match random.below(8) {
            0 => {
                let slots = self.sliced.borrow();
                slots.get(random.index(slots.len()))?.get()
            }
            1 => {
                let stack = self.stack(random)?;
                if stack.top() == 0 {
                    return None;
                }
                stack.get(random.index(stack.top()))?
            }
            2 => {
                let weaks = self.weaks.borrow();
                weaks.get(random.index(weaks.len()))?.upgrade(mc)
            }
            3 => {
                let map = self.map(random)?;
                let (key, value) = map.entry_at(mc, random.index(map.slots()))?;
                Some(if random.one_in(2) { key.0 } else { value.0 })
            }
            _ => self.nodes.get(random.index(self.nodes.len())),
        }
    }
}

/// Numbers by xorshift: the same for a seed everywhere.
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        // Seeds that follow one another begin far apart; the state is never zero.
        Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    /// Below the limit; zero if that is zero.
    pub fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % limit.max(1)
    }

    /// An index into what has so many elements; zero if it has none.
    pub fn index(&mut self, len: usize) -> usize {
        self.below(len as u64) as usize
    }

    pub fn one_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }

    /// A key of a node's map: few, so that they are met again.
    pub fn map_key(&mut self) -> u32 {
        self.below(20) as u32
    }
}
