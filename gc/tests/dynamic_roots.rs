//! Handles that keep objects alive from outside of `mutate`.

mod support;

use std::{rc::Rc, thread};

use sleepy_gc::{
    Arena, Collect, CollectionPhase, DynamicRoot, DynamicRootSet, Gc, Rootable, unsize,
};
use support::{Census, PHASES, Token, collect_all, step_to};

type RootArena = Arena<Rootable![DynamicRootSet<'_>]>;
type TokenRoot = DynamicRoot<Rootable![Token]>;

fn arena() -> RootArena {
    Arena::new(|mc| DynamicRootSet::new(mc))
}

fn stash(arena: &RootArena, census: &Census) -> TokenRoot {
    arena.mutate(|mc, roots| roots.stash::<Rootable![Token]>(mc, Gc::new(mc, census.token())))
}

#[test]
fn an_object_lives_as_long_as_its_handles() {
    let census = Census::default();
    let mut arena = arena();
    let one = stash(&arena, &census);
    let other = stash(&arena, &census);
    let clone = one.clone();
    collect_all(&mut arena);
    assert_eq!(census.alive(), 2);
    drop(one);
    collect_all(&mut arena);
    assert_eq!(census.alive(), 2);
    arena.mutate(|_, roots| {
        assert_eq!(Gc::as_ptr(roots.fetch(&clone)), clone.as_ptr());
        assert!(!Gc::ptr_eq(roots.fetch(&clone), roots.fetch(&other)));
    });
    drop(clone);
    collect_all(&mut arena);
    assert_eq!(census.alive(), 1);
    drop(other);
    collect_all(&mut arena);
    assert_eq!(census.alive(), 0);
}

#[test]
fn a_handle_may_be_made_and_dropped_in_every_phase() {
    for made in PHASES {
        for dropped in PHASES {
            let census = Census::default();
            let mut arena = arena();
            let kept = stash(&arena, &census);
            step_to(&mut arena, made);
            let handle = stash(&arena, &census);
            arena.finish_cycle();
            collect_all(&mut arena);
            assert_eq!(census.alive(), 2, "{made:?}");
            step_to(&mut arena, dropped);
            drop(handle);
            arena.finish_cycle();
            collect_all(&mut arena);
            assert_eq!(census.alive(), 1, "{made:?}, {dropped:?}");
            drop(kept);
        }
    }
}

#[test]
fn a_handle_may_outlive_its_arena() {
    let census = Census::default();
    let arena = arena();
    let handle = stash(&arena, &census);
    let clone = handle.clone();
    drop(arena);
    assert_eq!(census.alive(), 0);
    drop(handle);
    let other = self::arena();
    other.mutate(|_, roots| {
        assert!(!roots.contains(&clone));
        assert_eq!(
            roots.try_fetch(&clone).map(drop).unwrap_err().to_string(),
            "the handle belongs to another set of roots"
        );
    });
}

#[test]
fn sets_are_told_apart() {
    let census = Census::default();
    let arena = Arena::<Rootable![(DynamicRootSet<'_>, DynamicRootSet<'_>)]>::new(|mc| {
        (DynamicRootSet::new(mc), DynamicRootSet::new(mc))
    });
    let handle =
        arena.mutate(|mc, (one, _)| one.stash::<Rootable![Token]>(mc, Gc::new(mc, census.token())));
    arena.mutate(|_, (one, other)| {
        assert!(one.contains(&handle) && !other.contains(&handle));
        assert!(one.try_fetch(&handle).is_ok() && other.try_fetch(&handle).is_err());
    });
}

#[test]
#[should_panic(expected = "another set of roots")]
fn to_fetch_from_another_set_panics() {
    let census = Census::default();
    let handle = stash(&arena(), &census);
    arena().mutate(|_, roots| _ = roots.fetch(&handle));
}

#[test]
fn places_are_used_again() {
    let census = Census::default();
    let mut arena = arena();
    let kept: Vec<_> = (0..200).map(|_| stash(&arena, &census)).collect();
    collect_all(&mut arena);
    let before_bytes = arena.metrics().heap_bytes();
    for round in 0..20 {
        let handles: Vec<_> = (0..200).map(|_| stash(&arena, &census)).collect();
        if round % 3 == 0 {
            step_to(&mut arena, PHASES[round % 4]);
        }
        drop(handles);
    }
    collect_all(&mut arena);
    assert_eq!(census.alive(), 200);
    let grown_bytes = arena.metrics().heap_bytes() - before_bytes;
    assert!(
        grown_bytes < 20_000,
        "{grown_bytes} bytes for 200 more places"
    );
    arena.mutate(|_, roots| {
        for (at, handle) in kept.iter().enumerate() {
            assert!(Gc::as_ptr(roots.fetch(handle)) == handle.as_ptr(), "{at}");
        }
    });
}

#[test]
fn handles_may_be_dropped_on_other_threads() {
    let census = Census::default();
    let mut arena = arena();
    let handles: Vec<_> = (0..1000).map(|_| stash(&arena, &census)).collect();
    let kept = handles[7].clone();
    let dropper = thread::spawn(move || {
        let clones = handles.clone();
        drop(handles);
        drop(clones);
    });
    let mut made = Vec::new();
    while !dropper.is_finished() {
        arena.step(sleepy_gc::Budget::Work(1000));
        made.push(stash(&arena, &census));
    }
    dropper.join().expect("it does not panic");
    arena.finish_cycle();
    collect_all(&mut arena);
    assert_eq!(census.alive(), 1 + made.len());
    arena.mutate(|_, roots| assert!(roots.contains(&kept)));
}

#[test]
fn what_is_stashed_may_have_any_type() {
    trait Named {
        fn name(&self) -> String;
    }

    #[derive(Collect)]
    #[collect(no_drop)]
    struct Pair<'gc>(Gc<'gc, String>, u32);

    impl Named for Pair<'_> {
        fn name(&self) -> String {
            format!("{} {}", self.0, self.1)
        }
    }

    let mut arena = arena();
    let pair = arena.mutate(|mc, roots| {
        let pair = Gc::new(mc, Pair(Gc::new(mc, "pair".to_owned()), 1));
        let named = unsize!(pair => dyn Named + '_);
        (
            roots.stash::<Rootable!['a => Pair<'a>]>(mc, pair),
            roots.stash::<Rootable!['a => dyn Named + 'a]>(mc, named),
            roots.stash::<Rootable![Rc<str>]>(mc, Gc::new(mc, "rc".into())),
        )
    });
    collect_all(&mut arena);
    arena.mutate(|_, roots| {
        assert_eq!(roots.fetch(&pair.0).0.as_str(), "pair");
        assert_eq!(roots.fetch(&pair.1).name(), "pair 1");
        assert_eq!(&**roots.fetch(&pair.2), "rc");
    });
}

#[test]
fn a_set_that_is_lost_keeps_nothing() {
    let census = Census::default();
    let mut arena =
        Arena::<Rootable![Option<DynamicRootSet<'_>>]>::new(|mc| Some(DynamicRootSet::new(mc)));
    let handle = arena.mutate(|mc, roots| {
        let roots = roots.expect("it is there");
        roots.stash::<Rootable![Token]>(mc, Gc::new(mc, census.token()))
    });
    step_to(&mut arena, CollectionPhase::Marking);
    arena.mutate_root(|_, root| *root = None);
    arena.finish_cycle();
    collect_all(&mut arena);
    assert_eq!(census.alive(), 0);
    drop(handle);
}
