//! [`Collect`] and write barriers for containers of other crates, each behind the feature of its name. (Those of hashbrown
//! 0.14 to 0.16 are behind `hashbrown-0-14` and so on, beside the current one's.)
//!
//! The rules are kept as in `collect_impls`. Hashers must be `'static`, so that they hold no pointers into an arena.

/// The tables of one version of hashbrown: programs that are written for different generations of gc-arena have different
/// ones.
#[cfg(any(
    feature = "hashbrown",
    feature = "hashbrown-0-14",
    feature = "hashbrown-0-15",
    feature = "hashbrown-0-16"
))]
macro_rules! hash_tables {
    ($module:ident, $hashbrown:ident $(, $a:ident: $allocator:path)?) => {
        mod $module {
            use std::hash::{BuildHasher, Hash};

            use $hashbrown::{Equivalent, HashMap, HashSet, HashTable};

            use crate::{
                barrier::IndexWrite,
                collect::{Collect, Trace},
            };

            // SAFETY: whatever the hash, a value that is found is the map's own.
            unsafe impl<K, V, S, Q $(, $a: $allocator)?> IndexWrite<&Q> for HashMap<K, V, S $(, $a)?>
            where
                K: Eq + Hash,
                S: BuildHasher,
                Q: Hash + Equivalent<K> + ?Sized,
            {
            }

            // SAFETY: keys and values are traced.
            unsafe impl<'gc, K, V, S $(, $a: $allocator + Collect<'gc>)?> Collect<'gc>
                for HashMap<K, V, S $(, $a)?>
            where
                K: Collect<'gc>,
                V: Collect<'gc>,
                S: Send + 'static,
            {
                const NEEDS_TRACE: bool = K::NEEDS_TRACE || V::NEEDS_TRACE $(|| $a::NEEDS_TRACE)?;
                const SEND: bool = K::SEND && V::SEND $(&& $a::SEND)?;

                #[inline]
                fn trace<C: Trace<'gc>>(&self, cc: &mut C) {
                    for (key, value) in self {
                        cc.trace(key);
                        cc.trace(value);
                    }
                    $(cc.trace::<$a>(self.allocator());)?
                }
            }

            // SAFETY: each element is traced.
            unsafe impl<'gc, T, S $(, $a: $allocator + Collect<'gc>)?> Collect<'gc>
                for HashSet<T, S $(, $a)?>
            where
                T: Collect<'gc>,
                S: Send + 'static,
            {
                const NEEDS_TRACE: bool = T::NEEDS_TRACE $(|| $a::NEEDS_TRACE)?;
                const SEND: bool = T::SEND $(&& $a::SEND)?;

                #[inline]
                fn trace<C: Trace<'gc>>(&self, cc: &mut C) {
                    for value in self {
                        cc.trace(value);
                    }
                    $(cc.trace::<$a>(self.allocator());)?
                }
            }

            // SAFETY: each element is traced.
            unsafe impl<'gc, T: Collect<'gc> $(, $a: $allocator + Collect<'gc>)?> Collect<'gc>
                for HashTable<T $(, $a)?>
            {
                const NEEDS_TRACE: bool = T::NEEDS_TRACE $(|| $a::NEEDS_TRACE)?;
                const SEND: bool = T::SEND $(&& $a::SEND)?;

                #[inline]
                fn trace<C: Trace<'gc>>(&self, cc: &mut C) {
                    for value in self {
                        cc.trace(value);
                    }
                    $(cc.trace::<$a>(self.allocator());)?
                }
            }
        }
    };
}

#[cfg(feature = "hashbrown")]
hash_tables!(hash_tables, hashbrown, A: allocator_api2_0_2::alloc::Allocator);
#[cfg(feature = "hashbrown-0-16")]
hash_tables!(hash_tables_0_16, hashbrown_0_16);
#[cfg(feature = "hashbrown-0-15")]
hash_tables!(hash_tables_0_15, hashbrown_0_15);
#[cfg(feature = "hashbrown-0-14")]
hash_tables!(hash_tables_0_14, hashbrown_0_14);

#[cfg(feature = "indexmap")]
mod index_maps {
    use std::hash::{BuildHasher, Hash};

    use indexmap::{Equivalent, IndexMap, IndexSet};

    use crate::{
        barrier::IndexWrite,
        collect::{Collect, Trace},
    };

    // SAFETY: whatever the hash, a value that is found is the map's own.
    unsafe impl<K, V, S: BuildHasher, Q: Hash + Equivalent<K> + ?Sized> IndexWrite<&Q>
        for IndexMap<K, V, S>
    {
    }
    // SAFETY: the values are the map's own.
    unsafe impl<K, V, S> IndexWrite<usize> for IndexMap<K, V, S> {}

    // SAFETY: keys and values are traced.
    unsafe impl<'gc, K: Collect<'gc>, V: Collect<'gc>, S: Send + 'static> Collect<'gc>
        for IndexMap<K, V, S>
    {
        const NEEDS_TRACE: bool = K::NEEDS_TRACE || V::NEEDS_TRACE;
        const SEND: bool = K::SEND && V::SEND;

        #[inline]
        fn trace<C: Trace<'gc>>(&self, cc: &mut C) {
            for (key, value) in self {
                cc.trace(key);
                cc.trace(value);
            }
        }
    }

    // SAFETY: each element is traced.
    unsafe impl<'gc, T: Collect<'gc>, S: Send + 'static> Collect<'gc> for IndexSet<T, S> {
        const NEEDS_TRACE: bool = T::NEEDS_TRACE;
        const SEND: bool = T::SEND;

        #[inline]
        fn trace<C: Trace<'gc>>(&self, cc: &mut C) {
            for value in self {
                cc.trace(value);
            }
        }
    }
}

#[cfg(feature = "slotmap")]
mod slot_maps {
    use slotmap::{DefaultKey, DenseSlotMap, Key, KeyData, SecondaryMap, SlotMap};

    use crate::collect::{Collect, Trace};

    /// Maps whose keys are plain numbers.
    macro_rules! slot_maps {
        ($($map:ident),*) => { $(
            // SAFETY: each value is traced; keys are `'static`.
            unsafe impl<'gc, K: Key + Send + 'static, V: Collect<'gc>> Collect<'gc> for $map<K, V> {
                const NEEDS_TRACE: bool = V::NEEDS_TRACE;
                const SEND: bool = V::SEND;

                #[inline]
                fn trace<C: Trace<'gc>>(&self, cc: &mut C) {
                    for value in self.values() {
                        cc.trace(value);
                    }
                }
            }
        )* };
    }

    slot_maps!(SlotMap, DenseSlotMap, SecondaryMap);

    crate::static_collect!(KeyData);
    crate::static_collect!(DefaultKey);
}

#[cfg(feature = "enum-map")]
mod enum_maps {
    use enum_map::{EnumArray, EnumMap};

    use crate::collect::{Collect, Trace};

    // SAFETY: each value is traced; an array of values is all that the map holds.
    unsafe impl<'gc, K: EnumArray<V>, V: Collect<'gc>> Collect<'gc> for EnumMap<K, V> {
        const NEEDS_TRACE: bool = V::NEEDS_TRACE;
        const SEND: bool = V::SEND;

        #[inline]
        fn trace<C: Trace<'gc>>(&self, cc: &mut C) {
            for value in self.values() {
                cc.trace(value);
            }
        }
    }
}
