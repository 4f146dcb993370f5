//! Steps over what is weak are bounded, and a cycle's work is linear: counted, in looks at keys and in what a step
//! leaves behind.

use std::cell::Cell;

use sleepy_gc::collections::{GcTail, GcVec, InternSet};
use sleepy_gc::ephemeron::{EphemeronMap, WeakTarget, Weakness};
use sleepy_gc::finalize::FinalizerQueue;
use sleepy_gc::{Arena, Budget, Collect, Gc, GcWeak, Rootable, Static};

thread_local! {
    static LOOKS: Cell<usize> = const { Cell::new(0) };
}

type Object<'gc> = Gc<'gc, Static<usize>>;

/// A key or value that counts how often the collector asks for its target.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Collect)]
#[collect(no_drop)]
struct Watched<'gc>(Option<Gc<'gc, Number>>, usize);

#[derive(PartialEq, Eq, Hash, Collect)]
#[collect(require_static)]
struct Number(usize);

// SAFETY: it names its one pointer.
unsafe impl<'gc> WeakTarget<'gc> for Watched<'gc> {
    fn weak_target(&self) -> Option<Gc<'gc, ()>> {
        LOOKS.set(LOOKS.get() + 1);
        self.0.map(Gc::erase)
    }
}

type Map<'gc> = EphemeronMap<'gc, Watched<'gc>, Watched<'gc>>;

/// Steps to the end of a cycle; the most looks at keys and values in one step, and all of them.
fn looks<R>(arena: &mut Arena<R>, budget: Budget) -> (usize, usize)
where
    R: for<'a> Rootable<'a>,
    for<'a> sleepy_gc::Root<'a, R>: Sized + Collect<'a>,
{
    let (mut most, mut all) = (0, 0);
    arena.start_cycle();
    while arena.has_work() {
        LOOKS.set(0);
        arena.step(budget);
        most = most.max(LOOKS.get());
        all += LOOKS.get();
    }
    arena.verify().unwrap();
    (most, all)
}

type ChainArena = Arena<Rootable![(Map<'_>, Option<Watched<'_>>)]>;

/// A map in which each value is the next key, whose first key is kept or not.
fn chain(links: usize, is_alive: bool) -> ChainArena {
    Arena::new(|mc| {
        let map = EphemeronMap::new(mc, Weakness::Keys);
        let first = Watched(Some(Gc::new(mc, Number(0))), 0);
        let mut last = first;
        for n in 1..links {
            let next = Watched(Some(Gc::new(mc, Number(n))), n);
            map.insert(mc, last, next);
            last = next;
        }
        (map, is_alive.then_some(first))
    })
}

#[test]
fn a_chain_of_ephemerons_takes_linear_work_in_bounded_steps() {
    for is_alive in [true, false] {
        let mut work = Vec::new();
        for links in [50_000, 100_000] {
            let mut arena = chain(links, is_alive);
            let (most, all) = looks(&mut arena, Budget::Work(1));
            assert!(most <= 200, "{most} looks in one step");
            let left = arena.mutate(|_, (map, _)| map.len());
            assert_eq!(left, if is_alive { links - 1 } else { 0 });
            work.push(all);
        }
        assert!(
            work[1] <= 2 * work[0] + work[0] / 5,
            "{work:?}: more than twice the work for twice the entries"
        );
        assert!(work[1] <= 100_000 * 12, "{work:?}");
    }
}

#[test]
fn any_number_of_entries_may_wait_for_one_object() {
    const ENTRIES: usize = 50_000;
    type Root<'gc> = (Map<'gc>, GcVec<'gc, Gc<'gc, Number>>);
    for is_alive in [true, false] {
        let mut arena = Arena::<Rootable![Root<'_>]>::new(|mc| {
            let map = EphemeronMap::new(mc, Weakness::Both);
            let value = Gc::new(mc, Number(0));
            for n in 0..ENTRIES {
                map.insert(mc, Watched(None, n), Watched(Some(value), 0));
            }
            let kept = GcVec::new();
            if is_alive {
                kept.push(mc, value);
            }
            (map, kept)
        });
        let (most, all) = looks(&mut arena, Budget::Work(1));
        assert!(most <= 200, "{most} looks in one step");
        assert!(all <= ENTRIES * 20, "{all}");
        let left = arena.mutate(|_, (map, _)| map.len());
        assert_eq!(left, if is_alive { ENTRIES } else { 0 });
    }
}

