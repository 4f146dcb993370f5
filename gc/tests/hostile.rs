//! Safe code that does what it should not must not be able to do harm.

mod support;

use std::{
    cell::{Cell, RefCell},
    hash::{BuildHasher, Hash, Hasher},
    panic::{AssertUnwindSafe, catch_unwind},
    rc::Rc,
};

use sleepy_gc::{
    Arena, Budget, Collect, CollectionPhase, Gc, GcWeak, Mutation, Rootable, Static,
    collect::Trace,
    collections::{GcMap, GcTail, GcVec, LateStack},
    ephemeron::{EphemeronMap, Weakness},
    finalize::FinalizerQueue,
    lock::{Lock, RefLock},
};
use support::{Census, PHASES, Token, collect_all, step_to};

#[derive(Collect)]
#[collect(no_drop)]
struct Containers<'gc> {
    vec: GcVec<'gc, Option<Gc<'gc, Token>>>,
    map: GcMap<'gc, u32, Gc<'gc, Token>>,
    weak_map: EphemeronMap<'gc, u32, Gc<'gc, Token>>,
    stack: LateStack<'gc, Option<Gc<'gc, Token>>>,
    queue: FinalizerQueue<'gc, Token>,
    list: RefLock<Vec<Gc<'gc, Token>>>,
    seized: Gc<'gc, RefLock<Vec<Gc<'gc, ()>>>>,
    seized_weak: Gc<'gc, RefLock<Vec<GcWeak<'gc, ()>>>>,
}

type ContainerArena = Arena<Rootable![Gc<'_, Containers<'_>>]>;

fn containers(census: &Census) -> ContainerArena {
    let arena = ContainerArena::new(|mc| {
        Gc::new(
            mc,
            Containers {
                vec: GcVec::new(),
                map: GcMap::new(),
                weak_map: EphemeronMap::new(mc, Weakness::Keys),
                stack: LateStack::new(mc, 4, None),
                queue: FinalizerQueue::new(mc),
                list: RefLock::new(Vec::new()),
                seized: Gc::new(mc, RefLock::new(Vec::new())),
                seized_weak: Gc::new(mc, RefLock::new(Vec::new())),
            },
        )
    });
    arena.mutate(|mc, root| grow(mc, root, census, 0));
    arena
}

/// Puts ten more objects into each container, so that each changes its memory now and then.
fn grow<'gc>(mc: &Mutation<'gc>, root: &Containers<'gc>, census: &Census, round: u32) {
    for n in 0..10 {
        let key = round * 10 + n;
        root.vec.push(mc, Some(Gc::new(mc, census.token())));
        root.map.insert(mc, key, Gc::new(mc, census.token()));
        root.weak_map.insert(mc, key, Gc::new(mc, census.token()));
        let top = root.stack.top();
        root.stack.try_grow(mc, top + 1).expect("there is memory");
        root.stack.slots(mc, top..top + 1).expect("there is room")[0]
            .set(Some(Gc::new(mc, census.token())));
        root.stack.set_top(mc, top + 1);
        root.queue.register(mc, Gc::new(mc, census.token()));
    }
}

/// Keeps each pointer that it is given, and changes everything while it is at it.
struct Thief<'a, 'gc> {
    mc: &'a Mutation<'gc>,
    root: &'a Containers<'gc>,
    census: &'a Census,
    round: u32,
    rounds: u32,
}

impl<'gc> Trace<'gc> for Thief<'_, 'gc> {
    fn trace_gc(&mut self, gc: Gc<'gc, ()>) {
        self.root.seized.borrow_mut(self.mc).push(gc);
        if self.round < self.rounds {
            self.round += 1;
            grow(self.mc, self.root, self.census, self.round);
            self.root.vec.pop();
            self.root.queue.pop(self.mc);
        }
    }

    fn trace_gc_weak(&mut self, gc: GcWeak<'gc, ()>) {
        self.root.seized_weak.borrow_mut(self.mc).push(gc);
    }
}

