//! A store through any barrier, at any moment of a cycle, keeps what was stored.

mod support;

use std::rc::Rc;

use sleepy_gc::{
    Arena, Budget, Collect, CollectionPhase, Gc, Mutation, Rootable,
    barrier::{Write, field, unlock},
    lock::{GcLock, GcOnceLock, GcRefLock, Lock, OnceLock, RefLock},
};
use support::{Census, PHASES, Token, collect_all, step_to};

#[derive(Collect)]
#[collect(no_drop)]
struct Inner<'gc> {
    list: Vec<Lock<Option<Object<'gc>>>>,
    boxed: Box<RefLock<Option<Object<'gc>>>>,
}

#[derive(Collect)]
#[collect(no_drop)]
struct Places<'gc> {
    lock: GcLock<'gc, Option<Object<'gc>>>,
    ref_lock: GcRefLock<'gc, Vec<Object<'gc>>>,
    once_lock: GcOnceLock<'gc, Object<'gc>>,
    inner: Gc<'gc, Inner<'gc>>,
}

type Object<'gc> = Gc<'gc, Token>;
type PlacesArena = Arena<Rootable![Places<'_>]>;

fn places() -> PlacesArena {
    Arena::new(|mc| Places {
        lock: Gc::new(mc, Lock::new(None)),
        ref_lock: Gc::new(mc, RefLock::new(Vec::new())),
        once_lock: Gc::new(mc, OnceLock::new()),
        inner: Gc::new(
            mc,
            Inner {
                list: vec![Lock::new(None), Lock::new(None)],
                boxed: Box::new(RefLock::new(None)),
            },
        ),
    })
}

type Store = for<'gc> fn(&Mutation<'gc>, &Places<'gc>, Object<'gc>);

const STORES: [(&str, Store); 8] = [
    ("Lock", |mc, places, object| {
        places.lock.set(mc, Some(object))
    }),
    ("RefLock", |mc, places, object| {
        places.ref_lock.borrow_mut(mc).push(object)
    }),
    ("OnceLock", |mc, places, object| {
        places.once_lock.get_or_init(mc, || object);
    }),
    ("unlock", |mc, places, object| {
        places.lock.unlock(mc).set(Some(object))
    }),
    ("as_deref, index", |mc, places, object| {
        field!(Gc::write(mc, places.inner), Inner, list).as_deref()[1]
            .unlock()
            .set(Some(object));
    }),
    ("index of the vector", |mc, places, object| {
        field!(Gc::write(mc, places.inner), Inner, list)[0]
            .unlock()
            .set(Some(object));
    }),
    ("box", |mc, places, object| {
        *field!(Gc::write(mc, places.inner), Inner, boxed)
            .as_deref()
            .unlock()
            .borrow_mut() = Some(object);
    }),
    ("forward barrier", |mc, places, object| {
        mc.forward_barrier(Some(Gc::erase(places.lock)), Gc::erase(object));
        // SAFETY: the barrier was raised for the object itself.
        unsafe { places.lock.as_cell() }.set(Some(object));
    }),
];

#[test]
fn a_new_object_is_kept_in_every_phase() {
    for phase in PHASES {
        for (name, store) in STORES {
            let census = Census::default();
            let mut arena = places();
            step_to(&mut arena, phase);
            arena.mutate(|mc, places| store(mc, places, Gc::new(mc, census.token())));
            arena.finish_cycle();
            assert_eq!(census.alive(), 1, "{name} in {phase:?}");
            collect_all(&mut arena);
            assert_eq!(census.alive(), 1, "{name} in {phase:?}, a cycle later");
            drop(arena);
            assert_eq!(census.alive(), 0, "{name} in {phase:?}, at the end");
        }
    }
}

/// An old object that the collector has not found yet is moved from where it would have been found to where it has been already.
#[test]
fn an_old_object_may_move_behind_the_collector() {
    #[derive(Collect)]
    #[collect(no_drop)]
    struct Root<'gc> {
        places: Places<'gc>,
        /// A list, so that marking takes many steps; its last element holds the object.
        chain: Gc<'gc, Link<'gc>>,
    }

    #[derive(Collect)]
    #[collect(no_drop)]
    struct Link<'gc> {
        next: Option<Gc<'gc, Link<'gc>>>,
        object: Lock<Option<Object<'gc>>>,
    }

    for (name, store) in STORES {
        for steps in 0..12 {
            let census = Census::default();
            let mut arena = Arena::<Rootable![Root<'_>]>::new(|mc| {
                let mut chain = Gc::new(
                    mc,
                    Link {
                        next: None,
                        object: Lock::new(Some(Gc::new(mc, census.token()))),
                    },
                );
                for _ in 0..8 {
                    chain = Gc::new(
                        mc,
                        Link {
                            next: Some(chain),
                            object: Lock::new(None),
                        },
                    );
                }
                Root {
                    places: Places {
                        lock: Gc::new(mc, Lock::new(None)),
                        ref_lock: Gc::new(mc, RefLock::new(Vec::new())),
                        once_lock: Gc::new(mc, OnceLock::new()),
                        inner: Gc::new(
                            mc,
                            Inner {
                                list: vec![Lock::new(None), Lock::new(None)],
                                boxed: Box::new(RefLock::new(None)),
                            },
                        ),
                    },
                    chain,
                }
            });
            arena.start_cycle();
            for _ in 0..steps {
                arena.step(Budget::Work(1));
            }
            arena.mutate(|mc, root| {
                let mut link = root.chain;
                while let Some(next) = link.next {
                    link = next;
                }
                let object = unlock!(Gc::write(mc, link), Link, object).take();
                store(mc, &root.places, object.expect("it was there"));
            });
            arena.finish_cycle();
            assert_eq!(census.alive(), 1, "{name} after {steps} steps");
            collect_all(&mut arena);
            assert_eq!(
                census.alive(),
                1,
                "{name} after {steps} steps, a cycle later"
            );
        }
    }
}

