//! Arenas: address space in large mappings, cut into 64 KiB slices.
//!
//! Every arena starts at a multiple of 1 GiB and is at most that long, so the arena of an address is found by masking
//! it: no table, no load. The information area comes first; what follows holds blocks and nothing else, so that every
//! OS page of it can be given back and no sweep dirties one.
//!
//! ```text
//! 0          64 KiB        192 KiB      320 KiB                      first data slice
//! | header   | slice words | unit words | page descriptors, 128 B    | blocks …                       |
//! |  bitmaps |  8 B each   |  8 B each  |  each, one for a slice     |                                |
//! ```
//!
//! The mapping is readable and writable from the start and never changed (changing parts would split it in the kernel).
//! Untouched parts cost no memory. A block that fits no arena gets a mapping of its own with the same head.
//!
//! **Slices.** A slice is free when its bit in `free` is set. Claims clear bits under [`CLAIM`] (which ranks below every
//! other lock of the crate); giving slices back sets bits without it. What lies in a free slice, or in released units of
//! a used one, is kept by its unit word, and `pending` marks the slices where the purger has something to do: so the
//! purger needs no claim on a heap, and an owner that finds a slice in flight takes another.

use crate::bitmap::{BITS, Bitmap};
use crate::lock::RawLock;
use crate::page::Page;
use crate::units::{ALL_UNITS, UnitMask, UnitWord, Word};
use crate::{options, os};
use core::ptr::{self, NonNull};
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering};

/// Bytes in a slice, the unit in which an arena is cut.
pub const SLICE_BYTES: usize = 64 * 1024;
/// Bytes in a unit, the least that is given back to the OS.
pub const UNIT_BYTES: usize = 4096;
/// Units in a slice.
pub(crate) const UNITS_PER_SLICE: usize = SLICE_BYTES / UNIT_BYTES;

const ARENA_BYTES: usize = 1 << 30;
const ARENA_MASK: usize = ARENA_BYTES - 1;
const MAX_SLICES: usize = ARENA_BYTES / SLICE_BYTES;
const SLICE_WORDS_AT: usize = SLICE_BYTES;
const UNIT_WORDS_AT: usize = SLICE_WORDS_AT + MAX_SLICES * size_of::<AtomicPtr<()>>();
const PAGES_AT: usize = UNIT_WORDS_AT + MAX_SLICES * size_of::<UnitWord>();
/// The smallest arena that is worth a mapping.
const MIN_ARENA_BYTES: usize = 1 << 20;

const _: () = assert!(
    BITS == MAX_SLICES && size_of::<Arena>() <= SLICE_WORDS_AT && PAGES_AT == 5 * SLICE_BYTES
);

/// Guards the search for runs, the growth of the list, and nothing else. Held for no system call but `mmap`.
static CLAIM: RawLock = RawLock::new();
/// The arenas, newest first. Release publishes the header of a new one to the acquire of those who walk the list.
static NEWEST: AtomicPtr<Arena> = AtomicPtr::new(ptr::null_mut());
/// Mappings of huge blocks to unmap. Release publishes a block's last use to the acquire of the purger.
static HUGE_FREE: AtomicPtr<Arena> = AtomicPtr::new(ptr::null_mut());
/// Arenas in the list. Relaxed: a figure.
static ARENA_COUNT: AtomicU64 = AtomicU64::new(0);
/// Bytes in units that are free and not given back. Sequentially consistent: see [`crate::schedule`].
static PENDING_BYTES: AtomicUsize = AtomicUsize::new(0);
/// Turns of the purger so far: what released units are stamped with. Relaxed: it measures age only.
static TICK: AtomicU32 = AtomicU32::new(0);
/// Set when the OS refused to take memory back; from then on no purged unit counts as zero. Relaxed: it is set before
/// the units land, and read after a claim that acquired the landing.
static REFUSED: AtomicBool = AtomicBool::new(false);

/// The head of an arena's information area. Zeroed memory is a valid empty one.
#[repr(C)]
pub(crate) struct Arena {
    /// Slices of the whole arena; 0 in the mapping of a single huge block. Written before the arena is published.
    slices: AtomicU32,
    /// The first slice that holds blocks. Written before the arena is published.
    first: AtomicU32,
    /// Below this slice none is free. Relaxed: lowered by frees, raised by claims under the lock; a hint.
    low: AtomicU32,
    /// From this slice on none was ever claimed. Raised under the lock; relaxed: what lies in a slice is published by
    /// its own word and bits.
    high: AtomicU32,
    /// Bytes of the mapping.
    mapped_bytes: AtomicUsize,
    /// The next older arena, fixed once published; the next mapping to unmap in that of a huge block.
    older: AtomicPtr<Arena>,
    free: Bitmap,
    pending: Bitmap,
}

