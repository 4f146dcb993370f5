//! Maps whose entries live only as long as their keys, their values, or both.

use std::cell::Cell;
use std::hash::{BuildHasher, Hash, RandomState};
use std::marker::PhantomData;
use std::ptr::NonNull;

use crate::collect::{Collect, Trace};
use crate::collections::{GcStr, GcTail};
use crate::error::AllocError;
use crate::gc::{Gc, Invariant};
use crate::heap::{Context, Link, Marker, Stage, Tail, VTable, WeakOps};
use crate::mutation::Mutation;
use crate::weak::GcWeak;

/// Which side of an entry does not keep it alive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Weakness {
    /// An entry lives as long as its key; its value counts as reachable only through the key (an ephemeron).
    Keys,
    /// An entry lives as long as its value.
    Values,
    /// An entry lives as long as both.
    Both,
    /// An entry lives as long as the map: for maps whose weakness [changes](EphemeronMap::set_weakness).
    Neither,
}

/// A value that may name an object weakly.
///
/// # Safety
///
/// - Where [`weak_target`](Self::weak_target) answers an object, the pointer to it is the only pointer that the value owns.
/// - It gives the same answer each time, without looking at the object, which may be gone.
pub unsafe trait WeakTarget<'gc> {
    /// The object whose death removes the entry; `None` for a plain value, which is kept (and traced) as it is.
    fn weak_target(&self) -> Option<Gc<'gc, ()>>;
}

// SAFETY: it is one pointer.
unsafe impl<'gc, T: ?Sized + 'gc> WeakTarget<'gc> for Gc<'gc, T> {
    #[inline]
    fn weak_target(&self) -> Option<Gc<'gc, ()>> {
        Some(Gc::erase(*self))
    }
}

// SAFETY: it names no object.
unsafe impl<'gc, T: ?Sized + 'gc> WeakTarget<'gc> for GcWeak<'gc, T> {
    #[inline]
    fn weak_target(&self) -> Option<Gc<'gc, ()>> {
        None
    }
}

// SAFETY: it is one pointer.
unsafe impl<'gc, H: 'gc, T: 'gc> WeakTarget<'gc> for GcTail<'gc, H, T> {
    #[inline]
    fn weak_target(&self) -> Option<Gc<'gc, ()>> {
        Some(self.erase())
    }
}

// SAFETY: it is one pointer.
unsafe impl<'gc> WeakTarget<'gc> for GcStr<'gc> {
    #[inline]
    fn weak_target(&self) -> Option<Gc<'gc, ()>> {
        Some(self.erase())
    }
}

macro_rules! plain_targets {
    ($($t:ty),* $(,)?) => {$(
        // SAFETY: it names no object.
        unsafe impl<'gc> WeakTarget<'gc> for $t {
            #[inline]
            fn weak_target(&self) -> Option<Gc<'gc, ()>> {
                None
            }
        }
    )*};
}

plain_targets!(
    (),
    bool,
    char,
    u8,
    u16,
    u32,
    u64,
    usize,
    i8,
    i16,
    i32,
    i64,
    isize,
    f32,
    f64
);

#[derive(Clone, Copy)]
enum Slot<K, V> {
    Empty,
    /// The hash of the key is kept for the time after the key.
    Full(u32, K, V),
    /// An entry with a plain key of this hash: it keeps its place until the next rehash.
    Removed(u32),
    /// An entry whose key named the object at this address. It may be gone: the address is only compared.
    Dead(usize),
}

/// The state of a map, at the head of its buffer.
struct Head {
    weakness: Cell<Weakness>,
    len: Cell<usize>,
    /// Slots that are not empty.
    used: Cell<usize>,
    /// How far the stage under way has come.
    cursor: Cell<usize>,
    link: Link,
}

// SAFETY: owns no pointer.
unsafe impl<'gc> Collect<'gc> for Head {
    const NEEDS_TRACE: bool = false;
    const SEND: bool = true;
}

type Buffer<K, V> = Tail<Head, Slot<K, V>>;

/// Slots looked at in one piece.
const SLICE_SLOTS: usize = 32;

