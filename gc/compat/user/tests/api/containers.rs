//! `Collect` for the types of the standard library and of other crates.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet, BinaryHeap, HashMap, HashSet, LinkedList, VecDeque};
use std::rc::Rc;
use std::sync::Arc;

use gc_arena::arena::rootless_mutate;
use gc_arena::collect::Trace;
use gc_arena::{Collect, Gc, GcWeak};

struct Counter(usize);

impl<'gc> Trace<'gc> for Counter {
    fn trace_gc(&mut self, _: Gc<'gc, ()>) {
        self.0 += 1;
    }

    fn trace_gc_weak(&mut self, _: GcWeak<'gc, ()>) {}
}

fn count<'gc, T: Collect<'gc>>(value: T) -> usize {
    assert!(T::NEEDS_TRACE);
    let mut counter = Counter(0);
    counter.trace(&value);
    counter.0
}

fn plain<'gc, T: Collect<'gc> + ?Sized>() -> bool {
    !T::NEEDS_TRACE
}

#[test]
fn containers_trace_their_elements() {
    rootless_mutate(|mc| {
        let gc = Gc::new(mc, 1_u8);
        assert_eq!(
            count(Box::new(gc)) + count(Rc::new(gc)) + count(Arc::new(gc)),
            3
        );
        assert_eq!(count(vec![gc; 3]) + count(VecDeque::from([gc, gc])), 5);
        assert_eq!(
            count(LinkedList::from([gc])) + count(BinaryHeap::from([gc, gc])),
            3
        );
        assert_eq!(count(BTreeSet::from([gc])) + count(HashSet::from([gc])), 2);
        assert_eq!(
            count(BTreeMap::from([(gc, gc)])) + count(HashMap::from([(1, gc)])),
            3
        );
        assert_eq!(
            count(Some(gc)) + count(Ok::<_, ()>(gc)) + count(Err::<(), _>(gc)),
            3
        );
        assert_eq!(count([gc; 4]) + count(vec![gc].into_boxed_slice()), 5);
        assert_eq!(count((gc,)) + count((gc, 1, gc)), 3);
        assert_eq!(count((gc, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, gc)), 2);
    });
}

#[test]
fn plain_types_are_not_traced() {
    assert!(
        plain::<bool>() && plain::<char>() && plain::<u64>() && plain::<f64>() && plain::<()>()
    );
    assert!(plain::<String>() && plain::<str>() && plain::<&'static [u8]>());
    assert!(
        plain::<std::ffi::CString>() && plain::<std::ffi::CStr>() && plain::<std::any::TypeId>()
    );
    assert!(plain::<std::path::PathBuf>() && plain::<std::path::Path>());
    assert!(plain::<std::ffi::OsString>() && plain::<std::ffi::OsStr>());
    assert!(plain::<Cell<u8>>() && plain::<RefCell<String>>());
    assert!(plain::<std::marker::PhantomData<*const u8>>() && plain::<Vec<Option<(u8, String)>>>());
}

#[test]
fn containers_of_other_crates_trace_their_elements() {
    #[derive(Clone, Copy, enum_map::Enum)]
    enum Side {
        Left,
        Right,
    }
    rootless_mutate(|mc| {
        let gc = Gc::new(mc, 1_u8);
        assert_eq!(count(hashbrown::HashMap::<_, _>::from([(1, gc)])), 1);
        assert_eq!(count(hashbrown::HashSet::<_>::from([gc])), 1);
        let mut table = hashbrown::HashTable::new();
        table.insert_unique(1, gc, |_| 1);
        assert_eq!(count(table), 1);
        assert_eq!(count(indexmap::IndexMap::from([(1, gc)])), 1);
        assert_eq!(count(indexmap::IndexSet::from([gc])), 1);
        let mut slots = slotmap::SlotMap::new();
        let key = slots.insert(gc);
        assert_eq!((*slots[key], count(slots)), (1, 1));
        assert_eq!(
            count(smallvec::SmallVec::<[Gc<'_, u8>; 2]>::from_slice(&[gc; 3])),
            3
        );
        let map = enum_map::EnumMap::from_fn(|side| match side {
            Side::Left | Side::Right => gc,
        });
        assert_eq!(count(map), 2);
        let map = Gc::new(
            mc,
            hashbrown::HashMap::<&str, gc_arena::Lock<u8>>::from([("a", gc_arena::Lock::new(1))]),
        );
        Gc::write(mc, map)["a"].unlock().set(2);
        assert_eq!(map["a"].get(), 2);
    });
}