#[test]
fn a_tracer_may_keep_what_it_is_given() {
    for phase in PHASES {
        let census = Census::default();
        let mut arena = containers(&census);
        step_to(&mut arena, phase);
        for round in 0..3 {
            arena.mutate(|mc, root| {
                let mut thief = Thief {
                    mc,
                    root,
                    census: &census,
                    round: round * 40,
                    rounds: round * 40 + 40,
                };
                root.trace(&mut thief);
            });
            arena.step(Budget::Work(300));
        }
        collect_all(&mut arena);
        arena.mutate(|mc, root| {
            root.seized.borrow_mut(mc).clear();
            root.vec.clear();
            root.map.clear(mc);
            root.stack.set_top(mc, 0);
        });
        for _ in 0..3 {
            collect_all(&mut arena);
            arena.mutate(|mc, root| while root.queue.pop(mc).is_some() {});
        }
        let kept = arena.mutate(|mc, root| root.weak_map.iter(mc).count());
        collect_all(&mut arena);
        assert_eq!(census.alive(), kept, "{phase:?}");
        drop(arena);
        assert_eq!(census.alive(), 0);
    }
}

#[test]
fn a_value_that_is_borrowed_is_not_traced_by_others() {
    struct Nobody;
    impl<'gc> Trace<'gc> for Nobody {
        fn trace_gc(&mut self, _: Gc<'gc, ()>) {}
        fn trace_gc_weak(&mut self, _: GcWeak<'gc, ()>) {}
    }

    let census = Census::default();
    let arena = containers(&census);
    arena.mutate(|mc, root| {
        let borrowed =
            sleepy_gc::barrier::unlock!(Gc::write(mc, *root), Containers, list).borrow_mut();
        assert!(catch_unwind(AssertUnwindSafe(|| root.list.trace(&mut Nobody))).is_err());
        drop(borrowed);
        root.list.trace(&mut Nobody);
    });
}

/// A key whose hash panics, or comes back into the map, when it is told to.
#[derive(Clone, Copy, Debug)]
struct Key(u32);

thread_local! {
    static MOOD: Cell<u32> = const { Cell::new(0) };
    static DEPTH: Cell<u32> = const { Cell::new(0) };
}

sleepy_gc::static_collect!(Key);

impl PartialEq for Key {
    fn eq(&self, other: &Self) -> bool {
        temper();
        self.0 == other.0
    }
}

impl Eq for Key {}

impl Hash for Key {
    fn hash<H: Hasher>(&self, state: &mut H) {
        temper();
        (self.0 % 7).hash(state);
    }
}

/// Panics every so often.
fn temper() {
    let mood = MOOD.get();
    if mood > 0 {
        MOOD.set(mood - 1);
        if mood == 1 {
            panic!("bad temper");
        }
    }
}

// SAFETY: a key owns no pointer.
unsafe impl<'gc> sleepy_gc::ephemeron::WeakTarget<'gc> for Key {
    fn weak_target(&self) -> Option<Gc<'gc, ()>> {
        None
    }
}

#[test]
fn keys_may_panic() {
    #[derive(Collect)]
    #[collect(no_drop)]
    struct Maps<'gc> {
        map: GcMap<'gc, Key, Gc<'gc, Token>>,
        weak: EphemeronMap<'gc, Key, Gc<'gc, Token>>,
    }

    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| {}));
    for phase in PHASES {
        for mood in 1..60 {
            let census = Census::default();
            let mut arena = Arena::<Rootable![Gc<'_, Maps<'_>>]>::new(|mc| {
                Gc::new(
                    mc,
                    Maps {
                        map: GcMap::new(),
                        weak: EphemeronMap::new(mc, Weakness::Keys),
                    },
                )
            });
            step_to(&mut arena, phase);
            arena.step(Budget::Work(200));
            for n in 0..30 {
                arena.mutate(|mc, root| {
                    MOOD.set(if n % 5 == 0 { mood } else { 0 });
                    let _ = catch_unwind(AssertUnwindSafe(|| {
                        root.map.insert(mc, Key(n), Gc::new(mc, census.token()));
                        root.weak.insert(mc, Key(n), Gc::new(mc, census.token()));
                        root.map.remove(mc, &Key(n / 2));
                        root.weak.remove(mc, &Key(n / 3));
                    }));
                    MOOD.set(0);
                });
                arena.step(Budget::Work(100));
            }
            collect_all(&mut arena);
            let there =
                arena.mutate(|mc, root| root.map.iter().count() + root.weak.iter(mc).count());
            assert_eq!(census.alive(), there, "{phase:?}, {mood}");
            drop(arena);
            assert_eq!(census.alive(), 0);
        }
    }
    std::panic::set_hook(hook);
}

