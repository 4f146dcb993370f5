//! `FinalizerQueue`: objects come back once they are unreachable.

mod support;

use sleepy_gc::{
    Arena, Budget, Collect, CollectionPhase, Gc, GcWeak, Rootable, finalize::FinalizerQueue,
    lock::RefLock,
};
use support::{Census, PHASES, Token, collect_all, step_to};

#[derive(Collect)]
#[collect(no_drop)]
struct Object<'gc> {
    number: u32,
    #[allow(dead_code, reason = "counts the object")]
    token: Token,
    next: Option<Gc<'gc, Object<'gc>>>,
}

#[derive(Collect)]
#[collect(no_drop)]
struct Root<'gc> {
    queue: FinalizerQueue<'gc, Object<'gc>>,
    kept: Gc<'gc, RefLock<Vec<Gc<'gc, Object<'gc>>>>>,
    weak: Gc<'gc, RefLock<Vec<GcWeak<'gc, Object<'gc>>>>>,
}

type QueueArena = Arena<Rootable![Root<'_>]>;

fn arena() -> QueueArena {
    Arena::new(|mc| Root {
        queue: FinalizerQueue::new(mc),
        kept: Gc::new(mc, RefLock::new(Vec::new())),
        weak: Gc::new(mc, RefLock::new(Vec::new())),
    })
}

fn register(arena: &QueueArena, census: &Census, numbers: std::ops::Range<u32>, keep: bool) {
    arena.mutate(|mc, root| {
        for number in numbers {
            let inner = Gc::new(
                mc,
                Object {
                    number: number + 1000,
                    token: census.token(),
                    next: None,
                },
            );
            let object = Gc::new(
                mc,
                Object {
                    number,
                    token: census.token(),
                    next: Some(inner),
                },
            );
            root.queue.register(mc, object);
            root.weak.borrow_mut(mc).push(Gc::downgrade(object));
            if keep {
                root.kept.borrow_mut(mc).push(object);
            }
        }
    });
}

fn pop_all(arena: &QueueArena) -> Vec<u32> {
    arena.mutate(|mc, root| {
        std::iter::from_fn(|| root.queue.pop(mc))
            .map(|object| {
                let inner = object.next.expect("it came back whole");
                assert_eq!(inner.number, object.number + 1000);
                object.number
            })
            .collect()
    })
}

#[test]
fn unreachable_objects_come_back_once_latest_first() {
    let census = Census::default();
    let mut arena = arena();
    register(&arena, &census, 0..5, false);
    register(&arena, &census, 5..7, true);
    assert!(pop_all(&arena).is_empty());
    collect_all(&mut arena);
    arena.mutate(|_, root| assert_eq!((root.queue.ready(), root.queue.registered()), (5, 2)));
    assert_eq!(
        census.alive(),
        14,
        "nothing is dropped before it was popped"
    );
    assert_eq!(pop_all(&arena), [4, 3, 2, 1, 0]);
    assert!(pop_all(&arena).is_empty());
    collect_all(&mut arena);
    assert_eq!(
        census.alive(),
        4,
        "what was popped is garbage like any other"
    );
    arena.mutate(|mc, root| root.kept.borrow_mut(mc).clear());
    collect_all(&mut arena);
    assert_eq!(pop_all(&arena), [6, 5]);
    collect_all(&mut arena);
    assert_eq!(census.alive(), 0);
}

#[test]
fn later_cycles_queue_behind_earlier_ones() {
    let census = Census::default();
    let mut arena = arena();
    register(&arena, &census, 0..2, false);
    collect_all(&mut arena);
    register(&arena, &census, 2..4, false);
    collect_all(&mut arena);
    assert_eq!(pop_all(&arena), [1, 0, 3, 2]);
}

#[test]
fn an_object_may_be_registered_again() {
    let census = Census::default();
    let mut arena = arena();
    register(&arena, &census, 0..1, false);
    for _ in 0..3 {
        collect_all(&mut arena);
        arena.mutate(|mc, root| {
            let object = root.queue.pop(mc).expect("it was unreachable again");
            root.queue.register(mc, object);
        });
    }
    assert_eq!(census.alive(), 2);
    collect_all(&mut arena);
    arena.mutate(|mc, root| {
        let object = root.queue.pop(mc).expect("it was unreachable again");
        root.kept.borrow_mut(mc).push(object);
    });
    collect_all(&mut arena);
    assert_eq!((pop_all(&arena), census.alive()), (vec![], 2));
}

#[test]
fn registration_in_every_phase() {
    for phase in PHASES {
        for steps in 0..4 {
            let census = Census::default();
            let mut arena = arena();
            register(&arena, &census, 0..3, true);
            step_to(&mut arena, phase);
            for _ in 0..steps {
                arena.step(Budget::Work(1));
            }
            register(&arena, &census, 3..6, false);
            arena.mutate(|mc, root| root.kept.borrow_mut(mc).clear());
            for _ in 0..100 {
                arena.step(Budget::Work(10));
            }
            collect_all(&mut arena);
            collect_all(&mut arena);
            let mut popped = pop_all(&arena);
            popped.sort_unstable();
            assert_eq!(popped, [0, 1, 2, 3, 4, 5], "{phase:?}, {steps} steps");
            collect_all(&mut arena);
            assert_eq!(census.alive(), 0);
        }
    }
}

/// A queue that was made while marking is not looked through in this cycle.
#[test]
fn a_queue_made_while_marking() {
    for phase in PHASES {
        let census = Census::default();
        let mut arena =
            Arena::<Rootable![(Option<FinalizerQueue<'_, Token>>, Vec<Gc<'_, Token>>)]>::new(
                |mc| (None, vec![Gc::new(mc, census.token())]),
            );
        step_to(&mut arena, phase);
        arena.mutate_root(|mc, (queue, objects)| {
            let new = FinalizerQueue::new(mc);
            new.register(mc, objects.pop().expect("it is there"));
            *queue = Some(new);
        });
        arena.finish_cycle();
        assert_eq!(census.alive(), 1, "{phase:?}");
        collect_all(&mut arena);
        arena.mutate(|mc, (queue, _)| {
            assert!(queue.and_then(|queue| queue.pop(mc)).is_some(), "{phase:?}")
        });
        collect_all(&mut arena);
        assert_eq!(census.alive(), 0);
    }
}

#[test]
fn many_objects_are_looked_through_in_pieces() {
    let census = Census::default();
    let mut arena = arena();
    for start in 0..100 {
        register(
            &arena,
            &census,
            start * 100..start * 100 + 100,
            start % 3 == 0,
        );
    }
    collect_all(&mut arena);
    let mut popped = pop_all(&arena);
    assert_eq!(popped.len(), 6600);
    assert!(popped.is_sorted_by(|a, b| a > b));
    // The mutator runs between the pieces, and registers and pops.
    arena.mutate(|mc, root| root.kept.borrow_mut(mc).clear());
    arena.start_cycle();
    popped.clear();
    let mut number = 20_000;
    while arena.collection_phase() != CollectionPhase::Sleeping {
        arena.step(Budget::Work(100));
        register(&arena, &census, number..number + 1, false);
        number += 1;
        popped.extend(arena.mutate(|mc, root| root.queue.pop(mc).map(|object| object.number)));
    }
    collect_all(&mut arena);
    collect_all(&mut arena);
    popped.extend(pop_all(&arena));
    popped.sort_unstable();
    popped.dedup();
    assert_eq!(popped.len(), 3400 + (number - 20_000) as usize);
}

#[test]
fn the_end_of_a_program_queues_all() {
    let census = Census::default();
    let mut arena = arena();
    register(&arena, &census, 0..2, false);
    collect_all(&mut arena);
    register(&arena, &census, 2..5, true);
    step_to(&mut arena, CollectionPhase::Marking);
    arena.mutate(|mc, root| root.queue.queue_all(mc));
    arena.finish_cycle();
    assert_eq!(pop_all(&arena), [1, 0, 4, 3, 2]);
}

#[test]
fn a_lost_queue_finalizes_nothing() {
    let census = Census::default();
    let mut arena = Arena::<Rootable![Option<FinalizerQueue<'_, Token>>]>::new(|mc| {
        Some(FinalizerQueue::new(mc))
    });
    arena.mutate_root(|mc, root| {
        root.expect("it is there")
            .register(mc, Gc::new(mc, census.token()));
        *root = None;
    });
    collect_all(&mut arena);
    assert_eq!(census.alive(), 0);
}

#[test]
fn a_queued_object_is_seen_through_weak_pointers() {
    let census = Census::default();
    let mut arena = arena();
    register(&arena, &census, 0..1, false);
    collect_all(&mut arena);
    arena.mutate(|mc, root| {
        let object = root.queue.pop(mc).expect("it is unreachable");
        let weak = root.weak.borrow()[0];
        assert!(
            weak.upgrade(mc)
                .is_none_or(|upgraded| Gc::ptr_eq(upgraded, object))
        );
    });
    collect_all(&mut arena);
    arena.mutate(|mc, root| assert!(root.weak.borrow()[0].upgrade(mc).is_none()));
}