/// Set in the place where a trace goes on: look at this one slot, for whose key (or value, if the key is plain) it has
/// waited, and which was marked just now.
const RESOLVE: usize = 1 << (usize::BITS - 1);

/// A map whose entries do not keep their keys, their values, or either, alive.
///
/// Convergence is linear: an entry whose key is not marked yet waits at that key, and is looked at once more, when the
/// key is marked. Tracing and clearing go in bounded pieces. A rehash is one piece of the mutator's.
///
/// Keys that were removed or cleared keep their place until the map is rehashed, so that a traversal by index may
/// remove what it visits.
pub struct EphemeronMap<'gc, K: 'gc, V: 'gc, S = RandomState> {
    buffer: Cell<NonNull<Buffer<K, V>>>,
    hasher: S,
    invariant: Invariant<'gc>,
}

/// A hasher that another map owns.
struct Borrowed<'a, S>(&'a S);

impl<S: BuildHasher> BuildHasher for Borrowed<'_, S> {
    type Hasher = S::Hasher;

    fn build_hasher(&self) -> S::Hasher {
        self.0.build_hasher()
    }
}

struct Of<T>(PhantomData<T>);

trait Tables {
    const VTABLE: VTable;
    const OPS: WeakOps;
}

impl<'gc, K, V> Tables for Of<(PhantomData<&'gc ()>, K, V)>
where
    K: Collect<'gc> + WeakTarget<'gc> + Copy,
    V: Collect<'gc> + WeakTarget<'gc> + Copy,
{
    const VTABLE: VTable = VTable {
        object_bytes: 0,
        align: align_of::<Buffer<K, V>>(),
        needs_trace: true,
        needs_drop: false,
        send: K::SEND && V::SEND,
        trace: trace_map::<K, V>,
        drop: crate::heap::drop_nothing,
        name: std::any::type_name::<Buffer<K, V>>,
    };
    const OPS: WeakOps = WeakOps {
        values: true,
        finalize: false,
        clear: true,
        run: run_stage::<K, V>,
    };
}

/// # Safety
///
/// `ptr` is the live buffer of an `EphemeronMap` of these types.
unsafe fn trace_map<'gc, K, V>(ptr: NonNull<u8>, from: usize, marker: &mut Marker)
where
    K: Collect<'gc> + WeakTarget<'gc> + Copy,
    V: Collect<'gc> + WeakTarget<'gc> + Copy,
{
    let this = ptr.cast::<Buffer<K, V>>();
    // SAFETY: the caller's contract.
    let buffer = unsafe { this.as_ref() };
    let weakness = buffer.header.weakness.get();
    // SAFETY: all slots below the length are initialised.
    let slot = |index| unsafe { Tail::element(this, index).read() };
    if from & RESOLVE != 0 {
        let index = from & !RESOLVE;
        if index >= buffer.len() {
            return;
        }
        if let Slot::Full(hash, key, value) = slot(index) {
            if key.weak_target().is_none() {
                marker.trace(&key);
            }
            if key
                .weak_target()
                .is_none_or(|key| marker.is_marked(key.raw()))
            {
                marker.trace(&value);
            } else {
                trace_slot(ptr, index, weakness, Slot::Full(hash, key, value), marker);
            }
        }
        return;
    }
    if from == 0 {
        let ops = &<Of<(PhantomData<&'gc ()>, K, V)> as Tables>::OPS;
        // SAFETY: the link is a part of the buffer.
        unsafe { marker.register(&buffer.header.link, ptr, ops) };
    }
    let end = buffer.len().min(from + SLICE_SLOTS);
    let mut index = from;
    while index < end {
        trace_slot(ptr, index, weakness, slot(index), marker);
        index += 1;
        // Entries that wait for their keys take long.
        if marker.is_due() {
            break;
        }
    }
    marker.count_elements::<Slot<K, V>>(index - from.min(index));
    if index < buffer.len() {
        marker.push_slice(ptr, index);
    }
}

fn trace_slot<'gc, K, V>(
    ptr: NonNull<u8>,
    index: usize,
    weakness: Weakness,
    slot: Slot<K, V>,
    marker: &mut Marker,
) where
    K: Collect<'gc> + WeakTarget<'gc> + Copy,
    V: Collect<'gc> + WeakTarget<'gc> + Copy,
{
    match slot {
        Slot::Empty | Slot::Dead(_) | Slot::Removed(_) => {}
        Slot::Full(_, key, value) => {
            let (key_target, value_target) = (key.weak_target(), value.weak_target());
            // A plain key dies with its entry if both sides are weak: then it waits until the value is marked.
            let key_waits = weakness == Weakness::Both
                && key_target.is_none()
                && value_target.is_some_and(|target| {
                    !marker.is_marked(target.raw())
                        && marker.wait_for(target.raw(), ptr, RESOLVE | index)
                });
            let key_is_strong = matches!(weakness, Weakness::Values | Weakness::Neither);
            if (key_is_strong || key_target.is_none()) && !key_waits {
                marker.trace(&key);
            }
            match (weakness, key_target) {
                (Weakness::Keys, Some(target)) if !marker.is_marked(target.raw()) => {
                    if !marker.wait_for(target.raw(), ptr, RESOLVE | index) {
                        // No memory to remember it by: the value counts as reachable in this cycle.
                        marker.trace(&value);
                    }
                }
                (Weakness::Keys | Weakness::Neither, _) => marker.trace(&value),
                (Weakness::Values | Weakness::Both, _) if value_target.is_none() => {
                    marker.trace(&value)
                }
                (Weakness::Values | Weakness::Both, _) => {}
            }
        }
    }
}