/// A claimed run of slices.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Run {
    pub(crate) ptr: NonNull<u8>,
    /// The memory is known to be zero.
    pub(crate) zeroed: bool,
}

/// A slice in use or in a free run, by arena and index.
#[derive(Clone, Copy)]
pub(crate) struct Slice {
    pub(crate) arena: &'static Arena,
    pub(crate) index: usize,
}

impl Slice {
    /// The slice that an address lies in.
    ///
    /// # Safety
    /// The address lies in the first GiB of an arena that is mapped.
    #[inline(always)]
    pub(crate) unsafe fn of(address: usize) -> Self {
        // Not derived from the caller's pointer, which may be good for its own block only.
        let arena = ptr::with_exposed_provenance::<Arena>(address & !ARENA_MASK);
        // SAFETY: an arena's header lies at its start, and its provenance was exposed when it was made.
        let arena = unsafe { &*arena };
        let index = (address & ARENA_MASK) / SLICE_BYTES;
        Self { arena, index }
    }

    /// The descriptor of the page that starts in this slice.
    #[inline(always)]
    pub(crate) fn page(self) -> &'static Page {
        // SAFETY: the information area holds a descriptor for each slice; zeroed memory is a valid one.
        unsafe {
            &*self
                .arena
                .at::<Page>(PAGES_AT + self.index * size_of::<Page>())
        }
    }

    /// The collector's word.
    #[inline(always)]
    pub(crate) fn word(self) -> &'static AtomicPtr<()> {
        // SAFETY: the information area holds a word for each slice of the largest arena.
        unsafe {
            &*self
                .arena
                .at::<AtomicPtr<()>>(SLICE_WORDS_AT + self.index * size_of::<AtomicPtr<()>>())
        }
    }

    pub(crate) fn units(self) -> &'static UnitWord {
        // SAFETY: as for `word`.
        unsafe {
            &*self
                .arena
                .at::<UnitWord>(UNIT_WORDS_AT + self.index * size_of::<UnitWord>())
        }
    }

    /// The slice `count` further on.
    #[inline(always)]
    pub(crate) fn add(self, count: usize) -> Self {
        Self {
            index: self.index + count,
            ..self
        }
    }

    /// Where the slice's memory starts.
    pub(crate) fn start(self) -> NonNull<u8> {
        // SAFETY: slices lie inside the mapping.
        unsafe { NonNull::new_unchecked(self.arena.at::<u8>(self.index * SLICE_BYTES).cast_mut()) }
    }

    /// Releases units of a slice in use: their contents are lost, they may be given back at any time.
    ///
    /// Word first, then the pending bit; the purger takes the bit first, then looks at the word. All four are
    /// sequentially consistent: so either the purger sees the units or the bit stays set.
    /// Gives the number of units that were not released before.
    pub(crate) fn release(self, units: UnitMask, tick: u32) -> usize {
        let fresh = self.units().release(units, tick).count_ones() as usize;
        if fresh != 0 {
            self.arena.pending.set_one(self.index);
            PENDING_BYTES.fetch_add(fresh * UNIT_BYTES, Ordering::SeqCst);
        }
        fresh
    }

    /// Takes released units back, and gives their number; `None` while one is in flight, and then nothing is changed.
    pub(crate) fn take(self, units: UnitMask) -> Option<usize> {
        let before = self.units().take(units)?;
        settle((before.free() & units).count_ones());
        Some((before.unused() & units).count_ones() as usize)
    }

    /// Starts to give back the units that `choose` picks from the free ones.
    pub(crate) fn depart(self, choose: impl FnMut(Word) -> UnitMask) -> UnitMask {
        let units = self.units().depart(choose);
        settle(units.count_ones());
        units
    }

    /// Ends what [`Self::depart`] began.
    pub(crate) fn land(self, units: UnitMask, given_back: bool) {
        if !given_back {
            REFUSED.store(true, Ordering::Relaxed);
        }
        self.units().land(units);
    }

    /// Asks the purger to look at this slice again.
    pub(crate) fn mark_pending(self) {
        self.arena.pending.set_one(self.index);
    }
}

