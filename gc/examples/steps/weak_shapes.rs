//! Weak pointers, ephemerons, finalizers, interned strings, handles.

use sleepy_gc::collections::InternSet;
use sleepy_gc::collections::{GcTail, GcVec};
use sleepy_gc::ephemeron::{EphemeronMap, Weakness};
use sleepy_gc::finalize::FinalizerQueue;
use sleepy_gc::{Arena, DynamicRootSet, Gc, GcWeak, Rootable, Static};

use crate::Shape;
use crate::clock::Round;

const MILLION: usize = 1_000_000;

/// All of them.
pub const ALL: &[Shape] = &[
    ("1 M weak pointers to objects alive and dead", weak_pointers),
    ("ephemeron chain of 1 M", chain),
    ("ephemeron chain of 1 M, dead", dead_chain),
    ("weak values: 1 M, half of them dead", weak_values),
    ("1 M entries that wait for one object", one_key),
    ("200 000 small weak maps", small_maps),
    ("1 M finalizers of dead objects", finalizers),
    (
        "intern set of 1 M strings, alive, then half of them",
        strings,
    ),
    ("1 M handles from outside", handles),
];

type Object<'gc> = Gc<'gc, Static<usize>>;

fn weak_pointers(round: &mut Round) {
    type Root<'gc> = (
        GcVec<'gc, GcWeak<'gc, Static<usize>>>,
        GcVec<'gc, Object<'gc>>,
    );
    let mut arena = Arena::<Rootable![Root<'_>]>::new(|mc| {
        let (weak, strong) = (GcVec::new(), GcVec::new());
        for n in 0..MILLION {
            let object = Gc::new(mc, Static(n));
            weak.push(mc, Gc::downgrade(object));
            if n % 2 == 0 {
                strong.push(mc, object);
            }
        }
        (weak, strong)
    });
    round.quiet_cycle(&mut arena);
    arena.mutate(|_, (weak, _)| weak.clear());
    round.quiet_cycle(&mut arena);
}

type Map<'gc> = EphemeronMap<'gc, Object<'gc>, Object<'gc>>;

fn map_of_chain<'gc>(mc: &sleepy_gc::Mutation<'gc>) -> (Map<'gc>, Option<Object<'gc>>) {
    let map = EphemeronMap::new(mc, Weakness::Keys);
    let first = Gc::new(mc, Static(0));
    let mut last = first;
    for n in 1..MILLION {
        let next = Gc::new(mc, Static(n));
        map.insert(mc, last, next);
        last = next;
    }
    (map, Some(first))
}

fn chain(round: &mut Round) {
    let mut arena = Arena::<Rootable![(Map<'_>, Option<Object<'_>>)]>::new(map_of_chain);
    round.quiet_cycle(&mut arena);
}

fn dead_chain(round: &mut Round) {
    let mut arena = Arena::<Rootable![(Map<'_>, Option<Object<'_>>)]>::new(map_of_chain);
    arena.mutate_root(|_, (_, first)| *first = None);
    round.quiet_cycle(&mut arena);
}

fn weak_values(round: &mut Round) {
    type Root<'gc> = (
        EphemeronMap<'gc, usize, Object<'gc>>,
        GcVec<'gc, Object<'gc>>,
    );
    let mut arena = Arena::<Rootable![Root<'_>]>::new(|mc| {
        let (map, kept) = (EphemeronMap::new(mc, Weakness::Values), GcVec::new());
        for n in 0..MILLION {
            let object = Gc::new(mc, Static(n));
            map.insert(mc, n, object);
            if n % 2 == 0 {
                kept.push(mc, object);
            }
        }
        (map, kept)
    });
    round.quiet_cycle(&mut arena);
}

fn one_key(round: &mut Round) {
    // The object hangs at the end of a list, so that all entries wait for it.
    type Root<'gc> = (
        EphemeronMap<'gc, usize, Object<'gc>>,
        Gc<'gc, Gc<'gc, Gc<'gc, Object<'gc>>>>,
    );
    let mut arena = Arena::<Rootable![Root<'_>]>::new(|mc| {
        let map = EphemeronMap::new(mc, Weakness::Both);
        let value = Gc::new(mc, Static(0));
        for n in 0..MILLION {
            map.insert(mc, n, value);
        }
        (map, Gc::new(mc, Gc::new(mc, Gc::new(mc, value))))
    });
    round.quiet_cycle(&mut arena);
}

