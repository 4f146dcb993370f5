//! What the counters say, and to whom.

use sleepy_gc::{
    Arena, Budget, Gc, Metrics, Mutation, RefLock, Rootable,
    metrics::{Cause, Pacing},
};

type Kept<'gc> = Gc<'gc, RefLock<Vec<Gc<'gc, u64>>>>;
type KeptArena = Arena<Rootable![Kept<'_>]>;

fn arena() -> (KeptArena, Metrics) {
    let arena = KeptArena::new(|mc| Gc::new(mc, RefLock::new(Vec::new())));
    let metrics = arena.metrics().clone();
    (arena, metrics)
}

fn keep<'gc>(mc: &Mutation<'gc>, kept: Kept<'gc>, value: u64) {
    kept.borrow_mut(mc).push(Gc::new(mc, value));
}

#[test]
fn a_handle_that_was_kept_counts_each_object() {
    let (mut arena, metrics) = arena();
    for n in 1..=500_u64 {
        arena.mutate(|mc, kept| {
            keep(mc, *kept, n);
            assert_eq!(metrics.total_gc_count() as u64, n + 1);
        });
        assert_eq!(metrics.allocated_objects(), n + 1);
    }
    arena.mutate(|mc, kept| kept.borrow_mut(mc).truncate(100));
    arena.finish_cycle();
    assert_eq!(metrics.total_gc_count(), 101);
    assert_eq!(
        (metrics.allocated_objects(), metrics.freed_objects()),
        (501, 400)
    );
    // Another thread sees cells, which are handed out a few dozen at a time.
    let elsewhere = metrics.clone();
    let seen = std::thread::spawn(move || elsewhere.total_gc_count()).join();
    assert!((101..101 + 128).contains(&seen.expect("it only reads")));
    drop(arena);
    assert_eq!((metrics.total_gc_count(), metrics.heap_bytes()), (0, 0));
    assert_eq!(metrics.freed_objects(), metrics.allocated_objects());
    assert_eq!(metrics.allocation_debt(), 0.0);
}

#[test]
fn a_handle_that_was_kept_owes_what_the_arena_owes() {
    let (arena, metrics) = arena();
    let mut before = metrics.allocation_debt();
    let mut grown = 0;
    for n in 0..200_000 {
        arena.mutate(|mc, kept| keep(mc, *kept, n));
        let debt = metrics.allocation_debt();
        assert_eq!(debt, arena.metrics().allocation_debt());
        if before > 0.0 {
            // Object by object, and not as memory is reserved.
            assert_eq!(debt - before, 8.0, "after {n}");
            grown += 1;
        }
        before = debt;
    }
    assert!(grown > 1000, "{grown}");
}

#[test]
fn a_handle_can_be_read_from_a_destructor_and_after_another_arena_took_the_place() {
    struct Reader(Metrics);
    impl Drop for Reader {
        fn drop(&mut self) {
            let count = self.0.total_gc_count();
            assert!(count <= 10, "{count}");
        }
    }
    let mut arena = Arena::<Rootable![()]>::new(|mc| {
        for _ in 0..10 {
            Gc::new_static(mc, Reader(mc.metrics().clone()));
        }
    });
    let metrics = arena.metrics().clone();
    arena.start_cycle();
    while arena.has_work() {
        arena.step(Budget::Work(1));
    }
    assert_eq!(metrics.total_gc_count(), 0);
    arena.mutate(|mc, ()| {
        Gc::new_static(mc, Reader(metrics.clone()))
            .0
            .total_gc_count()
    });
    drop(arena);
    let (other, _) = self::arena();
    assert_eq!(
        (metrics.total_gc_count(), other.metrics().total_gc_count()),
        (0, 1)
    );
}

#[test]
fn what_is_declared_from_outside_is_in_the_heap_at_once() {
    let (mut arena, metrics) = arena();
    let objects = |metrics: &Metrics| metrics.heap_bytes() - metrics.external_bytes();
    arena.mutate(|mc, kept| {
        (0..10_000).for_each(|n| keep(mc, *kept, n));
        let (heap, own) = (metrics.heap_bytes(), objects(&metrics));
        metrics.mark_external_allocation(1 << 20);
        assert_eq!(metrics.heap_bytes(), heap + (1 << 20));
        assert_eq!(mc.metrics().external_bytes(), 1 << 20);
        assert_eq!(objects(&metrics), own);
        // More than there is.
        metrics.mark_external_deallocation(2 << 20);
        assert_eq!((metrics.heap_bytes(), metrics.external_bytes()), (heap, 0));
        metrics.mark_external_allocation(2 << 20);
    });
    arena.finish_cycle();
    arena.verify().unwrap();
    metrics.mark_external_allocation(100);
    drop(arena);
    let left = (1 << 20) + 100;
    assert_eq!(
        (metrics.heap_bytes(), metrics.external_bytes()),
        (left, left),
        "a block may outlive the arena"
    );
    metrics.mark_external_deallocation(left);
    assert_eq!((metrics.heap_bytes(), metrics.external_bytes()), (0, 0));
    assert_eq!(metrics.allocation_debt(), 0.0);
}

#[test]
fn a_destructor_in_the_drop_of_an_arena_counts_each_object() {
    struct Reader(Metrics);
    impl Drop for Reader {
        fn drop(&mut self) {
            assert_eq!(self.0.total_gc_count(), 3);
            assert_eq!(self.0.allocated_objects(), 3);
        }
    }
    let arena = Arena::<Rootable![()]>::new(|mc| {
        for _ in 0..3 {
            Gc::new_static(mc, Reader(mc.metrics().clone()));
        }
    });
    drop(arena);
}

#[test]
fn a_report_has_it_all() {
    let (mut arena, metrics) = arena();
    metrics.set_pacing(Pacing::STOP_THE_WORLD);
    arena.finish_cycle();
    arena.mutate(|mc, kept| {
        for n in 0..100_000 {
            keep(mc, *kept, n);
        }
        mc.add_external_bytes(1234);
    });
    arena.collect_debt();
    let report = metrics.report();
    assert_eq!((report.objects, report.external_bytes), (100_001, 1234));
    assert_eq!(report.arena_id, metrics.arena_id());
    assert_eq!(report.cycles_by_cause.explicit, 1);
    assert_eq!(
        report.cycles_by_cause.allocation,
        metrics.cycles_begun(Cause::Allocation)
    );
    assert!(report.cycles_by_cause.allocation >= 1);
    assert_eq!(report.steps_forced, report.step_times.forced.count);
    let marking = report.step_times.marking;
    assert!(marking.count >= 2);
    assert!(marking.p50_ns <= marking.p99_ns && marking.p99_ns <= marking.max_ns);
    let table = report.to_string();
    for word in ["explicit 1", "marking", "sweeping", "external", "100001"] {
        assert!(table.contains(word), "no {word} in {table}");
    }
}

#[cfg(feature = "json")]
#[test]
fn a_report_is_json() {
    let (mut arena, metrics) = arena();
    arena.finish_cycle();
    let report = metrics.report();
    let json: serde_json::Value = serde_json::from_str(&report.to_json()).unwrap();
    assert_eq!(json["cycles_by_cause"]["explicit"], 1);
    assert_eq!(json["phase"], "Sleeping");
    assert_eq!(json["objects"], 1);
    assert_eq!(
        json["step_times"]["marking"]["max_ns"],
        report.step_times.marking.max_ns
    );
    // A handle is serialised as its report.
    assert_eq!(serde_json::to_value(&metrics).unwrap(), json);
}
