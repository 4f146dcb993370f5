//! Containers of users' own that are traced in slices.

mod support;

use std::{
    cell::Cell,
    collections::HashMap,
    panic::{AssertUnwindSafe, catch_unwind},
};

use proptest::{prelude::*, test_runner::TestRunner};
use sleepy_gc::{
    Arena, Budget, Collect, ForwardLock, Gc, GcWeak, Mutation, RefLock, Rootable, Static,
    barrier::unlock,
    collect::{CollectSlices, Trace},
    collections::Sliced,
};
use support::{Census, Token, collect_all};

thread_local! {
    static CALLS: Cell<usize> = const { Cell::new(0) };
    /// Traces left until one panics.
    static FUSE: Cell<usize> = const { Cell::new(usize::MAX) };
}

/// Counts how often it is traced.
#[derive(Clone, Copy)]
struct Traced;

// SAFETY: owns no pointer.
unsafe impl<'gc> Collect<'gc> for Traced {
    fn trace<C: Trace<'gc>>(&self, _: &mut C) {
        FUSE.set(FUSE.get() - 1);
        assert!(FUSE.get() > 0, "the fuse has burnt down");
        CALLS.set(CALLS.get() + 1);
    }
}

const COUNT: usize = 100_000;

/// Entries in two fields, beside one that is traced as a whole.
#[derive(Collect)]
#[collect(no_drop)]
struct Two<'gc> {
    first: Gc<'gc, Traced>,
    #[collect(slices)]
    left: Box<[ForwardLock<Traced>]>,
    #[collect(require_static)]
    name: &'static str,
    #[collect(slices)]
    right: RefLock<Vec<Traced>>,
}

type TwoArena = Arena<Rootable![Gc<'_, Sliced<Two<'_>>>]>;

fn two() -> TwoArena {
    TwoArena::new(|mc| {
        let two = Two {
            first: Gc::new(mc, Traced),
            left: (0..COUNT).map(|_| ForwardLock::new(Traced)).collect(),
            name: "two",
            right: RefLock::new(vec![Traced; COUNT]),
        };
        Gc::new(mc, Sliced::new(two))
    })
}

/// Runs a cycle in the smallest steps, with `between` after each; the most calls of one step, and all of them.
fn cycle(arena: &mut TwoArena, mut between: impl FnMut(&mut TwoArena)) -> (usize, usize) {
    arena.start_cycle();
    let (mut most, mut all) = (0, 0);
    while arena.has_work() {
        CALLS.set(0);
        arena.step(Budget::Work(1));
        most = most.max(CALLS.get());
        all += CALLS.get();
        between(arena);
    }
    (most, all)
}

#[test]
fn all_is_traced_once_and_a_slice_at_a_time() {
    let mut arena = two();
    for _ in 0..2 {
        assert_eq!(cycle(&mut arena, |_| {}), (33, 2 * COUNT + 1));
    }
    arena.mutate(|_, two| assert_eq!((two.name, two.left.len()), ("two", COUNT)));
}

#[test]
fn a_store_into_a_forward_lock_traces_what_is_stored() {
    let mut arena = two();
    let mut stores = 0;
    let (most, all) = cycle(&mut arena, |arena| {
        if arena.mutate(|mc, two| {
            two.left[stores % COUNT].set(mc, Traced);
            mc.is_marking()
        }) {
            stores += 1;
        }
    });
    assert!(most <= 33, "{most}");
    assert!(
        stores > 1000 && all <= 2 * COUNT + 1 + stores,
        "{all} traces, {stores} stores"
    );
}

