//! gc-arena 0.5's API, used as its users do. The same file compiles against gc-arena itself (`original/`).

#![allow(
    clippy::redundant_closure,
    reason = "the function alone is not general enough"
)]

use std::cell::Cell;
use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;

use gc_arena::allocator_api::MetricsAlloc;
use gc_arena::barrier::{self, Write};
use gc_arena::lock::{GcLock, GcRefLock, Lock, RefLock};
use gc_arena::metrics::Pacing;
use gc_arena::{
    Arena, Collect, Collection, CollectionPhase, DynamicRoot, DynamicRootSet, Gc, GcWeak, Mutation,
    Rootable, StaticCollect, rootless_arena, static_collect, unsize,
};

/// A value that is counted until it is dropped.
#[derive(Clone, Collect)]
#[collect(require_static)]
struct Counted(Rc<()>);

#[derive(Collect)]
#[collect(no_drop)]
struct Node<'gc, T> {
    value: T,
    next: Lock<Option<Gc<'gc, Node<'gc, T>>>>,
    #[collect(require_static)]
    name: &'static str,
}

#[derive(Collect)]
#[collect(no_drop)]
enum Shape<'gc> {
    Empty,
    One(Gc<'gc, u32>),
    Many { all: Vec<Shape<'gc>> },
}

fn node<'gc>(mc: &Mutation<'gc>, value: u32) -> Gc<'gc, Node<'gc, u32>> {
    Gc::new(
        mc,
        Node {
            value,
            next: Lock::new(None),
            name: "node",
        },
    )
}

fn leaves(shape: &Shape<'_>) -> u32 {
    match shape {
        Shape::Empty => 0,
        Shape::One(leaf) => **leaf,
        Shape::Many { all } => all.iter().map(leaves).sum(),
    }
}

#[test]
fn a_list_lives_through_cycles_that_go_on_while_it_grows() {
    let mut arena = Arena::<Rootable![GcLock<'_, Gc<'_, Node<'_, u32>>>]>::new(|mc| {
        Gc::new(mc, Lock::new(node(mc, 0)))
    });
    for value in 1..20_000 {
        arena.mutate(|mc, last| {
            let new = node(mc, value);
            barrier::unlock!(Gc::write(mc, new), Node, next).set(Some(last.get()));
            last.set(mc, new);
            node(mc, 0);
        });
        arena.collect_debt();
    }
    arena.collect_all();
    arena.mutate(|_, last| {
        let all = std::iter::successors(Some(last.get()), |node| node.next.get());
        let values: Vec<_> = all.map(|node| (node.value, node.name)).collect();
        assert_eq!(values.len(), 20_000);
        assert_eq!((values[0], values[19_999]), ((19_999, "node"), (0, "node")));
    });
}

#[test]
fn what_is_let_go_is_dropped_and_what_is_kept_is_not() {
    let count = Rc::new(());
    let mut arena = Arena::<Rootable![GcRefLock<'_, Vec<Gc<'_, Counted>>>]>::new(|mc| {
        Gc::new(mc, RefLock::new(Vec::new()))
    });
    arena.mutate(|mc, kept| {
        let counted = || Gc::new(mc, Counted(Rc::clone(&count)));
        kept.borrow_mut(mc).extend((0..500).map(|_| counted()));
        for _ in 0..500 {
            counted();
        }
    });
    assert_eq!(Rc::strong_count(&count), 1_001);
    arena.collect_all();
    arena.collect_all();
    assert_eq!(Rc::strong_count(&count), 501);
    arena.mutate_root(|mc, kept| *kept = Gc::new(mc, RefLock::new(Vec::new())));
    arena.collect_all();
    arena.collect_all();
    assert_eq!(Rc::strong_count(&count), 1);
    arena.mutate(|mc, kept| {
        kept.borrow_mut(mc)
            .push(Gc::new(mc, Counted(Rc::clone(&count))))
    });
    drop(arena);
    assert_eq!(Rc::strong_count(&count), 1);
}

