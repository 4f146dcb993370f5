//! Destructors that run other arenas, in each phase of their own: collect them, drop them, make new ones, let handles go.

mod support;

use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;

use sleepy_gc::collections::GcVec;
use sleepy_gc::{
    Arena, Budget, Collect, CollectionPhase, DynamicRoot, DynamicRootSet, Gc, Rootable, Static,
};
use support::{Census, PHASES, Token, collect_all, step_to};

type Tokens<'gc> = (GcVec<'gc, Gc<'gc, Token>>, DynamicRootSet<'gc>);
type TokenArena = Arena<Rootable![Tokens<'_>]>;
type Handle = DynamicRoot<Rootable![Token]>;

fn tokens(census: &Census) -> TokenArena {
    let arena = TokenArena::new(|mc| (GcVec::new(), DynamicRootSet::new(mc)));
    fill(&arena, census);
    arena
}

fn fill(arena: &TokenArena, census: &Census) {
    arena.mutate(|mc, (vec, _)| {
        for n in 0..50 {
            let token = Gc::new(mc, census.token());
            if n % 2 == 0 {
                vec.push(mc, token);
            }
        }
    });
}

fn stash(arena: &TokenArena, census: &Census) -> Handle {
    arena.mutate(|mc, (_, set)| set.stash(mc, Gc::new(mc, census.token())))
}

/// What the destructor does with arenas that are not its own.
#[derive(Clone, Copy, Debug)]
enum Mischief {
    Mutate,
    Step,
    DropOwned,
    DropShared,
    MakeAndCollect,
    DropHandles,
    PanicAfterwards,
}

const ALL: [Mischief; 7] = [
    Mischief::Mutate,
    Mischief::Step,
    Mischief::DropOwned,
    Mischief::DropShared,
    Mischief::MakeAndCollect,
    Mischief::DropHandles,
    Mischief::PanicAfterwards,
];

#[derive(Collect)]
#[collect(require_static)]
struct Mischievous {
    mischief: Mischief,
    census: Census,
    shared: Rc<RefCell<Option<TokenArena>>>,
    owned: Option<TokenArena>,
    handles: Vec<Handle>,
}

impl Drop for Mischievous {
    fn drop(&mut self) {
        let mut shared = self.shared.borrow_mut();
        match self.mischief {
            Mischief::Mutate => {
                if let Some(arena) = &*shared {
                    fill(arena, &self.census);
                }
            }
            Mischief::Step => {
                if let Some(arena) = &mut *shared {
                    arena.start_cycle();
                    arena.step(Budget::Work(300));
                }
            }
            Mischief::DropOwned => drop(self.owned.take()),
            Mischief::DropShared => drop(shared.take()),
            Mischief::MakeAndCollect => {
                let mut arena = tokens(&self.census);
                collect_all(&mut arena);
                *shared = Some(arena);
            }
            Mischief::DropHandles => self.handles.clear(),
            Mischief::PanicAfterwards => {
                drop(shared.take());
                if !std::thread::panicking() {
                    panic!("out of mischief");
                }
            }
        }
    }
}

type OuterArena = Arena<Rootable![(GcVec<'_, Gc<'_, Mischievous>>, Tokens<'_>)]>;

fn outer(mischief: Mischief, census: &Census) -> OuterArena {
    let shared = Rc::new(RefCell::new(Some(tokens(census))));
    let arena = OuterArena::new(|mc| (GcVec::new(), (GcVec::new(), DynamicRootSet::new(mc))));
    for n in 0..20 {
        let mut handles = vec![stash(
            shared.borrow().as_ref().expect("it is there"),
            census,
        )];
        // A handle of the arena that the object lives in.
        handles.push(arena.mutate(|mc, (_, (_, set))| set.stash(mc, Gc::new(mc, census.token()))));
        let object = Mischievous {
            mischief,
            census: census.clone(),
            shared: Rc::clone(&shared),
            owned: Some(tokens(census)),
            handles,
        };
        arena.mutate(|mc, (kept, _)| {
            let object = Gc::new(mc, object);
            if n % 4 == 0 {
                kept.push(mc, object);
            }
        });
    }
    arena
}

#[test]
fn a_destructor_may_run_other_arenas() {
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| {}));
    let run = catch_unwind(|| {
        for mischief in ALL {
            for phase in PHASES {
                let census = Census::default();
                let mut arena = outer(mischief, &census);
                let mut quietly = |f: &mut dyn FnMut(&mut OuterArena)| {
                    while catch_unwind(AssertUnwindSafe(|| f(&mut arena))).is_err() {}
                    arena.verify().unwrap();
                };
                quietly(&mut |arena| {
                    if arena.collection_phase() == CollectionPhase::Sleeping {
                        step_to(arena, phase);
                    }
                });
                // Some die in pieces, the others with the arena.
                for _ in 0..40 {
                    quietly(&mut |arena| {
                        arena.step(Budget::Work(100));
                    });
                }
                quietly(&mut |arena| arena.finish_cycle());
                quietly(&mut |arena| arena.finish_cycle());
                arena.mutate(|mc, (kept, _)| {
                    assert_eq!(kept.len(), 5, "{mischief:?}");
                    Gc::new(mc, Static(0));
                });
                let _ = catch_unwind(AssertUnwindSafe(|| drop(arena)));
                assert_eq!(census.alive(), 0, "{mischief:?} in {phase:?}");
            }
        }
    });
    std::panic::set_hook(hook);
    if let Err(panic) = run {
        std::panic::resume_unwind(panic);
    }
}
