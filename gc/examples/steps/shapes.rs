//! Arrays, lists, buffers, stacks, destructors.

use sleepy_gc::collections::{GcMap, GcTail, GcVec, LateStack};
use sleepy_gc::{Arena, Collect, Gc, Lock, RefLock, Rootable, Static};

use crate::Shape;
use crate::clock::Round;

const MILLION: usize = 1_000_000;

/// All of them.
pub const ALL: &[Shape] = &[
    ("10 M objects of 16 bytes in a list", list),
    ("10 M objects in one vector of 10 M", |round| {
        vector(round, 10 * MILLION)
    }),
    ("1 M objects in one vector of 1 M", |round| {
        vector(round, MILLION)
    }),
    ("one tail of 10 M pointers", tail),
    ("one vector of 10 M, a store between steps", stores),
    ("root of 64 vectors, 1 M pointers in all", wide_root),
    ("16 buffers of 64 MiB, alive then dead", buffers),
    ("an object of 1 GiB, alive then dead", huge),
    ("20 000 large objects of 40 KiB", large),
    (
        "stack of 1 M slots, its top touched between steps",
        |round| stack(round, Touch::Top),
    ),
    (
        "stack of 1 M slots, its bottom touched between steps",
        |round| stack(round, Touch::Bottom),
    ),
    (
        "stack of 1 M slots, 1000 slots all over it touched between steps*",
        |round| stack(round, Touch::Anywhere),
    ),
    ("1 M dead objects with destructors", destructors),
    ("a dead array of 1 M boxes", dead_array),
    ("map of 1 M entries, ten more between steps", map),
    (
        "1 M small vectors in locked objects, stored to between steps",
        locks,
    ),
];

type List<'gc> = Option<Gc<'gc, Cons<'gc>>>;

#[derive(Collect)]
#[collect(no_drop)]
struct Cons<'gc> {
    next: List<'gc>,
    #[allow(dead_code, reason = "makes it 16 bytes")]
    value: usize,
}

fn list(round: &mut Round) {
    let mut arena = Arena::<Rootable![List<'_>]>::new(|mc| {
        (0..10 * MILLION).fold(None, |next, value| Some(Gc::new(mc, Cons { next, value })))
    });
    round.quiet_cycle(&mut arena);
    arena.mutate_root(|_, list| *list = None);
    round.quiet_cycle(&mut arena);
}

type Pointers<'gc> = GcVec<'gc, Gc<'gc, Static<usize>>>;

fn pointers<'gc>(mc: &sleepy_gc::Mutation<'gc>, count: usize) -> Pointers<'gc> {
    let vec = GcVec::try_with_capacity(mc, count).expect("there is memory");
    for n in 0..count {
        vec.push(mc, Gc::new(mc, Static(n)));
    }
    vec
}

fn vector(round: &mut Round, count: usize) {
    let mut arena = Arena::<Rootable![Pointers<'_>]>::new(|mc| pointers(mc, count));
    round.quiet_cycle(&mut arena);
    arena.mutate_root(|_, vec| *vec = GcVec::new());
    round.quiet_cycle(&mut arena);
}

fn stores(round: &mut Round) {
    let mut arena = Arena::<Rootable![Pointers<'_>]>::new(|mc| pointers(mc, 10 * MILLION));
    let mut n = 0;
    round.cycle(&mut arena, |arena| {
        arena.mutate(|mc, vec| vec.set(mc, n * 7919 % (10 * MILLION), Gc::new(mc, Static(n))));
        n += 1;
    });
}

fn tail(round: &mut Round) {
    type Tail<'gc> = GcTail<'gc, (), Option<Gc<'gc, Static<usize>>>>;
    let mut arena = Arena::<Rootable![Option<Tail<'_>>]>::new(|mc| {
        let objects: Vec<_> = (0..1000).map(|n| Gc::new(mc, Static(n))).collect();
        Some(GcTail::new(mc, (), 10 * MILLION, |n| {
            Some(objects[n % 1000])
        }))
    });
    round.quiet_cycle(&mut arena);
    arena.mutate_root(|_, tail| *tail = None);
    round.quiet_cycle(&mut arena);
}

fn wide_root(round: &mut Round) {
    #[derive(Collect)]
    #[collect(no_drop)]
    struct Root<'gc> {
        vectors: [Pointers<'gc>; 64],
    }
    let mut arena = Arena::<Rootable![Root<'_>]>::new(|mc| Root {
        vectors: std::array::from_fn(|_| pointers(mc, MILLION / 64)),
    });
    let mut n = 0;
    round.cycle(&mut arena, |arena| {
        arena.mutate_root(|mc, root| root.vectors[n % 64].push(mc, Gc::new(mc, Static(n))));
        n += 1;
    });
}

fn buffers(round: &mut Round) {
    let mut arena = Arena::<Rootable![Vec<GcVec<'_, u8>>]>::new(|mc| {
        let buffer = |_| {
            let vec = GcVec::new();
            vec.try_resize(mc, 64 << 20, 1).expect("there is memory");
            vec
        };
        (0..16).map(buffer).collect()
    });
    round.quiet_cycle(&mut arena);
    arena.mutate_root(|_, buffers| buffers.clear());
    round.quiet_cycle(&mut arena);
}

