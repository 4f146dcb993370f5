//! A cycle frees what can't be reached, and nothing else, however it is cut into steps.

use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

use sleepy_gc::{Arena, Budget, Collect, CollectionPhase, Gc, GcWeak, Lock, Rootable};

/// Counts how many of its kind are alive.
#[derive(Collect)]
#[collect(require_static)]
struct Counted(Rc<Cell<usize>>);

impl Counted {
    fn new(alive: &Rc<Cell<usize>>) -> Self {
        alive.set(alive.get() + 1);
        Self(alive.clone())
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.set(self.0.get() - 1);
    }
}

#[derive(Collect)]
#[collect(no_drop)]
struct Node<'gc> {
    counted: Counted,
    next: Lock<Option<Gc<'gc, Node<'gc>>>>,
}

type List<'gc> = Lock<Option<Gc<'gc, Node<'gc>>>>;
type ListArena = Arena<Rootable![Gc<'_, List<'_>>]>;

fn list_of(alive: &Rc<Cell<usize>>, len: usize) -> ListArena {
    ListArena::new(|mc| {
        let mut list = None;
        for _ in 0..len {
            list = Some(Gc::new(
                mc,
                Node {
                    counted: Counted::new(alive),
                    next: Lock::new(list),
                },
            ));
        }
        Gc::new(mc, Lock::new(list))
    })
}

#[test]
fn a_list_lives_while_it_is_reachable() {
    let alive = Rc::new(Cell::new(0));
    let mut arena = list_of(&alive, 100_000);
    for _ in 0..3 {
        arena.finish_cycle();
        arena.verify().unwrap();
        assert_eq!(alive.get(), 100_000);
    }
    arena.mutate(|mc, list| list.unlock(mc).set(None));
    arena.finish_cycle();
    arena.verify().unwrap();
    assert_eq!(alive.get(), 0);
    assert!(arena.heap_bytes() < 1000, "{}", arena.heap_bytes());
}

#[test]
fn dropping_an_arena_drops_its_objects() {
    let alive = Rc::new(Cell::new(0));
    let mut arena = list_of(&alive, 1000);
    arena.mutate(|mc, list| list.unlock(mc).set(None));
    assert_eq!(alive.get(), 1000);
    while arena.collection_phase() != CollectionPhase::Sweeping {
        arena.start_cycle();
        arena.step(Budget::Work(1));
    }
    drop(arena);
    assert_eq!(alive.get(), 0);
}

#[test]
fn any_steps_make_a_cycle() {
    for budget in [
        Budget::Work(1),
        Budget::Work(100),
        Budget::Work(10_000),
        Budget::Time(Duration::from_micros(1)),
    ] {
        let alive = Rc::new(Cell::new(0));
        let mut arena = list_of(&alive, 2_000);
        arena.mutate(|_, list| {
            for _ in 0..1_000 {
                let first = list.get().unwrap();
                assert!(first.counted.0.get() > 0);
            }
        });
        arena.mutate(|mc, list| list.unlock(mc).set(list.get().unwrap().next.get()));
        arena.start_cycle();
        assert!(arena.has_work());
        let mut steps = 0;
        loop {
            let progress = arena.step(budget);
            arena.verify().unwrap();
            steps += 1;
            if progress.finished_cycle {
                break;
            }
            assert!(steps < 1_000_000, "the cycle does not end");
        }
        assert!(!arena.has_work());
        assert_eq!(alive.get(), 1_999);
    }
}

#[test]
fn a_zero_budget_does_nothing() {
    let alive = Rc::new(Cell::new(0));
    let mut arena = list_of(&alive, 10);
    arena.start_cycle();
    for _ in 0..100 {
        assert_eq!(arena.step(Budget::Work(0)).work_bytes, 0);
        assert_eq!(arena.collection_phase(), CollectionPhase::Marking);
    }
}

#[test]
fn objects_allocated_at_any_moment_of_a_cycle_survive_it_if_reachable() {
    let alive = Rc::new(Cell::new(0));
    let mut arena = list_of(&alive, 500);
    let mut count = 500;
    for _ in 0..5 {
        arena.start_cycle();
        while arena.has_work() {
            arena.mutate(|mc, list| {
                // One that stays, and one that does not.
                Gc::new(
                    mc,
                    Node {
                        counted: Counted::new(&alive),
                        next: Lock::new(None),
                    },
                );
                let kept = Gc::new(
                    mc,
                    Node {
                        counted: Counted::new(&alive),
                        next: Lock::new(list.get()),
                    },
                );
                list.unlock(mc).set(Some(kept));
            });
            count += 1;
            arena.step(Budget::Work(200));
            arena.verify().unwrap();
        }
    }
    arena.finish_cycle();
    assert_eq!(alive.get(), count);
    arena.mutate(|_, list| {
        let (mut len, mut node) = (0, list.get());
        while let Some(next) = node {
            len += 1;
            node = next.next.get();
        }
        assert_eq!(len, count);
    });
}

#[test]
fn debt_starts_cycles_and_keeps_the_heap_small() {
    let mut arena = Arena::<Rootable![Gc<'_, Lock<Option<Gc<'_, [u64; 16]>>>>]>::new(|mc| {
        Gc::new(mc, Lock::new(None))
    });
    let mut peak = 0;
    for n in 0..200_000_u64 {
        arena.mutate(|mc, root| root.set(mc, Some(Gc::new(mc, [n; 16]))));
        if arena.debt_due() {
            arena.collect_debt();
        }
        peak = peak.max(arena.metrics().heap_bytes());
    }
    assert!(arena.metrics().cycles() > 5);
    assert!(peak < 2 << 20, "{peak}");
    arena.mutate(|_, root| assert_eq!(root.get().unwrap()[3], 199_999));
    arena.verify().unwrap();
}

#[test]
fn weak_pointers_see_the_end_of_their_objects() {
    type Both<'gc> = (Gc<'gc, Lock<Option<Gc<'gc, u64>>>>, GcWeak<'gc, u64>);
    let mut arena = Arena::<Rootable![Both<'_>]>::new(|mc| {
        let target = Gc::new(mc, 7);
        (Gc::new(mc, Lock::new(Some(target))), Gc::downgrade(target))
    });
    for _ in 0..2 {
        arena.finish_cycle();
        arena.mutate(|mc, root| assert_eq!(root.1.upgrade(mc).map(|n| *n), Some(7)));
    }
    arena.mutate(|mc, root| root.0.set(mc, None));
    arena.finish_cycle();
    arena.mutate(|mc, root| {
        assert!(root.1.is_dropped());
        assert!(root.1.upgrade(mc).is_none());
        // The cell is not used again while the weak pointer lives.
        for n in 0..10_000 {
            assert_ne!(Gc::as_ptr(Gc::new(mc, n)), root.1.as_ptr());
        }
    });
    arena.verify().unwrap();
}
