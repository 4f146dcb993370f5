//! `Gc`, `GcWeak`, `unsize!`, `ZstCache`.

use std::borrow::Borrow;
use std::collections::HashSet;
use std::fmt::Display;

use gc_arena::arena::rootless_mutate;
use gc_arena::zst_cache::{Alignment, ValidAlignment, ZstCache};
use gc_arena::{Gc, GcWeak, Lock, unsize};

#[test]
fn a_pointer_is_its_value_and_its_address() {
    rootless_mutate(|mc| {
        let (a, b) = (Gc::new(mc, 1), Gc::new(mc, 1));
        let copy = a;
        assert!(a == b && Gc::ptr_eq(a, copy) && !Gc::ptr_eq(a, b));
        assert!(Gc::new(mc, 0) < a && a.cmp(&b).is_eq() && a.partial_cmp(&b).is_some());
        assert_eq!(HashSet::from([a, b]).len(), 1);
        assert_eq!((format!("{a}"), format!("{a:?}")), ("1".into(), "1".into()));
        assert_eq!(format!("{a:p}"), format!("{:p}", Gc::as_ptr(a)));
        assert_eq!(
            (*a, *AsRef::<i32>::as_ref(&a), *Borrow::<i32>::borrow(&a)),
            (1, 1, 1)
        );
        let outlives: &i32 = a.as_ref();
        assert_eq!(*outlives, 1);
        assert_eq!(
            Gc::new_static(mc, std::sync::mpsc::channel::<u8>())
                .0
                .send(1),
            Ok(())
        );
    });
}

#[test]
fn pointers_are_cast_erased_and_taken_back() {
    #[repr(transparent)]
    struct Wrapper(#[allow(dead_code, reason = "is read as a number")] u32);
    gc_arena::static_collect!(Wrapper);
    rootless_mutate(|mc| {
        let gc = Gc::new(mc, Wrapper(7));
        // SAFETY: the wrapper is transparent.
        assert_eq!(*unsafe { Gc::cast::<u32>(gc) }, 7);
        let erased: Gc<'_, ()> = Gc::erase(gc);
        assert!(Gc::ptr_eq(erased, Gc::erase(gc)));
        // SAFETY: the address is that of the object.
        let again = unsafe { Gc::from_ptr(Gc::as_ptr(gc)) };
        assert!(Gc::ptr_eq(again, gc));

        let weak: GcWeak<'_, Wrapper> = Gc::downgrade(gc);
        assert!(
            weak.upgrade(mc)
                .is_some_and(|strong| Gc::ptr_eq(strong, gc))
        );
        assert_eq!((weak.as_ptr(), weak.is_dropped()), (Gc::as_ptr(gc), false));
        // SAFETY: as above.
        let again = unsafe { GcWeak::from_ptr(weak.as_ptr()) };
        assert!(GcWeak::ptr_eq(weak, again));
        // SAFETY: as above.
        let number = unsafe { GcWeak::cast::<u32>(weak) };
        assert_eq!(number.upgrade(mc).as_deref(), Some(&7));
        assert!(GcWeak::erase(weak).upgrade(mc).is_some());
        assert_eq!(format!("{weak:?}"), "(GcWeak)");
    });
}

#[test]
fn pointers_lose_their_size() {
    rootless_mutate(|mc| {
        let number: Gc<'_, dyn Display> = unsize!(Gc::new(mc, 7) => dyn Display);
        let slice: Gc<'_, [u8]> = unsize!(Gc::new(mc, [1_u8, 2, 3]) => [u8]);
        let weak: GcWeak<'_, [u8]> = unsize!(Gc::downgrade(Gc::new(mc, [1_u8, 2])) => [u8]);
        assert_eq!((number.to_string(), slice.len()), ("7".into(), 3));
        assert_eq!(weak.upgrade(mc).map(|slice| slice.len()), Some(2));
        let locks = unsize!(Gc::new(mc, [Lock::new(1), Lock::new(2)]) => [Lock<i32>]);
        Gc::write(mc, locks)[1].unlock().set(5);
        assert_eq!(locks[1].get(), 5);
    });
}

#[test]
fn values_without_a_size_share_an_object() {
    fn valid<const N: usize>() -> bool
    where
        Alignment<N>: ValidAlignment,
    {
        true
    }
    struct Foreign;
    rootless_mutate(|mc| {
        let cache = ZstCache::<'_, 16>::new(mc);
        assert!(valid::<16>());
        let (unit, number) = (cache.alloc(mc, ()), cache.alloc(mc, 7));
        assert!(cache.is_cached(unit) && !cache.is_cached(number));
        assert!(Gc::ptr_eq(cache.cached_ptr(), unit));
        assert!(cache.is_cached(cache.alloc_static(mc, Foreign)));
        #[allow(unused_unsafe, reason = "gc-arena has it safe")]
        // SAFETY: there is a unit value.
        let unit = unsafe { cache.alloc_zst::<()>() };
        assert!(unit.is_some_and(|unit| cache.is_cached(unit)));
    });
}
