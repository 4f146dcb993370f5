//! Containers of other crates trace what they hold, whichever version is used.

use std::hash::{BuildHasherDefault, DefaultHasher};

use sleepy_gc::arena::rootless_mutate;
use sleepy_gc::collect::Trace;
use sleepy_gc::{Collect, Gc, GcWeak, Lock};

struct Counter(usize);

impl<'gc> Trace<'gc> for Counter {
    fn trace_gc(&mut self, _: Gc<'gc, ()>) {
        self.0 += 1;
    }

    fn trace_gc_weak(&mut self, _: GcWeak<'gc, ()>) {}
}

fn count<'gc, T: Collect<'gc>>(value: &T) -> usize {
    let mut counter = Counter(0);
    counter.trace(value);
    counter.0
}

type Hasher = BuildHasherDefault<DefaultHasher>;

macro_rules! hash_tables {
    ($test:ident, $hashbrown:ident) => {
        #[test]
        fn $test() {
            use $hashbrown::{HashMap, HashSet, HashTable};
            rootless_mutate(|mc| {
                let gc = Gc::new(mc, 1_u8);
                let mut map = HashMap::with_hasher(Hasher::default());
                map.insert(gc, (gc, 2));
                assert_eq!(count(&map), 2);
                let mut set = HashSet::with_hasher(Hasher::default());
                set.insert(gc);
                assert_eq!(count(&set), 1);
                let mut table = HashTable::new();
                table.insert_unique(1, gc, |_| 1);
                assert_eq!(count(&table), 1);
                let mut locks = HashMap::with_hasher(Hasher::default());
                locks.insert("key", Lock::new(None));
                let locks = Gc::new(mc, locks);
                Gc::write(mc, locks)["key"].unlock().set(Some(gc));
                assert_eq!(locks["key"].get().as_deref(), Some(&1));
            });
        }
    };
}

hash_tables!(hashbrown_of_today, hashbrown);
hash_tables!(hashbrown_0_14, hashbrown_0_14);
hash_tables!(hashbrown_0_15, hashbrown_0_15);
hash_tables!(hashbrown_0_16, hashbrown_0_16);

#[test]
fn slot_maps() {
    rootless_mutate(|mc| {
        let gc = Gc::new(mc, 1_u8);
        let mut slots = slotmap::SlotMap::new();
        let key = slots.insert(gc);
        let mut dense = slotmap::DenseSlotMap::new();
        let _: slotmap::DefaultKey = dense.insert(gc);
        let mut second = slotmap::SecondaryMap::new();
        second.insert(key, gc);
        assert_eq!((count(&slots), count(&dense), count(&second)), (1, 1, 1));
    });
}
