//! An arena that may move between threads takes no object that may not, reachable or garbage.

use std::{
    marker::PhantomData,
    panic::{AssertUnwindSafe, catch_unwind},
    rc::Rc,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

use sleepy_gc::{
    Budget, Collect, DynamicRootSet, Gc, Mutation, Rootable, SendRoot, Static, ZstCache,
    collections::{GcMap, GcStr, GcTail, GcVec, LateStack},
    finalize::FinalizerQueue,
    idle::{Collector, SendArena},
    lock::RefLock,
};

#[derive(Collect, SendRoot)]
#[collect(no_drop)]
struct Root<'gc> {
    names: Gc<'gc, RefLock<Vec<Gc<'gc, String>>>>,
    roots: DynamicRootSet<'gc>,
    cache: ZstCache<'gc, 8>,
    #[collect(require_static)]
    shared: Arc<str>,
}

/// Has no size, and is bound to its thread.
#[derive(Collect)]
#[collect(require_static)]
struct ThisThread(PhantomData<*const ()>);

#[derive(Collect)]
#[collect(require_static)]
struct Sendable(Arc<u32>);

type MovingArena = SendArena<Rootable![Root<'_>]>;

fn arena() -> MovingArena {
    MovingArena::new(|mc| Root {
        names: Gc::new(mc, RefLock::new(Vec::new())),
        roots: DynamicRootSet::new(mc),
        cache: ZstCache::new(mc),
        shared: "shared".into(),
    })
}

fn refused<T>(f: impl FnOnce() -> T) -> bool {
    catch_unwind(AssertUnwindSafe(f)).is_err()
}

fn refuses<'gc, T: Collect<'gc> + 'gc>(mc: &Mutation<'gc>, value: T) -> bool {
    refused(|| Gc::new(mc, value))
}

#[test]
fn what_is_bound_to_its_thread_is_refused() {
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| {}));
    let mut arena = arena();
    arena.mutate(|mc, root| {
        assert!(refuses(mc, Rc::new(1)));
        assert!(refuses(mc, vec![Rc::new(1)]));
        assert!(refuses(mc, (1, Some(Rc::new(1)))));
        assert!(
            refuses(mc, Static(1)),
            "nothing is known of what a wrapper holds"
        );
        assert!(refuses(mc, ThisThread(PhantomData)));
        assert!(
            refused(|| root.cache.alloc(mc, ThisThread(PhantomData))),
            "a cached object is one too"
        );
        assert!(refused(|| GcTail::new(mc, Rc::new(1), 0, |_| 0)));
        assert!(refused(|| GcTail::new(mc, 0, 1, |_| Rc::new(1))));
    });
    arena.finish_cycle();
    std::panic::set_hook(hook);
}

#[test]
fn what_may_move_is_taken() {
    let mut arena = arena();
    let handle = arena.mutate(|mc, root| {
        root.names
            .borrow_mut(mc)
            .push(Gc::new(mc, root.shared.to_string()));
        assert_eq!(*Gc::new(mc, Sendable(Arc::new(7))).0, 7);
        assert!(root.cache.is_cached(root.cache.alloc(mc, ())));
        let queue = FinalizerQueue::new(mc);
        queue.register(mc, Gc::new(mc, 1));
        let (vec, map, stack) = (GcVec::new(), GcMap::new(), LateStack::new(mc, 4, 0));
        vec.push(mc, 1);
        map.insert(mc, 1, 2);
        let all = Gc::new(mc, (vec, map, stack, queue));
        assert_eq!((all.0.len(), all.1.len(), all.2.top()), (1, 1, 0));
        root.roots
            .stash::<Rootable![u64]>(mc, Gc::new(mc, 1u64 << 40))
    });
    arena.finish_cycle();
    arena.mutate(|_, root| assert_eq!(*root.roots.fetch(&handle), 1 << 40));
}

/// Counts in its destructor, on whatever thread.
#[derive(Collect, SendRoot)]
#[collect(require_static)]
struct Counted(Arc<AtomicUsize>);

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

#[test]
fn an_arena_goes_round_through_threads_in_every_phase() {
    let mut arena = arena();
    for turn in 0..40u32 {
        arena = thread::spawn(move || {
            arena.mutate(|mc, root| {
                let mut names = root.names.borrow_mut(mc);
                names.push(Gc::new(mc, format!("turn {turn}")));
                for n in 0..200 {
                    Gc::new(mc, format!("garbage {n}"));
                }
            });
            // Goes on to the next thread in the middle of a cycle.
            if turn % 3 == 0 {
                arena.start_cycle();
            }
            arena.step(Budget::Work(2000));
            arena.verify().unwrap();
            arena
        })
        .join()
        .unwrap();
    }
    arena.finish_cycle();
    arena.mutate(|_, root| {
        let names = root.names.borrow();
        assert!((0..40).all(|turn| *names[turn] == format!("turn {turn}")));
    });
}

#[test]
fn destructors_run_where_the_arena_is() {
    let dropped = Arc::new(AtomicUsize::new(0));
    let arena = SendArena::<Rootable![Option<Gc<'_, Counted>>]>::new(|mc| {
        for _ in 0..9 {
            Gc::new(mc, Counted(dropped.clone()));
        }
        Some(Gc::new(mc, Counted(dropped.clone())))
    });
    let mut arena = thread::spawn(move || {
        let mut arena = arena;
        arena.finish_cycle();
        arena
    })
    .join()
    .unwrap();
    assert_eq!(dropped.load(Ordering::Relaxed), 9);
    arena.mutate_root(|_, root| *root = None);
    thread::spawn(move || drop(arena)).join().unwrap();
    assert_eq!(dropped.load(Ordering::Relaxed), 10);
}

/// What one thread has lent another takes back, by asking or by using it.
#[test]
fn a_heap_that_was_lent_is_taken_back_elsewhere() {
    for asks in [true, false] {
        let mut arena = SendArena::<Rootable![GcVec<'_, GcStr<'_>>]>::new(|mc| {
            let all = GcVec::new();
            for n in 0..20_000 {
                all.push(mc, GcStr::new(mc, &format!("string number {n}")));
            }
            all
        });
        for turn in 0..8 {
            arena.mutate(|mc, all| {
                all.truncate(1000);
                for n in 1000..20_000 {
                    all.push(mc, GcStr::new(mc, &format!("string number {n}")));
                }
                all.truncate(1000 + turn);
            });
            arena.finish_cycle();
            arena.lend();
            arena = thread::spawn(move || {
                let mut arena = arena;
                if asks {
                    arena.take_back();
                    arena.take_back();
                }
                arena.mutate(|mc, all| all.push(mc, GcStr::new(mc, "from elsewhere")));
                arena.verify().unwrap();
                arena
            })
            .join()
            .unwrap();
        }
        arena.mutate(|_, all| assert_eq!(all.get(999).unwrap().as_str(), "string number 999"));
    }
}

#[test]
fn a_root_is_mapped_to_another_that_may_move() {
    let arena = arena().map_root::<Rootable![Gc<'_, u32>]>(|mc, _| Gc::new(mc, 7));
    let arena = thread::spawn(move || arena).join().unwrap();
    let failed = arena.try_map_root::<Rootable![Gc<'_, String>], _>(|_, root| Err(*root));
    assert_eq!(failed.err(), Some(7));
}
