//! `Gc<dyn Trait>`, `Gc<[T]>` and objects without a size.

mod support;

use std::{any::Any, fmt::Debug, mem::align_of_val};

use sleepy_gc::{Arena, Collect, Gc, GcWeak, Rootable, ZstCache, arena::rootless_mutate, unsize};
use support::{Census, Token, collect_all};

trait Animal<'gc> {
    fn legs(&self) -> u32;
}

#[derive(Collect)]
#[collect(no_drop)]
struct Dog<'gc> {
    legs: Gc<'gc, u32>,
    #[allow(dead_code, reason = "counts the dog")]
    token: Token,
}

#[derive(Collect)]
#[collect(no_drop)]
struct Snake;

impl<'gc> Animal<'gc> for Dog<'gc> {
    fn legs(&self) -> u32 {
        *self.legs
    }
}

impl<'gc> Animal<'gc> for Snake {
    fn legs(&self) -> u32 {
        0
    }
}

type Zoo<'gc> = (
    Vec<Gc<'gc, dyn Animal<'gc>>>,
    Vec<GcWeak<'gc, dyn Animal<'gc>>>,
);

#[test]
fn trait_objects_are_found_dropped_and_weakly_held() {
    let census = Census::default();
    let mut arena = Arena::<Rootable![Zoo<'_>]>::new(|mc| {
        let legs = Gc::new(mc, 4);
        let dog = Gc::new(
            mc,
            Dog {
                legs,
                token: census.token(),
            },
        );
        let weak = unsize!(Gc::downgrade(dog) => dyn Animal<'_>);
        (
            vec![
                unsize!(dog => dyn Animal<'_>),
                unsize!(Gc::new(mc, Snake) => dyn Animal<'_>),
            ],
            vec![weak],
        )
    });
    collect_all(&mut arena);
    arena.mutate(|mc, (animals, weak)| {
        assert_eq!(
            animals
                .iter()
                .map(|animal| animal.legs())
                .collect::<Vec<_>>(),
            [4, 0]
        );
        let dog = weak[0].upgrade(mc).expect("it is alive");
        assert!(Gc::ptr_eq(dog, animals[0]) && !Gc::ptr_eq(dog, animals[1]) && dog.legs() == 4);
    });
    arena.mutate_root(|_, (animals, _)| animals.clear());
    collect_all(&mut arena);
    assert_eq!(census.alive(), 0);
    arena.mutate(|mc, (_, weak)| assert!(weak[0].upgrade(mc).is_none() && weak[0].is_dropped()));
}

#[test]
fn slices_and_other_traits() {
    rootless_mutate(|mc| {
        let slice = unsize!(Gc::new(mc, [Gc::new(mc, 1), Gc::new(mc, 2)]) => [Gc<'_, i32>]);
        assert_eq!(slice.iter().map(|n| **n).sum::<i32>(), 3);
        let any = unsize!(Gc::new(mc, "text".to_owned()) => dyn Any);
        assert_eq!(
            any.downcast_ref::<String>().map(String::as_str),
            Some("text")
        );
        let debug = unsize!(Gc::new(mc, 5) => dyn Debug);
        assert_eq!(format!("{debug:?}"), "5");
    });
}

#[test]
fn objects_without_a_size_are_objects() {
    #[derive(Collect)]
    #[collect(require_static)]
    #[repr(align(64))]
    struct Aligned;

    let census = Census::default();

    #[derive(Collect)]
    #[collect(require_static)]
    struct Nothing;
    impl Drop for Nothing {
        fn drop(&mut self) {
            DROPPED.set(DROPPED.get() + 1);
        }
    }
    thread_local!(static DROPPED: std::cell::Cell<u32> = const { std::cell::Cell::new(0) });

    let mut arena = Arena::<Rootable![Vec<Gc<'_, Nothing>>]>::new(|mc| {
        (0..10).map(|_| Gc::new(mc, Nothing)).collect()
    });
    arena.mutate(|mc, _| {
        let aligned = Gc::new(mc, Aligned);
        assert_eq!(Gc::as_ptr(aligned).addr() % align_of_val(&*aligned), 0);
    });
    collect_all(&mut arena);
    assert_eq!(DROPPED.get(), 0);
    arena.mutate_root(|_, root| root.truncate(3));
    collect_all(&mut arena);
    assert_eq!(DROPPED.get(), 7);
    drop(arena);
    assert_eq!(DROPPED.get(), 10);
    assert_eq!(census.alive(), 0);
}

#[test]
fn the_cache_saves_objects_without_size_or_destructor() {
    #[repr(align(64))]
    struct TooAligned;

    let census = Census::default();
    rootless_mutate(|mc| {
        let cache = ZstCache::<'_, 16>::new(mc);
        assert_eq!(Gc::as_ptr(cache.cached_ptr()).addr() % 16, 0);
        assert!(
            cache.is_cached(cache.alloc(mc, ())) && cache.is_cached(cache.alloc(mc, [0u64; 0]))
        );
        assert!(!cache.is_cached(cache.alloc(mc, 1u8)));
        assert!(!cache.is_cached(cache.alloc_static(mc, TooAligned)));
        let callback = unsize!(cache.alloc_static(mc, || 5) => dyn Fn() -> u32);
        assert!(cache.is_cached(callback) && callback() == 5);
        assert!(!cache.is_cached(cache.alloc(mc, census.token())));
        assert_eq!(census.alive(), 1);
    });
    assert_eq!(census.alive(), 0);
}