/// A hasher that inserts into the very map that asks it. It holds the right to mutate, so no object can own it, but a map on the stack can.
struct Meddler<'gc>(Rc<Meddling<'gc>>);

struct Meddling<'gc> {
    mc: &'gc Mutation<'gc>,
    census: Census,
    map: Cell<Option<&'gc GcMap<'gc, u32, Gc<'gc, Token>, Meddler<'gc>>>>,
    weak: Cell<Option<&'gc EphemeronMap<'gc, u32, Gc<'gc, Token>, Meddler<'gc>>>>,
    times: Cell<u32>,
}

impl BuildHasher for Meddler<'_> {
    type Hasher = std::hash::DefaultHasher;

    fn build_hasher(&self) -> Self::Hasher {
        let Meddling {
            mc,
            census,
            map,
            weak,
            times,
        } = &*self.0;
        if let Some(left) = times.get().checked_sub(1) {
            times.set(left);
            for n in 0..20 {
                let key = 1000 + left * 20 + n;
                if let Some(map) = map.get() {
                    map.insert(mc, key, Gc::new(mc, census.token()));
                    map.remove(mc, &(key / 2));
                }
                if let Some(weak) = weak.get() {
                    weak.insert(mc, key, Gc::new(mc, census.token()));
                    weak.remove(mc, &(key / 2));
                }
            }
        }
        Self::Hasher::new()
    }
}

#[test]
fn a_hasher_may_insert_into_its_map() {
    for phase in PHASES {
        for times in 0..6 {
            let mut arena = Arena::<Rootable![()]>::new(|_| ());
            step_to(&mut arena, phase);
            arena.mutate(|mc, ()| {
                let meddling = Rc::new(Meddling {
                    mc,
                    census: Census::default(),
                    map: Cell::new(None),
                    weak: Cell::new(None),
                    times: Cell::new(0),
                });
                let meddler = || Meddler(Rc::clone(&meddling));
                let weak = EphemeronMap::try_with_hasher(mc, Weakness::Values, meddler())
                    .expect("there is memory");
                let map = Box::into_raw(Box::new((GcMap::with_hasher(meddler()), weak)));
                // SAFETY: the box lives until the end of this function.
                let (map_ref, weak_ref) = unsafe { (&(*map).0, &(*map).1) };
                meddling.map.set(Some(map_ref));
                meddling.weak.set(Some(weak_ref));
                for n in 0..40 {
                    if n % 8 == 7 {
                        meddling.times.set(times);
                    }
                    map_ref.insert(mc, n, Gc::new(mc, meddling.census.token()));
                    weak_ref.insert(mc, n, Gc::new(mc, meddling.census.token()));
                }
                meddling.times.set(0);
                for n in 0..40 {
                    let _ = (map_ref.get(&n), weak_ref.get(mc, &n));
                }
                assert!(map_ref.iter().count() > 0 && weak_ref.iter(mc).count() > 0);
                meddling.map.set(None);
                meddling.weak.set(None);
                // SAFETY: nobody refers to it any more.
                drop(unsafe { Box::from_raw(map) });
            });
            collect_all(&mut arena);
        }
    }
}

