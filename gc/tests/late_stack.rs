//! Stacks without barriers: what lies below the top is alive, what lies above is not.

use std::cell::{Cell, RefCell};
use std::collections::HashSet;
use std::rc::Rc;

use sleepy_gc::collections::LateStack;
use sleepy_gc::{Arena, Budget, Collect, CollectionPhase, Gc, Rootable};

type Alive = Rc<RefCell<HashSet<u32>>>;

#[derive(Collect)]
#[collect(require_static)]
struct Ticket(u32, Alive);

impl Drop for Ticket {
    fn drop(&mut self) {
        self.1.borrow_mut().remove(&self.0);
    }
}

type Slot<'gc> = Option<Gc<'gc, Ticket>>;
type StackArena = Arena<Rootable![LateStack<'_, Slot<'_>>]>;

fn ticket<'gc>(mc: &sleepy_gc::Mutation<'gc>, alive: &Alive, id: u32) -> Slot<'gc> {
    alive.borrow_mut().insert(id);
    Some(Gc::new(mc, Ticket(id, alive.clone())))
}

#[test]
fn a_stack_keeps_what_is_below_its_top() {
    let alive = Alive::default();
    let mut arena = StackArena::new(|mc| LateStack::new(mc, 10_000, None));
    arena.mutate(|mc, stack| {
        for (id, slot) in stack.slots(mc, 0..10_000).unwrap().iter().enumerate() {
            slot.set(ticket(mc, &alive, id as u32));
        }
        stack.set_top(mc, 6_000);
    });
    arena.finish_cycle();
    arena.verify().unwrap();
    assert_eq!(alive.borrow().len(), 6_000);
    arena.mutate(|mc, stack| {
        for index in 0..10_000 {
            assert_eq!(
                stack.get(index).unwrap().map(|t| t.0),
                (index < 6_000).then_some(index as u32)
            );
        }
        // What is above the top is gone for good, also when the top rises.
        stack.set_top(mc, 10_000);
        stack.set_top(mc, 10);
    });
    arena.finish_cycle();
    assert_eq!(alive.borrow().len(), 10);
}

#[test]
fn a_store_into_a_window_after_the_stack_was_scanned_is_seen() {
    let alive = Alive::default();
    let mut arena = StackArena::new(|mc| LateStack::new(mc, 300, None));
    arena.mutate(|mc, stack| stack.set_top(mc, 300));
    arena.start_cycle();
    for id in 0..20 {
        while arena.collection_phase() == CollectionPhase::Marking {
            arena.step(Budget::Work(1));
        }
        if arena.collection_phase() != CollectionPhase::Sleeping {
            arena.finish_cycle();
        }
        arena.start_cycle();
        arena.step(Budget::Work(500));
        arena.mutate(|mc, stack| {
            let window = stack.window::<256>(mc, 40).unwrap();
            window[id as usize].set(ticket(mc, &alive, id));
        });
        arena.verify().unwrap();
    }
    arena.finish_cycle();
    arena.finish_cycle();
    assert_eq!(alive.borrow().len(), 20);
    arena.verify().unwrap();
}

#[test]
fn a_grown_stack_has_what_the_old_one_had() {
    let alive = Alive::default();
    let mut arena = StackArena::new(|mc| LateStack::new(mc, 4, None));
    let mut top = 0;
    while top < 40_000 {
        arena.mutate(|mc, stack| {
            for _ in 0..97 {
                if top == stack.capacity() {
                    stack.try_grow(mc, 2 * top).unwrap();
                }
                stack.slots(mc, top..top + 1).unwrap()[0].set(ticket(mc, &alive, top as u32));
                top += 1;
                stack.set_top(mc, top);
            }
        });
        if !arena.has_work() {
            arena.start_cycle();
        }
        arena.step(Budget::Work(5_000));
    }
    arena.finish_cycle();
    arena.finish_cycle();
    arena.verify().unwrap();
    assert_eq!(alive.borrow().len(), top);
    arena.mutate(|_, stack| {
        for index in 0..top {
            assert_eq!(stack.get(index).unwrap().unwrap().0, index as u32);
        }
    });
}