/// An object made while marking is not traced again by itself: what it is made of has to be found all the same.
#[test]
fn a_new_object_keeps_what_it_was_made_of() {
    #[derive(Collect)]
    #[collect(no_drop)]
    struct Holder<'gc> {
        held: Lock<Option<Object<'gc>>>,
    }

    #[derive(Collect)]
    #[collect(no_drop)]
    struct Root<'gc> {
        padding: Vec<Gc<'gc, [u64; 8]>>,
        old: Gc<'gc, Holder<'gc>>,
        new: GcLock<'gc, Option<Gc<'gc, Holder<'gc>>>>,
    }

    for phase in PHASES {
        for steps in 0..10 {
            let census = Census::default();
            let mut arena = Arena::<Rootable![Root<'_>]>::new(|mc| Root {
                padding: (0..4).map(|_| Gc::new(mc, [0; 8])).collect(),
                old: Gc::new(
                    mc,
                    Holder {
                        held: Lock::new(Some(Gc::new(mc, census.token()))),
                    },
                ),
                new: Gc::new(mc, Lock::new(None)),
            });
            arena.mutate(|_, root| assert_eq!(root.padding[0][0], 0));
            step_to(&mut arena, phase);
            if phase == CollectionPhase::Marking {
                for _ in 0..steps {
                    arena.step(Budget::Work(1));
                }
            }
            arena.mutate(|mc, root| {
                let object = unlock!(Gc::write(mc, root.old), Holder, held).take();
                let new = Gc::new(
                    mc,
                    Holder {
                        held: Lock::new(object),
                    },
                );
                root.new.set(mc, Some(new));
            });
            arena.finish_cycle();
            assert_eq!(census.alive(), 1, "{phase:?}, {steps} steps");
            collect_all(&mut arena);
            assert_eq!(census.alive(), 1, "{phase:?}, {steps} steps, a cycle later");
        }
    }
}

#[test]
fn a_store_takes_a_marked_arena_back_to_marking() {
    let census = Census::default();
    let mut arena = places();
    step_to(&mut arena, CollectionPhase::Marked);
    arena.mutate(|mc, places| places.lock.set(mc, Some(Gc::new(mc, census.token()))));
    assert_eq!(arena.collection_phase(), CollectionPhase::Marking);
    assert!(arena.finish_marking().is_some());
    arena.mutate(|mc, places| places.lock.set(mc, None));
    arena.finish_cycle();
    collect_all(&mut arena);
    assert_eq!(census.alive(), 0);
}

#[test]
fn reading_does_not_take_a_marked_arena_back() {
    let mut arena = places();
    step_to(&mut arena, CollectionPhase::Marked);
    arena.mutate(|_, places| {
        assert!(places.lock.get().is_none() && places.ref_lock.borrow().is_empty())
    });
    assert_eq!(arena.collection_phase(), CollectionPhase::Marked);
}

#[test]
fn the_root_may_change_in_every_phase() {
    for phase in PHASES {
        let census = Census::default();
        let mut arena = Arena::<Rootable![Vec<Object<'_>>]>::new(|_| Vec::new());
        step_to(&mut arena, phase);
        arena.mutate_root(|mc, root| root.push(Gc::new(mc, census.token())));
        arena.finish_cycle();
        assert_eq!(census.alive(), 1, "{phase:?}");
        step_to(&mut arena, phase);
        let mut arena = arena.map_root::<Rootable![(Object<'_>, Vec<Object<'_>>)]>(|mc, root| {
            (Gc::new(mc, census.token()), root)
        });
        arena.finish_cycle();
        assert_eq!(census.alive(), 2, "{phase:?}");
        let arena = arena.try_map_root::<Rootable![()], String>(|_, _| Err("no".to_owned()));
        assert!(arena.is_err());
        assert_eq!(census.alive(), 0);
    }
}

/// What several objects own by an `Rc` can't be written, so that no barrier of one of them has to speak for the others.
#[test]
fn shared_values_are_traced_through_each_owner() {
    let census = Census::default();
    let mut arena = Arena::<Rootable![Vec<Gc<'_, Rc<RefLock<Object<'_>>>>>]>::new(|mc| {
        let shared = Rc::new(RefLock::new(Gc::new(mc, census.token())));
        vec![Gc::new(mc, Rc::clone(&shared)), Gc::new(mc, shared)]
    });
    collect_all(&mut arena);
    arena.mutate_root(|_, root| root.truncate(1));
    collect_all(&mut arena);
    assert_eq!(census.alive(), 1);
    arena.mutate_root(|mc, root| {
        let mut only: Rc<_> = Rc::clone(&root.pop().expect("one is left"));
        assert!(
            Rc::get_mut(&mut only).is_none(),
            "the object itself still owns it"
        );
        let mut local = RefLock::new(Gc::new(mc, census.token()));
        *Write::from_mut(&mut local).unlock().borrow_mut() = Gc::new(mc, census.token());
    });
    collect_all(&mut arena);
    assert_eq!(census.alive(), 0);
}
