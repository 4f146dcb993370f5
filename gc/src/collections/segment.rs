//! A segment of an intern set: a small hash table of buckets that fill a line of the cache each.

use std::cell::Cell;
use std::ptr::{self, NonNull};

use crate::heap::{Context, VTable};

/// Bytes of a line of the cache.
const LINE_BYTES: usize = 64;

/// Strings of a bucket.
const BUCKET_SLOTS: usize = LINE_BYTES / size_of::<usize>();

/// The binary logarithm of the lines of the smallest segment.
const MIN_SIZE: u32 = 1;

/// The same of a segment that is split rather than grown.
pub(super) const SPLIT_SIZE: u32 = 4;

/// What it counts for to look through a bucket and at a string's mark, in bytes.
const BUCKET_COST_BYTES: usize = 32;
const STRING_COST_BYTES: usize = 16;

/// A string in a bucket, or none: a word.
///
/// | bits | |
/// |---|---|
/// | 63–48 | the low bits of the hash |
/// | 47–3 | the address, 0 where there is no string |
/// | 1 | in a bucket's first slot: a search does not end here, as the bucket was full once |
/// | 0 | the string has come since the dead were removed last |
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Slot(*mut u8);

const ADDRESS: usize = (1 << TAG_SHIFT) - 8;
const TAG_SHIFT: u32 = 48;
const PASSED: usize = 0b10;
const YOUNG: usize = 0b01;

impl Slot {
    /// A string that has just come.
    #[inline]
    pub(super) fn new(hash: u32, string: NonNull<u8>) -> Self {
        // Processes are given addresses of 47 bits, of 48 on some processors.
        debug_assert_eq!(string.addr().get() & !ADDRESS, 0);
        let tag = usize::from(tag_of(hash)) << TAG_SHIFT;
        Self(string.as_ptr().map_addr(|address| address | tag | YOUNG))
    }

    #[inline]
    fn tag(self) -> u16 {
        (self.0.addr() >> TAG_SHIFT) as u16
    }

    #[inline]
    fn is_taken(self) -> bool {
        self.0.addr() & ADDRESS != 0
    }

    #[inline]
    fn is_young(self) -> bool {
        self.0.addr() & YOUNG != 0
    }

    #[inline]
    pub(super) fn string(self) -> Option<NonNull<u8>> {
        NonNull::new(self.0.map_addr(|address| address & ADDRESS))
    }

    /// The same string in the place of `other`.
    #[inline]
    fn instead_of(self, other: Self) -> Self {
        let passed = other.0.addr() & PASSED;
        Self(self.0.map_addr(|address| address & !PASSED | passed))
    }

    fn without(self, flags: usize) -> Self {
        Self(self.0.map_addr(|address| address & !flags))
    }

    /// An empty slot in the place of this one.
    fn emptied(self) -> Self {
        Self(ptr::without_provenance_mut(self.0.addr() & PASSED))
    }
}

/// What a slot keeps of a hash.
#[inline]
#[allow(clippy::cast_possible_truncation, reason = "the low bits are meant")]
fn tag_of(hash: u32) -> u16 {
    hash as u16
}

/// The bucket where the search for a tag begins.
#[inline]
fn home_of(tag: u16, buckets: usize) -> usize {
    // The bits that a segment's hashes share, where there are very many segments, come last.
    (usize::from(tag.rotate_left(8)) * buckets) >> 16
}

#[repr(C, align(64))]
struct Bucket([Cell<Slot>; BUCKET_SLOTS]);

impl Bucket {
    /// The slots of which something holds, a bit each.
    #[inline(always)]
    fn slots_where(&self, holds: impl Fn(Slot) -> bool) -> u32 {
        let mut mask = 0;
        for (index, slot) in self.0.iter().enumerate() {
            mask |= u32::from(holds(slot.get())) << index;
        }
        mask
    }

