//! `Arena`, `MarkedArena`, `Mutation`, `Finalization`, `metrics`.

use std::cell::Cell;
use std::rc::Rc;

use gc_arena::arena::{self, Arena, CollectionPhase, MarkedArena, Root, rootless_mutate};
use gc_arena::lock::RefLock;
use gc_arena::metrics::{Metrics, Pacing};
use gc_arena::{Collect, Finalization, Gc, GcRefLock, GcWeak, Mutation, Rootable, Static};
use gc_arena_user::{join, node, walk};

#[derive(Collect)]
#[collect(no_drop)]
struct State<'gc> {
    kept: GcRefLock<'gc, Vec<Gc<'gc, Counted>>>,
    weak: GcRefLock<'gc, Vec<GcWeak<'gc, Counted>>>,
}

#[derive(Collect)]
#[collect(require_static)]
struct Counted(Rc<Cell<usize>>);

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.set(self.0.get() - 1);
    }
}

type StateArena = Arena<Rootable![State<'_>]>;

fn state<'gc>(mc: &Mutation<'gc>) -> State<'gc> {
    State {
        kept: Gc::new(mc, RefLock::new(Vec::new())),
        weak: Gc::new(mc, RefLock::new(Vec::new())),
    }
}

fn add(arena: &StateArena, alive: &Rc<Cell<usize>>, keep: bool) {
    arena.mutate(|mc, root| {
        alive.set(alive.get() + 1);
        let object = Gc::new(mc, Counted(Rc::clone(alive)));
        root.weak.borrow_mut(mc).push(Gc::downgrade(object));
        if keep {
            root.kept.borrow_mut(mc).push(object);
        }
    });
}

#[test]
fn a_list_is_walked_and_collected() {
    let mut arena = Arena::<Rootable!['gc => gc_arena_user::NodePtr<'gc, u32>]>::new(|mc| {
        let first = node(mc, 0);
        let mut last = first;
        for n in 1..10 {
            let next = node(mc, n);
            join(mc, last, next);
            last = next;
        }
        first
    });
    arena.finish_cycle();
    arena.mutate(|_, first| {
        assert!(walk(*first).map(|node| node.borrow().value).eq(0..10));
    });
    assert_eq!(arena.metrics().total_gc_count(), 10);
    arena.mutate_root(|mc, first| *first = node(mc, 99));
    arena.finish_cycle();
    assert_eq!(arena.metrics().total_gc_count(), 1);
}

#[test]
fn roots_are_made_changed_and_mapped() {
    let mut arena = StateArena::new(state);
    arena.mutate_root(|mc, root| root.kept = Gc::new(mc, RefLock::new(Vec::new())));
    let arena = arena.map_root::<Rootable![(State<'_>, u32)]>(|_, root| (root, 7));
    let mut arena = arena
        .try_map_root::<Rootable![GcRefLock<'_, u32>], ()>(|mc, root| {
            Ok(Gc::new(mc, RefLock::new(root.1)))
        })
        .unwrap();
    arena.finish_cycle();
    fn value<'gc>(
        _: &'gc Mutation<'gc>,
        root: &'gc Root<'gc, Rootable![GcRefLock<'_, u32>]>,
    ) -> u32 {
        *root.borrow()
    }
    assert_eq!(arena.mutate(value), 7);
    assert!(
        arena
            .try_map_root::<Rootable![u32], &str>(|_, _| Err("no"))
            .is_err()
    );
    assert!(Arena::<Rootable![u32]>::try_new(|_| Err("no")).is_err());
    assert!(Arena::<Rootable![u32]>::try_new(|_| Ok::<_, ()>(1)).is_ok());
    assert_eq!(
        Arena::<Static<String>>::new(|_| Static("x".to_owned())).mutate(|_, root| root.0.clone()),
        "x"
    );
    fn named<R: for<'a> arena::Rootable<'a>>() {}
    named::<Rootable![u32]>();
}

#[test]
fn a_cycle_goes_through_its_phases() {
    let alive = Rc::new(Cell::new(0));
    let mut arena = StateArena::new(state);
    for n in 0..10 {
        add(&arena, &alive, n % 2 == 0);
    }
    assert_eq!(arena.collection_phase(), CollectionPhase::Sleeping);
    let marked: MarkedArena<'_, _> = arena.finish_marking().unwrap();
    let dead = marked.finalize(|fc: &Finalization<'_>, root| {
        let weak = root.weak.borrow();
        weak.iter().filter(|weak| weak.is_dead(fc)).count()
    });
    assert_eq!(
        (dead, arena.collection_phase()),
        (5, CollectionPhase::Marked)
    );
    arena.mutate(|mc, root| {
        // Nothing is decided yet.
        assert!(
            root.weak
                .borrow()
                .iter()
                .all(|weak| weak.upgrade(mc).is_some())
        );
    });
    arena.finish_marking().unwrap().start_sweeping();
    assert_eq!(arena.collection_phase(), CollectionPhase::Sweeping);
    assert!(arena.finish_marking().is_none() && arena.mark_debt().is_none());
    arena.mutate(|mc, root| {
        let weak = root.weak.borrow();
        let upgraded = weak.iter().filter_map(|weak| weak.upgrade(mc));
        assert_eq!(upgraded.count(), 5);
    });
    arena.finish_cycle();
    assert_eq!(
        (arena.collection_phase(), alive.get()),
        (CollectionPhase::Sleeping, 5)
    );
    arena.mutate(|_, root| {
        assert_eq!(
            root.weak
                .borrow()
                .iter()
                .filter(|weak| weak.is_dropped())
                .count(),
            5
        );
    });
    drop(arena);
    assert_eq!(alive.get(), 0);
}