#[test]
fn a_barrier_of_the_container_begins_again_and_the_cycle_ends_all_the_same() {
    let mut arena = two();
    let mut stores = 0;
    let (most, _) = cycle(&mut arena, |arena| {
        arena.mutate(|mc, two| {
            let locked = Gc::write(mc, *two).as_deref();
            unlock!(locked, Two, right).borrow_mut()[0] = Traced;
        });
        stores += 1;
    });
    // Before each step: in the end one goes on until all is marked.
    assert!((2 * COUNT..3 * COUNT).contains(&most), "{most}");
    assert!(stores < 20, "{stores}");
    // The next cycle knows nothing of it.
    assert_eq!(cycle(&mut arena, |_| {}), (33, 2 * COUNT + 1));
}

#[test]
fn a_few_barriers_leave_the_slices_short() {
    let mut arena = two();
    let mut steps = 0;
    let (most, all) = cycle(&mut arena, |arena| {
        steps += 1;
        if steps % 1000 == 0 && steps <= 3000 {
            arena.mutate(|mc, two| Gc::write(mc, *two).name);
        }
    });
    assert!(most <= 33, "{most}");
    assert!(all > 2 * COUNT && all <= 5 * COUNT, "{all}");
}

#[test]
fn a_trace_that_panics_goes_on_where_it_was() {
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| {}));
    let mut arena = two();
    arena.start_cycle();
    let mut panics = 0;
    CALLS.set(0);
    while arena.has_work() {
        FUSE.set(10_000);
        panics += usize::from(
            catch_unwind(AssertUnwindSafe(|| {
                while arena.has_work() {
                    arena.step(Budget::Work(1));
                }
            }))
            .is_err(),
        );
    }
    FUSE.set(usize::MAX);
    std::panic::set_hook(hook);
    assert!(panics > 10, "{panics}");
    assert!(CALLS.get() < 2 * COUNT + 1 + 32 * panics, "{}", CALLS.get());
    assert_eq!(arena.metrics().cycles(), 1);
}

/// A rope: its text hangs in boxed leaves, which only its owner knows how to divide.
struct Rope<'gc> {
    leaves: Vec<Box<[Gc<'gc, Token>]>>,
}

const LEAF: usize = 50;

// SAFETY: all leaves are traced (rule 1), there is no destructor (rule 2) and nothing can change (rule 3).
unsafe impl<'gc> Collect<'gc> for Rope<'gc> {
    fn trace<C: Trace<'gc>>(&self, cc: &mut C) {
        cc.trace(&self.leaves);
    }
}

// SAFETY: a place is a leaf's number, all but the last have one behind them.
unsafe impl<'gc> CollectSlices<'gc> for Rope<'gc> {
    fn trace_slice<C: Trace<'gc>>(&self, from: usize, limit: usize, cc: &mut C) -> Option<usize> {
        let end = self
            .leaves
            .len()
            .min(from.saturating_add(limit.div_ceil(LEAF)));
        for leaf in self.leaves.iter().take(end).skip(from) {
            cc.trace(leaf);
        }
        (end < self.leaves.len() && from < end).then_some(end)
    }
}

#[test]
fn a_rope_divides_itself() {
    let census = Census::default();
    let mut arena = Arena::<Rootable![Gc<'_, Sliced<Rope<'_>>>]>::new(|mc| {
        let leaf = |_| (0..LEAF).map(|_| Gc::new(mc, census.token())).collect();
        Gc::new(
            mc,
            Sliced::new(Rope {
                leaves: (0..200).map(leaf).collect(),
            }),
        )
    });
    arena.start_cycle();
    let mut steps = 0;
    while arena.has_work() {
        arena.step(Budget::Work(1));
        steps += 1;
    }
    assert!(steps > 100, "{steps}");
    assert_eq!(census.alive(), 200 * LEAF);
    drop(arena);
    assert_eq!(census.alive(), 0);
}

/// A value of the map: counted, so that too much garbage is seen, and with its key, so that a wrong one is.
type Value<'gc> = Gc<'gc, Counted>;
type Counted = (u16, Static<Token>);
type Place<'gc> = ForwardLock<Option<(u16, Value<'gc>)>>;

