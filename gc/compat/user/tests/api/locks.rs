//! `lock`.

use std::cell::{Cell, OnceCell, RefCell};

use gc_arena::arena::rootless_mutate;
use gc_arena::lock::{GcLock, GcOnceLock, GcRefLock, Lock, OnceLock, RefLock};
use gc_arena::{Gc, unsize};

#[test]
fn locks() {
    let mut lock: Lock<u32> = Lock::default();
    *lock.get_mut() = 3;
    assert_eq!(
        (lock.clone(), format!("{lock:?}").contains('3')),
        (Lock::from(3), true)
    );
    assert!(Lock::from(Cell::new(2)) < lock && lock.cmp(&Lock::new(3)).is_eq());
    assert_eq!((lock.take(), lock.get(), lock.into_inner()), (3, 0, 0));
    rootless_mutate(|mc| {
        let lock: GcLock<'_, Option<Gc<'_, u8>>> = Gc::new(mc, Lock::new(None));
        lock.set(mc, Some(Gc::new(mc, 1)));
        assert_eq!(
            (lock.get().as_deref(), lock.unlock(mc).get().as_deref()),
            (Some(&1), Some(&1))
        );
        // A pointer may be taken away without a barrier.
        assert!(lock.take().is_some() && lock.get().is_none());
        assert!(!lock.as_ptr().is_null());
    });
}

#[test]
fn ref_locks() {
    let mut lock: RefLock<Vec<u8>> = RefLock::default();
    lock.get_mut().push(1);
    assert_eq!(
        (lock.clone(), lock.borrow().len(), lock.try_borrow().is_ok()),
        (RefLock::from(vec![1]), 1, true)
    );
    assert!(RefLock::from(RefCell::new(vec![])) < lock);
    assert_eq!((lock.take(), lock.into_inner()), (vec![1], vec![]));
    rootless_mutate(|mc| {
        let lock: GcRefLock<'_, Vec<Gc<'_, u8>>> = Gc::new(mc, RefLock::new(Vec::new()));
        lock.borrow_mut(mc).push(Gc::new(mc, 1));
        let borrowed = lock.borrow();
        assert!(lock.try_borrow().is_ok() && lock.try_borrow_mut(mc).is_err());
        drop(borrowed);
        lock.unlock(mc).borrow_mut().push(Gc::new(mc, 2));
        // SAFETY: nothing is stored.
        assert_eq!(unsafe { lock.as_ref_cell() }.borrow().len(), 2);
        let slice = unsize!(Gc::new(mc, RefLock::new([1, 2])) => RefLock<[i32]>);
        slice.borrow_mut(mc)[0] = 5;
        assert_eq!((slice.borrow()[0], slice.as_ptr().is_null()), (5, false));
    });
}

#[test]
fn once_locks() {
    let mut lock = OnceLock::from(1);
    *lock.get_mut().unwrap() = 2;
    assert_eq!(lock.get(), Some(&2));
    assert!(OnceLock::<u8>::default().get().is_none() && OnceLock::<u8>::new().get().is_none());
    assert!(OnceLock::<u8>::from(OnceCell::from(1)).get().is_some());
    rootless_mutate(|mc| {
        let lock: GcOnceLock<'_, Gc<'_, u8>> = Gc::new(mc, OnceLock::new());
        assert!(lock.get().is_none() && lock.set(mc, Gc::new(mc, 1)).is_ok());
        assert!(lock.set(mc, Gc::new(mc, 2)).is_err());
        assert_eq!(**lock.get_or_init(mc, || unreachable!()), 1);
        let lock: GcOnceLock<'_, u8> = Gc::new(mc, OnceLock::new());
        assert_eq!((*lock.get_or_init(mc, || 3), lock.get()), (3, Some(&3)));
        assert!(format!("{lock:?}").contains('3'));
    });
}
