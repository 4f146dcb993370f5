//! Memory is refused at every moment in turn, whoever asks for it: the collector's own tables by the global allocator,
//! the heap by the system. What is tried says so, nothing that was there is lost, steps come to their end, and with
//! memory all goes on.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::hash::{Hash, Hasher};
use std::process::Command;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use sleepy_gc::collections::{GcMap, GcTail, GcVec, InternSet, LateStack};
use sleepy_gc::ephemeron::{EphemeronMap, Weakness};
use sleepy_gc::finalize::FinalizerQueue;
use sleepy_gc::{
    Arena, Budget, Collect, Gc, GcWeak, Lock, Mutation, Rootable, Static, barrier::unlock,
};

/// What is refused.
#[derive(Clone, Copy)]
enum Refusal {
    /// Of the global allocator's calls that one, and all after it or not.
    Call {
        nth: usize,
        and_all_after: bool,
    },
    /// Address space beyond so many bytes.
    Space(u64),
    Nothing,
}

thread_local! {
    static REFUSAL: Cell<Refusal> = const { Cell::new(Refusal::Nothing) };
    static IS_ARMED: Cell<bool> = const { Cell::new(false) };
    static CALLS: Cell<usize> = const { Cell::new(0) };
}

struct Faulty;

impl Faulty {
    fn refuses() -> bool {
        if !IS_ARMED.get() {
            return false;
        }
        let call = CALLS.replace(CALLS.get() + 1);
        match REFUSAL.get() {
            Refusal::Call { nth, and_all_after } => call == nth || and_all_after && call > nth,
            Refusal::Space(_) | Refusal::Nothing => false,
        }
    }
}