/// Takes units off the pending figure.
fn settle(units: u32) {
    if units != 0 {
        PENDING_BYTES.fetch_sub(units as usize * UNIT_BYTES, Ordering::SeqCst);
    }
}

impl Arena {
    /// A pointer into the mapping.
    #[inline(always)]
    fn at<T>(&self, offset: usize) -> *const T {
        // From the exposed pointer: a pointer made from `&self` would be good for the header only.
        ptr::with_exposed_provenance(ptr::from_ref(self).addr() + offset)
    }

    /// Which slice's descriptor lies at this address of the information area.
    #[inline(always)]
    pub(crate) fn page_index(&self, address: usize) -> usize {
        (address - ptr::from_ref(self).addr() - PAGES_AT) / size_of::<Page>()
    }

    /// True for the mapping of a single block that fits no arena.
    pub(crate) fn is_huge(&self) -> bool {
        self.slices.load(Ordering::Relaxed) == 0
    }

    /// Words of the pending map that can have bits.
    pub(crate) fn pending_words(&self) -> usize {
        (self.high.load(Ordering::Relaxed) as usize).div_ceil(64)
    }

    /// Makes pending bits and bytes anew from the unit words, when nobody changes them; gives the bytes.
    fn recount(&'static self) -> usize {
        let first = self.first.load(Ordering::Relaxed) as usize;
        let end = self.high.load(Ordering::Relaxed) as usize;
        let mut bytes = 0;
        for index in first..end {
            let slice = Slice { arena: self, index };
            let free = slice.units().load().free();
            if free != 0 {
                slice.mark_pending();
                bytes += free.count_ones() as usize * UNIT_BYTES;
            }
        }
        bytes
    }

    /// Whether any of 64 slices has its pending bit. A bit that comes later is found by the next pass: whoever sets it
    /// looks at the schedule afterwards.
    pub(crate) fn has_pending(&self, word: usize) -> bool {
        self.pending.has_any(word)
    }

    /// Takes the pending bits of 64 slices away; the caller looks at each and marks again what stays.
    pub(crate) fn take_pending(&'static self, word: usize) -> impl Iterator<Item = Slice> {
        let mut bits = self.pending.take_word(word);
        core::iter::from_fn(move || {
            let bit = (bits != 0).then(|| bits.trailing_zeros() as usize)?;
            bits &= bits - 1;
            Some(Slice {
                arena: self,
                index: word * 64 + bit,
            })
        })
    }

    /// Claims a run that starts at a multiple of `align` slices. Needs the claim lock.
    fn claim(&'static self, count: usize, align: usize) -> Option<Run> {
        let low = self.low.load(Ordering::Relaxed);
        let found = self.claim_from(low as usize, count, align);
        if count == 1
            && let Some((start, _)) = found
        {
            // What is free below this was freed during the search; its hint may get lost here.
            let _ = self.low.compare_exchange(
                low,
                start as u32 + 1,
                Ordering::Relaxed,
                Ordering::Relaxed,
            );
        }
        let first = self.first.load(Ordering::Relaxed);
        // So before the arena counts as full the whole of it is searched.
        let found = found.or_else(|| {
            if low > first {
                self.claim_from(first as usize, count, align)
            } else {
                None
            }
        });
        found.map(|(_, run)| run)
    }

    fn claim_from(&'static self, from: usize, count: usize, align: usize) -> Option<(usize, Run)> {
        let end = self.slices.load(Ordering::Relaxed) as usize;
        let mut from = from;
        loop {
            let start = self.free.find_run(from, end, count, align)?;
            self.free.clear(start..start + count);
            self.high
                .fetch_max((start + count) as u32, Ordering::Relaxed);
            match self.claim_units(start, count) {
                Ok(zeroed) => {
                    let ptr = Slice {
                        arena: self,
                        index: start,
                    }
                    .start();
                    return Some((start, Run { ptr, zeroed }));
                }
                Err(in_flight) => {
                    self.free.set(start..start + count);
                    from = in_flight + 1;
                }
            }
        }
    }

