//! A program's days: sessions that come and go, a cache that holds weakly, interned strings, finalizers, large arrays,
//! waits, a heap limit that is hit, destructors that panic. Each day ends as the second one did, by counts.
//!
//! `SLEEPY_DAYS` is how many (6 if not said).

use std::cell::Cell;
use std::panic::{self, AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::thread;
use std::time::Duration;

use sleepy_gc::collections::{GcMap, GcStr, GcTail, GcVec, InternSet, LateStack};
use sleepy_gc::ephemeron::{EphemeronMap, Weakness};
use sleepy_gc::finalize::FinalizerQueue;
use sleepy_gc::{
    Arena, Budget, Collect, DynamicRoot, DynamicRootSet, Gc, GcWeak, Mutation, RefLock, Rootable,
};

const SESSIONS: usize = 600;
const REQUESTS: usize = 12_000;
/// A destructor of so many panics.
const BAD_LUCK: usize = 97;

/// Counted until it is dropped; some panic then.
#[derive(Collect)]
#[collect(require_static)]
struct Connection {
    number: usize,
    open: Rc<Cell<usize>>,
}

impl Connection {
    fn new(number: usize, open: &Rc<Cell<usize>>) -> Self {
        open.set(open.get() + 1);
        let open = Rc::clone(open);
        Self { number, open }
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.open.set(self.open.get() - 1);
        if self.number.is_multiple_of(BAD_LUCK) && !thread::panicking() {
            panic!("{BAD_DROP}");
        }
    }
}

const BAD_DROP: &str = "a destructor has bad luck";

type Name<'gc> = GcTail<'gc, u32, u8>;

#[derive(Collect)]
#[collect(no_drop)]
struct Session<'gc> {
    name: Name<'gc>,
    connection: Connection,
    messages: Gc<'gc, RefLock<Vec<GcStr<'gc>>>>,
    friends: GcVec<'gc, GcWeak<'gc, Session<'gc>>>,
    scratch: GcVec<'gc, u64>,
}

#[derive(Collect)]
#[collect(no_drop)]
struct Root<'gc> {
    sessions: GcMap<'gc, usize, Gc<'gc, Session<'gc>>>,
    cache: EphemeronMap<'gc, usize, GcStr<'gc>>,
    recent: GcVec<'gc, GcStr<'gc>>,
    names: InternSet<'gc, u32>,
    closing: FinalizerQueue<'gc, Session<'gc>>,
    late: GcVec<'gc, Gc<'gc, Session<'gc>>>,
    stack: LateStack<'gc, Option<Gc<'gc, Session<'gc>>>>,
    handles: DynamicRootSet<'gc>,
}

type World = Arena<Rootable![Gc<'_, Root<'_>>]>;
type Handle = DynamicRoot<Rootable!['a => Session<'a>]>;

/// What a day leaves behind.
#[derive(Debug, PartialEq)]
struct Evening {
    sessions: usize,
    connections: usize,
    names: usize,
    cached: usize,
    registered: usize,
    live_bytes: usize,
    committed_bytes: usize,
}

struct Program {
    arena: World,
    open: Rc<Cell<usize>>,
    handles: Vec<Handle>,
    closed: usize,
    refused: usize,
    bad_luck: usize,
}

fn intern<'gc>(mc: &Mutation<'gc>, root: &Root<'gc>, text: &str) -> Name<'gc> {
    let hash = text.bytes().fold(0x811c_9dc5_u32, |hash, byte| {
        (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193)
    });
    root.names
        .find(mc, hash, text.as_bytes())
        .unwrap_or_else(|| {
            let name = GcTail::from_slice(mc, hash, text.as_bytes());
            root.names.insert(mc, hash, name);
            name
        })
}

impl Program {
    fn new() -> Self {
        Self {
            arena: World::new(|mc| {
                let root = Root {
                    sessions: GcMap::new(),
                    cache: EphemeronMap::new(mc, Weakness::Values),
                    recent: GcVec::new(),
                    names: InternSet::new(),
                    closing: FinalizerQueue::new(mc),
                    late: GcVec::new(),
                    stack: LateStack::new(mc, 64, None),
                    handles: DynamicRootSet::new(mc),
                };
                Gc::new(mc, root)
            }),
            open: Rc::default(),
            handles: Vec::new(),
            closed: 0,
            refused: 0,
            bad_luck: 0,
        }
    }

