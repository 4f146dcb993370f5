//! A panic of the user's code does not harm the heap.

mod support;

use std::{
    cell::Cell,
    panic::{AssertUnwindSafe, catch_unwind},
    rc::Rc,
};

use sleepy_gc::{
    Arena, Budget, Collect, CollectionPhase, Gc, Mutation, Rootable,
    collect::Trace,
    collections::GcTail,
    ephemeron::{EphemeronMap, Weakness},
    lock::{GcRefLock, RefLock},
};
use support::{Census, Token, collect_all};

/// Runs `f`, which may panic, without a report of it. True: it did.
fn panics(f: impl FnOnce()) -> bool {
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| {}));
    let result = catch_unwind(AssertUnwindSafe(f));
    std::panic::set_hook(hook);
    result.is_err()
}

/// Its `trace` panics as often as it was told to, before or after it has traced.
struct Shy<'gc> {
    before: Rc<Cell<u32>>,
    after: Rc<Cell<u32>>,
    held: Gc<'gc, Token>,
    more: Vec<Gc<'gc, Token>>,
}

fn count_down(counter: &Cell<u32>) {
    if counter.get() > 0 {
        counter.set(counter.get() - 1);
        panic!("shy");
    }
}

// SAFETY: all pointers are traced, or it panics.
unsafe impl<'gc> Collect<'gc> for Shy<'gc> {
    fn trace<T: Trace<'gc>>(&self, cc: &mut T) {
        count_down(&self.before);
        cc.trace(&self.held);
        count_down(&self.after);
        cc.trace(&self.more);
    }
}

#[test]
fn an_object_whose_trace_panics_is_traced_again() {
    for (before, after) in [(1, 0), (0, 1), (3, 2)] {
        let census = Census::default();
        let counters = (Rc::new(Cell::new(0)), Rc::new(Cell::new(0)));
        let mut arena = Arena::<Rootable![Vec<Gc<'_, Shy<'_>>>]>::new(|mc| {
            let shy = Shy {
                before: Rc::clone(&counters.0),
                after: Rc::clone(&counters.1),
                held: Gc::new(mc, census.token()),
                more: vec![Gc::new(mc, census.token())],
            };
            vec![Gc::new(mc, shy)]
        });
        collect_all(&mut arena);
        counters.0.set(before);
        counters.1.set(after);
        let mut caught = 0;
        while panics(|| arena.finish_cycle()) {
            caught += 1;
        }
        assert_eq!(caught, before + after);
        assert_eq!(census.alive(), 2, "all was found in the end");
        arena.mutate(|_, root| assert_eq!(root[0].more.len(), 1));
        collect_all(&mut arena);
        assert_eq!(census.alive(), 2);
        arena.mutate_root(|_, root| root.clear());
        collect_all(&mut arena);
        assert_eq!(census.alive(), 0);
    }
}

#[test]
fn a_root_whose_trace_panics_is_traced_again() {
    let census = Census::default();
    let counters = (Rc::new(Cell::new(0)), Rc::new(Cell::new(0)));
    let mut arena = Arena::<Rootable![Shy<'_>]>::new(|mc| Shy {
        before: Rc::clone(&counters.0),
        after: Rc::clone(&counters.1),
        held: Gc::new(mc, census.token()),
        more: vec![Gc::new(mc, census.token())],
    });
    counters.0.set(2);
    counters.1.set(2);
    while panics(|| {
        arena.step(Budget::Unlimited);
        arena.finish_cycle();
    }) {}
    collect_all(&mut arena);
    assert_eq!(census.alive(), 2);
}

#[derive(Collect)]
#[collect(require_static)]
struct Bomb {
    _token: Token,
    armed: bool,
}

impl Drop for Bomb {
    fn drop(&mut self) {
        if self.armed {
            panic!("bomb");
        }
    }
}

#[test]
fn a_panicking_destructor_stops_neither_sweep_nor_drop() {
    let census = Census::default();
    let mut arena = Arena::<Rootable![GcRefLock<'_, Vec<Gc<'_, Bomb>>>]>::new(|mc| {
        let bombs = (0..100).map(|n| {
            let bomb = Bomb {
                _token: census.token(),
                // A second panic while the arena is dropped would abort, as everywhere.
                armed: n == 77 || n < 50 && n % 10 == 0,
            };
            Gc::new(mc, bomb)
        });
        Gc::new(mc, RefLock::new(bombs.collect()))
    });
    collect_all(&mut arena);
    arena.mutate(|mc, root| root.borrow_mut(mc).drain(..50).for_each(drop));
    for _ in 0..200 {
        if !panics(|| {
            arena.finish_cycle();
        }) && arena.collection_phase() == CollectionPhase::Sleeping
            && census.alive() == 50
        {
            break;
        }
    }
    assert_eq!(census.alive(), 50, "each was dropped once");
    arena.mutate(|mc, root| {
        root.borrow_mut(mc).push(Gc::new(
            mc,
            Bomb {
                _token: census.token(),
                armed: false,
            },
        ));
    });
    assert_eq!(census.alive(), 51, "the arena is of use");
    panics(|| drop(arena));
    assert_eq!(census.alive(), 0, "the rest went with the arena");
}

