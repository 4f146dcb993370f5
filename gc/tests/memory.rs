//! Sizes, limits, and memory that comes back.

use std::time::{Duration, Instant};

use sleepy_gc::collections::{GcTail, GcVec};
use sleepy_gc::{Arena, Budget, Collect, Gc, Rootable, metrics};

type Tails = Arena<Rootable![GcVec<'_, GcTail<'_, u32, u8>>]>;

#[test]
fn objects_of_any_size_and_alignment() {
    #[derive(Collect, Clone, Copy, PartialEq, Debug)]
    #[collect(require_static)]
    #[repr(align(4096))]
    struct Aligned(u8);
    #[derive(Collect, Clone, Copy, PartialEq, Debug)]
    #[collect(require_static)]
    #[repr(align(65536))]
    struct VeryAligned([u8; 70_000]);
    let mut arena = Arena::<Rootable![()]>::new(|_| ());
    for _ in 0..3 {
        arena.mutate(|mc, ()| {
            for n in 0..50_u8 {
                let aligned = Gc::new(mc, Aligned(n));
                assert_eq!((Gc::as_ptr(aligned) as usize % 4096, aligned.0), (0, n));
                let very = Gc::new(mc, VeryAligned([n; 70_000]));
                assert_eq!((Gc::as_ptr(very) as usize % 65536, very.0[69_999]), (0, n));
                let unit = Gc::new(mc, ());
                assert!(!Gc::ptr_eq(unit, Gc::new(mc, ())));
                assert_eq!(Gc::new(mc, [n; 20_000])[19_999], n);
            }
        });
        arena.verify().unwrap();
        arena.finish_cycle();
        arena.verify().unwrap();
        assert_eq!(arena.heap_bytes(), 0);
    }
}

#[test]
fn tails_of_any_length() {
    let mut arena = Tails::new(|_| GcVec::new());
    let lengths = || {
        (0..300)
            .chain((300..40_000).step_by(997))
            .chain([65_000, 65_536, 1 << 20])
    };
    for _ in 0..2 {
        arena.mutate(|mc, root| {
            root.clear();
            for len in lengths() {
                root.push(mc, GcTail::new(mc, len as u32, len, |n| (n ^ len) as u8));
            }
        });
        arena.finish_cycle();
        arena.verify().unwrap();
        arena.mutate(|_, root| {
            for (tail, len) in root.iter().zip(lengths()) {
                assert_eq!(*tail.header() as usize, len);
                assert!(
                    tail.tail()
                        .iter()
                        .enumerate()
                        .all(|(n, &byte)| byte == (n ^ len) as u8)
                );
            }
        });
    }
}

#[test]
fn a_limit_is_an_error_that_a_collection_heals() {
    let mut arena = Tails::new(|_| GcVec::new());
    arena.set_heap_limit(Some(1 << 20));
    let mut failures = 0;
    for n in 0..100_000_u32 {
        let done = arena.mutate(|mc, root| {
            let tail = GcTail::try_from_slice(mc, n, &[7; 100]).map_err(drop)?;
            if n % 100 == 0 {
                root.try_push(mc, tail).map_err(drop)?;
            }
            Ok::<_, ()>(())
        });
        if done.is_err() {
            failures += 1;
            assert!(arena.debt_due(), "a step is due after a failure");
            arena.finish_cycle();
        }
        assert!(arena.metrics().heap_bytes() <= 1 << 20);
    }
    assert!(failures > 5, "{failures}");
    assert!(arena.metrics().cycles_begun(metrics::Cause::Emergency) > 5);
    arena.verify().unwrap();
    // Everything is alive: a collection does not help any more.
    let full = arena.mutate(|mc, root| {
        (0..100_000).any(|n| match GcTail::try_from_slice(mc, n, &[7; 100]) {
            Ok(tail) => root.try_push(mc, tail).is_err(),
            Err(_) => true,
        })
    });
    assert!(full);
    arena.finish_cycle();
    arena.set_heap_limit(None);
    arena.mutate(|mc, root| {
        assert!(GcTail::try_from_slice(mc, 0, &[1; 1 << 20]).is_ok() && !root.is_empty())
    });
}

#[test]
fn external_bytes_press_on_the_pacing() {
    let mut arena = Arena::<Rootable![()]>::new(|_| ());
    for _ in 0..100 {
        arena.mutate(|mc, ()| mc.add_external_bytes(100_000));
        if arena.debt_due() {
            arena.collect_debt();
        }
    }
    assert_eq!(arena.metrics().external_bytes(), 10_000_000);
    assert!(arena.metrics().cycles_begun(metrics::Cause::Allocation) > 2);
    arena.mutate(|mc, ()| mc.sub_external_bytes(usize::MAX));
    assert_eq!(arena.metrics().external_bytes(), 0);
    arena.finish_cycle();
    arena.verify().unwrap();
}

