//! Who gets the lock, in which order, and who has the value meanwhile.

use std::fs;
use std::sync::mpsc;
use std::thread::{self, Scope, ScopedJoinHandle};

use super::sync::OVERTAKES;
use super::*;
use crate::idle::test_fork::in_child;

/// Starts a thread, and returns once it sleeps because it waits for the lock.
fn wait_behind<'s, T: Send>(
    scope: &'s Scope<'s, '_>,
    gil: &'s Gil<T>,
    then: impl FnOnce(GilGuard<'_, T>) + Send + 's,
) -> ScopedJoinHandle<'s, ()> {
    let before = gil.raw.waiters();
    let (id, of_thread) = mpsc::channel();
    let thread = scope.spawn(move || {
        id.send(rustix::thread::gettid()).unwrap();
        then(gil.lock());
    });
    let stat = format!(
        "/proc/self/task/{}/stat",
        of_thread.recv().unwrap().as_raw_nonzero()
    );
    while gil.raw.waiters() == before || !fs::read_to_string(&stat).unwrap().contains(") S") {
        thread::yield_now();
    }
    thread
}

#[test]
fn it_counts_under_contention() {
    let gil = Gil::new(0u64);
    thread::scope(|scope| {
        for n in 0..8 {
            let gil = &gil;
            scope.spawn(move || {
                for turn in 0..5_000 {
                    let mut guard = gil.lock();
                    *guard += 1;
                    match (turn + n) % 3 {
                        0 => Gil::unlock_fair(guard),
                        1 => {
                            Gil::bump(&mut guard);
                        }
                        _ => drop(guard),
                    }
                }
            });
        }
    });
    assert!(!gil.contended());
    assert_eq!(gil.into_inner(), 40_000);
}

#[test]
fn a_waiter_is_seen_from_the_first_moment_to_the_last() {
    let gil = Gil::new(());
    let guard = gil.lock();
    assert!(!gil.contended() && gil.try_lock().is_none());
    thread::scope(|scope| {
        let waiter = scope.spawn(|| drop(gil.lock()));
        while !gil.contended() {
            thread::yield_now();
        }
        drop(guard);
        waiter.join().unwrap();
    });
    assert!(!gil.contended() && gil.try_lock().is_some());
}

#[test]
fn they_are_served_in_the_order_in_which_they_came() {
    for fair in [true, false] {
        let gil = Gil::new(Vec::new());
        let guard = gil.lock();
        thread::scope(|scope| {
            for n in 0..12 {
                wait_behind(scope, &gil, move |mut order| {
                    order.push(n);
                    if fair {
                        Gil::unlock_fair(order);
                    }
                });
            }
            assert_eq!(gil.raw.waiters(), 12);
            drop(guard);
        });
        assert_eq!(gil.into_inner(), (0..12).collect::<Vec<_>>());
    }
}

#[test]
fn an_heir_is_overtaken_a_few_times_at_most() {
    for waiters in [1, 2, 7] {
        // How many have had their turn.
        let gil = Gil::new(0);
        let mut guard = gil.lock();
        thread::scope(|scope| {
            for _ in 0..waiters {
                wait_behind(scope, &gil, |mut served| *served += 1);
            }
            let (mut turns, mut served) = (0, 0);
            while *guard < waiters {
                drop(guard);
                guard = gil.lock();
                turns = if *guard == served { turns + 1 } else { 0 };
                served = *guard;
                assert!(turns <= OVERTAKES, "{turns} times past one heir");
            }
            drop(guard);
        });
    }
}

#[test]
fn nobody_overtakes_a_fair_unlock_and_a_bump_goes_behind_all() {
    let gil = Gil::new(0);
    let mut guard = gil.lock();
    thread::scope(|scope| {
        assert!(!Gil::bump(&mut guard), "nobody waits");
        for n in 0..5 {
            wait_behind(scope, &gil, move |mut served| {
                assert_eq!(*served, n);
                *served += 1;
                Gil::unlock_fair(served);
            });
        }
        assert!(Gil::bump(&mut guard));
        assert_eq!(*guard, 5);
    });
}

