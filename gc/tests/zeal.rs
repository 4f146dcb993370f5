//! Zeal and the verifier find a store without a barrier, and nothing else.

use std::panic::{AssertUnwindSafe, catch_unwind};

use sleepy_gc::{Arena, Budget, Collect, Gc, Lock, Rootable, barrier::unlock};

#[derive(Collect)]
#[collect(no_drop)]
struct Node<'gc> {
    next: Option<Gc<'gc, Node<'gc>>>,
    value: Lock<Option<Gc<'gc, u64>>>,
}

type ListArena = Arena<Rootable![Gc<'_, Node<'_>>]>;

fn list() -> ListArena {
    sleepy_gc::set_zeal(1);
    ListArena::new(|mc| {
        let node = |next| {
            let value = Lock::new(None);
            Gc::new(mc, Node { next, value })
        };
        (0..500).fold(node(None), |next, _| node(Some(next)))
    })
}

#[test]
fn a_store_without_a_barrier_is_found() {
    let mut arena = list();
    let found = catch_unwind(AssertUnwindSafe(|| {
        for n in 0..1_000 {
            arena.mutate(|mc, first| {
                // SAFETY: the barrier is missing, which the test is about; nothing looks at what is stored.
                unsafe { first.value.as_cell() }.set(Some(Gc::new(mc, n)));
            });
            arena.step(Budget::Work(1));
        }
    }));
    let message = found.expect_err("the verifier finds it");
    let message = message.downcast_ref::<String>().expect("it says what");
    assert!(message.contains("taken for dead"), "{message}");
}

#[test]
fn a_store_with_a_barrier_is_not_accused() {
    let mut arena = list();
    for n in 0..1_000 {
        arena.mutate(|mc, first| {
            let value = Gc::new(mc, n);
            unlock!(Gc::write(mc, *first), Node, value).set(Some(value));
        });
        arena.step(Budget::Work(1));
    }
    assert!(arena.metrics().cycles() > 10);
    arena.mutate(|_, first| assert_eq!(first.value.get().as_deref(), Some(&999)));
}