    /// The slots with a tag, bit `4 * index + 3` for each: empty ones among them, if it is 0.
    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    fn slots_of(&self, tag: u16) -> u32 {
        use std::arch::x86_64::{
            __m128i, _mm_cmpeq_epi16, _mm_load_si128, _mm_movemask_epi8, _mm_packs_epi16,
            _mm_set1_epi16,
        };
        let slots = ptr::from_ref(self).cast::<__m128i>();
        // SAFETY: a bucket is four vectors of two slots, aligned to them; every processor of this architecture has SSE2.
        unsafe {
            let wanted = _mm_set1_epi16(tag.cast_signed());
            let equal = |at| _mm_cmpeq_epi16(_mm_load_si128(slots.add(at)), wanted);
            // A byte for each quarter of a slot; the tag is the last.
            let low = _mm_movemask_epi8(_mm_packs_epi16(equal(0), equal(1)));
            let high = _mm_movemask_epi8(_mm_packs_epi16(equal(2), equal(3)));
            (low.cast_unsigned() | high.cast_unsigned() << 16) & 0x8888_8888
        }
    }

    #[cfg(not(target_arch = "x86_64"))]
    #[inline(always)]
    fn slots_of(&self, tag: u16) -> u32 {
        let mut mask = 0;
        for (index, slot) in self.0.iter().enumerate() {
            mask |= u32::from(slot.get().tag() == tag) << (4 * index + 3);
        }
        mask
    }

    #[inline]
    fn is_passed(&self) -> bool {
        self.0[0].get().0.addr() & PASSED != 0
    }

    fn set_passed(&self) {
        let first = self.0[0].get();
        self.0[0].set(Slot(first.0.map_addr(|address| address | PASSED)));
    }
}

/// The indices of the bits that are set.
fn bits(mut mask: u32) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let index = (mask != 0).then(|| mask.trailing_zeros() as usize)?;
        mask &= mask - 1;
        Some(index)
    })
}

/// A hash table of buckets with linear probing from bucket to bucket.
///
/// ```text
/// | Segment | bucket 0 | … | bucket 2^size - 2 |        a line each
/// ```
///
/// At most 7/8 of the slots are taken, so every search ends. A search that finds nothing reads one bucket as a rule: only a bucket that
/// was full once has it go on, until a full cycle finds that nothing lies beyond. It reads no string whose tag differs, and not the head.
#[repr(C, align(64))]
pub(super) struct Segment {
    len: Cell<u32>,
    /// Top bits of the hash that all entries share.
    depth: Cell<u32>,
    /// A bit for each bucket that a string has come to since the dead were removed last; those beyond 64 share them.
    young: Cell<u64>,
}

/// A pointer to a live segment, with its size in the low bits.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct SegmentPtr(NonNull<u8>);

const _: () = assert!(size_of::<Segment>() == LINE_BYTES && size_of::<Bucket>() == LINE_BYTES);

static SEGMENT: VTable = VTable {
    object_bytes: 0,
    align: LINE_BYTES,
    needs_trace: false,
    needs_drop: false,
    send: true,
    trace: crate::heap::trace_nothing,
    drop: crate::heap::drop_nothing,
    name: || "intern set segment",
};

/// What removing the dead came to.
pub(super) struct Cleared {
    pub(super) removed: usize,
    /// Bytes looked at, for the fuel.
    pub(super) cost_bytes: usize,
}

impl SegmentPtr {
    /// An empty segment of `2^size` lines.
    pub(super) fn allocate(context: &Context, size: u32, depth: u32) -> Option<Self> {
        let bytes = LINE_BYTES << size;
        let cell = context.alloc_sized(&SEGMENT, bytes)?;
        debug_assert_eq!(cell.addr().get() % LINE_BYTES, 0, "cells of 2^n bytes");
        // SAFETY: the cell is fresh and has room for the head and the buckets, whose slots become empty.
        unsafe {
            cell.add(LINE_BYTES).write_bytes(0, bytes - LINE_BYTES);
            cell.cast::<Segment>().write(Segment {
                len: Cell::new(0),
                depth: Cell::new(depth),
                young: Cell::new(0),
            });
        }
        Some(Self(cell.map_addr(|address| address | size as usize)))
    }

