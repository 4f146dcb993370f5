//! `derive(Collect)`: what is traced, and what is claimed about the type.

use std::{cell::Cell, marker::PhantomData, rc::Rc};

use sleepy_gc::{
    Arena, Collect, Gc, GcWeak, Rootable, SendRoot, Static,
    arena::rootless_mutate,
    collect::{DynCollect, Trace, dyn_collect},
    static_collect,
};

/// Counts the pointers that it is given.
#[derive(Default)]
struct Counter {
    strong: usize,
    weak: usize,
}

impl<'gc> Trace<'gc> for Counter {
    fn trace_gc(&mut self, _: Gc<'gc, ()>) {
        self.strong += 1;
    }

    fn trace_gc_weak(&mut self, _: GcWeak<'gc, ()>) {
        self.weak += 1;
    }
}

fn pointers_in<'gc, T: Collect<'gc> + ?Sized>(value: &T) -> (usize, usize) {
    let mut counter = Counter::default();
    counter.trace(value);
    (counter.strong, counter.weak)
}

fn needs_trace<'gc, T: Collect<'gc> + ?Sized>(_: &T) -> bool {
    T::NEEDS_TRACE
}

fn sends<'gc, T: Collect<'gc>>() -> bool {
    T::SEND
}

#[derive(Collect)]
#[collect(no_drop)]
struct Mixed<'gc, T> {
    number: u32,
    one: Gc<'gc, u32>,
    weak: GcWeak<'gc, u32>,
    many: Vec<T>,
    #[collect(require_static)]
    skipped: Rc<Cell<u32>>,
}

#[derive(Collect)]
#[collect(no_drop)]
struct Tuple<'gc>(Option<Gc<'gc, u32>>, u32, Gc<'gc, Tuple<'gc>>);

#[derive(Collect)]
#[collect(no_drop)]
enum Shape<'gc> {
    Nothing,
    One(Gc<'gc, u32>),
    Named {
        a: Gc<'gc, u32>,
        b: (u32, Gc<'gc, u32>),
    },
}

#[derive(Collect)]
#[collect(no_drop)]
enum Never {}

#[derive(Collect)]
#[collect(no_drop)]
struct Plain {
    name: String,
    numbers: [u64; 4],
}

#[test]
fn each_pointer_is_traced_once() {
    rootless_mutate(|mc| {
        let number = Gc::new(mc, 1);
        let weak = Gc::downgrade(number);
        let mixed = Mixed {
            number: 1,
            one: number,
            weak,
            many: vec![number; 3],
            skipped: Rc::new(Cell::new(1)),
        };
        assert_eq!(pointers_in(&mixed), (4, 1));
        assert_eq!((mixed.number, mixed.skipped.get()), (1, 1));

        assert_eq!(pointers_in(&Shape::Nothing), (0, 0));
        assert_eq!(pointers_in(&Shape::One(number)), (1, 0));
        assert_eq!(
            pointers_in(&Shape::Named {
                a: number,
                b: (2, number)
            }),
            (2, 0)
        );
        assert_eq!(pointers_in::<Option<Never>>(&None), (0, 0));
        assert_eq!(pointers_in::<Option<Tuple<'_>>>(&None), (0, 0));
    });
}

#[test]
fn types_without_pointers_need_no_trace() {
    rootless_mutate(|mc| {
        let plain = Plain {
            name: "x".to_owned(),
            numbers: [0; 4],
        };
        assert!(!needs_trace(&plain));
        assert_eq!(plain.name.len() as u64 + plain.numbers[0], 1);
        assert!(!needs_trace::<Vec<Option<(u8, String)>>>(&vec![]));
        assert!(!needs_trace::<[Gc<'_, u32>; 0]>(&[]));
        assert!(needs_trace(&Shape::Nothing));
        assert!(needs_trace(&[Gc::new(mc, 1)]));
    });
}

#[derive(Collect)]
#[collect(no_drop, bound = "where T: Clone + Collect<'gc>")]
struct Bound<T>(T);

#[derive(Collect)]
#[collect(no_drop, bound = "")]
struct NoBound<T> {
    kind: PhantomData<T>,
}

#[derive(Collect)]
#[collect(no_drop, gc_lifetime = 'b)]
struct TwoLifetimes<'a, 'b> {
    #[allow(dead_code, reason = "traced")]
    gc: Gc<'b, u32>,
    kind: PhantomData<&'a ()>,
}

#[derive(Collect)]
#[collect(gc_lifetime = "'b", unsafe_drop)]
struct Quoted<'a, 'b>(Gc<'b, u32>, PhantomData<&'a ()>);

impl Drop for Quoted<'_, '_> {
    fn drop(&mut self) {}
}

#[derive(Collect)]
#[collect(no_drop, crate = sleepy_gc)]
struct NamedCrate<const N: usize>([u8; N]);

struct NotCollect;

#[test]
fn options_are_followed() {
    rootless_mutate(|mc| {
        let gc = Gc::new(mc, 1);
        assert_eq!(pointers_in(&Bound(gc)), (1, 0));
        assert_eq!(
            pointers_in(&NoBound::<NotCollect> { kind: PhantomData }),
            (0, 0)
        );
        assert_eq!(
            pointers_in(&TwoLifetimes {
                gc,
                kind: PhantomData
            }),
            (1, 0)
        );
        assert_eq!(pointers_in(&Quoted(gc, PhantomData)), (1, 0));
        assert_eq!(pointers_in(&NamedCrate([1, 2])), (0, 0));
    });
}

#[derive(Collect)]
#[collect(require_static)]
struct Loud(Rc<u32>);

impl Drop for Loud {
    fn drop(&mut self) {}
}

struct Foreign<T>(T);
static_collect!(<T> Foreign<T> where T: Clone);

struct Named(u32);
static_collect!(Named);

#[test]
fn static_types_hold_nothing() {
    assert!(!needs_trace(&Loud(Rc::new(1))));
    assert!(!needs_trace(&Foreign("x")));
    assert!(!needs_trace(&Named(1)));
    assert!(!needs_trace(&Static(NotCollect)));
    assert_eq!((Foreign(1).0, Named(2).0, *Loud(Rc::new(3)).0), (1, 2, 3));
}

trait Speak<'gc>: DynCollect<'gc> {
    fn speak(&self) -> u32;
}
dyn_collect!(dyn Speak<'gc> + 'gc);

trait Convert<'gc, T>: DynCollect<'gc> {
    fn convert(&self) -> T;
}
dyn_collect!(<T> dyn Convert<'gc, T> where T: Clone);

impl<'gc> Speak<'gc> for Bound<Gc<'gc, u32>> {
    fn speak(&self) -> u32 {
        *self.0
    }
}

impl<'gc> Convert<'gc, u32> for Plain {
    fn convert(&self) -> u32 {
        self.numbers.len() as u32
    }
}

#[test]
fn trait_objects_are_traced_through() {
    rootless_mutate(|mc| {
        let speaker: Box<dyn Speak<'_> + '_> = Box::new(Bound(Gc::new(mc, 7)));
        assert_eq!((speaker.speak(), pointers_in(&speaker)), (7, (1, 0)));

        let list: Vec<Box<dyn DynCollect<'_> + '_>> = vec![Box::new(Gc::new(mc, 7)), Box::new(8)];
        assert_eq!(pointers_in(&list), (1, 0));

        let plain: Box<dyn Convert<'_, u32>> = Box::new(Plain {
            name: String::new(),
            numbers: [0; 4],
        });
        assert_eq!((plain.convert(), pointers_in(&plain)), (4, (0, 0)));
    });
}

#[derive(Collect, SendRoot)]
#[collect(no_drop)]
struct Tree<'gc> {
    left: Option<Gc<'gc, Tree<'gc>>>,
    marker: PhantomData<u32>,
    #[collect(require_static)]
    name: std::sync::Arc<str>,
}

#[derive(Collect)]
#[collect(no_drop)]
struct Bound2Thread<'gc> {
    gc: Gc<'gc, u32>,
    #[collect(require_static)]
    name: Rc<str>,
}