#[test]
fn weak_pointers_tell_what_is_gone() {
    type Root<'gc> = (Lock<Option<Gc<'gc, u32>>>, Lock<Option<GcWeak<'gc, u32>>>);
    let mut arena = Arena::<Rootable![Gc<'_, Root<'_>>]>::new(|mc| {
        Gc::new(mc, (Lock::new(None), Lock::new(None)))
    });
    arena.mutate(|mc, root| {
        let object = Gc::new(mc, 7);
        let root = Gc::write(mc, *root);
        // SAFETY: the parts of a tuple that the barrier was raised for.
        let (strong, weak) = unsafe { (Write::assume(&root.0), Write::assume(&root.1)) };
        strong.unlock().set(Some(object));
        weak.unlock().set(Some(Gc::downgrade(object)));
    });
    arena.collect_all();
    arena.mutate(|mc, root| {
        let weak = root.1.get().unwrap();
        let object = weak.upgrade(mc).expect("it is held");
        assert!(*object == 7 && Gc::ptr_eq(object, root.0.get().unwrap()));
        assert!(GcWeak::ptr_eq(weak, Gc::downgrade(object)) && weak.as_ptr() == Gc::as_ptr(object));
        // SAFETY: as above.
        unsafe { Write::assume(&Gc::write(mc, *root).0) }
            .unlock()
            .set(None);
    });
    arena.collect_all();
    arena.collect_all();
    arena.mutate(|mc, root| assert!(root.1.get().unwrap().upgrade(mc).is_none()));
}

#[test]
fn finalization_asks_and_resurrects() {
    let mut arena = Arena::<Rootable![GcRefLock<'_, Vec<GcWeak<'_, u32>>>]>::new(|mc| {
        let weak = (0..3).map(|n| Gc::downgrade(Gc::new(mc, n))).collect();
        Gc::new(mc, RefLock::new(weak))
    });
    arena
        .mark_all()
        .expect("nothing is swept")
        .finalize(|fc, root| {
            assert!(!Gc::is_dead(fc, *root));
            for weak in root.borrow().iter() {
                assert!(weak.is_dead(fc));
                if *weak.upgrade(fc).expect("not yet") == 1 {
                    weak.resurrect(fc).expect("not yet dropped");
                }
            }
        });
    arena
        .mark_all()
        .expect("nothing is swept")
        .start_collecting();
    assert_eq!(arena.collection_phase(), CollectionPhase::Collecting);
    arena.collect_all();
    arena.mutate(|mc, root| {
        let alive: Vec<_> = root
            .borrow()
            .iter()
            .map(|weak| weak.upgrade(mc).is_some())
            .collect();
        assert_eq!(alive, [false, true, false]);
    });
}

#[test]
fn phases_follow_each_other() {
    let mut arena = Arena::<Rootable![Gc<'_, Node<'_, u32>>]>::new(|mc| node(mc, 1));
    arena
        .metrics()
        .set_pacing(Pacing::default().with_min_sleep(0).with_pause_factor(0.0));
    assert_eq!(arena.collection_phase(), CollectionPhase::Sleeping);
    assert!(arena.mark_all().is_some());
    assert_eq!(arena.collection_phase(), CollectionPhase::Marked);
    arena.mutate(|mc, root| {
        barrier::unlock!(Gc::write(mc, *root), Node, next).set(Some(node(mc, 2)));
    });
    assert_eq!(arena.collection_phase(), CollectionPhase::Marking);
    arena.collect_all();
    assert_eq!(arena.collection_phase(), CollectionPhase::Sleeping);
    arena.mutate(|_, root| assert_eq!(root.next.get().unwrap().value, 2));
}

