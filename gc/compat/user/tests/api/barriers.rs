//! `barrier`, and the barriers of `Mutation`.

use std::collections::{BTreeMap, HashMap, VecDeque};

use gc_arena::arena::{Arena, CollectionPhase, rootless_mutate};
use gc_arena::barrier::{DerefWrite, IndexWrite, Unlock, Write, field, unlock};
use gc_arena::{Collect, Gc, GcWeak, Lock, RefLock, Rootable};

#[derive(Collect)]
#[collect(no_drop)]
struct Fields<'gc> {
    one: Lock<Option<Gc<'gc, u32>>>,
    many: RefLock<Vec<Gc<'gc, u32>>>,
    nested: Nested<'gc>,
    boxed: Box<Lock<u32>>,
    maybe: Option<Lock<u32>>,
    outcome: Result<Lock<u32>, RefLock<String>>,
    array: [Lock<u32>; 3],
    vector: Vec<Lock<u32>>,
    queue: VecDeque<Lock<u32>>,
    map: HashMap<&'static str, Lock<u32>>,
    tree: BTreeMap<u8, Lock<u32>>,
}

#[derive(Collect)]
#[collect(no_drop)]
struct Nested<'gc>(Lock<Option<Gc<'gc, u32>>>);

fn fields<'gc>() -> Fields<'gc> {
    Fields {
        one: Lock::new(None),
        many: RefLock::new(Vec::new()),
        nested: Nested(Lock::new(None)),
        boxed: Box::new(Lock::new(0)),
        maybe: Some(Lock::new(0)),
        outcome: Ok(Lock::new(0)),
        array: std::array::from_fn(|_| Lock::new(0)),
        vector: vec![Lock::new(0), Lock::new(0)],
        queue: [Lock::new(0)].into(),
        map: [("key", Lock::new(0))].into(),
        tree: [(1, Lock::new(0))].into(),
    }
}

#[test]
fn a_write_reaches_every_part_of_a_value() {
    rootless_mutate(|mc| {
        let object = Gc::new(mc, fields());
        let number = Gc::new(mc, 7);
        let write: &Write<Fields<'_>> = Gc::write(mc, object);
        unlock!(write, Fields, one).set(Some(number));
        unlock!(write, Fields, many).borrow_mut().push(number);
        let nested = field!(write, Fields, nested);
        let Write {
            __inner: Nested(inner),
            ..
        } = nested;
        assert!(inner.get().is_none());
        field!(write, Fields, boxed).as_deref().unlock().set(1);
        field!(write, Fields, maybe)
            .as_write()
            .unwrap()
            .unlock()
            .set(2);
        match field!(write, Fields, outcome).as_write() {
            Ok(value) => value.unlock().set(3),
            Err(text) => text.unlock().borrow_mut().clear(),
        }
        field!(write, Fields, array)[1].unlock().set(4);
        field!(write, Fields, vector)[1].unlock().set(5);
        assert_eq!(field!(write, Fields, vector)[..1].len(), 1);
        field!(write, Fields, queue)[0].unlock().set(6);
        field!(write, Fields, map)["key"].unlock().set(8);
        field!(write, Fields, tree)[&1].unlock().set(9);
        assert_eq!(
            (object.one.get(), object.many.borrow().len()),
            (Some(number), 1)
        );
        assert_eq!(
            (
                object.boxed.get(),
                object.maybe.as_ref().unwrap().get(),
                object.outcome.as_ref().unwrap_or_else(|_| panic!()).get(),
                object.array[1].get(),
                object.vector[1].get(),
            ),
            (1, 2, 3, 4, 5)
        );
        assert_eq!(
            (
                object.queue[0].get(),
                object.map["key"].get(),
                object.tree[&1].get()
            ),
            (6, 8, 9)
        );
    });
}

#[test]
fn a_write_is_had_without_a_barrier_where_none_is_needed() {
    let mut own = Lock::new(1);
    Write::from_mut(&mut own).unlock().set(2);
    Write::from_static(&own).unlock().set(own.get() + 1);
    assert_eq!(own.get(), 3);
    rootless_mutate(|mc| {
        let number = Gc::new(mc, Lock::new(Some(Gc::new(mc, 1))));
        // SAFETY: no pointer is stored.
        unsafe {
            Write::assume(&*number).unlock().set(None);
            number.unlock_unchecked().set(None);
            number.as_cell().set(None);
        }
        number.unlock(mc).set(Some(Gc::new(mc, 2)));
    });
    fn derefs<T: DerefWrite>() {}
    derefs::<Box<u8>>();
    derefs::<Vec<u8>>();
    derefs::<std::rc::Rc<u8>>();
    derefs::<std::sync::Arc<u8>>();
    derefs::<&'static u8>();
    fn indexes<T: IndexWrite<I> + ?Sized, I>() {}
    indexes::<[u8], usize>();
    indexes::<[u8], std::ops::RangeFrom<usize>>();
    indexes::<Vec<u8>, std::ops::RangeToInclusive<usize>>();
    indexes::<VecDeque<u8>, usize>();
    indexes::<HashMap<String, u8>, &str>();
    indexes::<BTreeMap<String, u8>, &str>();
}

/// A container of the user's own, with barriers raised by hand.
struct Slot<'gc>(
    std::cell::Cell<Option<Gc<'gc, u32>>>,
    std::cell::Cell<Option<GcWeak<'gc, u32>>>,
);

// SAFETY: both pointers are traced, there is no destructor, and stores are behind the barriers below.
unsafe impl<'gc> Collect<'gc> for Slot<'gc> {
    fn trace<T: gc_arena::collect::Trace<'gc>>(&self, cc: &mut T) {
        cc.trace(&self.0.get());
        if let Some(weak) = self.1.get() {
            cc.trace_gc_weak(GcWeak::erase(weak));
        }
    }
}

#[test]
fn barriers_are_raised_by_hand() {
    for which in 0..6 {
        let mut arena = Arena::<Rootable![Gc<'_, Slot<'_>>]>::new(|mc| {
            Gc::new(mc, Slot(Default::default(), Default::default()))
        });
        assert!(arena.finish_marking().is_some());
        arena.mutate(|mc, root| {
            let child = Gc::new(mc, 7);
            let (parent, erased) = (Gc::erase(*root), Gc::erase(child));
            let weak = Gc::downgrade(erased);
            match which {
                0 => mc.backward_barrier(parent, Some(erased)),
                1 => mc.backward_barrier(parent, None),
                2 => mc.forward_barrier(Some(parent), erased),
                3 => mc.forward_barrier(None, erased),
                4 => mc.backward_barrier_weak(parent, weak),
                _ => mc.forward_barrier_weak(Some(parent), weak),
            }
            if which < 4 {
                root.0.set(Some(child));
            } else {
                root.1.set(Some(Gc::downgrade(child)));
            }
        });
        arena.finish_cycle();
        assert_eq!(arena.collection_phase(), CollectionPhase::Sleeping);
        arena.mutate(|mc, root| {
            assert_eq!(root.0.get().map(|gc| *gc), (which < 4).then_some(7));
            // The weak child is gone, or alive for one cycle more; it can be asked either way.
            if let Some(weak) = root.1.get() {
                assert!(weak.upgrade(mc).is_none_or(|gc| *gc == 7));
            }
        });
    }
}