#[test]
fn what_is_dead_may_be_resurrected() {
    let alive = Rc::new(Cell::new(0));
    let mut arena = StateArena::new(state);
    add(&arena, &alive, false);
    add(&arena, &alive, false);
    arena.finish_marking().unwrap().finalize(|fc, root| {
        let weak = root.weak.borrow()[0];
        let object = weak.resurrect(fc).unwrap();
        assert!(!Gc::is_dead(fc, object) && root.weak.borrow()[1].is_dead(fc));
        Gc::resurrect(fc, object);
        // It may be stored, as in a mutation.
        root.kept.borrow_mut(fc).push(object);
    });
    assert_eq!(arena.collection_phase(), CollectionPhase::Marking);
    arena.finish_marking().unwrap().start_sweeping();
    arena.finish_cycle();
    assert_eq!(alive.get(), 1);
}

#[test]
fn debt_is_run_up_adjusted_and_paid() {
    let mut arena = Arena::<Rootable![()]>::new(|_| ());
    let metrics: Metrics = arena.metrics().clone();
    metrics.set_pacing(Pacing {
        sleep_factor: 0.5,
        min_sleep: 4096,
        ..Pacing::default()
    });
    arena.finish_cycle();
    let fill = |arena: &Arena<Rootable![()]>| {
        arena.mutate(|mc, ()| {
            for n in 0..10_000_u64 {
                Gc::new(mc, n);
            }
            assert!(mc.metrics().allocation_debt() > 0.0);
        });
    };
    fill(&arena);
    assert_eq!(arena.metrics().total_gc_count(), 10_000);
    while arena.metrics().allocation_debt() > 0.0 {
        arena.collect_debt();
    }
    fill(&arena);
    while arena.metrics().allocation_debt() > 0.0 {
        arena.cycle_debt();
    }
    arena.finish_cycle();
    fill(&arena);
    while arena.mark_debt().is_none() {
        fill(&arena);
    }
    arena.finish_cycle();
    assert_eq!(arena.metrics().total_gc_count(), 0);

    // A debt may be made and forgiven.
    arena.mutate(|mc, ()| {
        Gc::new(mc, 1_u64);
    });
    assert_eq!(metrics.allocation_debt(), 0.0);
    metrics.adjust_debt(1e6);
    assert!(metrics.allocation_debt() > 0.0);
    metrics.adjust_debt(-1e6);
    assert_eq!(metrics.allocation_debt(), 0.0);
    metrics.adjust_debt(1e6);
    arena.collect_debt();
    assert!(
        arena.metrics().total_gc_count() == 0
            || arena.collection_phase() != CollectionPhase::Sleeping
    );
}

#[test]
fn stopping_the_world_is_a_whole_cycle_at_once() {
    let mut arena = Arena::<Rootable![Gc<'_, u8>]>::new(|mc| Gc::new(mc, 1));
    arena.metrics().set_pacing(Pacing::STOP_THE_WORLD);
    for _ in 0..3 {
        arena.mutate(|mc, _| {
            while mc.metrics().allocation_debt() == 0.0 {
                Gc::new(mc, [0_u64; 8]);
            }
        });
        arena.collect_debt();
        assert_eq!(arena.collection_phase(), CollectionPhase::Sleeping);
        assert_eq!(arena.metrics().total_gc_count(), 1);
    }
    let Pacing {
        sleep_factor: _,
        min_sleep: _,
        mark_factor,
        trace_factor,
        keep_factor,
        drop_factor,
        free_factor,
        ..
    } = Pacing::DEFAULT;
    assert!(mark_factor + trace_factor + keep_factor < 1.0 && drop_factor + free_factor < 1.0);
}

#[test]
fn no_root_is_needed_to_mutate() {
    let value = rootless_mutate(|mc| *Gc::new(mc, 5));
    assert_eq!(value, 5);
}
