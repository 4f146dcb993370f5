//! The weak set of strings: finds what is alive, forgets what is dead, and never takes long.

use std::collections::{BTreeSet, HashMap};

use sleepy_gc::collections::{GcTail, GcVec, InternSet};
use sleepy_gc::{Arena, Budget, Mutation, Rootable};

type Text<'gc> = GcTail<'gc, u32, u8>;
type Root<'gc> = (InternSet<'gc, u32>, GcVec<'gc, Text<'gc>>);
type SetArena = Arena<Rootable![Root<'_>]>;

fn hash(bytes: &[u8]) -> u32 {
    bytes.iter().fold(0x811c_9dc5, |h, &b| {
        (h ^ u32::from(b)).wrapping_mul(0x0100_0193)
    })
}

fn intern<'gc>(mc: &Mutation<'gc>, set: &InternSet<'gc, u32>, text: &str) -> Text<'gc> {
    let (bytes, hash) = (text.as_bytes(), hash(text.as_bytes()));
    set.find(mc, hash, bytes).unwrap_or_else(|| {
        let tail = GcTail::from_slice(mc, hash, bytes);
        set.try_insert(mc, hash, tail).unwrap();
        tail
    })
}

fn arena() -> SetArena {
    SetArena::new(|_| (InternSet::new(), GcVec::new()))
}

#[test]
fn equal_strings_are_one_object() {
    let arena = arena();
    arena.mutate(|mc, (set, _)| {
        for n in 0..10_000 {
            let text = format!("{n}");
            assert!(GcTail::ptr_eq(
                intern(mc, set, &text),
                intern(mc, set, &text)
            ));
        }
        assert_eq!(set.len(), 10_000);
        assert!(set.find(mc, hash(b"absent"), b"absent").is_none());
    });
}

#[test]
fn dead_strings_are_forgotten_and_their_memory_comes_back() {
    let mut arena = arena();
    arena.mutate(|mc, (set, kept)| {
        for n in 0..200_000 {
            let text = intern(mc, set, &format!("string {n}"));
            if n % 1000 == 0 {
                kept.push(mc, text);
            }
        }
    });
    let full = arena.heap_bytes();
    arena.finish_cycle();
    arena.verify().unwrap();
    arena.mutate(|mc, (set, kept)| {
        assert_eq!((set.len(), kept.len()), (200, 200));
        for n in 0..200_000 {
            let text = format!("string {n}");
            assert_eq!(
                set.find(mc, hash(text.as_bytes()), text.as_bytes())
                    .is_some(),
                n % 1000 == 0
            );
        }
    });
    assert!(
        arena.heap_bytes() < full / 20,
        "{} of {full}",
        arena.heap_bytes()
    );
}

#[test]
fn hashes_that_collide_are_no_harm() {
    let mut arena = arena();
    for round in 0..2 {
        arena.mutate(|mc, (set, kept)| {
            for n in 0..3_000 {
                let text = format!("{n}");
                let (bytes, hash) = (text.as_bytes(), 0xffff_0000 | (n % 2));
                assert_eq!(set.find(mc, hash, bytes).is_some(), round == 1);
                if round == 0 {
                    let tail = GcTail::from_slice(mc, hash, bytes);
                    set.try_insert(mc, hash, tail).unwrap();
                    kept.push(mc, tail);
                }
            }
        });
        arena.finish_cycle();
        arena.verify().unwrap();
    }
}

#[test]
fn a_string_found_again_at_any_moment_is_alive() {
    let mut arena = arena();
    let mut random = 88_172_645_463_325_252_u64;
    let mut below = move |n: u64| {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        random % n
    };
    let mut model: HashMap<usize, String> = HashMap::new();
    for _ in 0..4_000 {
        arena.mutate(|mc, (set, kept)| {
            for _ in 0..20 {
                let text = format!("word {}", below(3_000));
                let found = intern(mc, set, &text);
                assert_eq!(found.tail(), text.as_bytes());
                let at = below(500) as usize;
                if at < kept.len() {
                    kept.set(mc, at, found);
                } else {
                    kept.push(mc, found);
                }
                model.insert(at.min(kept.len() - 1), text);
            }
        });
        match below(3) {
            0 => arena.start_cycle(),
            _ => drop(arena.step(Budget::Work(1 << below(12)))),
        }
        if below(8) == 0 {
            arena.verify().unwrap();
            arena.mutate(|mc, (set, kept)| {
                for (&at, text) in &model {
                    let string = kept.get(at).unwrap();
                    assert_eq!(string.tail(), text.as_bytes());
                    // One object for each content, whatever was cleared meanwhile.
                    assert!(GcTail::ptr_eq(
                        string,
                        set.find(mc, *string.header(), string.tail()).unwrap()
                    ));
                }
            });
        }
    }
}

/// A young cycle asks only after what has come since the last one, wherever it has moved to since: it forgets all of that which is
/// dead and nothing else.
#[test]
fn young_cycles_forget_the_young_dead_alone() {
    let mut arena = arena();
    arena.set_generational(true);
    arena.finish_cycle();
    let mut random = 2_463_534_242_u64;
    let mut below = move |n: u64| {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        random % n
    };
    let mut known: BTreeSet<String> = BTreeSet::new();
    let mut kept: BTreeSet<String> = BTreeSet::new();
    for round in 0..120 {
        let is_full = round % 40 == 39;
        if is_full {
            kept = arena.mutate(|_, (_, strings)| {
                strings.truncate(strings.len() / 8);
                (0..strings.len())
                    .filter_map(|at| strings.get(at))
                    .map(|string| String::from_utf8_lossy(string.tail()).into_owned())
                    .collect()
            });
            known.clone_from(&kept);
        }
        for _ in 0..below(600) {
            let text = format!("word {}", below(100_000));
            let is_kept = below(3) == 0;
            arena.mutate(|mc, (set, strings)| {
                let string = intern(mc, set, &text);
                if is_kept {
                    strings.push(mc, string);
                }
            });
            if is_kept {
                kept.insert(text);
            }
        }
        if is_full {
            arena.finish_cycle();
        } else {
            arena.metrics().adjust_debt(1e9);
            while !arena
                .step(Budget::Work(1 + below(4_000) as usize))
                .finished_cycle
            {}
        }
        arena.verify().unwrap();
        known.extend(kept.iter().cloned());
        arena.mutate(|mc, (set, _)| {
            assert_eq!(set.len(), known.len(), "round {round}");
            for text in &known {
                assert!(
                    set.find(mc, hash(text.as_bytes()), text.as_bytes())
                        .is_some()
                );
            }
        });
    }
}
