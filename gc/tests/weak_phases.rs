//! Weak pointers and resurrection, in each phase of a cycle.

mod support;

use sleepy_gc::{Arena, Budget, Collect, CollectionPhase, Gc, GcWeak, Rootable, lock::RefLock};
use support::{Census, PHASES, Token, collect_all, step_to};

#[derive(Collect)]
#[collect(no_drop)]
struct Root<'gc> {
    strong: RefLock<Vec<Gc<'gc, Token>>>,
    weak: RefLock<Vec<GcWeak<'gc, Token>>>,
}

type WeakArena = Arena<Rootable![Gc<'_, Root<'_>>]>;

fn arena() -> WeakArena {
    Arena::new(|mc| {
        Gc::new(
            mc,
            Root {
                strong: RefLock::new(Vec::new()),
                weak: RefLock::new(Vec::new()),
            },
        )
    })
}

/// An object that the root holds weakly, and strongly if wanted.
fn add(arena: &WeakArena, census: &Census, strong: bool) {
    arena.mutate(|mc, root| {
        let object = Gc::new(mc, census.token());
        let root = Gc::write(mc, *root);
        sleepy_gc::barrier::unlock!(root, Root, weak)
            .borrow_mut()
            .push(Gc::downgrade(object));
        if strong {
            sleepy_gc::barrier::unlock!(root, Root, strong)
                .borrow_mut()
                .push(object);
        }
    });
}

#[test]
fn weak_pointers_keep_nothing_alive() {
    let census = Census::default();
    let mut arena = arena();
    add(&arena, &census, false);
    add(&arena, &census, true);
    arena.mutate(|mc, root| {
        assert!(
            root.weak
                .borrow()
                .iter()
                .all(|weak| weak.upgrade(mc).is_some())
        )
    });
    collect_all(&mut arena);
    assert_eq!(census.alive(), 1);
    arena.mutate(|mc, root| {
        let weak = root.weak.borrow();
        assert!(weak[0].upgrade(mc).is_none() && weak[0].is_dropped());
        assert!(weak[1].upgrade(mc).is_some() && !weak[1].is_dropped());
        assert!(
            !GcWeak::ptr_eq(weak[0], weak[1])
                && GcWeak::ptr_eq(weak[1], Gc::downgrade(root.strong.borrow()[0]))
        );
    });
}

#[test]
fn the_place_of_a_dropped_object_is_not_given_to_another() {
    let census = Census::default();
    let mut arena = arena();
    for _ in 0..100 {
        add(&arena, &census, false);
    }
    for round in 0..4 {
        collect_all(&mut arena);
        arena.mutate(|mc, root| {
            let weak = root.weak.borrow();
            assert!(
                weak.iter()
                    .take(100)
                    .all(|weak| weak.is_dropped() && weak.upgrade(mc).is_none()),
                "round {round}"
            );
            for _ in 0..100 {
                let new = Gc::new(mc, census.token());
                assert!(weak.iter().all(|weak| weak.as_ptr() != Gc::as_ptr(new)));
            }
        });
    }
}

#[test]
fn an_upgraded_object_is_kept_in_every_phase() {
    for phase in PHASES {
        for steps in 0..6 {
            let census = Census::default();
            let mut arena = arena();
            add(&arena, &census, false);
            step_to(&mut arena, phase);
            if matches!(phase, CollectionPhase::Marking | CollectionPhase::Sweeping) {
                for _ in 0..steps {
                    arena.step(Budget::Work(1));
                }
            }
            let kept = arena.mutate(|mc, root| {
                let upgraded = root.weak.borrow()[0].upgrade(mc);
                if let Some(object) = upgraded {
                    sleepy_gc::barrier::unlock!(Gc::write(mc, *root), Root, strong)
                        .borrow_mut()
                        .push(object);
                }
                upgraded.is_some()
            });
            assert!(
                kept || phase != CollectionPhase::Sleeping,
                "nothing was collected yet"
            );
            arena.finish_cycle();
            collect_all(&mut arena);
            assert_eq!(
                census.alive(),
                usize::from(kept),
                "{phase:?} after {steps} steps"
            );
            arena.mutate(|mc, root| assert_eq!(root.weak.borrow()[0].upgrade(mc).is_some(), kept));
        }
    }
}

#[test]
fn an_object_that_was_upgraded_and_let_go_is_collected() {
    let census = Census::default();
    let mut arena = arena();
    for phase in PHASES {
        add(&arena, &census, false);
        step_to(&mut arena, phase);
        arena.mutate(|mc, root| {
            for weak in &*root.weak.borrow() {
                let _ = weak.upgrade(mc);
            }
        });
        collect_all(&mut arena);
        assert_eq!(census.alive(), 0, "{phase:?}");
    }
}

#[test]
fn what_is_dead_is_known_after_marking_and_may_be_resurrected() {
    let census = Census::default();
    let mut arena = arena();
    add(&arena, &census, false);
    add(&arena, &census, false);
    add(&arena, &census, true);
    arena
        .finish_marking()
        .expect("marking ends")
        .finalize(|fc, root| {
            let weak = root.weak.borrow();
            assert!(weak[0].is_dead(fc) && weak[1].is_dead(fc) && !weak[2].is_dead(fc));
            let object = weak[0].resurrect(fc).expect("it is not dropped yet");
            assert!(!Gc::is_dead(fc, object));
            Gc::resurrect(fc, object);
            assert!(weak[1].is_dead(fc));
        });
    assert_eq!(census.alive(), 3);
    arena.finish_cycle();
    assert_eq!(census.alive(), 2);
    arena.mutate(|mc, root| {
        let weak = root.weak.borrow();
        assert!(weak[0].upgrade(mc).is_some() && weak[1].upgrade(mc).is_none());
    });
    collect_all(&mut arena);
    assert_eq!(census.alive(), 1, "to resurrect an object is for one cycle");
}

#[test]
fn resurrection_reaches_further_objects() {
    #[derive(Collect)]
    #[collect(no_drop)]
    struct Link<'gc> {
        next: Option<Gc<'gc, Link<'gc>>>,
        #[allow(dead_code, reason = "counts the link")]
        token: Token,
    }

    let census = Census::default();
    let mut arena = Arena::<Rootable![GcWeak<'_, Link<'_>>]>::new(|mc| {
        let mut next = None;
        for _ in 0..100 {
            next = Some(Gc::new(
                mc,
                Link {
                    next,
                    token: census.token(),
                },
            ));
        }
        Gc::downgrade(next.expect("there are some"))
    });
    let marked = arena.finish_marking().expect("marking ends");
    marked.finalize(|fc, root| assert!(root.resurrect(fc).is_some()));
    assert_eq!(arena.collection_phase(), CollectionPhase::Marking);
    arena.finish_cycle();
    assert_eq!(census.alive(), 100);
    arena.mutate(|mc, root| {
        let mut link = root.upgrade(mc).expect("it was resurrected");
        let mut count = 1;
        while let Some(next) = link.next {
            link = next;
            count += 1;
        }
        assert_eq!(count, 100);
    });
    collect_all(&mut arena);
    assert_eq!(census.alive(), 0);
}