fn huge(round: &mut Round) {
    let mut arena = Arena::<Rootable![Option<GcTail<'_, (), u8>>]>::new(|mc| {
        Some(GcTail::new(mc, (), 1 << 30, |_| 1))
    });
    round.quiet_cycle(&mut arena);
    arena.mutate_root(|_, tail| *tail = None);
    round.quiet_cycle(&mut arena);
}

fn large(round: &mut Round) {
    let mut arena = Arena::<Rootable![GcVec<'_, GcTail<'_, (), u8>>]>::new(|mc| {
        let vec = GcVec::new();
        for _ in 0..20_000 {
            vec.push(mc, GcTail::new(mc, (), 40 << 10, |_| 1));
        }
        vec
    });
    round.quiet_cycle(&mut arena);
    arena.mutate(|_, vec| vec.truncate(10_000));
    round.quiet_cycle(&mut arena);
}

#[derive(Clone, Copy)]
enum Touch {
    Top,
    Bottom,
    Anywhere,
}

fn stack(round: &mut Round, touch: Touch) {
    type Stack<'gc> = LateStack<'gc, Option<Gc<'gc, Static<usize>>>>;
    let mut arena = Arena::<Rootable![Stack<'_>]>::new(|mc| {
        let stack = LateStack::new(mc, MILLION, None);
        stack.set_top(mc, MILLION);
        for n in 0..MILLION {
            stack.set(mc, n, Some(Gc::new(mc, Static(n))));
        }
        stack
    });
    let mut n = 0;
    round.cycle(&mut arena, |arena| {
        arena.mutate(|mc, stack| {
            let starts = match touch {
                Touch::Top => vec![MILLION - 64],
                Touch::Bottom => vec![0],
                Touch::Anywhere => (0..1000)
                    .map(|at| (at * 999_983 + n * 97) % (MILLION - 64))
                    .collect(),
            };
            for start in starts {
                let window = stack
                    .slots(mc, start..start + 1)
                    .expect("it is high enough");
                window[0].set(Some(Gc::new(mc, Static(n))));
            }
        });
        n += 1;
    });
}

fn destructors(round: &mut Round) {
    let mut arena = Arena::<Rootable![()]>::new(|_| ());
    arena.mutate(|mc, ()| {
        for n in 0..MILLION {
            Gc::new(mc, Static(Box::new(n)));
        }
    });
    round.quiet_cycle(&mut arena);
}

fn dead_array(round: &mut Round) {
    let mut arena = Arena::<Rootable![()]>::new(|_| ());
    arena.mutate(|mc, ()| {
        GcTail::new(mc, (), MILLION, |n| Static(Box::new(n)));
    });
    round.quiet_cycle(&mut arena);
}

fn map(round: &mut Round) {
    type Map<'gc> = GcMap<'gc, usize, Gc<'gc, Static<usize>>>;
    let mut arena = Arena::<Rootable![Map<'_>]>::new(|mc| {
        let map = GcMap::new();
        for n in 0..MILLION {
            map.insert(mc, n, Gc::new(mc, Static(n)));
        }
        map
    });
    let mut n = MILLION;
    round.cycle(&mut arena, |arena| {
        arena.mutate(|mc, map| {
            for _ in 0..10 {
                map.insert(mc, n, Gc::new(mc, Static(n)));
                n += 1;
            }
        });
    });
    arena.mutate(|mc, map| map.clear(mc));
    round.quiet_cycle(&mut arena);
}

fn locks(round: &mut Round) {
    #[derive(Collect)]
    #[collect(no_drop)]
    struct Object<'gc> {
        one: Lock<Option<Gc<'gc, Static<usize>>>>,
        many: RefLock<Vec<Gc<'gc, Static<usize>>>>,
    }
    let mut arena = Arena::<Rootable![GcVec<'_, Gc<'_, Object<'_>>>]>::new(|mc| {
        let vec = GcVec::new();
        for n in 0..MILLION {
            let object = Object {
                one: Lock::new(None),
                many: RefLock::new(vec![Gc::new(mc, Static(n))]),
            };
            vec.push(mc, Gc::new(mc, object));
        }
        vec
    });
    let mut n = 0;
    round.cycle(&mut arena, |arena| {
        arena.mutate(|mc, vec| {
            for _ in 0..10 {
                n += 1;
                let object = vec.get(n * 7919 % MILLION).expect("there are a million");
                let write = Gc::write(mc, object);
                let fresh = Gc::new(mc, Static(n));
                sleepy_gc::barrier::unlock!(write, Object, one).set(Some(fresh));
                sleepy_gc::barrier::unlock!(write, Object, many).borrow_mut()[0] = fresh;
            }
        });
    });
    arena.mutate(|_, vec| vec.truncate(MILLION / 2));
    round.quiet_cycle(&mut arena);
}
