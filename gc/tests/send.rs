//! An arena that may move between threads takes no object that may not, reachable or garbage.

use std::{
    marker::PhantomData,
    panic::{AssertUnwindSafe, catch_unwind},
    rc::Rc,
    sync::Arc,
};

use sleepy_gc::{
    Arena, Collect, DynamicRootSet, Gc, Mutation, Rootable, SendRoot, Static, ZstCache,
    collections::{GcMap, GcTail, GcVec, LateStack},
    finalize::FinalizerQueue,
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

type MovingArena = Arena<Rootable![Root<'_>]>;

fn arena() -> MovingArena {
    MovingArena::__new_send(|mc| Root {
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