#[test]
fn a_childs_lock_is_wanted_by_nobody_whoever_waited_before() {
    let gil = Gil::new(0);
    let guard = gil.lock();
    thread::scope(|scope| {
        let heir = wait_behind(scope, &gil, |mut guard| *guard += 1);
        let other = wait_behind(scope, &gil, |mut guard| *guard += 1);
        in_child(|| {
            // SAFETY: a copy of the guard in a process of its own, which ends without dropping the other.
            let mut guard = unsafe { std::ptr::read(&raw const guard) };
            for _ in 0..2 * OVERTAKES {
                Gil::bump(&mut guard);
            }
            assert!(!gil.contended());
            drop(guard);
            drop(gil.try_lock().unwrap());
        });
        drop(guard);
        heir.join().unwrap();
        other.join().unwrap();
    });
    assert_eq!(gil.into_inner(), 2);
}

#[test]
fn a_panic_unlocks() {
    let gil = Gil::new(1);
    let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        let mut guard = gil.lock();
        *guard = 2;
        std::panic::resume_unwind(Box::new("in the section"));
    }));
    assert!(caught.is_err());
    assert_eq!(gil.try_lock().map(|guard| *guard), Some(2));
}

/// Tells who lends it and who takes it back.
#[derive(Default)]
struct Lender {
    lent: bool,
    taken_back_by: Vec<thread::ThreadId>,
}

impl Collector for Lender {
    fn has_work(&self) -> bool {
        assert!(!self.lent);
        false
    }
    fn wants_cycle(&self, _hint: &IdleHint) -> bool {
        false
    }
    fn start_cycle(&mut self) {}
    fn step(&mut self, _budget: Budget) -> Progress {
        Progress::new(CollectionPhase::Sleeping, 0, 0, false)
    }
    fn while_lent<T>(&mut self, block: impl FnOnce() -> T) -> T {
        block()
    }
    fn lend(&mut self) {
        assert!(!self.lent);
        self.lent = true;
    }
    fn take_back(&mut self) {
        assert!(self.lent);
        self.lent = false;
        self.taken_back_by.push(thread::current().id());
    }
}

#[test]
fn whoever_gets_the_lock_next_takes_back() {
    let gil = Gil::new(Lender::default());
    let here = thread::current().id();
    let mut guard = gil.lock();
    guard.while_lent(|| ());
    assert_eq!(guard.taken_back_by, [here]);

    let there = guard.while_lent(|| {
        thread::scope(|scope| {
            let other = scope.spawn(|| {
                let mut guard = gil.lock();
                assert_eq!(guard.taken_back_by.len(), 2);
                // Lends it again, and finds it lent again.
                guard.while_lent(|| ());
                thread::current().id()
            });
            other.join().unwrap()
        })
    });
    assert_eq!(guard.taken_back_by, [here, there, there]);
    assert!(!guard.lent);
}

#[test]
fn with_somebody_waiting_nothing_is_lent() {
    let gil = Gil::new(Lender::default());
    let mut guard = gil.lock();
    thread::scope(|scope| {
        let other = wait_behind(scope, &gil, |guard| assert!(guard.taken_back_by.is_empty()));
        guard.while_lent(|| other.join().unwrap());
    });
    assert!(!guard.lent && guard.taken_back_by.is_empty());
    guard.while_released(|| assert!(gil.try_lock().is_some()));
    assert!(guard.taken_back_by.is_empty());
}

#[test]
fn a_wait_that_panics_has_the_lock_again() {
    let mut gil = Gil::new(Lender::default());
    let mut guard = gil.lock();
    let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        guard.while_lent(|| std::panic::resume_unwind(Box::new("while blocked")));
    }));
    assert!(caught.is_err() && !guard.lent);
    assert!(gil.try_lock().is_none());
    drop(guard);
    assert!(!gil.get_mut().lent);
}
