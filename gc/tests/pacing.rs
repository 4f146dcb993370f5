//! Pacing, seen from outside: the collector sleeps as long as it was told, wakes up then, and keeps up with whatever is
//! allocated. And that what it does is counted.

use sleepy_gc::collections::GcVec;
use sleepy_gc::metrics::{Cause, Pacing};
use sleepy_gc::{Arena, Budget, CollectionPhase, Gc, Rootable};

type VecArena = Arena<Rootable![GcVec<'_, Gc<'_, u64>>]>;

/// Bytes of an object.
const CELL: usize = 8;

/// Zeal makes steps due that pacing does not.
fn is_zealous() -> bool {
    std::env::var_os("SLEEPY_ZEAL").is_some()
}

fn arena(pacing: Pacing) -> VecArena {
    let mut arena = VecArena::new(|_| GcVec::new());
    arena.metrics().set_pacing(pacing);
    // A sleep is measured when a cycle ends.
    arena.finish_cycle();
    arena
}

fn garbage(arena: &VecArena, objects: usize) {
    arena.mutate(|mc, _| {
        for n in 0..objects {
            Gc::new(mc, n as u64);
        }
    });
}

fn keep(arena: &VecArena, objects: usize) {
    arena.mutate(|mc, root| {
        for n in 0..objects {
            root.push(mc, Gc::new(mc, n as u64));
        }
    });
}

#[test]
fn the_collector_sleeps_for_min_sleep_and_no_longer() {
    if is_zealous() {
        return;
    }
    for min_sleep in [800, 8_000, 80_000] {
        let mut arena = arena(Pacing {
            min_sleep,
            ..Pacing::DEFAULT
        });
        for _ in 0..3 {
            garbage(&arena, min_sleep / CELL);
            assert_eq!(arena.metrics().allocation_debt(), 0.0, "{min_sleep}");
            garbage(&arena, 1);
            assert_eq!(arena.metrics().allocation_debt(), CELL as f64);
            assert!(arena.debt_due());
            arena.finish_cycle();
        }
    }
}

#[test]
fn the_collector_sleeps_longer_the_more_is_alive() {
    if is_zealous() {
        return;
    }
    for sleep_factor in [0.5, 1.0, 2.0] {
        let mut arena = arena(Pacing {
            sleep_factor,
            min_sleep: 1,
            ..Pacing::DEFAULT
        });
        keep(&arena, 10_000);
        arena.finish_cycle();
        let live = arena.metrics().live_bytes();
        let sleep = (live as f64 * sleep_factor) as usize;
        garbage(&arena, sleep / CELL);
        assert_eq!(arena.metrics().allocation_debt(), 0.0, "{sleep_factor}");
        garbage(&arena, 1);
        assert!(arena.metrics().allocation_debt() > 0.0, "{sleep_factor}");
    }
}

#[test]
fn stopping_the_world_collects_all_at_once_and_sleeps() {
    if is_zealous() {
        return;
    }
    let mut arena = arena(Pacing {
        min_sleep: 8_000,
        sleep_factor: 1.5,
        ..Pacing::STOP_THE_WORLD
    });
    keep(&arena, 50);
    arena.collect_debt();
    assert_eq!(arena.metrics().cycles(), 1, "it is not due yet");
    keep(&arena, 60);
    garbage(&arena, 10_000);
    arena.collect_debt();
    assert_eq!(arena.collection_phase(), CollectionPhase::Sleeping);
    assert_eq!(arena.metrics().cycles(), 2);
    assert_eq!(arena.metrics().cycles_begun(Cause::Allocation), 1);
    // The objects and their vector's buffer.
    assert_eq!(arena.metrics().total_gc_count(), 111);
    let sleep = (arena.metrics().live_bytes() as f64 * 1.5) as usize;
    garbage(&arena, sleep / CELL);
    assert_eq!(arena.metrics().allocation_debt(), 0.0);
}

