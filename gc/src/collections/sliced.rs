//! An object that is traced a slice at a time, by a cursor of its own.

use std::cell::Cell;
use std::fmt;
use std::ops::{Deref, DerefMut};

use crate::barrier::{DerefWrite, Unlock};
use crate::collect::{Collect, CollectSlices, Trace};
use crate::face::Slicer;

/// Entries of a slice, each of which may be a miss of the cache or two.
const SLICE_ENTRIES: usize = 32;

/// New beginnings in one cycle, after which the marking is done in one step: a program that changes the container before each
/// step would otherwise keep the cycle from ending.
const MAX_RESTARTS: u32 = 8;

/// What an entry counts for, for the length of steps and for pacing.
type Price = [usize; 2];

/// A container of your own, in an object that the collector traces a slice at a time however large it is: a step can end, and
/// the program run, between any two slices.
///
/// `Gc<'gc, Sliced<C>>` is the way to use it; the value has to be [`CollectSlices`], which is derived by marking the fields that
/// hold the entries. Elsewhere (in a field, as a root) a `Sliced` is traced in one go like any other value.
///
/// # Changes between two slices
///
/// - A change behind [`Gc::write`](crate::Gc::write) or [`Gc::unlock`](crate::Gc::unlock) has the trace begin again: right for what
///   moves many entries (growing, rehashing, sorting), which pays for it.
/// - A store into a [`ForwardLock`](crate::lock::ForwardLock) does not: it tells the collector of what is stored. Make the entries of such
///   locks, and a store needs no access to the container but `&`.
///
/// A container that begins again and again would keep its cycle from ending: after eight times in one cycle the step goes on to the
/// end of the marking.
///
/// ```
/// use sleepy_gc::{Arena, Budget, Collect, ForwardLock, Gc, Mutation, RefLock, Rootable, collections::Sliced};
/// use std::cell::Cell;
///
/// /// A place of the map: free, or a key with its value.
/// type Place<'gc> = ForwardLock<Option<(u64, Gc<'gc, String>)>>;
///
/// /// A hash map with linear probing.
/// #[derive(Collect)]
/// #[collect(no_drop)]
/// struct Map<'gc> {
///     len: Cell<usize>,
///     #[collect(slices)]
///     places: RefLock<Box<[Place<'gc>]>>,
/// }
///
/// type MapPtr<'gc> = Gc<'gc, Sliced<Map<'gc>>>;
///
/// fn free<'gc>(count: usize) -> Box<[Place<'gc>]> {
///     (0..count).map(|_| ForwardLock::new(None)).collect()
/// }
///
/// /// Where a key is or would be.
/// fn find(places: &[Place<'_>], key: u64) -> usize {
///     let start = key.wrapping_mul(0x9e37_79b9_7f4a_7c15) as usize;
///     (start..)
///         .map(|place| place % places.len())
///         .find(|&place| places[place].get().is_none_or(|(other, _)| other == key))
///         .expect("one place in four is free")
/// }
///
/// fn get<'gc>(map: MapPtr<'gc>, key: u64) -> Option<Gc<'gc, String>> {
///     let places = map.places.borrow();
///     Some(places[find(&places, key)].get()?.1)
/// }
///
/// fn insert<'gc>(mc: &Mutation<'gc>, map: MapPtr<'gc>, key: u64, value: Gc<'gc, String>) {
///     if (map.len.get() + 1) * 4 > map.places.borrow().len() * 3 {
///         // All entries move: the barrier of the whole container.
///         let locked = Gc::write(mc, map).as_deref();
///         let mut places = sleepy_gc::barrier::unlock!(locked, Map, places).borrow_mut();
///         let grown = free(places.len() * 2);
///         for (key, value) in places.iter().filter_map(ForwardLock::get) {
///             grown[find(&grown, key)].set(mc, Some((key, value)));
///         }
///         *places = grown;
///     }
///     let places = map.places.borrow();
///     // One entry changes: no barrier but that of the place itself.
///     if places[find(&places, key)].replace(mc, Some((key, value))).is_none() {
///         map.len.set(map.len.get() + 1);
///     }
/// }
///
/// let mut arena = Arena::<Rootable![MapPtr<'_>]>::new(|mc| {
///     let map = Gc::new(mc, Sliced::new(Map { len: Cell::new(0), places: RefLock::new(free(4)) }));
///     let value = Gc::new(mc, "a value".to_owned());
///     for key in 0..1_000_000 {
///         insert(mc, map, key, value);
///     }
///     map
/// });
/// arena.start_cycle();
/// let (mut steps, mut longest_bytes) = (0, 0);
/// while arena.has_work() {
///     // The program goes on between the steps.
///     arena.mutate(|mc, map| insert(mc, *map, steps, Gc::new(mc, steps.to_string())));
///     longest_bytes = longest_bytes.max(arena.step(Budget::Work(4096)).work_bytes);
///     steps += 1;
/// }
/// assert!(steps > 1000 && longest_bytes <= 8192, "{steps} steps, the longest of {longest_bytes} bytes");
/// arena.mutate(|_, map| assert_eq!(get(*map, 7).expect("it was inserted").as_str(), "7"));
/// ```
pub struct Sliced<C: ?Sized> {
    progress: Progress,
    value: C,
}