// SAFETY: the system's allocator, or null.
unsafe impl GlobalAlloc for Faulty {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if Self::refuses() {
            return std::ptr::null_mut();
        }
        // SAFETY: the caller's contract.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, ptr: *mut u8, layout: Layout) {
        // SAFETY: the caller's contract.
        unsafe { System.dealloc(ptr, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Faulty = Faulty;

/// Runs `f` while memory is refused.
fn refused<T>(f: impl FnOnce() -> T) -> T {
    let limit = getrlimit(Resource::As);
    if let Refusal::Space(bytes) = REFUSAL.get() {
        let current = Some(bytes);
        setrlimit(Resource::As, Rlimit { current, ..limit }).unwrap();
    }
    IS_ARMED.set(true);
    let result = f();
    IS_ARMED.set(false);
    if let Refusal::Space(_) = REFUSAL.get() {
        setrlimit(Resource::As, limit).unwrap();
    }
    result
}

#[derive(Collect)]
#[collect(no_drop)]
struct Node<'gc> {
    number: usize,
    next: Lock<Option<Gc<'gc, Node<'gc>>>>,
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
    list: Lock<Option<NodeRef<'gc>>>,
    vector: GcVec<'gc, NodeRef<'gc>>,
    map: GcMap<'gc, usize, NodeRef<'gc>>,
    arrays: GcVec<'gc, GcTail<'gc, usize, Option<NodeRef<'gc>>>>,
    ephemerons: EphemeronMap<'gc, NodeRef<'gc>, NodeRef<'gc>>,
    weak: GcVec<'gc, GcWeak<'gc, Node<'gc>>>,
    strings: InternSet<'gc, u32>,
    kept: GcVec<'gc, GcTail<'gc, u32, u8>>,
    stack: LateStack<'gc, Option<NodeRef<'gc>>>,
    queue: FinalizerQueue<'gc, Node<'gc>>,
    others: GcVec<'gc, Gc<'gc, LateStack<'gc, Option<NodeRef<'gc>>>>>,
}

type RootArena = Arena<Rootable![Gc<'_, Root<'_>>]>;

fn arena() -> RootArena {
    RootArena::new(|mc| {
        let root = Root {
            list: Lock::new(None),
            vector: GcVec::new(),
            map: GcMap::new(),
            arrays: GcVec::new(),
            ephemerons: EphemeronMap::new(mc, Weakness::Keys),
            weak: GcVec::new(),
            strings: InternSet::new(),
            kept: GcVec::new(),
            stack: LateStack::new(mc, 4, None),
            queue: FinalizerQueue::new(mc),
            others: GcVec::new(),
        };
        Gc::new(mc, root)
    })
}

/// What was done, by kind of operation.
#[derive(Default)]
struct Model {
    list: Vec<usize>,
    vector: Vec<usize>,
    map: Vec<usize>,
    arrays: Vec<usize>,
    pairs: Vec<usize>,
    kept: Vec<usize>,
    stack: Vec<usize>,
    others: usize,
}

const KINDS: usize = 10;

/// Operations of a run.
const OPERATIONS: usize = 450;

/// How many nodes the array of an operation has.
fn len_of(n: usize) -> usize {
    if n % 100 == 3 { 3000 } else { n % 90 }
}

/// One operation; `None`: there was no memory, and what was there is as it was.
fn operate<'gc>(mc: &Mutation<'gc>, root: Gc<'gc, Root<'gc>>, n: usize) -> Option<()> {
    let node = |next| {
        let (number, next) = (n, Lock::new(next));
        Gc::try_new(mc, Node { number, next }).ok()
    };
    match n % KINDS {
        0 => {
            let first = node(root.list.get())?;
            unlock!(Gc::write(mc, root), Root, list).set(Some(first));
        }
        1 => root.vector.try_push(mc, node(None)?).ok()?,
        2 => drop(root.map.try_insert(mc, n, node(None)?).ok()?),
        3 => {
            let to = node(None)?;
            let array = GcTail::try_new(mc, n, len_of(n), |_| Some(to)).ok()?;
            root.arrays.try_push(mc, array).ok()?;
        }
        4 => {
            // The key is the newest node of the vector, the value hangs at nothing else.
            if let Some(key) = root.vector.last() {
                root.ephemerons.try_insert(mc, key, node(None)?).ok()?;
            }
        }
        5 => root.weak.try_push(mc, Gc::downgrade(node(None)?)).ok()?,
        6 => {
            let hash = n as u32;
            let string = GcTail::try_from_slice(mc, hash, &n.to_le_bytes()).ok()?;
            root.kept.try_push(mc, string).ok()?;
            if root.strings.try_insert(mc, hash, string).is_err() {
                root.kept.pop();
                return None;
            }
        }
        7 => {
            let top = root.stack.top();
            root.stack.try_grow(mc, top + 1).ok()?;
            let window = root.stack.slots(mc, top..top + 1)?;
            window[0].set(Some(node(None)?));
            root.stack.set_top(mc, top + 1);
        }
        8 => root.queue.try_register(mc, node(None)?).ok()?,
        _ => {
            // Types of their own, so that the tables of spaces grow, and stacks that are scanned late.
            Gc::try_new(mc, Static([n as u64; 7])).ok()?;
            let stack = LateStack::try_new(mc, 70, None).ok()?;
            stack.set_top(mc, 70);
            stack.set(mc, 69, root.list.get());
            root.others
                .try_push(mc, Gc::try_new(mc, stack).ok()?)
                .ok()?;
        }
    }
    Some(())
}

impl Model {
    fn note(&mut self, n: usize) {
        match n % KINDS {
            0 => self.list.push(n),
            1 => self.vector.push(n),
            2 => self.map.push(n),
            3 => self.arrays.push(n),
            4 => self.pairs.extend(self.vector.last().map(|_| n)),
            6 => self.kept.push(n),
            7 => self.stack.push(n),
            9 => self.others += 1,
            _ => {}
        }
    }

