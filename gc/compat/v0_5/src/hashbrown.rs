//! [`Collect`] for hashbrown 0.14, with its allocators where the feature `allocator-api2` is on.

use hashbrown::{HashMap, HashSet, HashTable};

use crate::collect::{Collect, Collection};

macro_rules! tables {
    ([$($params:tt)*] $map:ty, $set:ty, $table:ty, $this:ident => $allocator:expr, $needs:expr) => {
        // SAFETY: each key and value is traced, and the allocator.
        unsafe impl<K: Collect, V: Collect, S: 'static, $($params)*> Collect for $map {
            #[inline]
            fn needs_trace() -> bool {
                K::needs_trace() || V::needs_trace() || $needs
            }

            #[inline]
            fn trace(&self, cc: &Collection) {
                let $this = self;
                $allocator.trace(cc);
                for (key, value) in self {
                    key.trace(cc);
                    value.trace(cc);
                }
            }
        }

        // SAFETY: each element is traced, and the allocator.
        unsafe impl<T: Collect, S: 'static, $($params)*> Collect for $set {
            #[inline]
            fn needs_trace() -> bool {
                T::needs_trace() || $needs
            }

            #[inline]
            fn trace(&self, cc: &Collection) {
                let $this = self;
                $allocator.trace(cc);
                for value in self {
                    value.trace(cc);
                }
            }
        }

        // SAFETY: each element is traced, and the allocator.
        unsafe impl<T: Collect, $($params)*> Collect for $table {
            #[inline]
            fn needs_trace() -> bool {
                T::needs_trace() || $needs
            }

            #[inline]
            fn trace(&self, cc: &Collection) {
                let $this = self;
                $allocator.trace(cc);
                for value in self {
                    value.trace(cc);
                }
            }
        }
    };
}

#[cfg(feature = "allocator-api2")]
tables! {
    [A: Collect + Clone + allocator_api2::alloc::Allocator] HashMap<K, V, S, A>, HashSet<T, S, A>, HashTable<T, A>,
    this => this.allocator(), A::needs_trace()
}

#[cfg(not(feature = "allocator-api2"))]
tables! { [] HashMap<K, V, S>, HashSet<T, S>, HashTable<T>, _this => (), false }