#[test]
fn a_key_may_come_back_into_its_map() {
    /// Its hash uses the map that it is a key of.
    #[derive(Clone, Copy)]
    struct Recursive<'gc> {
        number: u32,
        mc: Gc<'gc, Inside<'gc>>,
    }

    // SAFETY: the one pointer is traced.
    unsafe impl<'gc> Collect<'gc> for Recursive<'gc> {
        fn trace<C: Trace<'gc>>(&self, cc: &mut C) {
            cc.trace(&self.mc);
        }
    }

    // SAFETY: the one pointer is traced as a part of a plain key.
    unsafe impl<'gc> sleepy_gc::ephemeron::WeakTarget<'gc> for Recursive<'gc> {
        fn weak_target(&self) -> Option<Gc<'gc, ()>> {
            None
        }
    }

    #[derive(Collect)]
    #[collect(no_drop)]
    struct Inside<'gc> {
        map: GcMap<'gc, Recursive<'gc>, Gc<'gc, Token>>,
        weak: EphemeronMap<'gc, Recursive<'gc>, Gc<'gc, Token>>,
        values: Gc<'gc, RefLock<Vec<Gc<'gc, Token>>>>,
    }

    impl PartialEq for Recursive<'_> {
        fn eq(&self, other: &Self) -> bool {
            self.number == other.number
        }
    }

    impl Eq for Recursive<'_> {}

    impl Hash for Recursive<'_> {
        fn hash<H: Hasher>(&self, state: &mut H) {
            self.number.hash(state);
            let depth = DEPTH.get();
            if depth > 0 {
                DEPTH.set(depth - 1);
                // No key can keep the right to mutate, but it can read.
                let _ = self.mc.map.get(&Recursive {
                    number: self.number + 1,
                    mc: self.mc,
                });
                let _ = self.mc.map.iter().count() + self.mc.weak.len();
            }
        }
    }

    let census = Census::default();
    let mut arena = Arena::<Rootable![Gc<'_, Inside<'_>>]>::new(|mc| {
        Gc::new(
            mc,
            Inside {
                map: GcMap::new(),
                weak: EphemeronMap::new(mc, Weakness::Keys),
                values: Gc::new(mc, RefLock::new(Vec::new())),
            },
        )
    });
    for number in 0..200 {
        arena.mutate(|mc, root| {
            DEPTH.set(3);
            let key = Recursive { number, mc: *root };
            root.map.insert(mc, key, Gc::new(mc, census.token()));
            root.weak.insert(mc, key, Gc::new(mc, census.token()));
            DEPTH.set(0);
        });
        arena.step(Budget::Work(500));
    }
    collect_all(&mut arena);
    arena.mutate(|mc, root| {
        assert_eq!(
            (root.map.len(), root.weak.len(), root.values.borrow().len()),
            (200, 200, 0)
        );
        assert!(
            root.weak
                .get(
                    mc,
                    &Recursive {
                        number: 7,
                        mc: *root
                    }
                )
                .is_some()
        );
    });
    assert_eq!(census.alive(), 400);
}

#[test]
fn an_initialiser_may_panic() {
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| {}));
    let census = Census::default();
    for phase in PHASES {
        let mut arena =
            Arena::<Rootable![Gc<'_, RefLock<Vec<GcTail<'_, Token, Token>>>>]>::new(|mc| {
                Gc::new(mc, RefLock::new(Vec::new()))
            });
        step_to(&mut arena, phase);
        for at in 0..20 {
            arena.mutate(|mc, root| {
                let made = catch_unwind(AssertUnwindSafe(|| {
                    GcTail::new(mc, census.token(), 10, |index| {
                        assert_ne!(index, at);
                        let _ = GcTail::from_slice(mc, census.token(), &[1, 2, 3]);
                        census.token()
                    })
                }));
                root.borrow_mut(mc).extend(made.ok());
            });
            arena.step(Budget::Work(500));
        }
        collect_all(&mut arena);
        assert_eq!(census.alive(), 10 * 11);
        drop(arena);
        assert_eq!(census.alive(), 0);
    }
    std::panic::set_hook(hook);
}

#[test]
fn a_guard_may_be_forgotten() {
    let census = Census::default();
    let mut arena = containers(&census);
    let before = census.alive();
    for round in 0..5 {
        std::mem::forget(arena.park());
        std::mem::forget(arena.park());
        arena.mutate(|mc, root| grow(mc, root, &census, 100 + round));
        std::mem::forget(arena.park());
        arena.step(Budget::Work(1000));
        let _ = arena.finish_marking();
        std::mem::forget(arena.park());
        arena.finish_cycle();
    }
    assert_eq!(census.alive(), before + 250);
    std::mem::forget(arena.park());
    drop(arena);
    assert_eq!(census.alive(), 0);
}

