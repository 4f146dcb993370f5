//! An arena, its pointers and its cells stay on their thread; handles of dynamic roots do not have to.

use sleepy_gc::{
    Arena, DynamicRoot, Finalization, Gc, GcWeak, MarkedArena, Metrics, Mutation, Rootable, Static,
    idle::{GilGuard, SendArena},
    lock,
};

/// Does not compile for a type that implements one of the traits: there are two impls then, and `_` could be either.
macro_rules! assert_not {
    ($type:ty: $($bound:path),+) => { $(
        const _: fn() = || {
            trait Ambiguous<A> {
                fn check() {}
            }
            impl<T: ?Sized> Ambiguous<()> for T {}
            struct Implemented;
            impl<T: ?Sized + $bound> Ambiguous<Implemented> for T {}
            <$type as Ambiguous<_>>::check();
        };
    )+ };
}

type Numbers = Rootable![Gc<'_, u32>];

assert_not!(Arena<Numbers>: Send, Sync);
assert_not!(SendArena<Numbers>: Sync);
assert_not!(GilGuard<'static, u32>: Send);
assert_not!(GilGuard<'static, std::cell::Cell<u32>>: Sync);
assert_not!(MarkedArena<'static, Numbers>: Send, Sync);
assert_not!(Mutation<'static>: Send, Sync);
assert_not!(Finalization<'static>: Send, Sync);
assert_not!(Gc<'static, u32>: Send, Sync);
assert_not!(GcWeak<'static, u32>: Send, Sync);
assert_not!(lock::Lock<u32>: Sync);
assert_not!(lock::RefLock<u32>: Sync);
assert_not!(lock::OnceLock<u32>: Sync);

#[test]
fn handles_move() {
    fn moves<T: Send + Sync>() {}
    moves::<Metrics>();
    moves::<DynamicRoot<Numbers>>();
    moves::<DynamicRoot<Static<std::rc::Rc<u32>>>>();
}