    /// The smallest one.
    pub(super) fn allocate_first(context: &Context) -> Option<Self> {
        Self::allocate(context, MIN_SIZE, 0)
    }

    /// The segment as an object.
    #[inline]
    pub(super) fn object(self) -> NonNull<u8> {
        // SAFETY: a segment does not lie at 0.
        unsafe {
            NonNull::new_unchecked(
                self.0
                    .as_ptr()
                    .map_addr(|address| address & !(LINE_BYTES - 1)),
            )
        }
    }

    /// The binary logarithm of its lines.
    #[inline]
    #[allow(clippy::cast_possible_truncation, reason = "below 64")]
    pub(super) fn size(self) -> u32 {
        (self.0.addr().get() % LINE_BYTES) as u32
    }

    #[inline]
    fn head(self) -> &'static Segment {
        // SAFETY: a `SegmentPtr` is alive while it is used: its directory holds it, and no collection runs meanwhile.
        unsafe { self.object().cast::<Segment>().as_ref() }
    }

    #[inline]
    fn buckets(self) -> usize {
        (1 << self.size()) - 1
    }

    #[inline]
    fn bucket(self, index: usize) -> &'static Bucket {
        debug_assert!(index < self.buckets());
        // SAFETY: as in `head`; the buckets lie behind the head, and their slots are initialised.
        unsafe { self.object().cast::<Bucket>().add(1 + index).as_ref() }
    }

    #[inline]
    fn after(self, index: usize) -> usize {
        let next = index + 1;
        if next == self.buckets() { 0 } else { next }
    }

    /// Entries.
    pub(super) fn len(self) -> usize {
        self.head().len.get() as usize
    }

    /// Top bits of the hash that all entries share.
    pub(super) fn depth(self) -> u32 {
        self.head().depth.get()
    }

    /// The string with this hash's tag that is the one.
    #[inline]
    pub(super) fn find(
        self,
        hash: u32,
        is_it: impl Fn(NonNull<u8>) -> bool,
    ) -> Option<NonNull<u8>> {
        let tag = tag_of(hash);
        let mut index = home_of(tag, self.buckets());
        for _ in 0..self.buckets() {
            let bucket = self.bucket(index);
            for bit in bits(bucket.slots_of(tag)) {
                let string = bucket.0[bit / 4].get().string();
                if let Some(string) = string.filter(|&string| is_it(string)) {
                    return Some(string);
                }
            }
            if !bucket.is_passed() {
                break;
            }
            index = self.after(index);
        }
        None
    }

    /// Adds an absent entry; false where the segment is full.
    pub(super) fn insert(self, entry: Slot) -> bool {
        let head = self.head();
        if (self.len() + 1) * 8 > self.buckets() * BUCKET_SLOTS * 7 {
            return false;
        }
        let mut index = home_of(entry.tag(), self.buckets());
        let free = loop {
            let bucket = self.bucket(index);
            if let Some(free) = bucket.0.iter().find(|slot| !slot.get().is_taken()) {
                break free;
            }
            bucket.set_passed();
            index = self.after(index);
        };
        free.set(entry.instead_of(free.get()));
        if entry.is_young() {
            head.young.set(head.young.get() | 1 << (index % 64));
        }
        head.len.set(head.len.get() + 1);
        true
    }

    pub(super) fn entries(self) -> impl Iterator<Item = Slot> {
        (0..self.buckets())
            .flat_map(move |index| self.bucket(index).0.iter())
            .map(Cell::get)
            .filter(|slot| slot.is_taken())
    }

    /// Removes the entries of dead strings, or of the young ones among them.
    pub(super) fn clear_dead(
        self,
        young_only: bool,
        is_marked: impl Fn(NonNull<u8>) -> bool,
    ) -> Cleared {
        let head = self.head();
        let young = head.young.replace(0);
        let mut cleared = Cleared {
            removed: 0,
            cost_bytes: 0,
        };
        for index in 0..self.buckets() {
            if young_only && young >> (index % 64) & 1 == 0 {
                continue;
            }
            let bucket = self.bucket(index);
            let looked_at = match young_only {
                true => bucket.slots_where(Slot::is_young),
                false => bucket.slots_where(Slot::is_taken),
            };
            cleared.cost_bytes += BUCKET_COST_BYTES;
            for at in bits(looked_at) {
                let (cell, slot) = (&bucket.0[at], bucket.0[at].get());
                cleared.cost_bytes += STRING_COST_BYTES;
                if slot.string().is_some_and(&is_marked) {
                    if slot.is_young() {
                        cell.set(slot.without(YOUNG));
                    }
                } else {
                    cell.set(slot.emptied());
                    cleared.removed += 1;
                }
            }
        }
        #[allow(clippy::cast_possible_truncation, reason = "at most `len`")]
        head.len.set(head.len.get() - cleared.removed as u32);
        if !young_only && cleared.removed > 0 {
            self.shorten_searches();
        }
        cleared
    }

    /// Has searches go on beyond those buckets only whose strings lie beyond.
    fn shorten_searches(self) {
        let buckets = self.buckets();
        for index in 0..buckets {
            let first = &self.bucket(index).0[0];
            if self.bucket(index).is_passed() {
                first.set(first.get().without(PASSED));
            }
        }
        for index in 0..buckets {
            let bucket = self.bucket(index);
            let is_beyond = |slot: Slot| slot.is_taken() && home_of(slot.tag(), buckets) != index;
            for at in bits(bucket.slots_where(is_beyond)) {
                let mut passed = home_of(bucket.0[at].get().tag(), buckets);
                while passed != index {
                    self.bucket(passed).set_passed();
                    passed = self.after(passed);
                }
            }
        }
    }

    /// A copy of another size; none where there is no memory.
    pub(super) fn resized(self, context: &Context, size: u32) -> Option<Self> {
        let resized = Self::allocate(context, size, self.depth())?;
        for entry in self.entries() {
            resized.insert(entry);
        }
        Some(resized)
    }

    /// The size of a segment that is half full with so many entries.
    pub(super) fn size_for(entries: usize) -> u32 {
        let mut size = MIN_SIZE;
        while ((1 << size) - 1) * BUCKET_SLOTS < 2 * entries {
            size += 1;
        }
        size
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::num::NonZero;

    use proptest::prelude::*;

    use super::*;

    /// A string that nobody reads.
    fn string(number: usize) -> NonNull<u8> {
        NonNull::without_provenance(NonZero::new((number + 1) * 8).expect("not 0"))
    }

    /// Few hashes with many strings, in the first and the last bucket too.
    fn hash(number: usize) -> u32 {
        let tags = [0, 0xffff, 0x00ff, 0xff00, 0x1234];
        tags.get(number % 8)
            .copied()
            .unwrap_or(number as u32 * 0x9e37)
    }

    fn has(segment: SegmentPtr, number: usize) -> bool {
        let found = segment.find(hash(number), |it| it == string(number));
        found == Some(string(number))
    }

    fn passed(segment: SegmentPtr) -> usize {
        (0..segment.buckets())
            .filter(|&index| segment.bucket(index).is_passed())
            .count()
    }

    proptest! {
        #[test]
        fn a_segment_is_a_set(
            size in 1..6_u32,
            rounds in proptest::collection::vec((any::<bool>(), 1..8_usize, proptest::collection::vec(0..300_usize, 0..60)), 1..12),
        ) {
            let context = Context::new_owned(false);
            let mut segment = SegmentPtr::allocate(&context, size, 0).expect("memory");
            let (mut old, mut young) = (BTreeSet::new(), BTreeSet::new());
            for (young_only, alive, numbers) in rounds {
                for number in numbers {
                    if old.contains(&number) || young.contains(&number) {
                        continue;
                    }
                    let entry = Slot::new(hash(number), string(number));
                    if !segment.insert(entry) {
                        segment = segment.resized(&context, segment.size() + 1).expect("memory");
                        assert!(segment.insert(entry));
                    }
                    young.insert(number);
                }
                let before = old.len() + young.len();
                assert_eq!((segment.len(), segment.entries().count()), (before, before));
                for number in 0..300 {
                    assert_eq!(has(segment, number), old.contains(&number) || young.contains(&number));
                }
                // In a young cycle all that is old is alive.
                let is_marked = |number: usize| {
                    (young_only && old.contains(&number)) || number.is_multiple_of(alive)
                };
                let looked_at = Cell::new(0);
                let cleared = segment.clear_dead(young_only, |string| {
                    looked_at.set(looked_at.get() + 1);
                    is_marked(string.addr().get() / 8 - 1)
                });
                assert_eq!(looked_at.get(), if young_only { young.len() } else { before });
                let alive: BTreeSet<_> =
                    old.union(&young).copied().filter(|&number| is_marked(number)).collect();
                (old, young) = (alive, BTreeSet::new());
                assert_eq!(cleared.removed, before - old.len());
                segment = segment.resized(&context, segment.size().max(SegmentPtr::size_for(old.len()))).expect("memory");
            }
        }
    }

    #[test]
    fn searches_are_short_again_after_a_full_cycle() {
        let context = Context::new_owned(false);
        let segment = SegmentPtr::allocate(&context, SPLIT_SIZE, 0).expect("memory");
        for number in 0..100 {
            assert!(segment.insert(Slot::new(7, string(number))));
        }
        assert_eq!(passed(segment), 100 / BUCKET_SLOTS);
        segment.clear_dead(true, |string| string.addr().get() <= 8 * BUCKET_SLOTS);
        assert!(passed(segment) > 0 && segment.len() == BUCKET_SLOTS);
        // A string in the second bucket keeps one search going on.
        assert!(segment.insert(Slot::new(7, string(100))));
        assert!(segment.insert(Slot::new(7, string(101))));
        segment.clear_dead(false, |it| it != string(101));
        assert_eq!(passed(segment), 1);
        assert!(segment.find(7, |it| it == string(100)).is_some());
        segment.clear_dead(false, |it| it != string(100));
        assert_eq!((passed(segment), segment.len()), (0, BUCKET_SLOTS));
    }

    #[test]
    fn a_bucket_finds_the_slots_of_a_tag() {
        let tag_at = |index: usize, hash| {
            let empty = || Cell::new(Slot(ptr::null_mut()));
            let bucket = Bucket(std::array::from_fn(|_| empty()));
            bucket.0[index].set(Slot::new(hash, string(0x1234_1234)));
            bucket
        };
        for index in 0..BUCKET_SLOTS {
            for hash in [1, 0x1234, 0x7fff, 0x8000, 0xffff] {
                let bucket = tag_at(index, hash);
                assert_eq!(bucket.slots_of(tag_of(hash)), 8 << (4 * index));
                assert_eq!(bucket.slots_of(tag_of(hash ^ 0x100)), 0);
                assert_eq!(bucket.slots_of(0), 0x8888_8888 & !(8 << (4 * index)));
            }
        }
    }

    #[test]
    fn a_segment_of_half_so_many_entries_again_is_the_smallest() {
        assert_eq!(SegmentPtr::size_for(0), MIN_SIZE);
        assert_eq!(SegmentPtr::size_for(4), MIN_SIZE);
        assert_eq!(SegmentPtr::size_for(5), MIN_SIZE + 1);
        assert_eq!(SegmentPtr::size_for(60), SPLIT_SIZE);
        assert_eq!(SegmentPtr::size_for(61), SPLIT_SIZE + 1);
    }
}