/// How far the collector is. Means nothing outside of the cycle that it names.
///
/// | `cursor` | `queued` | |
/// |---|---|---|
/// | a place | yes | the rest is on the collector's queue, once |
/// | a place | no | the trace of a slice is under way, or has panicked and is queued by the collector itself |
/// | none | either | all is traced; an entry of the queue that is left over finds nothing to do |
#[derive(Default)]
struct Progress {
    cursor: Cell<Option<usize>>,
    cycle: Cell<Option<u32>>,
    restarts: Cell<u32>,
    queued: Cell<bool>,
}

impl<C> Sliced<C> {
    /// A container that is traced in slices.
    pub fn new(value: C) -> Self {
        Self {
            progress: Progress::default(),
            value,
        }
    }

    /// The container.
    pub fn into_inner(self) -> C {
        self.value
    }
}

impl<C: ?Sized> Deref for Sliced<C> {
    type Target = C;

    #[inline]
    fn deref(&self) -> &C {
        &self.value
    }
}

impl<C: ?Sized> DerefMut for Sliced<C> {
    #[inline]
    fn deref_mut(&mut self) -> &mut C {
        &mut self.value
    }
}

// SAFETY: the container is a part of it.
unsafe impl<C: ?Sized> DerefWrite for Sliced<C> {}

impl<C: Unlock + ?Sized> Unlock for Sliced<C> {
    type Unlocked = C::Unlocked;

    #[inline(always)]
    unsafe fn unlock_unchecked(&self) -> &C::Unlocked {
        // SAFETY: the caller's contract: who owns `self` owns the container.
        unsafe { self.value.unlock_unchecked() }
    }
}

impl<C> From<C> for Sliced<C> {
    fn from(value: C) -> Self {
        Self::new(value)
    }
}

impl<C: Default> Default for Sliced<C> {
    fn default() -> Self {
        Self::new(C::default())
    }
}

impl<C: fmt::Debug + ?Sized> fmt::Debug for Sliced<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.value.fmt(f)
    }
}

// SAFETY: the container is traced, as a whole or (by rule 1 of `CollectSlices`) in slices: a change between two of them raises
// a barrier, of which a backward one comes back here to begin anew, and a forward one has marked what was stored.
unsafe impl<'gc, C: CollectSlices<'gc>> Collect<'gc> for Sliced<C> {
    const NEEDS_TRACE: bool = C::NEEDS_TRACE;
    const SEND: bool = C::SEND;
    const __HAS_CURSOR: bool = true;

    #[inline]
    fn trace<T: Trace<'gc>>(&self, cc: &mut T) {
        cc.trace(&self.value);
    }

    fn __trace_slice(&self, anew: bool, slicer: &mut Slicer<'_>) {
        let Slicer { marker, object } = slicer;
        if marker.is_probe() {
            self.trace(*marker);
            return;
        }
        let progress = &self.progress;
        if anew {
            let cycle = Some(marker.cycle());
            if progress.cycle.replace(cycle) == cycle {
                progress.restarts.set(progress.restarts.get() + 1);
                if progress.restarts.get() > MAX_RESTARTS {
                    marker.hurry();
                    progress.restarts.set(0);
                }
            } else {
                progress.restarts.set(0);
                progress.queued.set(false);
            }
            progress.cursor.set(Some(0));
        } else {
            // This is the entry of the queue.
            progress.queued.set(false);
        }
        let Some(cursor) = progress.cursor.get() else {
            return;
        };
        let next = self.value.trace_slice(cursor, SLICE_ENTRIES, *marker);
        marker.count_elements::<Price>(SLICE_ENTRIES);
        progress.cursor.set(next);
        if next.is_some() && !progress.queued.get() {
            progress.queued.set(marker.push_slice(*object, 1));
        }
    }
}