/// Chains of entries in one array: insertion moves what is behind it.
#[derive(Collect)]
#[collect(no_drop)]
struct Sorted<'gc> {
    #[collect(slices)]
    entries: RefLock<Vec<Place<'gc>>>,
    /// Weakly, what was removed last.
    removed: ForwardLock<Option<GcWeak<'gc, Counted>>>,
}

type SortedPtr<'gc> = Gc<'gc, Sliced<Sorted<'gc>>>;

/// What a program may do to a container between two slices.
#[derive(Clone, Debug)]
enum Op {
    /// Into a free place where there is one: a forward barrier; or else the container grows.
    Insert(u16),
    Remove(u16),
    /// Two places change their contents.
    Swap(u16, u16),
    /// All entries move.
    Reverse,
    /// What is free at the end goes.
    Shrink,
    Step(usize),
    FinishCycle,
}

fn ops() -> impl Strategy<Value = Vec<Op>> {
    let op = prop_oneof![
        8 => (0..2_000_u16).prop_map(Op::Insert),
        4 => (0..2_000_u16).prop_map(Op::Remove),
        4 => any::<(u16, u16)>().prop_map(|(a, b)| Op::Swap(a, b)),
        1 => Just(Op::Reverse),
        1 => Just(Op::Shrink),
        8 => (1..2_000_usize).prop_map(Op::Step),
        1 => Just(Op::FinishCycle),
    ];
    proptest::collection::vec(op, 100..600)
}

fn apply<'gc>(mc: &Mutation<'gc>, sorted: SortedPtr<'gc>, op: &Op, census: &Census) {
    let whole = || unlock!(Gc::write(mc, sorted).as_deref(), Sorted, entries).borrow_mut();
    let entries = sorted.entries.borrow();
    let holds = |key: u16| {
        let has =
            |entry: &ForwardLock<Option<(u16, _)>>| entry.get().is_some_and(|(k, _)| k == key);
        entries.iter().position(has)
    };
    match *op {
        Op::Insert(key) => {
            let value = Gc::new(mc, (key, Static(census.token())));
            let free = || entries.iter().position(|entry| entry.get().is_none());
            match holds(key).or_else(free) {
                Some(place) => entries[place].set(mc, Some((key, value))),
                None => {
                    drop(entries);
                    whole().push(ForwardLock::new(Some((key, value))));
                }
            }
        }
        Op::Remove(key) => {
            if let Some(place) = holds(key) {
                let (_, value) = entries[place].take().expect("it was found");
                sorted.removed.set(mc, Some(Gc::downgrade(value)));
            }
        }
        Op::Swap(a, b) if !entries.is_empty() => {
            let (a, b) = (a as usize % entries.len(), b as usize % entries.len());
            let moved = entries[a].get();
            entries[a].set(mc, entries[b].get());
            entries[b].set(mc, moved);
        }
        Op::Reverse => {
            drop(entries);
            whole().reverse();
        }
        Op::Shrink => {
            drop(entries);
            let mut entries = whole();
            while entries.last().is_some_and(|entry| entry.get().is_none()) {
                entries.pop();
            }
            entries.shrink_to_fit();
        }
        _ => {}
    }
}