#[test]
fn a_panic_in_a_step_that_traced_again_does_not_upset_the_pacing() {
    type Place<'gc> = GcRefLock<'gc, Vec<Gc<'gc, Bomb>>>;
    let census = Census::default();
    let mut arena = Arena::<Rootable![Vec<Place<'_>>]>::new(|mc| {
        let places = (0..4_000).map(|_| Gc::new(mc, RefLock::new(Vec::new())));
        places.collect()
    });
    arena.finish_cycle();
    arena.mutate(|mc, _| {
        let _token = census.token();
        let bomb = Bomb {
            _token,
            armed: true,
        };
        Gc::new(mc, bomb);
        // What is left to sweep afterwards.
        for _ in 0..500 {
            Gc::new_static(mc, [0_u8; 1024]);
        }
    });
    assert!(arena.finish_marking().is_some());
    arena.mutate(|mc, root| root.iter().for_each(|place| drop(place.borrow_mut(mc))));
    assert!(panics(|| arena.finish_cycle()), "after it has traced again");
    arena.step(Budget::Work(64));
    let mut most = 0;
    for _ in 0..20_000 {
        arena.mutate(|mc, _| {
            Gc::new_static(mc, [0_u8; 1024]);
        });
        arena.collect_debt();
        most = most.max(arena.heap_bytes());
    }
    assert!(most < 4 << 20, "{most} bytes of garbage");
    assert_eq!(census.alive(), 0);
}

#[test]
fn a_panic_in_mutate_leaves_a_usable_arena() {
    let census = Census::default();
    let mut arena = Arena::<Rootable![GcRefLock<'_, Vec<Gc<'_, Token>>>]>::new(|mc| {
        Gc::new(mc, RefLock::new(Vec::new()))
    });
    arena.start_cycle();
    arena.step(Budget::Work(1));
    assert!(panics(|| arena.mutate(|mc, root| {
        let mut list = root.borrow_mut(mc);
        list.push(Gc::new(mc, census.token()));
        std::mem::forget(list);
        panic!("in the middle");
    })));
    collect_all(&mut arena);
    assert_eq!(
        census.alive(),
        1,
        "what a forgotten borrow guards is found all the same"
    );
    arena.mutate(|mc, root| {
        assert!(
            root.try_borrow_mut(mc).is_err(),
            "the borrow was never given back"
        );
        assert!(root.try_borrow().is_err());
    });
    assert!(panics(|| {
        Arena::<Rootable![Gc<'_, Token>]>::new(|mc| {
            Gc::new(mc, census.token());
            panic!("no root")
        });
    }));
    assert_eq!(census.alive(), 1);
    drop(arena);
    assert_eq!(census.alive(), 0);
}

/// Allocates a tail whose third element panics, and answers whether it did. Its elements are counted, and of a type that is traced.
fn fails_to_make_a_tail(mc: &Mutation<'_>, census: &Census) -> bool {
    panics(|| {
        GcTail::new(mc, census.token(), 3, |index| {
            assert!(index < 2, "told to");
            (census.token(), None::<Gc<'_, u32>>)
        });
    })
}

/// In a generational arena new objects are black while the dead are cleared, and stores queue old ones.
#[test]
fn an_unfinished_tail_is_dropped_once_in_any_phase() {
    type Root<'gc> = (
        GcRefLock<'gc, Vec<Gc<'gc, u32>>>,
        EphemeronMap<'gc, Gc<'gc, u32>, u32>,
    );
    for generational in [false, true] {
        for steps in 0..100 {
            let census = Census::default();
            let mut arena = Arena::<Rootable![Root<'_>]>::new(|mc| {
                let map = EphemeronMap::new(mc, Weakness::Keys);
                for n in 0..500 {
                    map.insert(mc, Gc::new(mc, n), n);
                }
                (Gc::new(mc, RefLock::new(Vec::new())), map)
            });
            arena.set_generational(generational);
            arena.start_cycle();
            for _ in 0..steps {
                arena.step(Budget::Work(256));
            }
            arena.mutate(|mc, (list, _)| {
                list.borrow_mut(mc).push(Gc::new(mc, 1));
                assert!(fails_to_make_a_tail(mc, &census));
            });
            assert_eq!(census.alive(), 0);
            arena.verify().unwrap();
            arena.finish_cycle();
            arena.finish_cycle();
            arena.verify().unwrap();
            drop(arena);
            assert_eq!(census.alive(), 0, "after {steps} steps");
        }
    }
}

#[test]
fn a_panic_while_the_reserve_is_drawn_on_leaves_the_limit_as_it_was() {
    type Blocks = Arena<Rootable![Vec<Gc<'_, [u64; 64]>>]>;
    let census = Census::default();
    let mut arena = Blocks::new(|_| Vec::new());
    arena.set_heap_limit(Some(1 << 20));
    let fill = |arena: &mut Blocks| {
        arena.mutate_root(|mc, kept| {
            while let Ok(object) = Gc::try_new(mc, [0; 64]) {
                kept.push(object);
            }
            kept.len()
        })
    };
    let full = fill(&mut arena);
    for _ in 0..5 {
        assert!(arena.mutate(|mc, _| fails_to_make_a_tail(mc, &census)));
        assert_eq!(census.alive(), 0);
    }
    assert_eq!(fill(&mut arena), full);
}