    /// Collects by `f`, again where a destructor panics.
    fn collect(&mut self, f: impl Fn(&mut World)) {
        while catch_unwind(AssertUnwindSafe(|| f(&mut self.arena))).is_err() {
            self.bad_luck += 1;
        }
    }

    fn morning(&mut self, day: usize) {
        let open = &self.open;
        for number in 0..SESSIONS {
            self.arena.mutate(|mc, root| {
                // Half of the names are yesterday's, too.
                let text = format!(
                    "user {}",
                    if number % 2 == 0 {
                        number
                    } else {
                        day * SESSIONS + number
                    }
                );
                let session = Gc::new(
                    mc,
                    Session {
                        name: intern(mc, root, &text),
                        connection: Connection::new(number, open),
                        messages: Gc::new(mc, RefLock::new(Vec::new())),
                        friends: GcVec::new(),
                        scratch: GcVec::new(),
                    },
                );
                root.closing.register(mc, session);
                root.sessions.insert(mc, number, session);
            });
        }
    }

    fn request(&mut self, n: usize) {
        self.arena.mutate(|mc, root| {
            let number = n * 7919 % SESSIONS;
            let Some(session) = root.sessions.get(&number) else {
                panic!("session {number} is open");
            };
            assert!(session.name.tail().starts_with(b"user "));
            let key = n * 31 % 2000;
            let body = root.cache.get(mc, &key).unwrap_or_else(|| {
                let body = GcStr::new(mc, &format!("page {key} {}", "x".repeat(key % 300)));
                root.cache.insert(mc, key, body);
                body
            });
            assert!(body.as_str().starts_with(&format!("page {key} ")));
            if root.recent.len() < 100 {
                root.recent.push(mc, body);
            } else {
                root.recent.set(mc, n % 100, body);
            }
            let mut messages = session.messages.borrow_mut(mc);
            if messages.len() > 20 {
                messages.clear();
            }
            messages.push(GcStr::new(mc, &format!("message {n}")));
            if let Some(friend) = root.sessions.get(&((number + n) % SESSIONS)) {
                if session.friends.len() > 8 {
                    session.friends.clear();
                }
                session.friends.push(mc, Gc::downgrade(friend));
            }
            for friend in session.friends.iter() {
                if let Some(friend) = friend.upgrade(mc) {
                    assert!(friend.connection.number < SESSIONS);
                }
            }
            let depth = n % 60;
            let window = root
                .stack
                .slots(mc, depth..depth + 2)
                .expect("it is deep enough");
            window[0].set(Some(session));
            window[1].set(None);
            root.stack.set_top(mc, depth + 1);
            session.scratch.push(mc, n as u64);
        });
        if n.is_multiple_of(400) {
            let number = n % SESSIONS;
            let handle = self.arena.mutate(|mc, root| {
                let session = root.sessions.get(&number).expect("it is open");
                root.handles.stash(mc, session)
            });
            self.handles.push(handle);
        }
        if self.arena.debt_due() {
            self.collect(World::collect_debt);
        }
    }

    /// A wait: steps, then the memory is lent.
    fn idle(&mut self, steps: usize) {
        self.arena.start_cycle();
        for _ in 0..steps {
            if !self.arena.has_work() {
                break;
            }
            self.collect(|arena| {
                arena.step(Budget::Time(Duration::from_micros(15)));
            });
        }
        drop(self.arena.park());
    }

    /// A large array that grows to some MiB, in between of steps.
    fn noon(&mut self) {
        for round in 0..8 {
            self.arena.mutate(|mc, root| {
                let session = root.sessions.get(&round).expect("it is open");
                session
                    .scratch
                    .try_resize(mc, 60_000, 7)
                    .expect("there is memory");
                GcTail::new(mc, (), 100_000, |n| n);
            });
            self.idle(20);
        }
    }

