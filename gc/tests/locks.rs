//! Locks behave as the cells that they are.

use std::cell::{Cell, OnceCell, RefCell};

use sleepy_gc::{
    Gc,
    arena::rootless_mutate,
    lock::{Lock, OnceLock, RefLock},
};

#[test]
fn a_lock_is_a_cell() {
    let mut lock = Lock::new(3);
    assert_eq!(
        (lock.get(), lock.clone().into_inner(), format!("{lock:?}")),
        (3, 3, "Lock(3)".to_owned())
    );
    *lock.get_mut() += 1;
    assert_eq!((lock.take(), lock.get()), (4, 0));
    assert!(
        Lock::from(1) < Lock::from(Cell::new(2))
            && Lock::new(1) == Lock::new(1)
            && Lock::<u8>::default().get() == 0
    );
    rootless_mutate(|mc| {
        let gc = Gc::new(mc, Lock::new(1));
        gc.set(mc, 2);
        assert_eq!((gc.get(), gc.unlock(mc).replace(5), gc.get()), (2, 2, 5));
    });
}

#[test]
fn a_ref_lock_is_a_ref_cell() {
    let mut lock = RefLock::new(vec![1]);
    lock.get_mut().push(2);
    assert_eq!(
        (lock.borrow().len(), format!("{lock:?}")),
        (2, "RefLock([1, 2])".to_owned())
    );
    assert_eq!((lock.take(), lock.into_inner()), (vec![1, 2], vec![]));
    assert!(RefLock::from(1) < RefLock::from(RefCell::new(2)));
    rootless_mutate(|mc| {
        let gc = Gc::new(mc, RefLock::new(1));
        let borrowed = gc.borrow();
        assert!(gc.try_borrow().is_ok() && gc.try_borrow_mut(mc).is_err());
        drop(borrowed);
        let mut borrowed = gc.borrow_mut(mc);
        assert!(gc.try_borrow().is_err());
        assert_eq!(format!("{gc:?}"), "RefLock(<mutably borrowed>)");
        *borrowed = 2;
        drop(borrowed);
        assert_eq!(*gc.borrow(), 2);
    });
}

#[test]
fn a_ref_lock_may_hold_what_has_no_size() {
    rootless_mutate(|mc| {
        let slice = sleepy_gc::unsize!(Gc::new(mc, RefLock::new([1, 2, 3])) => RefLock<[i32]>);
        slice.borrow_mut(mc)[1] = 7;
        assert_eq!(*slice.borrow(), [1, 7, 3]);
    });
}

#[test]
fn a_once_lock_is_a_once_cell() {
    let mut lock = OnceLock::new();
    assert_eq!(
        (lock.get(), format!("{lock:?}")),
        (None, "OnceLock(<not set>)".to_owned())
    );
    assert!(lock.get_mut().is_none());
    lock = OnceLock::from(4);
    *lock.get_mut().expect("it is set") += 1;
    assert_eq!((lock.get(), lock.clone().into_inner()), (Some(&5), Some(5)));
    assert!(OnceLock::<u8>::from(OnceCell::new()) == OnceLock::default());
    rootless_mutate(|mc| {
        let gc = Gc::new(mc, OnceLock::new());
        assert_eq!(
            (gc.get(), gc.set(mc, 1), gc.set(mc, 2), gc.get()),
            (None, Ok(()), Err(2), Some(&1))
        );
        assert_eq!(*gc.get_or_init(mc, || unreachable!()), 1);
        let gc = Gc::new(mc, OnceLock::new());
        assert_eq!((*gc.get_or_init(mc, || 3), gc.get()), (3, Some(&3)));
    });
}
