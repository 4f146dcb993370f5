//! `Collect`, its derive and macros, `Trace`, `DynCollect`, `Static`.

use std::borrow::{Borrow, BorrowMut};
use std::marker::PhantomData;

use gc_arena::arena::rootless_mutate;
use gc_arena::collect::{Collect, DynCollect, Trace, dyn_collect};
use gc_arena::{Gc, GcWeak, Lock, Static, static_collect};

#[derive(Default)]
struct Counter(usize, usize);

impl<'gc> Trace<'gc> for Counter {
    fn trace_gc(&mut self, _: Gc<'gc, ()>) {
        self.0 += 1;
    }

    fn trace_gc_weak(&mut self, _: GcWeak<'gc, ()>) {
        self.1 += 1;
    }
}

fn pointers<'gc, T: Collect<'gc> + ?Sized>(value: &T) -> (usize, usize) {
    let mut counter = Counter::default();
    counter.trace(value);
    (counter.0, counter.1)
}

fn needs_trace<'gc, T: Collect<'gc>>() -> bool {
    T::NEEDS_TRACE
}

struct NotCollect;

#[derive(Collect)]
#[collect(no_drop)]
struct Everything<'gc, T> {
    strong: Gc<'gc, T>,
    weak: GcWeak<'gc, T>,
    #[collect(require_static)]
    ignored: NotCollect,
    value: T,
}

#[derive(Collect)]
#[collect(no_drop)]
enum Choice<'gc> {
    Unit,
    Tuple(Gc<'gc, u8>, u8),
    Fields {
        gc: Gc<'gc, u8>,
        #[collect(require_static)]
        #[allow(dead_code, reason = "needs no `Collect`")]
        text: NotCollect,
    },
}

#[derive(Collect)]
#[collect(require_static)]
struct Plain<T>(T);

impl<T> Drop for Plain<T> {
    fn drop(&mut self) {}
}

#[derive(Collect)]
#[collect(unsafe_drop)]
struct Dropped<'gc>(Gc<'gc, u8>);

impl Drop for Dropped<'_> {
    fn drop(&mut self) {}
}

#[derive(Collect)]
#[collect(no_drop, bound = "")]
struct Unbound<T>(PhantomData<T>);

#[derive(Collect)]
#[collect(no_drop, bound = "where T: Collect<'gc> + Copy")]
struct Bound<'gc, T>(Gc<'gc, u8>, T);

#[derive(Collect)]
#[collect(no_drop, gc_lifetime = 'gc)]
struct Borrowing<'a, 'gc>(Gc<'gc, u8>, PhantomData<&'a u8>);

#[derive(Collect)]
#[collect(no_drop)]
struct Recursive<'gc, const N: usize>(Option<Gc<'gc, Recursive<'gc, N>>>, [u8; N]);

static_collect!(NotCollect);

struct Generic<T>(T);
static_collect!(<T> Generic<T> where T: Clone);

#[test]
fn derived_types_trace_what_they_own() {
    rootless_mutate(|mc| {
        let gc = Gc::new(mc, 1_u8);
        let all = Everything {
            strong: gc,
            weak: Gc::downgrade(gc),
            ignored: NotCollect,
            value: 2,
        };
        assert_eq!((pointers(&all), all.value), ((1, 1), 2));
        assert_eq!(pointers(&Choice::Unit), (0, 0));
        assert_eq!(pointers(&Choice::Tuple(gc, 1)), (1, 0));
        let fields = Choice::Fields {
            gc,
            text: NotCollect,
        };
        assert_eq!(pointers(&fields), (1, 0));
        assert_eq!(pointers(&Dropped(gc)), (1, 0));
        assert_eq!(pointers(&Bound(gc, gc)), (2, 0));
        assert_eq!(pointers(&Borrowing(gc, PhantomData)), (1, 0));
        let first = Gc::new(mc, Recursive::<'_, 2>(None, [0; 2]));
        assert_eq!(
            (pointers(&Recursive(Some(first), [1; 2])), first.1),
            ((1, 0), [0, 0])
        );
        assert!(!needs_trace::<Plain<NotCollect>>());
        assert!(!needs_trace::<Unbound<*const u8>>());
        assert!(!needs_trace::<Generic<u8>>());
        assert!(needs_trace::<Choice<'_>>());
        let _ = (&all.ignored, Plain(1).0, Generic(1).0);
    });
}

trait Shape<'gc>: DynCollect<'gc> {
    fn area(&self) -> u32;
}
dyn_collect!(dyn Shape<'gc>);

trait Into2<'gc, T>: DynCollect<'gc> {
    fn into2(&self) -> T;
}
dyn_collect!(<T> dyn Into2<'gc, T> where T: Copy);

#[derive(Collect)]
#[collect(no_drop)]
struct Square<'gc>(Gc<'gc, Lock<u32>>);

impl<'gc> Shape<'gc> for Square<'gc> {
    fn area(&self) -> u32 {
        self.0.get() * self.0.get()
    }
}

impl<'gc> Into2<'gc, u32> for Plain<u32> {
    fn into2(&self) -> u32 {
        self.0
    }
}

#[test]
fn trait_objects_are_collectable() {
    rootless_mutate(|mc| {
        fn traced<'gc, T: Collect<'gc> + ?Sized>(value: &T) -> (usize, usize) {
            let mut counter = Counter::default();
            value.trace(&mut counter);
            (counter.0, counter.1)
        }
        let square = Square(Gc::new(mc, Lock::new(3)));
        let mut counter = Counter::default();
        square.dyn_trace(&mut counter);
        assert_eq!((counter.0, square.area()), (1, 9));
        let plain: Box<dyn Into2<'_, u32>> = Box::new(Plain(5));
        assert_eq!((traced(&plain), plain.into2()), ((0, 0), 5));
        let any: Box<dyn DynCollect<'_>> = Box::new(7);
        assert_eq!(traced(&any), (0, 0));
    });
}

#[test]
fn static_values_are_wrapped() {
    rootless_mutate(|mc| {
        let gc = Gc::new(mc, Static(NotCollect));
        let _: &NotCollect = gc.as_ref();
        let mut text = Static::from("a".to_owned());
        text.push('b');
        BorrowMut::<String>::borrow_mut(&mut text).push('c');
        AsMut::<String>::as_mut(&mut text).push('d');
        assert_eq!(
            (
                AsRef::<String>::as_ref(&text).len(),
                Borrow::<String>::borrow(&text).as_str()
            ),
            (4, "abcd")
        );
        assert_eq!((text.clone(), Static::<u8>::default().0), (text, 0));
    });
}