#[test]
fn any_number_of_maps_may_wait_for_one_object() {
    const MAPS: usize = 10_000;
    type Root<'gc> = (Vec<Gc<'gc, Map<'gc>>>, GcWeak<'gc, Number>);
    let mut arena = Arena::<Rootable![Root<'_>]>::new(|mc| {
        let key = Gc::new(mc, Number(0));
        let maps = (0..MAPS).map(|n| {
            let map = EphemeronMap::new(mc, Weakness::Keys);
            map.insert(mc, Watched(Some(key), 0), Watched(None, n));
            Gc::new(mc, map)
        });
        (maps.collect(), Gc::downgrade(key))
    });
    assert!(arena.finish_marking().is_some());
    // All of them wait for what is found alive only now.
    arena.mutate(|mc, (_, key)| {
        let key = key.upgrade(mc).expect("nothing is decided");
        mc.forward_barrier(None, Gc::erase(key));
    });
    let (most, all) = looks(&mut arena, Budget::Work(64));
    assert!(most <= 200, "{most} looks in one step");
    assert!(all >= MAPS, "{all}");
    arena.mutate(|_, (maps, _)| assert!(maps.iter().all(|map| map.len() == 1)));
}

#[test]
fn many_small_maps_are_many_steps() {
    const MAPS: usize = 20_000;
    let mut arena = Arena::<Rootable![GcVec<'_, Gc<'_, Map<'_>>>]>::new(|mc| {
        let maps = GcVec::new();
        for n in 0..MAPS {
            let map = EphemeronMap::new(mc, Weakness::Values);
            let value = Watched(Some(Gc::new(mc, Number(n))), 0);
            map.insert(mc, Watched(None, n), value);
            maps.push(mc, Gc::new(mc, map));
        }
        maps
    });
    let (most, _) = looks(&mut arena, Budget::Work(1));
    assert!(most <= 100, "{most} looks in one step");
    arena.mutate(|_, maps| assert!(maps.iter().all(|map| map.is_empty())));
}

#[test]
fn many_finalizers_are_found_in_many_steps_while_others_run() {
    const OBJECTS: usize = 50_000;
    type Root<'gc> = (FinalizerQueue<'gc, Static<usize>>, GcVec<'gc, Object<'gc>>);
    let mut arena = Arena::<Rootable![Root<'_>]>::new(|mc| {
        let queue = FinalizerQueue::new(mc);
        for n in 0..OBJECTS {
            queue.register(mc, Gc::new(mc, Static(n)));
        }
        (queue, GcVec::new())
    });
    let mut run = 0;
    let mut revived = 0;
    while run < OBJECTS + revived {
        arena.start_cycle();
        let cycle_began = run;
        while arena.has_work() {
            let before = arena.mutate(|_, (queue, _)| queue.ready());
            arena.step(Budget::Work(1));
            arena.mutate(|mc, (queue, kept)| {
                assert!(queue.ready() <= before + 64, "{before} → {}", queue.ready());
                // A finalizer allocates, keeps its object, and has it finalized again.
                if let Some(object) = queue.pop(mc) {
                    run += 1;
                    Gc::new(mc, Static(run));
                    if object.0 % 100 == 0 {
                        kept.push(mc, object);
                    } else if object.0 % 101 == 0 && run <= OBJECTS {
                        queue.register(mc, object);
                        revived += 1;
                    }
                }
            });
        }
        arena.verify().unwrap();
        if run == cycle_began {
            // What is left was found: it is taken without a collector.
            arena.mutate(|mc, (queue, _)| {
                while queue.pop(mc).is_some() {
                    run += 1
                }
            });
        }
    }
    arena.mutate(|_, (queue, kept)| {
        assert_eq!((queue.registered(), queue.ready()), (0, 0));
        assert_eq!(kept.len(), OBJECTS.div_ceil(100));
        assert!(kept.iter().all(|object| object.0 % 100 == 0));
    });
}

#[test]
fn interned_strings_are_forgotten_in_many_steps() {
    const STRINGS: usize = 50_000;
    type Root<'gc> = (InternSet<'gc, u32>, GcVec<'gc, GcTail<'gc, u32, u8>>);
    let hash_of = |n: usize| (n as u32).wrapping_mul(0x9e37_79b9).rotate_left(16);
    let mut arena = Arena::<Rootable![Root<'_>]>::new(|mc| {
        let (set, kept) = (InternSet::new(), GcVec::new());
        for n in 0..STRINGS {
            let string = GcTail::from_slice(mc, hash_of(n), &n.to_le_bytes());
            set.insert(mc, hash_of(n), string);
            if n % 3 == 0 {
                kept.push(mc, string);
            }
        }
        (set, kept)
    });
    arena.start_cycle();
    let mut len = STRINGS;
    while arena.has_work() {
        arena.step(Budget::Work(1));
        let now = arena.mutate(|_, (set, _)| set.len());
        assert!(len - now <= 256, "{} in one step", len - now);
        len = now;
    }
    assert_eq!(len, STRINGS.div_ceil(3));
    arena.mutate(|mc, (set, kept)| {
        for string in kept.iter() {
            let found = set.find(mc, *string.header(), string.tail());
            assert!(found.is_some_and(|found| GcTail::ptr_eq(found, string)));
        }
    });
}