/// # Safety
///
/// `object` is the live buffer of an `EphemeronMap` of these types.
unsafe fn run_stage<'gc, K, V>(
    object: NonNull<u8>,
    stage: Stage,
    context: &Context,
    fuel: &mut usize,
) -> bool
where
    K: Collect<'gc> + WeakTarget<'gc> + Copy,
    V: Collect<'gc> + WeakTarget<'gc> + Copy,
{
    let this = object.cast::<Buffer<K, V>>();
    // SAFETY: the caller's contract.
    let buffer = unsafe { this.as_ref() };
    let head = &buffer.header;
    let weakness = head.weakness.get();
    // When it is decided who is dead, a side that is not weak is alive: both can be looked at, whatever the weakness was
    // when the map was traced.
    let keys = match (stage, weakness) {
        (_, Weakness::Neither) | (Stage::Values, Weakness::Keys) | (Stage::Finalize, _) => {
            head.cursor.set(0);
            return true;
        }
        (Stage::Values, _) => false,
        (Stage::Clear, _) => true,
    };
    while head.cursor.get() < buffer.len() {
        if *fuel == 0 {
            return false;
        }
        let start = head.cursor.get();
        let end = buffer.len().min(start + SLICE_SLOTS);
        for index in start..end {
            clear_slot(this, index, keys, context);
        }
        head.cursor.set(end);
        *fuel = fuel.saturating_sub((end - start) * size_of::<Slot<K, V>>());
    }
    head.cursor.set(0);
    true
}

fn clear_slot<'gc, K, V>(this: NonNull<Buffer<K, V>>, index: usize, keys: bool, context: &Context)
where
    K: Collect<'gc> + WeakTarget<'gc> + Copy,
    V: Collect<'gc> + WeakTarget<'gc> + Copy,
{
    // SAFETY: the buffer is alive and the slot initialised; no reference to a slot is ever given out.
    let slot = unsafe { Tail::element(this, index) };
    // SAFETY: as above.
    if let Slot::Full(hash, key, value) = unsafe { slot.read() } {
        let dead = |target: Option<Gc<'gc, ()>>| {
            target.is_some_and(|target| !context.is_marked(target.raw()))
        };
        if (keys && dead(key.weak_target())) || dead(value.weak_target()) {
            // SAFETY: as above.
            unsafe {
                slot.write(grave(hash, key));
                let head = &(*this.as_ptr()).header;
                head.len.set(head.len.get().saturating_sub(1));
            }
        }
    }
}