#[test]
fn a_program_that_runs_between_all_steps_can_not_keep_a_cycle_from_ending() {
    let alive = Alive::default();
    let mut arena = StackArena::new(|mc| {
        let stack = LateStack::new(mc, 100_000, None);
        stack.set_top(mc, 100_000);
        stack
    });
    arena.start_cycle();
    let mut steps = 0;
    while arena.has_work() {
        arena.mutate(|mc, stack| {
            // The whole stack may have changed, each time.
            stack.slots(mc, 0..100_000).unwrap()[steps % 100_000].set(ticket(
                mc,
                &alive,
                steps as u32,
            ));
        });
        arena.step(Budget::Work(1000));
        steps += 1;
        assert!(steps < 10_000, "the cycle does not end");
    }
    arena.finish_cycle();
    assert_eq!(alive.borrow().len(), steps);
}

#[test]
fn random_frames_agree_with_an_oracle() {
    for seed in 1..=20_u64 {
        let mut random = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        let mut below = move |n: usize| {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            (random % n as u64) as usize
        };
        let alive = Alive::default();
        let mut arena = StackArena::new(|mc| LateStack::new(mc, 64, None));
        let mut model: Vec<Option<u32>> = Vec::new();
        let next = Cell::new(0);
        for _ in 0..1500 {
            arena.mutate(|mc, stack| {
                let fresh = |mc| {
                    next.set(next.get() + 1);
                    ticket(mc, &alive, next.get())
                };
                match below(8) {
                    // A call.
                    0..=2 => {
                        let base = model.len();
                        let size = 1 + below(40);
                        if base + size > stack.capacity() {
                            stack.try_grow(mc, (base + size) * 2).unwrap();
                        }
                        model.resize(base + size, None);
                        let window = stack.slots(mc, base..base + size).unwrap();
                        window.iter().for_each(|slot| slot.set(None));
                        stack.set_top(mc, base + size);
                    }
                    // A return.
                    3 => {
                        let top = below(model.len() + 1);
                        model.truncate(top);
                        stack.set_top(mc, top);
                    }
                    // Stores into the frame, and moves within it.
                    4..=6 if !model.is_empty() => {
                        let base = below(model.len());
                        let window = stack.slots(mc, base..model.len()).unwrap();
                        for _ in 0..4 {
                            let (from, to) = (below(window.len()), below(window.len()));
                            if below(2) == 0 {
                                window[to].set(fresh(mc));
                                model[base + to] = Some(next.get());
                            } else {
                                window[to].set(window[from].replace(None));
                                model[base + to] = model[base + from];
                                if from != to {
                                    model[base + from] = None;
                                }
                            }
                            if from == to {
                                model[base + to] = window[to].get().map(|t| t.0);
                            }
                        }
                    }
                    // A store from outside.
                    7 if !model.is_empty() => {
                        let at = below(model.len());
                        stack.set(mc, at, fresh(mc));
                        model[at] = Some(next.get());
                    }
                    _ => {}
                }
            });
            match below(4) {
                0 => arena.start_cycle(),
                1 => drop(arena.step(Budget::Work(1 << below(12)))),
                2 if below(30) == 0 => arena.finish_cycle(),
                _ => {}
            }
            arena.verify().unwrap();
            arena.mutate(|_, stack| {
                for (index, id) in model.iter().enumerate() {
                    assert_eq!(stack.get(index).unwrap().map(|t| t.0), *id);
                }
            });
        }
        arena.finish_cycle();
        arena.finish_cycle();
        let expected: HashSet<u32> = model.iter().flatten().copied().collect();
        assert_eq!(*alive.borrow(), expected);
    }
}