#[derive(Collect)]
#[collect(no_drop)]
struct Marked<'gc> {
    gc: Gc<'gc, u32>,
    thread: PhantomData<*const ()>,
}

#[test]
fn what_may_change_threads_is_known() {
    assert!(sends::<u32>() && sends::<String>() && sends::<Option<Vec<(u8, String)>>>());
    assert!(
        sends::<Gc<'_, Rc<u32>>>(),
        "the object itself was checked when it was made"
    );
    assert!(sends::<Tree<'_>>() && sends::<Plain>() && sends::<Named>());
    assert!(!sends::<Rc<u32>>() && !sends::<Loud>() && !sends::<Vec<Rc<u32>>>());
    assert!(!sends::<Bound2Thread<'_>>() && !sends::<Marked<'_>>() && !sends::<Quoted<'_, '_>>());
    assert!(
        !sends::<Foreign<u32>>(),
        "nothing is known of the parameter where the impl stands"
    );
    rootless_mutate(|mc| {
        let gc = Gc::new(mc, 1);
        let (one, other) = (
            Bound2Thread {
                gc,
                name: "x".into(),
            },
            Marked {
                gc,
                thread: PhantomData,
            },
        );
        assert_eq!(pointers_in(&one), pointers_in(&other));
        assert_eq!((&*one.name, other.thread), ("x", PhantomData));
    });
}

#[test]
fn a_root_may_be_anything_collectable() {
    let arena = Arena::<Rootable![Tree<'_>]>::new(|_| Tree {
        left: None,
        marker: PhantomData,
        name: "root".into(),
    });
    arena.mutate(|_, root| assert_eq!((root.left.is_none(), &*root.name), (true, "root")));
    let explicit = Arena::<Rootable!['a => Option<Gc<'a, u32>>]>::new(|_| None);
    explicit.mutate(|_, root| assert!(root.is_none()));
}