fn small_maps(round: &mut Round) {
    type Root<'gc> = (GcVec<'gc, Gc<'gc, Map<'gc>>>, GcVec<'gc, Object<'gc>>);
    let mut arena = Arena::<Rootable![Root<'_>]>::new(|mc| {
        let (maps, keys) = (GcVec::new(), GcVec::new());
        for n in 0..MILLION / 5 {
            let map = EphemeronMap::new(mc, Weakness::Keys);
            let key = Gc::new(mc, Static(n));
            map.insert(mc, key, Gc::new(mc, Static(n)));
            maps.push(mc, Gc::new(mc, map));
            if n % 2 == 0 {
                keys.push(mc, key);
            }
        }
        (maps, keys)
    });
    round.quiet_cycle(&mut arena);
}

fn finalizers(round: &mut Round) {
    type Root<'gc> = (
        FinalizerQueue<'gc, Static<Box<usize>>>,
        GcVec<'gc, Gc<'gc, Static<Box<usize>>>>,
    );
    let mut arena = Arena::<Rootable![Root<'_>]>::new(|mc| {
        let queue = FinalizerQueue::new(mc);
        for n in 0..MILLION {
            queue.register(mc, Gc::new(mc, Static(Box::new(n))));
        }
        (queue, GcVec::new())
    });
    // Each finalizer allocates, each third resurrects.
    let pop = |arena: &mut Arena<Rootable![Root<'_>]>| {
        arena.mutate(|mc, (queue, kept)| {
            for _ in 0..16 {
                if let Some(object) = queue.pop(mc) {
                    let number = *object.0;
                    Gc::new(mc, Static(number));
                    if number % 3 == 0 {
                        kept.push(mc, object);
                    }
                }
            }
        });
    };
    round.quiet_cycle(&mut arena);
    round.cycle(&mut arena, pop);
    round.quiet_cycle(&mut arena);
}

fn strings(round: &mut Round) {
    type Root<'gc> = (InternSet<'gc, u32>, GcVec<'gc, GcTail<'gc, u32, u8>>);
    let hash_of = |n: usize| {
        (n as u64)
            .wrapping_mul(0x9e37_79b9_7f4a_7c15)
            .rotate_left(32) as u32
    };
    let mut arena = Arena::<Rootable![Root<'_>]>::new(|mc| {
        let (set, kept) = (InternSet::new(), GcVec::new());
        for n in 0..MILLION {
            let string = GcTail::from_slice(mc, hash_of(n), n.to_string().as_bytes());
            set.insert(mc, hash_of(n), string);
            kept.push(mc, string);
        }
        (set, kept)
    });
    let mut n = MILLION;
    round.cycle(&mut arena, |arena| {
        arena.mutate(|mc, (set, kept)| {
            for _ in 0..10 {
                let string = GcTail::from_slice(mc, hash_of(n), n.to_string().as_bytes());
                set.insert(mc, hash_of(n), string);
                kept.push(mc, string);
                n += 1;
            }
        });
    });
    arena.mutate(|_, (_, kept)| kept.truncate(MILLION / 2));
    round.quiet_cycle(&mut arena);
}

fn handles(round: &mut Round) {
    #[allow(
        clippy::redundant_closure,
        reason = "the function is not general over 'gc by itself"
    )]
    let mut arena = Arena::<Rootable![DynamicRootSet<'_>]>::new(|mc| DynamicRootSet::new(mc));
    let mut stashed: Vec<_> = arena.mutate(|mc, set| {
        let stash = |n| set.stash::<Rootable![Static<usize>]>(mc, Gc::new(mc, Static(n)));
        (0..MILLION).map(stash).collect()
    });
    round.quiet_cycle(&mut arena);
    stashed.truncate(MILLION / 2);
    round.quiet_cycle(&mut arena);
}
