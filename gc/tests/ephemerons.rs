//! Weak maps: entries go with their keys, their values, or either, and not before.

use std::collections::HashMap;
use std::hash::{Hash, Hasher};

use sleepy_gc::collections::{GcStr, GcVec};
use sleepy_gc::ephemeron::{EphemeronMap, WeakTarget, Weakness};
use sleepy_gc::{Arena, Budget, Collect, CollectionPhase, Gc, Lock, Rootable};

/// An object as a key: by identity.
#[derive(Clone, Copy, Collect)]
#[collect(no_drop)]
struct Object<'gc>(Gc<'gc, u32>);

impl PartialEq for Object<'_> {
    fn eq(&self, other: &Self) -> bool {
        Gc::ptr_eq(self.0, other.0)
    }
}

impl Eq for Object<'_> {}

impl Hash for Object<'_> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (Gc::as_ptr(self.0) as usize).hash(state);
    }
}

// SAFETY: it is one pointer.
unsafe impl<'gc> WeakTarget<'gc> for Object<'gc> {
    fn weak_target(&self) -> Option<Gc<'gc, ()>> {
        self.0.weak_target()
    }
}

type Map<'gc> = EphemeronMap<'gc, Object<'gc>, Object<'gc>>;
type Root<'gc> = (Gc<'gc, Map<'gc>>, GcVec<'gc, Object<'gc>>);
type MapArena = Arena<Rootable![Root<'_>]>;

fn arena(weakness: Weakness) -> MapArena {
    MapArena::new(|mc| (Gc::new(mc, EphemeronMap::new(mc, weakness)), GcVec::new()))
}

#[test]
fn an_entry_goes_with_its_weak_side() {
    for (weakness, keep_key, keep_value, survives) in [
        (Weakness::Keys, true, false, true),
        (Weakness::Keys, false, true, false),
        (Weakness::Values, true, false, false),
        (Weakness::Values, false, true, true),
        (Weakness::Both, true, false, false),
        (Weakness::Both, false, true, false),
        (Weakness::Both, true, true, true),
    ] {
        let mut arena = arena(weakness);
        arena.mutate(|mc, (map, kept)| {
            for n in 0..1000 {
                let (key, value) = (Object(Gc::new(mc, n)), Object(Gc::new(mc, n + 1)));
                map.insert(mc, key, value);
                if keep_key {
                    kept.push(mc, key);
                }
                if keep_value {
                    kept.push(mc, value);
                }
            }
        });
        for _ in 0..2 {
            arena.finish_cycle();
            arena.verify().unwrap();
            arena.mutate(|mc, (map, _)| {
                let expected = if survives { 1000 } else { 0 };
                assert_eq!(
                    map.len(),
                    expected,
                    "{weakness:?}, key {keep_key}, value {keep_value}"
                );
                assert_eq!(
                    map.iter(mc)
                        .filter(|(key, value)| *value.0 == *key.0 + 1)
                        .count(),
                    expected
                );
            });
        }
    }
}

#[test]
fn a_value_that_names_its_own_key_does_not_keep_it() {
    let mut arena = arena(Weakness::Keys);
    arena.mutate(|mc, (map, kept)| {
        let (a, b) = (Object(Gc::new(mc, 1)), Object(Gc::new(mc, 2)));
        map.insert(mc, a, a);
        map.insert(mc, b, b);
        kept.push(mc, b);
    });
    arena.finish_cycle();
    arena.mutate(|mc, (map, kept)| {
        assert_eq!(map.len(), 1);
        assert!(map.get(mc, &kept.get(0).unwrap()).is_some());
    });
}

#[test]
fn a_long_chain_of_ephemerons_converges_in_linear_time() {
    // Entry n + 1 is reachable through entry n only, and the map is traced before any of the keys is marked.
    let work = |len: u32| {
        let mut arena = arena(Weakness::Keys);
        arena.mutate(|mc, (map, kept)| {
            let mut key = Object(Gc::new(mc, 0));
            kept.push(mc, key);
            for n in 1..len {
                let value = Object(Gc::new(mc, n));
                map.insert(mc, key, value);
                key = value;
            }
        });
        arena.start_cycle();
        let mut steps = 0;
        while arena.has_work() {
            arena.step(Budget::Work(4096));
            steps += 1;
        }
        arena.mutate(|_, (map, _)| assert_eq!(map.len(), len as usize - 1));
        arena.mutate(|_, (_, kept)| kept.clear());
        arena.finish_cycle();
        arena.mutate(|_, (map, _)| assert_eq!(map.len(), 0));
        steps
    };
    let (short, long) = (work(10_000), work(100_000));
    assert!(
        long < 20 * short,
        "{short} steps for 10,000 entries, {long} for 100,000"
    );
}

#[test]
fn a_removed_key_keeps_its_place() {
    let mut arena = arena(Weakness::Keys);
    arena.mutate(|mc, (map, kept)| {
        for n in 0..100 {
            let key = Object(Gc::new(mc, n));
            kept.push(mc, key);
            map.insert(mc, key, key);
        }
    });
    arena.finish_cycle();
    arena.mutate(|mc, (map, kept)| {
        for key in kept.iter() {
            let place = map.index_of(&key).unwrap();
            assert!(map.entry_at(mc, place).is_some());
            map.remove(mc, &key);
            assert_eq!(map.index_of(&key), Some(place));
            assert!(map.entry_at(mc, place).is_none() && map.get(mc, &key).is_none());
        }
        assert!(map.is_empty());
    });
}

#[test]
fn changing_the_weakness_while_marking_is_safe() {
    for steps in 0..80 {
        let mut arena = arena(Weakness::Both);
        arena.mutate(|mc, (map, kept)| {
            for n in 0..300 {
                let key = Object(Gc::new(mc, n));
                map.insert(mc, key, Object(Gc::new(mc, n)));
                kept.push(mc, key);
            }
        });
        arena.start_cycle();
        for _ in 0..steps {
            arena.step(Budget::Work(256));
        }
        for weakness in [
            Weakness::Keys,
            Weakness::Values,
            Weakness::Both,
            Weakness::Keys,
        ] {
            arena.mutate(|mc, (map, _)| map.set_weakness(mc, weakness));
            arena.step(Budget::Work(512));
            arena.verify().unwrap();
        }
        arena.finish_cycle();
        arena.verify().unwrap();
        arena.mutate(|mc, (map, _)| {
            assert!(map.len() <= 300);
            map.iter(mc)
                .for_each(|(key, value)| assert_eq!(*key.0, *value.0));
        });
    }
}

#[test]
fn a_map_that_becomes_strong_while_the_dead_are_cleared_keeps_none_of_them() {
    for generational in [false, true] {
        for (weakness, steps) in [Weakness::Keys, Weakness::Values, Weakness::Both]
            .into_iter()
            .flat_map(|weakness| [0, 1, 3, 10].map(|steps| (weakness, steps)))
        {
            let mut arena = arena(weakness);
            arena.set_generational(generational);
            arena.mutate(|mc, (map, _)| {
                for n in 0..500 {
                    map.insert(mc, Object(Gc::new(mc, n)), Object(Gc::new(mc, n)));
                }
            });
            arena.start_cycle();
            while arena.collection_phase() != CollectionPhase::Sweeping {
                arena.step(Budget::Work(1));
            }
            // The dead leave their maps first.
            for _ in 0..steps {
                arena.step(Budget::Work(1));
            }
            arena.mutate(|mc, (map, _)| map.set_weakness(mc, Weakness::Neither));
            arena.finish_cycle();
            arena.verify().unwrap();
            // What it holds now it keeps, and nothing of it is gone.
            let len = arena.mutate(|_, (map, _)| map.len());
            arena.finish_cycle();
            arena.verify().unwrap();
            arena.mutate(|mc, (map, _)| {
                assert_eq!((map.len(), map.iter(mc).count()), (len, len));
                map.iter(mc)
                    .for_each(|(key, value)| assert_eq!(*key.0, *value.0));
            });
        }
    }
}

#[test]
fn random_programs_agree_with_a_model() {
    let mut random = 0x2545_f491_4f6c_dd1d_u64;
    let mut below = move |n: u64| {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        random % n
    };
    for weakness in [Weakness::Keys, Weakness::Values, Weakness::Both] {
        let mut arena = arena(weakness);
        // All keys and values that matter are kept by the vector; entries of others may stay or go.
        let mut model: HashMap<u32, u32> = HashMap::new();
        let mut next = 0;
        for _ in 0..3_000 {
            arena.mutate(|mc, (map, kept)| {
                for _ in 0..4 {
                    match below(5) {
                        0 | 1 => {
                            kept.push(mc, Object(Gc::new(mc, next)));
                            map.insert(
                                mc,
                                Object(Gc::new(mc, u32::MAX)),
                                Object(Gc::new(mc, u32::MAX)),
                            );
                            next += 1;
                        }
                        2 | 3 if !kept.is_empty() => {
                            let key = kept.get(below(kept.len() as u64) as usize).unwrap();
                            let value = kept.get(below(kept.len() as u64) as usize).unwrap();
                            let old = map.insert(mc, key, value);
                            assert_eq!(old.map(|old| *old.0), model.insert(*key.0, *value.0));
                        }
                        4 if !kept.is_empty() => {
                            let key = kept.get(below(kept.len() as u64) as usize).unwrap();
                            assert_eq!(
                                map.remove(mc, &key).map(|old| *old.0),
                                model.remove(&key.0)
                            );
                        }
                        _ => {}
                    }
                }
            });
            match below(6) {
                0 => arena.start_cycle(),
                1..=4 => drop(arena.step(Budget::Work(1 << below(13)))),
                _ if below(50) == 0 => arena.finish_cycle(),
                _ => {}
            }
            if below(16) == 0 {
                arena.verify().unwrap();
                arena.mutate(|mc, (map, kept)| {
                    for key in kept.iter() {
                        assert_eq!(
                            map.get(mc, &key).map(|value| *value.0),
                            model.get(&key.0).copied()
                        );
                    }
                });
            }
        }
        arena.finish_cycle();
        arena.finish_cycle();
        arena.mutate(|_, (map, _)| assert_eq!(map.len(), model.len()));
    }
}

#[test]
fn strings_are_weak_keys_and_values() {
    type Strings<'gc> = EphemeronMap<'gc, GcStr<'gc>, GcStr<'gc>>;
    let mut arena = Arena::<Rootable![(Strings<'_>, Lock<Option<GcStr<'_>>>)]>::new(|mc| {
        (Strings::new(mc, Weakness::Keys), Lock::new(None))
    });
    arena.mutate_root(|mc, root| {
        let kept = GcStr::new(mc, "kept");
        root.1 = Lock::new(Some(kept));
        root.0.insert(mc, kept, GcStr::new(mc, "value"));
        root.0
            .insert(mc, GcStr::new(mc, "lost"), GcStr::new(mc, "value"));
    });
    arena.finish_cycle();
    arena.mutate(|mc, root| {
        let kept = root.1.get().expect("it was stored");
        assert_eq!(root.0.len(), 1);
        assert_eq!(root.0.get(mc, &kept).map(GcStr::as_str), Some("value"));
    });
}