    /// Claims the unit words of slices whose free bits were cleared; an error names the slice that is in flight.
    fn claim_units(&'static self, start: usize, count: usize) -> Result<bool, usize> {
        let mut dirty_units = 0;
        let mut in_flight = None;
        for index in start..start + count {
            match (Slice { arena: self, index }).units().claim() {
                Some(before) => dirty_units += before.free().count_ones(),
                None => {
                    in_flight = Some(index);
                    break;
                }
            }
        }
        settle(dirty_units);
        if let Some(in_flight) = in_flight {
            // What was purged before counts as dirty now: it is given back once more, which is rare and harmless.
            for index in start..in_flight {
                Slice { arena: self, index }.release(ALL_UNITS, tick());
            }
            return Err(in_flight);
        }
        Ok(dirty_units == 0 && !REFUSED.load(Ordering::Relaxed))
    }

    /// Gives a run back. Its contents are lost.
    fn give_back(&'static self, start: usize, count: usize, tick: u32) {
        for index in start..start + count {
            Slice { arena: self, index }.release(ALL_UNITS, tick);
        }
        // After the words: whoever claims the bit finds the units released.
        self.free.set(start..start + count);
        self.low.fetch_min(start as u32, Ordering::Relaxed);
    }

    /// Maps an arena of about `bytes`, or `None`.
    fn map(bytes: usize) -> Option<&'static Self> {
        let slices = (bytes / SLICE_BYTES).min(MAX_SLICES);
        let first = (PAGES_AT + slices * size_of::<Page>()).div_ceil(SLICE_BYTES);
        let arena = Self::map_head(slices * SLICE_BYTES)?;
        arena.slices.store(slices as u32, Ordering::Relaxed);
        arena.first.store(first as u32, Ordering::Relaxed);
        arena.low.store(first as u32, Ordering::Relaxed);
        arena.free.set(first..slices);
        Some(arena)
    }

    fn map_head(bytes: usize) -> Option<&'static Self> {
        let base = os::map_aligned(bytes, ARENA_BYTES)?;
        let arena = ptr::with_exposed_provenance::<Self>(base.as_ptr().expose_provenance());
        // SAFETY: fresh zeroed memory at least as long as the header, which zeroes are valid for. Arenas in the list are
        // never unmapped; the mapping of a huge block lives as long as the block.
        let arena = unsafe { &*arena };
        arena.mapped_bytes.store(bytes, Ordering::Relaxed);
        Some(arena)
    }
}

/// All arenas, newest first.
pub(crate) fn arenas() -> impl Iterator<Item = &'static Arena> {
    let mut next = NEWEST.load(Ordering::Acquire);
    core::iter::from_fn(move || {
        // SAFETY: arenas in the list are initialised before they are published, and never unmapped.
        let arena = unsafe { next.as_ref() }?;
        next = arena.older.load(Ordering::Relaxed);
        Some(arena)
    })
}

/// Claims `count` slices, the first at a multiple of `align` slices from an address that is a multiple of 1 GiB.
pub(crate) fn claim(count: usize, align: usize) -> Option<Run> {
    if align >= MAX_SLICES {
        return None;
    }
    CLAIM.lock();
    let run = arenas()
        .find_map(|arena| arena.claim(count, align))
        .or_else(|| grow(count, align)?.claim(count, align));
    CLAIM.unlock();
    run
}

/// Maps a new arena with room for the run: as large as the options say, or smaller where the OS allows no more.
#[cold]
fn grow(count: usize, align: usize) -> Option<&'static Arena> {
    let head_slices = (PAGES_AT + MAX_SLICES * size_of::<Page>()).div_ceil(SLICE_BYTES);
    let least_bytes =
        ((count + align + head_slices) * SLICE_BYTES).clamp(MIN_ARENA_BYTES, ARENA_BYTES);
    let mut bytes = options::arena_bytes().clamp(least_bytes, ARENA_BYTES);
    let arena = loop {
        if let Some(arena) = Arena::map(bytes) {
            break arena;
        }
        if bytes == least_bytes {
            return None;
        }
        bytes = (bytes / 2).max(least_bytes);
    };
    arena
        .older
        .store(NEWEST.load(Ordering::Relaxed), Ordering::Relaxed);
    NEWEST.store(ptr::from_ref(arena).cast_mut(), Ordering::Release);
    ARENA_COUNT.fetch_add(1, Ordering::Relaxed);
    Some(arena)
}

/// Gives claimed slices back; they are purged when they have been free for a while, counted from `tick`.
///
/// # Safety
/// `ptr` is the start of `count` claimed slices that nobody uses any more.
pub(crate) unsafe fn give_back(ptr: NonNull<u8>, count: usize, tick: u32) {
    // SAFETY: a claimed slice lies in an arena.
    let slice = unsafe { Slice::of(ptr.addr().get()) };
    slice.arena.give_back(slice.index, count, tick);
}