#[test]
fn a_program_that_pays_its_debt_stays_small_and_one_that_allocates_little_sleeps() {
    let mut arena = Arena::<Rootable![()]>::new(|_| ());
    let pacing = Pacing::default()
        .with_timing_factor(0.0)
        .with_min_sleep(1 << 16);
    arena.metrics().set_pacing(pacing);
    for _ in 0..100_000 {
        arena.mutate(|mc, ()| Gc::new(mc, [0_u64; 8])[0]);
        arena.collect_debt();
    }
    assert!(arena.metrics().total_allocation() < 1 << 20);
    arena.collect_all();
    arena.mutate(|mc, ()| *Gc::new(mc, 1_u8));
    assert_eq!(arena.metrics().allocation_debt(), 0.0);
}

#[test]
fn handles_keep_any_value_alive() {
    type Pair<'gc> = (Gc<'gc, u32>, Option<Gc<'gc, Counted>>);
    let count = Rc::new(());
    let mut arena = Arena::<Rootable![DynamicRootSet<'_>]>::new(|mc| DynamicRootSet::new(mc));
    let handle: DynamicRoot<Rootable![Pair<'_>]> = arena.mutate(|mc, roots| {
        let counted = Gc::new(mc, Counted(Rc::clone(&count)));
        roots.stash::<Rootable![Pair<'_>]>(mc, (Gc::new(mc, 9), Some(counted)))
    });
    let handles: Vec<_> = (0..100_u32)
        .map(|n| {
            arena.mutate(|mc, roots| roots.stash::<Rootable![Gc<'_, u32>]>(mc, Gc::new(mc, n)))
        })
        .collect();
    let other = handle.clone();
    drop(handle);
    arena.collect_all();
    arena.collect_all();
    arena.mutate(|_, roots| {
        assert!(roots.contains(&other));
        let (nine, counted) = roots.fetch(&other);
        assert!(**nine == 9 && counted.is_some());
        assert!(
            handles
                .iter()
                .zip(0..)
                .all(|(handle, n)| **roots.fetch(handle) == n)
        );
    });
    rootless_arena(|mc| assert!(DynamicRootSet::new(mc).try_fetch(&other).is_err()));
    drop(other);
    arena.collect_all();
    arena.collect_all();
    assert_eq!(Rc::strong_count(&count), 1);
}

trait Speak {
    fn word(&self) -> u32;
}

impl Speak for u32 {
    fn word(&self) -> u32 {
        *self
    }
}

#[test]
fn pointers_change_their_type() {
    rootless_arena(|mc| {
        let number = Gc::new(mc, 5_u32);
        let speaker: Gc<'_, dyn Speak> = unsize!(number => dyn Speak);
        assert_eq!(speaker.word(), 5);
        let weak: GcWeak<'_, dyn Speak> = unsize!(Gc::downgrade(number) => dyn Speak);
        assert!(weak.upgrade(mc).is_some());
        let slice: Gc<'_, [u8]> = unsize!(Gc::new(mc, [1_u8, 2, 3]) => [u8]);
        assert_eq!(slice.len(), 3);
        // SAFETY: of the same layout, and of this arena.
        let (signed, again) =
            unsafe { (Gc::cast::<i32>(number), Gc::from_ptr(Gc::as_ptr(number))) };
        assert!(*signed == 5 && Gc::ptr_eq(again, number));
        assert!(number == Gc::new(mc, 5) && format!("{number} {number:?}") == "5 5");
    });
}

#[test]
fn trait_objects_are_traced() {
    let count = Rc::new(());
    let mut arena = Arena::<Rootable!['gc => Gc<'gc, Vec<Box<dyn Collect + 'gc>>>]>::new(|mc| {
        let counted = Gc::new(mc, Counted(Rc::clone(&count)));
        let all: Vec<Box<dyn Collect>> = vec![Box::new(1), Box::new(Some(counted))];
        Gc::new(mc, all)
    });
    arena.collect_all();
    arena.collect_all();
    arena.mutate(|_, root| assert_eq!(root.len(), 2));
    assert_eq!(Rc::strong_count(&count), 2);
}

#[test]
fn enums_maps_and_static_values_are_traced() {
    struct Foreign(u32);
    static_collect!(Foreign);
    type Root<'gc> = (
        Shape<'gc>,
        HashMap<String, Gc<'gc, u32>>,
        hashbrown::HashMap<u32, Gc<'gc, u32>, std::hash::RandomState, MetricsAlloc<'gc>>,
        StaticCollect<Rc<u32>>,
        Foreign,
    );
    let mut arena = Arena::<Rootable![Root<'_>]>::new(|mc| {
        let leaf = |n| Shape::One(Gc::new(mc, n));
        let all = vec![
            leaf(1),
            Shape::Empty,
            Shape::Many {
                all: vec![leaf(2), leaf(3)],
            },
        ];
        let mut table =
            hashbrown::HashMap::with_hasher_in(Default::default(), MetricsAlloc::new(mc));
        for n in 0..1_000 {
            table.insert(n, Gc::new(mc, n));
        }
        (
            Shape::Many { all },
            HashMap::from([("key".to_owned(), Gc::new(mc, 4))]),
            table,
            StaticCollect(Rc::new(5)),
            Foreign(6),
        )
    });
    arena.collect_all();
    assert!(arena.metrics().total_external_allocation() > 1_000 * 16);
    assert!(arena.metrics().total_gc_allocation() > 1_000 * 4);
    arena.mutate(|_, (shape, map, table, five, six)| {
        assert_eq!((leaves(shape), *map["key"], *five.0, six.0), (6, 4, 5, 6));
        assert!(table.iter().all(|(n, leaf)| **leaf == *n));
    });
}