#[test]
fn arenas_may_be_exchanged_and_nested() {
    let census = Census::default();
    let (mut one, mut other) = (containers(&census), containers(&census));
    step_to(&mut one, CollectionPhase::Marking);
    step_to(&mut other, CollectionPhase::Sweeping);
    std::mem::swap(&mut one, &mut other);
    assert_eq!(one.collection_phase(), CollectionPhase::Sweeping);
    one.mutate(|mc, a| {
        other.mutate(|mc2, b| {
            grow(mc, a, &census, 1);
            grow(mc2, b, &census, 1);
        });
        one.mutate(|mc3, c| grow(mc3, c, &census, 2));
        assert_eq!(a.vec.len(), 30);
    });
    // An arena may be owned by an object of another.
    let outer = Arena::<Rootable![Gc<'_, Static<RefCell<ContainerArena>>>]>::new(|mc| {
        Gc::new(mc, Static(RefCell::new(one)))
    });
    outer.mutate(|_, inner| {
        let mut inner = inner.borrow_mut();
        collect_all(&mut inner);
        inner.mutate(|_, root| assert_eq!(root.map.len(), 30));
    });
    drop(outer);
    collect_all(&mut other);
    drop(other);
    assert_eq!(census.alive(), 0);
}

#[test]
fn numbers_may_be_absurd() {
    let census = Census::default();
    let mut arena = containers(&census);
    let before = census.alive();
    arena.mutate(|mc, root| {
        mc.sub_external_bytes(usize::MAX);
        mc.add_external_bytes(1 << 40);
        mc.sub_external_bytes(1 << 41);
        assert!(root.vec.get(usize::MAX).is_none());
        assert!(root.vec.try_reserve(mc, usize::MAX).is_err());
        assert!(root.vec.try_resize(mc, usize::MAX / 2, None).is_err());
        assert!(root.stack.try_grow(mc, usize::MAX).is_err());
        assert!(root.stack.slots(mc, usize::MAX - 1..usize::MAX).is_none());
        assert!(root.stack.window::<8>(mc, usize::MAX - 3).is_none());
        assert!(GcTail::<'_, u8, u64>::try_new(mc, 1, usize::MAX, |_| 1).is_err());
        assert!(GcTail::<'_, u8, u64>::try_new(mc, 1, usize::MAX / 8, |_| 1).is_err());
    });
    arena.step(Budget::Work(0));
    arena.step(Budget::Work(usize::MAX));
    arena.step(Budget::Time(std::time::Duration::ZERO));
    arena.set_heap_limit(Some(0));
    arena.mutate(|mc, root| {
        assert!(Gc::try_new(mc, [0u8; 100_000]).is_err());
        let _ = root.vec.len();
    });
    arena.set_heap_limit(None);
    arena.mutate(|mc, root| grow(mc, root, &census, 1));
    collect_all(&mut arena);
    assert_eq!(census.alive(), before + 50);
}

#[test]
fn an_arena_may_end_with_its_thread() {
    thread_local!(static ARENA: RefCell<Option<ContainerArena>> = const { RefCell::new(None) });
    std::thread::spawn(|| {
        ARENA.with_borrow_mut(|slot| {
            let census = Census::default();
            let mut arena = containers(&census);
            step_to(&mut arena, CollectionPhase::Sweeping);
            *slot = Some(arena);
        });
    })
    .join()
    .expect("the destructor runs after the thread's own");
}

#[test]
fn a_root_that_could_not_be_made_leaves_nothing() {
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| {}));
    let census = Census::default();
    let arena = containers(&census);
    let result = catch_unwind(AssertUnwindSafe(|| {
        arena.map_root::<Rootable![Lock<Option<Gc<'_, ()>>>]>(|mc, root| {
            grow(mc, &root, &census, 1);
            panic!("no root")
        });
    }));
    assert!(result.is_err());
    assert_eq!(census.alive(), 0);
    std::panic::set_hook(hook);
}