#[test]
fn debt_that_is_paid_now_and_then_keeps_the_heap_bounded() {
    if is_zealous() {
        return;
    }
    let pacings = [
        Pacing::DEFAULT,
        Pacing {
            sleep_factor: 0.0,
            min_sleep: 0,
            ..Pacing::DEFAULT
        },
        // As slow as it gets.
        Pacing {
            mark_factor: 1e9,
            trace_factor: 1e9,
            keep_factor: 1e9,
            drop_factor: 1e9,
            free_factor: 1e9,
            ..Pacing::DEFAULT
        },
        Pacing {
            mark_factor: f64::NAN,
            sleep_factor: f64::NAN,
            free_factor: -1.0,
            ..Pacing::DEFAULT
        },
        Pacing::STOP_THE_WORLD,
    ];
    for pacing in pacings {
        let pacing = Pacing {
            min_sleep: pacing.min_sleep.min(8_192),
            ..pacing
        };
        let mut arena = arena(pacing);
        keep(&arena, 1_000);
        arena.finish_cycle();
        let live = arena.heap_bytes();
        for _ in 0..500 {
            garbage(&arena, 128);
            // What is alive changes too.
            arena.mutate(|mc, root| {
                for n in 0..16 {
                    root.set(mc, n, Gc::new(mc, n as u64));
                }
            });
            arena.collect_debt();
            assert!(arena.metrics().allocation_debt() < 4_096.0, "{pacing:?}");
            assert!(arena.heap_bytes() < 5 * live + 32_768, "{pacing:?}");
        }
        assert!(arena.metrics().cycles() > 3, "{pacing:?}");
        assert!(arena.metrics().total_gc_count() < 10_000);
        arena.verify().unwrap();
    }
}

#[test]
fn a_debt_may_be_made_and_forgiven() {
    if is_zealous() {
        return;
    }
    let mut arena = arena(Pacing {
        min_sleep: 8_000,
        ..Pacing::DEFAULT
    });
    garbage(&arena, 500);
    assert!(!arena.debt_due());
    // From anywhere: the handle may be on another thread.
    let metrics = arena.metrics().clone();
    std::thread::spawn(move || metrics.adjust_debt(5_000.0))
        .join()
        .unwrap();
    assert_eq!(arena.metrics().allocation_debt(), 1_000.0);
    assert!(arena.debt_due());
    arena.mutate(|mc, _| assert!(mc.debt_due()));
    arena.metrics().adjust_debt(-1_500.0);
    assert_eq!(arena.metrics().allocation_debt(), 0.0);
    assert!(!arena.debt_due());
    arena.metrics().adjust_debt(f64::INFINITY);
    arena.metrics().adjust_debt(f64::NAN);
    assert!(arena.debt_due());
    while arena.metrics().cycles() == 1 {
        arena.collect_debt();
    }
    assert!(!arena.debt_due(), "the end of a cycle forgets it");
    arena.metrics().adjust_debt(f64::NEG_INFINITY);
    garbage(&arena, 10_000);
    assert!(!arena.debt_due());
    arena.finish_cycle();
    garbage(&arena, 10_000);
    assert!(arena.debt_due());
}

#[test]
fn objects_bytes_and_steps_are_counted() {
    let mut arena = arena(Pacing::DEFAULT);
    for round in 1..=3 {
        keep(&arena, 1_000);
        garbage(&arena, 5_000);
        arena.start_cycle();
        while arena.has_work() {
            arena.step(Budget::Work(1_000));
            let metrics = arena.metrics();
            let left = metrics.allocated_objects() - metrics.freed_objects();
            assert_eq!(metrics.total_gc_count() as u64, left);
        }
        let metrics = arena.metrics();
        assert_eq!(metrics.total_gc_count(), 1_000 * round + 1);
        assert_eq!(metrics.live_objects(), 1_000 * round + 1);
        assert!(metrics.freed_objects() >= 5_000 * round as u64);
        assert_eq!(metrics.cycles_begun(Cause::Explicit), round as u64 + 1);
    }
    let times = arena.metrics().step_times();
    assert!(times.marking.count() > 3 && times.sweeping.count() > 3);
    assert_eq!(times.clearing.count(), 4, "once a cycle, and the first");
    assert_eq!(times.forced.count(), arena.metrics().steps_forced());
    assert!(times.marking.count() + times.sweeping.count() >= times.forced.count());
    assert!(times.marking.max() <= times.forced.max());
}