    /// The limit is hit, the program goes on, and a collection heals it.
    fn limit(&mut self) {
        let limit = self.arena.heap_bytes() + (1 << 20);
        self.arena.set_heap_limit(Some(limit));
        let mut refused = 0;
        for _ in 0..4000 {
            let array = self
                .arena
                .mutate(|mc, _| GcTail::try_new(mc, (), 1000, |n| n).is_ok());
            if !array {
                refused += 1;
                self.collect(World::finish_cycle);
                let heap_bytes = self.arena.heap_bytes();
                assert!(heap_bytes <= limit, "{heap_bytes} of {limit}");
            }
        }
        assert!(refused > 0, "the limit was never hit");
        self.refused += refused;
        self.arena.set_heap_limit(None);
    }

    /// Sessions are closed, by finalizers; some stay a day longer.
    fn night(&mut self, day: usize) {
        self.handles.clear();
        self.arena.mutate(|mc, root| {
            root.sessions.clear(mc);
            root.recent.clear();
            root.late.clear();
            root.stack.set_top(mc, 0);
        });
        for _ in 0..3 {
            self.collect(World::finish_cycle);
            self.closed += self.arena.mutate(|mc, root| {
                let mut closed = 0;
                while let Some(session) = root.closing.pop(mc) {
                    closed += 1;
                    session.messages.borrow_mut(mc).clear();
                    GcStr::new(mc, "goodbye");
                    if session.connection.number % 50 == day % 2 {
                        root.late.push(mc, session);
                    }
                }
                closed
            });
        }
        while self.arena.has_work() {
            self.idle(1000);
        }
        self.collect(World::finish_cycle);
    }

    fn evening(&mut self) -> Evening {
        self.arena.verify().unwrap();
        let connections = self.open.get();
        let live_bytes = self.arena.metrics().live_bytes();
        let committed_bytes = self.arena.committed_bytes();
        self.arena.mutate(|mc, root| Evening {
            sessions: root.late.len(),
            connections,
            names: root.names.len(),
            cached: root.cache.iter(mc).count(),
            registered: root.closing.registered() + root.closing.ready(),
            live_bytes,
            committed_bytes,
        })
    }
}

fn days(count: usize) -> usize {
    let mut program = Program::new();
    let mut evenings = Vec::new();
    for day in 0..count {
        program.morning(day);
        for n in 0..REQUESTS {
            program.request(n);
            if n % 1000 == 999 {
                program.idle(n % 70);
                program.arena.verify().unwrap();
            }
        }
        program.noon();
        program.limit();
        program.night(day);
        evenings.push(program.evening());
    }
    assert_eq!(
        program.closed,
        count * SESSIONS,
        "each session is closed once"
    );
    for pair in evenings.windows(3) {
        let [before, _, now] = pair else {
            continue;
        };
        // What is kept over night alternates by day.
        assert_eq!(now.sessions, before.sessions, "{evenings:#?}");
        assert_eq!(now.connections, now.sessions, "{evenings:#?}");
        assert_eq!(now.names, before.names, "{evenings:#?}");
        assert_eq!((now.cached, now.registered), (0, 0), "{evenings:#?}");
        let grown = now.live_bytes.abs_diff(before.live_bytes);
        assert!(grown <= before.live_bytes / 4, "{evenings:#?}");
    }
    if let [_, second, .., last] = &evenings[..] {
        assert!(
            last.committed_bytes <= second.committed_bytes * 3 / 2 + (1 << 20),
            "{evenings:#?}"
        );
    }
    assert!(program.refused > 0 && program.bad_luck > 0);
    let Program { arena, open, .. } = program;
    let _ = catch_unwind(AssertUnwindSafe(|| drop(arena)));
    assert_eq!(open.get(), 0, "the arena is dropped with all it holds");
    evenings.len()
}

#[test]
fn each_day_ends_like_the_one_before() {
    let count = std::env::var("SLEEPY_DAYS").ok();
    let count = count.and_then(|days| days.parse().ok()).unwrap_or(6);
    let hook = panic::take_hook();
    panic::set_hook(Box::new(move |info| {
        if info.payload_as_str() != Some(BAD_DROP) {
            hook(info);
        }
    }));
    let programs = [(); 2].map(|()| thread::spawn(move || days(count)));
    for program in programs {
        assert_eq!(program.join().expect("the program ends well"), count);
    }
}