#[test]
fn a_program_that_never_waits_peaks_below_twice_its_live_size() {
    const KEPT: usize = 40_000;
    let mut arena = Tails::new(|_| GcVec::new());
    let (mut peak, mut n) = (0, 0_usize);
    for round in 0..20 {
        for _ in 0..KEPT / 10 {
            arena.mutate(|mc, root| {
                for _ in 0..10 {
                    let tail = GcTail::from_slice(mc, n as u32, &[1; 200]);
                    if root.len() < KEPT {
                        root.push(mc, tail);
                    } else {
                        root.set(mc, n % KEPT, tail);
                    }
                    n += 1;
                }
            });
            if arena.debt_due() {
                arena.collect_debt();
            }
            if round > 2 {
                peak = peak.max(arena.metrics().heap_bytes());
            }
        }
    }
    arena.finish_cycle();
    arena.finish_cycle();
    let live = arena.heap_bytes();
    assert!(peak <= 2 * live, "{peak} at the peak, {live} live");
}

#[test]
fn memory_of_a_heap_that_was_dropped_is_not_kept() {
    let mut arena = Tails::new(|_| GcVec::new());
    arena.mutate(|mc, root| {
        for n in 0..300_000 {
            root.push(mc, GcTail::from_slice(mc, n, &[1; 100]));
        }
    });
    let full = committed(&arena);
    arena.mutate(|mc, root| {
        let kept: Vec<_> = root.iter().step_by(1000).collect();
        root.clear();
        root.shrink_to_fit(mc);
        root.try_extend_from_slice(mc, &kept).unwrap();
    });
    arena.finish_cycle();
    arena.verify().unwrap();
    let left = committed(&arena);
    assert!(left < full / 8, "{left} of {full} bytes committed");
    // What was released can be used again.
    arena.mutate(|mc, root| {
        for n in 0..300_000 {
            root.push(mc, GcTail::from_slice(mc, n, &[2; 100]));
        }
        assert!(root.iter().take(300).all(|tail| tail.tail() == [1; 100]));
        assert!(root.iter().skip(300).all(|tail| tail.tail() == [2; 100]));
    });
    arena.verify().unwrap();
    arena.finish_cycle();
    arena.verify().unwrap();
}

fn committed(arena: &Tails) -> usize {
    arena.committed_bytes()
}

#[test]
fn arenas_are_listed_while_others_come_and_go() {
    let stop = Instant::now() + Duration::from_millis(300);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while Instant::now() < stop {
                    let mut arena =
                        Arena::<Rootable![GcVec<'_, Gc<'_, u64>>]>::new(|_| GcVec::new());
                    arena.mutate(|mc, root| root.push(mc, Gc::new(mc, 1)));
                    arena.step(Budget::Unlimited);
                }
            });
        }
        while Instant::now() < stop {
            for metrics in metrics::arenas() {
                assert!(metrics.heap_bytes() < 1 << 20 || metrics.cycles() < u64::MAX);
            }
        }
    });
}

#[test]
fn what_was_allocated_since_a_cycle_began_is_never_guessed_too_high() {
    use sleepy_gc::idle::Collector;
    let mut arena = Tails::new(|_| GcVec::new());
    for round in 0..10 {
        arena.mutate(|mc, _| {
            for len in 0..2_000 {
                GcTail::new(mc, round, len, |_| 0);
            }
        });
        assert!(Collector::hint(&arena).allocated_bytes_since_cycle > 1 << 20);
        Collector::start_cycle(&mut arena);
        while arena.has_work() {
            Collector::step(&mut arena, Budget::Work(10_000));
        }
        assert_eq!(Collector::hint(&arena).allocated_bytes_since_cycle, 0);
        assert!(!arena.debt_due());
    }
}

#[test]
fn blank_elements_are_given_back_and_the_others_stay() {
    let mut arena = Arena::<Rootable![GcVec<'_, u64>]>::new(|_| GcVec::new());
    arena.mutate(|mc, numbers| {
        for n in 0..100_000 {
            numbers.push(mc, if n % 5_000 == 7 { n } else { 1 << 63 });
        }
        // SAFETY: zero is a number, and stands for those with the top bit as well.
        let bytes = unsafe { numbers.give_back_blank(mc, |n| n >> 63 == 1 || *n == 0) };
        assert!(bytes <= 800_000);
        // What is given back and what is only blank add up, and the rest is there.
        for n in 0..100_000 {
            let found = numbers.get(n as usize);
            if n % 5_000 == 7 {
                assert_eq!(found, Some(n));
            } else {
                assert!(found == Some(0) || found == Some(1 << 63));
            }
        }
        let zeros = numbers.iter().filter(|&n| n == 0).count();
        assert_eq!(zeros * 8, bytes);
        numbers.set(mc, 50_000, 3);
        assert_eq!(numbers.get(50_000), Some(3));
        // SAFETY: as above.
        let of_none = unsafe { GcVec::<u64>::new().give_back_blank(mc, |_| true) };
        assert_eq!(of_none, 0);
    });
    arena.finish_cycle();
    arena.verify().unwrap();
}