/// Whether a run of this many slices fits an arena.
pub(crate) fn fits(count: usize, align: usize) -> bool {
    count + align < MAX_SLICES - (PAGES_AT + MAX_SLICES * size_of::<Page>()).div_ceil(SLICE_BYTES)
}

/// The first data slice in the mapping of a huge block.
const HUGE_FIRST: usize = PAGES_AT / SLICE_BYTES + 1;

/// Maps memory for one block that fits no arena. It starts at a slice and has a descriptor like any other.
pub(crate) fn map_huge(bytes: usize) -> Option<Run> {
    let arena = Arena::map_head(bytes.checked_add(HUGE_FIRST * SLICE_BYTES)?)?;
    Some(Run {
        ptr: Slice {
            arena,
            index: HUGE_FIRST,
        }
        .start(),
        zeroed: true,
    })
}

/// Gives the memory of a huge block up, for the purger to unmap.
///
/// # Safety
/// `ptr` came from [`map_huge`], and nobody uses the block or its descriptor any more.
pub(crate) unsafe fn give_up_huge(ptr: NonNull<u8>) {
    // SAFETY: the block starts in the first GiB of its own mapping.
    let arena = unsafe { Slice::of(ptr.addr().get()) }.arena;
    let mut top = HUGE_FREE.load(Ordering::Relaxed);
    loop {
        arena.older.store(top, Ordering::Relaxed);
        match HUGE_FREE.compare_exchange_weak(
            top,
            ptr::from_ref(arena).cast_mut(),
            Ordering::Release,
            Ordering::Relaxed,
        ) {
            Ok(_) => break,
            Err(now) => top = now,
        }
    }
    PENDING_BYTES.fetch_add(arena.mapped_bytes.load(Ordering::Relaxed), Ordering::SeqCst);
}

/// Unmaps the huge blocks that were given up; gives their bytes.
pub(crate) fn unmap_huge() -> usize {
    let mut next = HUGE_FREE.swap(ptr::null_mut(), Ordering::Acquire);
    let mut bytes = 0;
    while let Some(base) = NonNull::new(next) {
        // SAFETY: whoever takes the stack is the only one that knows these mappings, whose heads are intact.
        let mapped_bytes = unsafe {
            next = base.as_ref().older.load(Ordering::Relaxed);
            base.as_ref().mapped_bytes.load(Ordering::Relaxed)
        };
        // SAFETY: the whole mapping, which its block gave up.
        unsafe { os::unmap(base.cast(), mapped_bytes) };
        PENDING_BYTES.fetch_sub(mapped_bytes, Ordering::SeqCst);
        bytes += mapped_bytes;
    }
    bytes
}

/// Bytes in units that are free and not given back yet.
pub(crate) fn pending_bytes() -> usize {
    PENDING_BYTES.load(Ordering::SeqCst)
}

/// Number of arenas.
pub(crate) fn arena_count() -> u64 {
    ARENA_COUNT.load(Ordering::Relaxed)
}

/// The stamp for what is released now.
pub(crate) fn tick() -> u32 {
    TICK.load(Ordering::Relaxed)
}

/// Starts the next tick, which makes everything released so far one tick older.
pub(crate) fn advance_tick() -> u32 {
    TICK.fetch_add(1, Ordering::Relaxed) + 1
}

/// Keeps every claim out while the process forks.
pub(crate) fn lock_for_fork() {
    CLAIM.lock();
}

/// Ends [`lock_for_fork`], in parent and child.
pub(crate) fn unlock_after_fork() {
    CLAIM.unlock();
}

/// In the child of a fork, which has one thread: others may have been between a unit and its figure.
pub(crate) fn recount_pending() {
    let mut huge_bytes = 0;
    let mut next = HUGE_FREE.load(Ordering::Acquire);
    // SAFETY: the heads of mappings in this stack are intact until it is taken.
    while let Some(mapping) = unsafe { next.as_ref() } {
        huge_bytes += mapping.mapped_bytes.load(Ordering::Relaxed);
        next = mapping.older.load(Ordering::Relaxed);
    }
    PENDING_BYTES.store(
        huge_bytes + arenas().map(Arena::recount).sum::<usize>(),
        Ordering::SeqCst,
    );
}