    fn check(&self, arena: &mut RootArena) {
        arena.verify().unwrap();
        arena.mutate(|mc, root| {
            let list = std::iter::successors(root.list.get(), |node| node.next.get());
            assert!(
                list.map(|node| node.number)
                    .eq(self.list.iter().rev().copied())
            );
            let vector = root.vector.iter().map(|node| node.number);
            assert!(vector.eq(self.vector.iter().copied()));
            assert_eq!(root.map.len(), self.map.len());
            for n in &self.map {
                assert_eq!(root.map.get(n).map(|node| node.number), Some(*n));
            }
            assert_eq!(root.arrays.len(), self.arrays.len());
            for (array, &n) in root.arrays.iter().zip(&self.arrays) {
                assert_eq!((*array.header(), array.len()), (n, len_of(n)));
                let is_whole =
                    |node: &Option<NodeRef<'_>>| node.is_some_and(|node| node.number == n);
                assert!(array.tail().iter().all(is_whole));
            }
            for (key, value) in root.ephemerons.iter(mc) {
                assert!(self.vector.contains(&key.number) && self.pairs.contains(&value.number));
            }
            for weak in root.weak.iter() {
                assert!(weak.upgrade(mc).is_none_or(|node| node.number % KINDS == 5));
            }
            assert_eq!(root.kept.len(), self.kept.len());
            for string in root.kept.iter() {
                let found = root.strings.find(mc, *string.header(), string.tail());
                assert!(found.is_some_and(|found| GcTail::ptr_eq(found, string)));
            }
            assert_eq!(root.stack.top(), self.stack.len());
            for (slot, &n) in self.stack.iter().enumerate() {
                let node = root.stack.get(slot).flatten();
                assert_eq!(node.map(|node| node.number), Some(n));
            }
            assert_eq!(root.others.len(), self.others);
            for stack in root.others.iter() {
                let node = stack.get(69).flatten();
                assert!(node.is_none_or(|node| node.number % KINDS == 0));
            }
        });
    }
}

/// The program, with what is refused: how often an operation was, and how many calls of the allocator there were.
fn run(refusal: Refusal) -> (usize, usize) {
    REFUSAL.set(refusal);
    CALLS.set(0);
    let mut arena = arena();
    let mut model = Model::default();
    let mut refusals = 0;
    for n in 0..OPERATIONS {
        match refused(|| arena.mutate(|mc, root| operate(mc, *root, n))) {
            Some(()) => model.note(n),
            None => refusals += 1,
        }
        match n % 150 {
            40 => arena.start_cycle(),
            100 => refused(|| assert!(arena.finish_marking().is_some() || arena.has_work())),
            130 => refused(|| arena.finish_cycle()),
            149 => model.check(&mut arena),
            _ => drop(refused(|| arena.step(Budget::Work(500)))),
        }
        refused(|| arena.mutate(|mc, root| while root.queue.pop(mc).is_some() {}));
    }
    REFUSAL.set(Refusal::Nothing);
    let calls = CALLS.get();
    model.check(&mut arena);
    for n in OPERATIONS..OPERATIONS + 3 * KINDS {
        let done = arena.mutate(|mc, root| operate(mc, *root, n));
        assert!(done.is_some(), "there is memory again");
        model.note(n);
        arena.finish_cycle();
    }
    model.check(&mut arena);
    arena.mutate(|mc, root| {
        assert_eq!(
            (root.ephemerons.len(), root.queue.registered()),
            (root.ephemerons.iter(mc).count(), 0)
        );
    });
    (refusals, calls)
}

#[test]
fn every_call_of_the_allocator_may_fail() {
    assert_eq!(run(Refusal::Nothing).0, 0);
    for and_all_after in [false, true] {
        let mut nth = 0;
        while run(Refusal::Call { nth, and_all_after }).1 > nth {
            nth += 1;
        }
        assert!(nth > 20, "{nth} calls");
        println!("{nth} calls");
    }
}

#[test]
fn marking_without_any_memory_ends_and_keeps_what_is_reachable() {
    // Wide and deep, more than any queue keeps room for, with arrays, stacks and entries that wait.
    let mut arena = arena();
    arena.mutate(|mc, root| {
        let node = |number, next| {
            let next = Lock::new(next);
            Gc::new(mc, Node { number, next })
        };
        let mut previous = None;
        for n in 0..20_000 {
            let first = node(n, Some(node(n, Some(node(n, previous)))));
            root.vector.push(mc, first);
            let next = node(n + 1_000_000, None);
            root.ephemerons.insert(mc, previous.unwrap_or(first), next);
            // Longer and longer ways through the oldest, and short ones to all.
            previous = (n % 7 != 0).then_some(next);
            if n % 100 == 0 {
                let array = GcTail::new(mc, n, 500, |_| Some(node(n, previous)));
                root.arrays.push(mc, array);
                let stack = LateStack::new(mc, 300, None);
                stack.set_top(mc, 300);
                (0..300).for_each(|slot| stack.set(mc, slot, Some(node(slot, None))));
                root.others.push(mc, Gc::new(mc, stack));
            }
        }
    });
    let nodes = |arena: &mut RootArena| {
        arena.finish_cycle();
        arena.verify().unwrap();
        arena.metrics().live_bytes()
    };
    let live = nodes(&mut arena);
    for touched in [false, true] {
        REFUSAL.set(Refusal::Call {
            nth: 0,
            and_all_after: true,
        });
        CALLS.set(0);
        arena.start_cycle();
        while !refused(|| arena.step(Budget::Work(100_000))).finished_cycle {
            if touched {
                // Stacks are queued, and objects are to be traced again, without room for that.
                refused(|| {
                    arena.mutate(|mc, root| {
                        for stack in root.others.iter() {
                            let slot = stack.slots(mc, 7..8).unwrap();
                            slot[0].set(slot[0].get());
                        }
                        for node in root.vector.iter().take(5000) {
                            let next = node.next.get();
                            unlock!(Gc::write(mc, node), Node, next).set(next);
                        }
                    });
                });
            }
        }
        assert!(CALLS.get() > 0, "nothing was asked for");
        REFUSAL.set(Refusal::Nothing);
        arena.verify().unwrap();
        assert_eq!(arena.metrics().live_bytes(), live);
        assert_eq!(nodes(&mut arena), live);
    }
}

const EXTRA_KIB: &str = "SLEEPY_TEST_EXTRA_KIB";

/// Bytes of address space of this process.
fn space_bytes() -> u64 {
    let pages = std::fs::read_to_string("/proc/self/statm").unwrap();
    let pages: u64 = pages.split(' ').next().unwrap().parse().unwrap();
    pages * 4096
}

#[test]
#[cfg_attr(asan, ignore = "the sanitizer needs address space itself")]
fn the_system_may_refuse_from_any_moment_on() {
    if let Ok(extra) = std::env::var(EXTRA_KIB) {
        let extra: u64 = extra.parse().unwrap();
        let (refusals, _) = run(Refusal::Space(space_bytes() + extra * 1024));
        println!("refused {refusals} times");
        return;
    }
    let mut refused = 0;
    for extra_kib in (0..40)
        .map(|n| n * 256)
        .chain((0..12).map(|n| 10_000 + n * 4096))
    {
        let output = Command::new(std::env::current_exe().unwrap())
            .args([
                "--exact",
                "the_system_may_refuse_from_any_moment_on",
                "--nocapture",
            ])
            .env(EXTRA_KIB, extra_kib.to_string())
            .env("SLEEPY_ARENA_MIB", "4")
            .env("SLEEPY_SCAVENGER", "0")
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(
            output.status.success(),
            "{extra_kib} KiB: {}\n{text}\n{}",
            output.status,
            String::from_utf8_lossy(&output.stderr)
        );
        refused += usize::from(!text.contains("refused 0 times"));
    }
    assert!(refused > 10, "only {refused} runs were refused something");
}