/// Runs a program on the container and on a model of it.
fn agrees(ops: &[Op]) -> Result<(), TestCaseError> {
    let census = Census::default();
    let mut model = HashMap::new();
    let mut arena = Arena::<Rootable![SortedPtr<'_>]>::new(|mc| {
        Gc::new(
            mc,
            Sliced::new(Sorted {
                entries: RefLock::default(),
                removed: ForwardLock::new(None),
            }),
        )
    });
    // Enough that a step of the smallest kind sees a part only.
    for key in 2_000..2_300 {
        arena.mutate(|mc, sorted| apply(mc, *sorted, &Op::Insert(key), &census));
        model.insert(key, ());
    }
    for op in ops {
        match *op {
            Op::Step(bytes) => {
                arena.start_cycle();
                arena.step(Budget::Work(bytes));
                prop_assert_eq!(arena.verify(), Ok(()));
            }
            Op::FinishCycle => arena.finish_cycle(),
            Op::Insert(key) => drop(model.insert(key, ())),
            Op::Remove(key) => drop(model.remove(&key)),
            _ => {}
        }
        arena.mutate(|mc, sorted| apply(mc, *sorted, op, &census));
        if arena.debt_due() {
            arena.collect_debt();
        }
        arena.mutate(|mc, sorted| {
            let entries = sorted.entries.borrow();
            let found: Vec<_> = entries.iter().filter_map(ForwardLock::get).collect();
            assert_eq!(found.len(), model.len());
            for (key, value) in found {
                assert!(value.0 == key && model.contains_key(&key), "{key}");
            }
            let removed = sorted.removed.get().and_then(|weak| weak.upgrade(mc));
            assert!(removed.is_none_or(|value| value.0 < 2_300));
        });
    }
    collect_all(&mut arena);
    prop_assert_eq!(census.alive(), model.len());
    prop_assert_eq!(arena.verify(), Ok(()));
    Ok(())
}

#[test]
fn changes_between_two_slices_lose_nothing_and_keep_nothing() {
    for every in [0, 1, 2, 7] {
        sleepy_gc::set_zeal(every);
        let config = ProptestConfig {
            cases: 24,
            failure_persistence: None,
            ..ProptestConfig::default()
        };
        let result = TestRunner::new_with_rng(
            config,
            proptest::test_runner::TestRng::deterministic_rng(Default::default()),
        )
        .run(&ops(), |ops| agrees(&ops));
        sleepy_gc::set_zeal(0);
        if let Err(error) = result {
            panic!("zeal {every}: {error}");
        }
    }
}

/// Wherever it is not an object of its own, a `Sliced` is traced as any value.
#[test]
fn a_part_of_something_else_is_traced_as_a_whole() {
    let census = Census::default();
    type Parts<'gc> = (
        Sliced<Vec<Gc<'gc, Token>>>,
        Gc<'gc, [Sliced<Vec<Gc<'gc, Token>>>; 2]>,
    );
    let mut arena = Arena::<Rootable![Parts<'_>]>::new(|mc| {
        let part = || Sliced::new((0..100).map(|_| Gc::new(mc, census.token())).collect());
        (part(), Gc::new(mc, [part(), part()]))
    });
    arena.start_cycle();
    while arena.has_work() {
        arena.step(Budget::Work(1));
    }
    assert_eq!(census.alive(), 300);
    assert_eq!(arena.verify(), Ok(()));
}

#[test]
fn a_container_moves_between_threads_with_its_arena() {
    use sleepy_gc::{SendRoot, idle::SendArena};

    #[derive(Collect, SendRoot)]
    #[collect(no_drop)]
    struct Places<'gc> {
        #[collect(slices)]
        places: Vec<ForwardLock<Option<Gc<'gc, u64>>>>,
    }

    type Root<'gc> = Gc<'gc, Sliced<Places<'gc>>>;
    type Moving = SendArena<Rootable![Root<'_>]>;
    let arena = Moving::new(|mc| {
        let places = (0..1_000).map(|_| ForwardLock::new(None)).collect();
        Gc::new(mc, Sliced::new(Places { places }))
    });
    let fill = |mut arena: Moving, from: u64| {
        arena.start_cycle();
        for n in (from..1_000).step_by(2) {
            arena.mutate(|mc, root| root.places[n as usize].set(mc, Some(Gc::new(mc, n))));
            arena.step(Budget::Work(100));
        }
        arena
    };
    let arena = fill(arena, 0);
    let mut arena = std::thread::spawn(move || fill(arena, 1)).join().unwrap();
    arena.finish_cycle();
    arena.mutate(|_, root| {
        let values = root.places.iter().map(|place| *place.get().unwrap());
        assert!(values.eq(0..1_000));
    });
}
