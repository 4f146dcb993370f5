//! A hash map with the semantics of a `Cell`.

use std::cell::Cell;
use std::hash::{BuildHasher, Hash, RandomState};

use crate::collect::{Collect, Trace};
use crate::collections::GcVec;
use crate::error::AllocError;
use crate::mutation::Mutation;

#[derive(Clone, Copy)]
enum Slot<K, V> {
    Empty,
    /// Was full: a search goes on past it.
    Removed,
    Full(K, V),
}

// SAFETY: both values are traced.
unsafe impl<'gc, K: Collect<'gc>, V: Collect<'gc>> Collect<'gc> for Slot<K, V> {
    const NEEDS_TRACE: bool = K::NEEDS_TRACE || V::NEEDS_TRACE;
    const SEND: bool = K::SEND && V::SEND;

    #[inline]
    fn trace<C: Trace<'gc>>(&self, cc: &mut C) {
        if let Slot::Full(key, value) = self {
            cc.trace(key);
            cc.trace(value);
        }
    }
}

/// A hash map of `Copy` keys and values, all methods on `&self`, no destructor.
///
/// Open addressing over one [`GcVec`]; see there for what that means for barriers and tracing.
pub struct GcMap<'gc, K: 'gc, V: 'gc, S = RandomState> {
    slots: GcVec<'gc, Slot<K, V>>,
    len: Cell<usize>,
    /// Slots that are not empty: full or removed.
    used: Cell<usize>,
    hasher: S,
}

impl<'gc, K: Copy + 'gc, V: Copy + 'gc> GcMap<'gc, K, V> {
    /// An empty map, without memory.
    pub fn new() -> Self {
        Self::with_hasher(RandomState::new())
    }
}

impl<'gc, K: Copy + 'gc, V: Copy + 'gc> Default for GcMap<'gc, K, V> {
    fn default() -> Self {
        Self::new()
    }
}

impl<'gc, K: Copy + 'gc, V: Copy + 'gc, S> GcMap<'gc, K, V, S> {
    /// An empty map, without memory, that hashes with `hasher`.
    pub const fn with_hasher(hasher: S) -> Self {
        Self {
            slots: GcVec::new(),
            len: Cell::new(0),
            used: Cell::new(0),
            hasher,
        }
    }

    /// How many entries there are.
    pub fn len(&self) -> usize {
        self.len.get()
    }

    /// Whether there is no entry.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Copies of all entries, in no particular order.
    pub fn iter(&self) -> impl Iterator<Item = (K, V)> + '_ {
        self.slots.iter().filter_map(|slot| match slot {
            Slot::Full(key, value) => Some((key, value)),
            Slot::Empty | Slot::Removed => None,
        })
    }
}

impl<'gc, K, V, S> GcMap<'gc, K, V, S>
where
    K: Collect<'gc> + Copy + Eq + Hash + 'gc,
    V: Collect<'gc> + Copy + 'gc,
    S: BuildHasher,
{
    /// The value of a key.
    pub fn get(&self, key: &K) -> Option<V> {
        match self.slots.get(self.find(key)?)? {
            Slot::Full(_, value) => Some(value),
            Slot::Empty | Slot::Removed => None,
        }
    }

    /// Whether the map has the key.
    pub fn contains_key(&self, key: &K) -> bool {
        self.find(key).is_some()
    }

    /// Sets the value of a key and answers the one it had. Where memory runs out, it does as [`crate::Gc::new`].
    pub fn insert(&self, mc: &Mutation<'gc>, key: K, value: V) -> Option<V> {
        match self.try_insert(mc, key, value) {
            Ok(old) => old,
            Err(_) => crate::heap::out_of_memory(),
        }
    }

    /// Sets the value of a key and answers the one it had.
    ///
    /// # Errors
    ///
    /// Where memory has run out; nothing has changed then.
    pub fn try_insert(
        &self,
        mc: &Mutation<'gc>,
        key: K,
        value: V,
    ) -> Result<Option<V>, AllocError> {
        if let Some(index) = self.find(&key) {
            let old = self.slots.get(index);
            self.slots.set(mc, index, Slot::Full(key, value));
            return Ok(match old {
                Some(Slot::Full(_, old)) => Some(old),
                _ => None,
            });
        }
        if (self.used.get() + 1) * 8 > self.slots.len() * 7 {
            self.rehash(mc)?;
        }
        self.place(mc, key, value);
        self.len.set(self.len.get() + 1);
        Ok(None)
    }

    /// Removes a key and answers its value.
    pub fn remove(&self, mc: &Mutation<'gc>, key: &K) -> Option<V> {
        let index = self.find(key)?;
        let Some(Slot::Full(_, value)) = self.slots.get(index) else {
            return None;
        };
        self.slots.set(mc, index, Slot::Removed);
        self.len.set(self.len.get() - 1);
        Some(value)
    }

    /// Removes all entries; the memory stays.
    pub fn clear(&self, mc: &Mutation<'gc>) {
        for index in 0..self.slots.len() {
            self.slots.set(mc, index, Slot::Empty);
        }
        self.len.set(0);
        self.used.set(0);
    }

    fn start(&self, key: &K) -> usize {
        #[allow(
            clippy::cast_possible_truncation,
            reason = "the low bits are what is wanted"
        )]
        let hash = self.hasher.hash_one(key) as usize;
        hash & self.slots.len().wrapping_sub(1)
    }

    fn find(&self, key: &K) -> Option<usize> {
        let len = self.slots.len();
        let mut index = self.start(key);
        for _ in 0..len {
            match self.slots.get(index)? {
                Slot::Empty => return None,
                Slot::Full(other, _) if other == *key => return Some(index),
                Slot::Full(..) | Slot::Removed => index = (index + 1) & (len - 1),
            }
        }
        None
    }

    /// Puts an absent key into the first slot that is free. There is one.
    fn place(&self, mc: &Mutation<'gc>, key: K, value: V) {
        let len = self.slots.len();
        let mut index = self.start(&key);
        for _ in 0..len {
            match self.slots.get(index) {
                Some(Slot::Full(..)) => index = (index + 1) & (len - 1),
                Some(Slot::Removed) => break,
                _ => {
                    self.used.set(self.used.get() + 1);
                    break;
                }
            }
        }
        self.slots.set(mc, index, Slot::Full(key, value));
    }

    #[cold]
    fn rehash(&self, mc: &Mutation<'gc>) -> Result<(), AllocError> {
        let capacity = (self.len() + 1)
            .saturating_mul(2)
            .max(8)
            .checked_next_power_of_two()
            .ok_or(AllocError::new(()))?;
        let fresh = GcVec::try_with_capacity(mc, capacity)?;
        fresh.try_resize(mc, capacity, Slot::Empty)?;
        let old = self.slots.replace(mc, fresh);
        self.used.set(0);
        for slot in old.iter() {
            if let Slot::Full(key, value) = slot {
                self.place(mc, key, value);
            }
        }
        old.free(mc);
        Ok(())
    }
}

// SAFETY: the slots are traced; the hasher is required to own no pointer.
unsafe impl<'gc, K, V, S: Send + 'static> Collect<'gc> for GcMap<'gc, K, V, S>
where
    K: Collect<'gc> + Copy + 'gc,
    V: Collect<'gc> + Copy + 'gc,
{
    const SEND: bool = K::SEND && V::SEND;

    #[inline]
    fn trace<C: Trace<'gc>>(&self, cc: &mut C) {
        cc.trace(&self.slots);
    }
}