#[test]
fn vectors_in_the_arenas_own_allocator_are_counted() {
    let arena =
        Arena::<Rootable![GcRefLock<'_, allocator_api2::vec::Vec<u8, MetricsAlloc<'_>>>]>::new(
            |mc| {
                Gc::new(
                    mc,
                    RefLock::new(allocator_api2::vec::Vec::new_in(MetricsAlloc::new(mc))),
                )
            },
        );
    arena.mutate(|mc, bytes| bytes.borrow_mut(mc).resize(10_000, 0));
    assert!(arena.metrics().total_external_allocation() >= 10_000);
    arena.mutate(|mc, bytes| {
        let mut bytes = bytes.borrow_mut(mc);
        bytes.clear();
        bytes.shrink_to_fit();
    });
    assert_eq!(arena.metrics().total_external_allocation(), 0);
}

#[test]
fn roots_are_mapped() {
    let arena = Arena::<Rootable![Gc<'_, u32>]>::new(|mc| Gc::new(mc, 3));
    let mut arena = arena.map_root::<Rootable![(Gc<'_, u32>, u32)]>(|_, three| (three, 4));
    arena.collect_all();
    let arena = arena.try_map_root::<Rootable![Gc<'_, u32>], ()>(|mc, (three, four)| {
        Ok(Gc::new(mc, *three + four))
    });
    arena.unwrap().mutate(|_, seven| assert_eq!(**seven, 7));
    assert!(Arena::<Rootable![()]>::try_new(|_| Err::<(), u32>(1)).is_err());
}

#[test]
fn a_trace_that_panics_is_done_again() {
    struct Shy<'gc>(Cell<bool>, Gc<'gc, Counted>);
    // SAFETY: the pointer is traced, or it panics.
    unsafe impl Collect for Shy<'_> {
        fn trace(&self, cc: &Collection) {
            assert!(self.0.replace(true), "shy");
            self.1.trace(cc);
        }
    }
    let count = Rc::new(());
    let mut arena = Arena::<Rootable![Gc<'_, Shy<'_>>]>::new(|mc| {
        Gc::new(
            mc,
            Shy(Cell::new(false), Gc::new(mc, Counted(Rc::clone(&count)))),
        )
    });
    assert!(catch_unwind(AssertUnwindSafe(|| arena.collect_all())).is_err());
    arena.collect_all();
    arena.collect_all();
    arena.mutate(|_, shy| assert_eq!(Rc::strong_count(&shy.1.0), 2));
}