/// What an entry leaves behind.
fn grave<'gc, K: WeakTarget<'gc>, V>(hash: u32, key: K) -> Slot<K, V> {
    match key.weak_target() {
        Some(target) => Slot::Dead(target.raw().addr().get()),
        None => Slot::Removed(hash),
    }
}

impl<'gc, K, V> EphemeronMap<'gc, K, V>
where
    K: Collect<'gc> + WeakTarget<'gc> + Copy + Eq + Hash + 'gc,
    V: Collect<'gc> + WeakTarget<'gc> + Copy + 'gc,
{
    /// An empty map. Where memory runs out, it does as [`Gc::new`].
    pub fn new(mc: &Mutation<'gc>, weakness: Weakness) -> Self {
        match Self::try_new(mc, weakness) {
            Ok(map) => map,
            Err(_) => crate::heap::out_of_memory(),
        }
    }

    /// An empty map.
    ///
    /// # Errors
    ///
    /// Where memory has run out.
    pub fn try_new(mc: &Mutation<'gc>, weakness: Weakness) -> Result<Self, AllocError> {
        Self::try_with_hasher(mc, weakness, RandomState::new())
    }
}

impl<'gc, K, V, S> EphemeronMap<'gc, K, V, S>
where
    K: Collect<'gc> + WeakTarget<'gc> + Copy + Eq + Hash + 'gc,
    V: Collect<'gc> + WeakTarget<'gc> + Copy + 'gc,
    S: BuildHasher,
{
    /// An empty map that hashes with `hasher`.
    ///
    /// # Errors
    ///
    /// Where memory has run out.
    pub fn try_with_hasher(
        mc: &Mutation<'gc>,
        weakness: Weakness,
        hasher: S,
    ) -> Result<Self, AllocError> {
        let buffer = Cell::new(Self::allocate(mc, weakness, 4)?);
        Ok(Self {
            buffer,
            hasher,
            invariant: PhantomData,
        })
    }

    fn allocate(
        mc: &Mutation<'gc>,
        weakness: Weakness,
        slots: usize,
    ) -> Result<NonNull<Buffer<K, V>>, AllocError> {
        let head = Head {
            weakness: Cell::new(weakness),
            len: Cell::new(0),
            used: Cell::new(0),
            cursor: Cell::new(0),
            link: Link::new(),
        };
        let bytes = Buffer::<K, V>::bytes_for(slots).ok_or(AllocError::new(()))?;
        let vtable = &<Of<(PhantomData<&'gc ()>, K, V)> as Tables>::VTABLE;
        let cell = mc
            .context()
            .alloc_sized(vtable, bytes)
            .ok_or(AllocError::new(()))?;
        let ops = &<Of<(PhantomData<&'gc ()>, K, V)> as Tables>::OPS;
        // SAFETY: the cell is fresh and has room for the slots, all of which are written.
        unsafe {
            let buffer = Buffer::<K, V>::init(cell, head);
            for index in 0..slots {
                Tail::element(buffer, index).write(Slot::Empty);
            }
            buffer.as_ref().set_len(slots);
            mc.context()
                .register_in_clear(&buffer.as_ref().header.link, cell, ops);
            Ok(buffer)
        }
    }

    #[inline]
    fn head(&self) -> &Head {
        // SAFETY: the buffer is alive as long as its owner; its header is never borrowed uniquely.
        unsafe { &(*self.buffer.get().as_ptr()).header }
    }

    #[inline]
    fn slot(&self, index: usize) -> Option<Slot<K, V>> {
        // SAFETY: all slots are initialised.
        (index < self.slots()).then(|| unsafe { Tail::element(self.buffer.get(), index).read() })
    }

    fn set_slot(&self, index: usize, slot: Slot<K, V>) {
        assert!(index < self.slots(), "a slot within the buffer");
        // SAFETY: just checked; no reference to a slot is ever given out.
        unsafe { Tail::element(self.buffer.get(), index).write(slot) };
    }

    /// How many entries there are; entries of dead objects count until the collector has removed them.
    pub fn len(&self) -> usize {
        self.head().len.get()
    }

    /// Whether there is no entry.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Which side is weak.
    pub fn weakness(&self) -> Weakness {
        self.head().weakness.get()
    }

    /// Changes which side is weak.
    pub fn set_weakness(&self, mc: &Mutation<'gc>, weakness: Weakness) {
        // By the new rule they might be kept.
        self.clear_dead(mc);
        self.head().weakness.set(weakness);
        // A stage that is under way starts again.
        self.head().cursor.set(0);
        if mc.is_marking() {
            // What was traced by the old rule is traced again by the new one.
            mc.context()
                .backward_barrier(self.buffer.get().cast(), None);
        }
    }

    /// How many places there are for [`EphemeronMap::entry_at`].
    pub fn slots(&self) -> usize {
        // SAFETY: the buffer is alive as long as its owner.
        unsafe { self.buffer.get().as_ref() }.len()
    }

    /// The entry at a place, for traversals that may be interrupted and may remove what they visit.
    pub fn entry_at(&self, mc: &Mutation<'gc>, index: usize) -> Option<(K, V)> {
        match self.slot(index)? {
            Slot::Full(_, key, value) if self.is_live(mc, &key, &value) => Some((key, value)),
            _ => None,
        }
    }

    /// The place of a key, also of one that was removed or cleared since the last rehash.
    pub fn index_of(&self, key: &K) -> Option<usize> {
        let target = key.weak_target().map(|target| target.raw().addr().get());
        let hash = self.hash_of(key);
        let present = self.probe(hash, |slot| match slot {
            // Two objects are one key only if they are one object: `Eq` is asked of plain keys only.
            Slot::Full(_, other, _) => match other.weak_target() {
                Some(other) => Some(other.raw().addr().get()) == target,
                None => target.is_none() && other == *key,
            },
            Slot::Dead(address) => Some(address) == target,
            Slot::Removed(_) | Slot::Empty => false,
        });
        // Only then: another key of this hash may have been removed before it.
        present.or_else(|| {
            self.probe(
                hash,
                |slot| matches!(slot, Slot::Removed(removed) if target.is_none() && removed == hash),
            )
        })
    }

    /// Copies of all entries, in no particular order.
    pub fn iter<'a>(&'a self, mc: &'a Mutation<'gc>) -> impl Iterator<Item = (K, V)> + 'a {
        (0..self.slots()).filter_map(move |index| self.entry_at(mc, index))
    }

    /// The value of a key.
    pub fn get(&self, mc: &Mutation<'gc>, key: &K) -> Option<V> {
        self.entry_at(mc, self.find(mc, self.hash_of(key), key)?)
            .map(|(_, value)| value)
    }

    /// Removes a key and answers its value.
    pub fn remove(&self, mc: &Mutation<'gc>, key: &K) -> Option<V> {
        let hash = self.hash_of(key);
        let index = self.find(mc, hash, key)?;
        let (key, value) = self.entry_at(mc, index)?;
        self.set_slot(index, grave(hash, key));
        self.head().len.set(self.len().saturating_sub(1));
        Some(value)
    }

    /// Sets the value of a key and answers the one it had. Where memory runs out, it does as [`Gc::new`].
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
        // A store while marking keeps both sides for this cycle: simple, and it can't be wrong.
        mc.shade(&key);
        mc.shade(&value);
        let hash = self.hash_of(&key);
        if let Some(index) = self.find(mc, hash, &key) {
            let old = self.entry_at(mc, index).map(|(_, value)| value);
            self.set_slot(index, Slot::Full(hash, key, value));
            return Ok(old);
        }
        if (self.head().used.get() + 1) * 8 > self.slots() * 7 {
            self.rehash(mc)?;
        }
        self.place(hash, key, value);
        Ok(None)
    }

    /// Removes entries of objects that are known to be dead, at once rather than when the collector comes to them.
    pub fn clear_dead(&self, mc: &Mutation<'gc>) {
        if mc.context().is_clearing() {
            for index in 0..self.slots() {
                clear_slot(self.buffer.get(), index, true, mc.context());
            }
        }
    }

    /// Whether neither weak side has been found dead. Only between the decision and the clearing of this map can an
    /// entry be there and not live.
    fn is_live(&self, mc: &Mutation<'gc>, key: &K, value: &V) -> bool {
        if !mc.context().is_clearing() {
            return true;
        }
        let live = |target: Option<Gc<'gc, ()>>| {
            target.is_none_or(|target| mc.context().is_marked(target.raw()))
        };
        live(key.weak_target()) && live(value.weak_target())
    }

    fn hash_of(&self, key: &K) -> u32 {
        let hash = self.hasher.hash_one(key);
        #[allow(clippy::cast_possible_truncation, reason = "both halves are in it")]
        let folded = (hash ^ hash >> 32) as u32;
        folded
    }

    /// The first place on the way of a hash for which `found` holds, up to the first empty one.
    fn probe(&self, hash: u32, mut found: impl FnMut(Slot<K, V>) -> bool) -> Option<usize> {
        let mut index = hash as usize & (self.slots() - 1);
        for _ in 0..self.slots() {
            let slot = self.slot(index)?;
            if found(slot) {
                return Some(index);
            }
            if matches!(slot, Slot::Empty) {
                return None;
            }
            index = (index + 1) & (self.slots() - 1);
        }
        None
    }

    fn find(&self, mc: &Mutation<'gc>, hash: u32, key: &K) -> Option<usize> {
        self.probe(hash, |slot| match slot {
            Slot::Full(with, other, value) => {
                with == hash && self.is_live(mc, &other, &value) && other == *key
            }
            _ => false,
        })
    }

    /// Puts an absent key into the first place that may be used again. There is one, unless `Hash` or `Eq` have changed
    /// the map meanwhile; then the entry is lost.
    fn place(&self, hash: u32, key: K, value: V) {
        let head = self.head();
        let Some(index) = self.probe(hash, |slot| !matches!(slot, Slot::Full(..))) else {
            return;
        };
        if matches!(self.slot(index), Some(Slot::Empty)) {
            head.used.set(head.used.get() + 1);
        }
        self.set_slot(index, Slot::Full(hash, key, value));
        head.len.set(head.len.get() + 1);
    }

    #[cold]
    fn rehash(&self, mc: &Mutation<'gc>) -> Result<(), AllocError> {
        let slots = (self.len() + 1)
            .saturating_mul(2)
            .max(4)
            .checked_next_power_of_two()
            .ok_or(AllocError::new(()))?;
        // The new buffer is filled before anybody can see it: `weak_target` is not our code.
        let fresh = EphemeronMap::<'gc, K, V, Borrowed<'_, S>> {
            buffer: Cell::new(Self::allocate(mc, self.weakness(), slots)?),
            hasher: Borrowed(&self.hasher),
            invariant: PhantomData,
        };
        let old = self.buffer.get();
        for index in 0..self.slots() {
            if let Some(Slot::Full(hash, key, value)) = self.slot(index)
                && self.is_live(mc, &key, &value)
            {
                fresh.place(hash, key, value);
            }
        }
        if self.buffer.get() != old {
            return Ok(());
        }
        let context = mc.context();
        self.buffer.set(fresh.buffer.get());
        // The owner may be black already: the new buffer is then traced from its start.
        context.shade(fresh.buffer.get().cast());
        if !context.is_clearing() && !context.is_marking() {
            // While a cycle decides, the collector's lists may name the old buffer.
            context.free_now(old.cast());
        }
        Ok(())
    }
}

// SAFETY: the buffer is an object of the arena, which is traced as such; what an entry names weakly is alive or is
// removed before it is freed. The hasher is required to own no pointer.
unsafe impl<'gc, K, V, S> Collect<'gc> for EphemeronMap<'gc, K, V, S>
where
    K: Collect<'gc> + 'gc,
    V: Collect<'gc> + 'gc,
    S: Send + 'static,
{
    const SEND: bool = K::SEND && V::SEND;

    #[inline]
    fn trace<C: Trace<'gc>>(&self, cc: &mut C) {
        if cc.__collector().is_none() {
            // A trace that is not the collector's has no business with the parts of a weak map.
            return;
        }
        // SAFETY: the buffer is an object of this arena, alive as long as its owner.
        cc.trace_gc(unsafe { Gc::from_ptr(self.buffer.get().as_ptr().cast()) });
    }
}
