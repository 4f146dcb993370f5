//! Containers with an allocator that is counted.

use allocator_api2::{boxed::Box, vec::Vec};
use sleepy_gc::allocator_api::MetricsAlloc;
use sleepy_gc::metrics::Cause;
use sleepy_gc::{Arena, Gc, GcRefLock, Lock, RefLock, Rootable};

type Numbers<'gc> = Vec<Gc<'gc, u32>, MetricsAlloc<'gc>>;
type VecArena = Arena<Rootable![GcRefLock<'_, Numbers<'_>>]>;

#[test]
fn a_vector_is_traced_and_its_bytes_are_counted() {
    let mut arena = VecArena::new(|mc| {
        let numbers = Vec::new_in(MetricsAlloc::new(mc));
        Gc::new(mc, RefLock::new(numbers))
    });
    let metrics = arena.metrics().clone();
    assert_eq!(metrics.external_bytes(), 0);
    for n in 0..10_000 {
        arena.mutate(|mc, root| root.borrow_mut(mc).push(Gc::new(mc, n)));
        if arena.debt_due() {
            arena.collect_debt();
        }
    }
    let grown = metrics.external_bytes();
    assert!((80_000..400_000).contains(&grown), "{grown}");
    arena.verify().unwrap();
    arena.mutate(|mc, root| {
        let mut numbers = root.borrow_mut(mc);
        assert!(numbers.iter().map(|n| **n).eq(0..10_000));
        numbers.truncate(10);
        numbers.shrink_to_fit();
    });
    assert!(metrics.external_bytes() < 1_000);
    arena.mutate_root(|mc, root| {
        *root = Gc::new(mc, RefLock::new(Vec::new_in(MetricsAlloc::new(mc))));
    });
    arena.finish_cycle();
    assert_eq!(metrics.external_bytes(), 0);
    arena.verify().unwrap();
    drop(arena);
    assert_eq!(metrics.external_bytes(), 0);
}

#[test]
fn what_is_counted_presses_on_the_pacing() {
    let mut arena = Arena::<Rootable![()]>::new(|_| ());
    for _ in 0..100 {
        arena.mutate(|mc, ()| {
            let block = Vec::<u8, _>::with_capacity_in(100_000, MetricsAlloc::new(mc));
            Gc::new(mc, block);
        });
        if arena.debt_due() {
            arena.collect_debt();
        }
    }
    assert!(arena.metrics().cycles_begun(Cause::Allocation) > 2);
    assert!(arena.metrics().external_bytes() < 10_000_000);
    arena.set_heap_limit(Some(arena.heap_bytes() + 1_000_000));
    let refused = arena.mutate(|mc, ()| {
        let held = Vec::<u8, _>::with_capacity_in(2_000_000, MetricsAlloc::new(mc));
        let refused = (0..10_000_u32).any(|n| Gc::try_new(mc, n).is_err());
        drop(held);
        refused
    });
    assert!(refused);
}

#[test]
fn blocks_may_be_freed_elsewhere_and_later() {
    let arena = Arena::<Rootable![()]>::new(|_| ());
    let metrics = arena.metrics().clone();
    let block = Vec::<u8, _>::with_capacity_in(
        1_000,
        MetricsAlloc::from_metrics(metrics.clone(), allocator_api2::alloc::Global),
    );
    assert_eq!(metrics.external_bytes(), 1_000);
    std::thread::spawn(move || drop(block)).join().unwrap();
    assert_eq!(metrics.external_bytes(), 0);
    let block = Vec::<u8, _>::with_capacity_in(
        1_000,
        MetricsAlloc::from_metrics(metrics.clone(), allocator_api2::alloc::Global),
    );
    arena.mutate(|_, ()| ());
    drop(arena);
    assert_eq!(metrics.external_bytes(), 1_000);
    drop(block);
    assert_eq!(metrics.external_bytes(), 0);
}

#[test]
fn a_write_reaches_what_is_allocated() {
    sleepy_gc::arena::rootless_mutate(|mc| {
        let counted = MetricsAlloc::new(mc);
        let mut list = Vec::new_in(counted.clone());
        list.push(Lock::new(1));
        let list = Gc::new(mc, list);
        Gc::write(mc, list)[0].unlock().set(2);
        Gc::write(mc, list).as_deref()[0]
            .unlock()
            .set(list[0].get() + 1);
        let boxed = Gc::new(mc, Box::new_in(Lock::new(1), counted));
        Gc::write(mc, boxed).as_deref().unlock().set(4);
        assert_eq!((list[0].get(), boxed.get()), (3, 4));
    });
}

#[cfg(feature = "hashbrown")]
#[test]
fn a_hash_table_is_traced_and_its_bytes_are_counted() {
    use hashbrown::{DefaultHashBuilder, HashMap, HashSet, HashTable};
    use sleepy_gc::Collect;

    #[derive(Collect)]
    #[collect(no_drop)]
    struct Tables<'gc> {
        map: HashMap<u32, Gc<'gc, u32>, DefaultHashBuilder, MetricsAlloc<'gc>>,
        set: HashSet<u32, DefaultHashBuilder, MetricsAlloc<'gc>>,
        table: HashTable<Gc<'gc, u32>, MetricsAlloc<'gc>>,
    }
    let mut arena = Arena::<Rootable![Gc<'_, RefLock<Tables<'_>>>]>::new(|mc| {
        let counted = MetricsAlloc::new(mc);
        let tables = Tables {
            map: HashMap::new_in(counted.clone()),
            set: HashSet::new_in(counted.clone()),
            table: HashTable::new_in(counted),
        };
        Gc::new(mc, RefLock::new(tables))
    });
    arena.mutate(|mc, root| {
        let mut tables = root.borrow_mut(mc);
        for n in 0..1_000 {
            tables.map.insert(n, Gc::new(mc, n));
            tables.set.insert(n);
            tables
                .table
                .insert_unique(u64::from(n), Gc::new(mc, n), |n| u64::from(**n));
        }
    });
    arena.finish_cycle();
    arena.finish_cycle();
    arena.mutate(|_, root| {
        let tables = root.borrow();
        assert!((0..1_000).all(|n| *tables.map[&n] == n && tables.set.contains(&n)));
        assert_eq!(tables.table.iter().map(|n| **n).sum::<u32>(), 499_500);
    });
    assert!(arena.metrics().external_bytes() > 20_000);
    let metrics = arena.metrics().clone();
    drop(arena);
    assert_eq!(metrics.external_bytes(), 0);
}
