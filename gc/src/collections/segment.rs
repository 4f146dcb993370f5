//! The two levels of an intern set: a directory of small hash tables.

use std::cell::Cell;
use std::ops::Range;
use std::ptr::NonNull;

use crate::heap::{Context, Link, Marker, Stage, VTable, WeakOps};

/// Entries of a segment that is split rather than grown.
const SPLIT_CAPACITY: usize = 128;

/// Entries of the smallest segment.
const MIN_CAPACITY: usize = 8;

/// An open-addressing table with linear probing.
///
/// ```text
/// | Segment | string 0 | … | string cap-1 | hash 0: u32 | … | hash cap-1 | young: u64, a bit for each place |
/// ```
///
/// A null string is a free place. At most 7/8 are taken, so every probe ends. The young bit of a place is set if its string has come
/// since the dead were removed last: a young cycle asks only after those.
#[repr(C)]
pub(super) struct Segment {
    len: Cell<u32>,
    /// A power of two.
    cap: u32,
    /// Top bits of the hash that all entries share.
    depth: Cell<u32>,
}

/// A pointer to a live segment.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct SegmentPtr(NonNull<Segment>);

static SEGMENT: VTable = VTable {
    object_bytes: 0,
    align: align_of::<Segment>().next_multiple_of(8),
    needs_trace: false,
    needs_drop: false,
    send: true,
    trace: crate::heap::trace_nothing,
    drop: crate::heap::drop_nothing,
    name: || "intern set segment",
};

/// Where the strings of a segment begin.
const STRINGS_OFFSET: usize = size_of::<Segment>().next_multiple_of(8);

impl SegmentPtr {
    fn allocate(context: &Context, cap: usize, depth: u32) -> Option<Self> {
        let words = cap.div_ceil(64);
        let bytes = STRINGS_OFFSET
            + cap * (size_of::<usize>() + size_of::<u32>())
            + words * size_of::<u64>();
        let cell = context.alloc_sized(&SEGMENT, bytes)?;
        #[allow(
            clippy::cast_possible_truncation,
            reason = "capacities stay far below 2^32"
        )]
        // SAFETY: the cell is fresh and has room for the head, `cap` entries and their bits; all strings become null, all bits 0.
        unsafe {
            cell.cast::<Segment>().write(Segment {
                len: Cell::new(0),
                cap: cap as u32,
                depth: Cell::new(depth),
            });
            cell.add(STRINGS_OFFSET)
                .write_bytes(0, cap * size_of::<usize>());
            let this = Self(cell.cast());
            this.young_word(0).write_bytes(0, words);
            Some(this)
        }
    }

    #[inline]
    fn head(self) -> &'static Segment {
        // SAFETY: a `SegmentPtr` is alive while it is used: its directory holds it, and no collection runs meanwhile.
        unsafe { self.0.as_ref() }
    }

    #[inline]
    fn cap(self) -> usize {
        self.head().cap as usize
    }

    /// The place where the search for a hash begins.
    #[inline]
    pub(super) fn first(self, hash: u32) -> usize {
        // The top bits chose the segment; the low ones choose the place.
        hash as usize & (self.cap() - 1)
    }

    /// The place after `probe`.
    #[inline]
    pub(super) fn after(self, probe: usize) -> usize {
        (probe + 1) & (self.cap() - 1)
    }

    #[inline]
    fn string_at(self, probe: usize) -> NonNull<Option<NonNull<u8>>> {
        debug_assert!(probe < self.cap());
        // SAFETY: the segment has `cap` strings behind its head.
        unsafe {
            self.0
                .cast::<u8>()
                .add(STRINGS_OFFSET)
                .cast::<Option<NonNull<u8>>>()
                .add(probe)
        }
    }

    #[inline]
    fn hash_at(self, probe: usize) -> NonNull<u32> {
        // SAFETY: the hashes lie behind the strings.
        unsafe { self.string_at(0).add(self.cap()).cast::<u32>().add(probe) }
    }

    /// The word of the young bits of the places from `64 * index` on.
    #[inline]
    fn young_word(self, index: usize) -> NonNull<u64> {
        // SAFETY: the bits lie behind the hashes, which end at a multiple of eight bytes, since a segment has eight places or more.
        unsafe { self.hash_at(0).add(self.cap()).cast::<u64>().add(index) }
    }

    #[inline]
    fn is_young(self, probe: usize) -> bool {
        // SAFETY: the bits are initialised.
        unsafe { self.young_word(probe / 64).read() >> (probe % 64) & 1 == 1 }
    }

    #[inline]
    fn set_young(self, probe: usize, young: bool) {
        let bit = 1 << (probe % 64);
        // SAFETY: the bits are initialised.
        unsafe {
            let word = self.young_word(probe / 64);
            word.write(if young {
                word.read() | bit
            } else {
                word.read() & !bit
            });
        }
    }

    /// The string at a place.
    #[inline]
    pub(super) fn entry(self, probe: usize) -> Option<NonNull<u8>> {
        // SAFETY: strings are initialised.
        unsafe { self.string_at(probe).read() }
    }

    /// The hash at a place that is taken.
    #[inline]
    pub(super) fn hash(self, probe: usize) -> u32 {
        // SAFETY: the hash of a place that is taken is initialised.
        unsafe { self.hash_at(probe).read() }
    }

    fn put(self, probe: usize, hash: u32, string: NonNull<u8>, young: bool) {
        // SAFETY: the place exists.
        unsafe {
            self.string_at(probe).write(Some(string));
            self.hash_at(probe).write(hash);
        }
        self.set_young(probe, young);
    }

    /// Adds an absent entry, which is young if it is new to the set; false where the segment is full.
    pub(super) fn insert(self, hash: u32, string: NonNull<u8>, young: bool) -> bool {
        let head = self.head();
        if (head.len.get() as usize + 1) * 8 > self.cap() * 7 {
            return false;
        }
        let mut probe = self.first(hash);
        while self.entry(probe).is_some() {
            probe = self.after(probe);
        }
        self.put(probe, hash, string, young);
        head.len.set(head.len.get() + 1);
        true
    }

    /// Empties a place, and moves later entries of its run up so that searches still find them.
    fn remove(self, mut hole: usize) {
        let mask = self.cap() - 1;
        let mut probe = self.after(hole);
        while let Some(string) = self.entry(probe) {
            let hash = self.hash(probe);
            let home = self.first(hash);
            // The entry may move to the hole unless its home lies (cyclically) behind the hole.
            if (probe.wrapping_sub(home) & mask) >= (probe.wrapping_sub(hole) & mask) {
                self.put(hole, hash, string, self.is_young(probe));
                hole = probe;
            }
            probe = self.after(probe);
        }
        // SAFETY: the place exists.
        unsafe { self.string_at(hole).write(None) };
        self.set_young(hole, false);
        self.head().len.set(self.head().len.get() - 1);
    }

    /// Each entry's hash, its string, and whether it is young.
    fn entries(self) -> impl Iterator<Item = (u32, NonNull<u8>, bool)> {
        (0..self.cap())
            .filter_map(move |probe| Some((self.entry(probe)?, probe)))
            .map(move |(string, probe)| (self.hash(probe), string, self.is_young(probe)))
    }

    /// Adds all entries of another segment, for which there is room.
    fn insert_all(self, other: SegmentPtr) {
        for (hash, string, young) in other.entries() {
            self.insert(hash, string, young);
        }
    }

    /// Removes entries of dead strings: in a young cycle those of young ones, which are all that can be dead. Nothing is young then.
    /// Answers how many places were looked at, and how many entries removed.
    fn clear_dead(self, context: &Context) -> (usize, usize) {
        if context.is_young() {
            return self.clear_dead_young(context);
        }
        let mut removed = 0;
        let mut probe = 0;
        while probe < self.cap() {
            match self.entry(probe) {
                // What moves up into the hole is looked at next.
                Some(string) if !context.is_marked(string) => {
                    self.remove(probe);
                    removed += 1;
                }
                _ => probe += 1,
            }
        }
        // SAFETY: the segment has these words.
        unsafe { self.young_word(0).write_bytes(0, self.cap().div_ceil(64)) };
        (self.cap(), removed)
    }

    fn clear_dead_young(self, context: &Context) -> (usize, usize) {
        let (mut looked_at, mut removed) = (0, 0);
        for index in 0..self.cap().div_ceil(64) {
            loop {
                // SAFETY: the segment has this word.
                let bits = unsafe { self.young_word(index).read() };
                if bits == 0 {
                    break;
                }
                let probe = 64 * index + bits.trailing_zeros() as usize;
                looked_at += 1;
                match self.entry(probe) {
                    // What moves up into the hole brings its bit along, and is looked at next if that is set.
                    Some(string) if !context.is_marked(string) => {
                        self.remove(probe);
                        removed += 1;
                    }
                    _ => self.set_young(probe, false),
                }
            }
        }
        (looked_at, removed)
    }
}

/// The first level.
///
/// ```text
/// | Directory | segment 0 | … | segment 2^depth - 1 | young: u64, a bit for each place |
/// ```
///
/// A segment of depth `d` stands at `2^(depth-d)` neighbouring places. The bit of one of them at least is set if a string has come
/// since the dead were removed last: a young cycle looks at those segments only, and not even at the heads of the others.
#[repr(C)]
pub(super) struct Directory {
    depth: u32,
    /// Places; 0 once another directory has taken over.
    count: Cell<usize>,
    /// Entries of all segments.
    len: Cell<usize>,
    /// How far the clearing of dead entries has come.
    cursor: Cell<usize>,
    link: Link,
}

static DIRECTORY: VTable = VTable {
    object_bytes: 0,
    align: align_of::<Directory>(),
    needs_trace: true,
    needs_drop: false,
    send: true,
    trace: trace_directory,
    drop: crate::heap::drop_nothing,
    name: || "intern set directory",
};

/// What a directory does in a cycle.
static DIRECTORY_OPS: WeakOps = WeakOps {
    values: false,
    finalize: false,
    clear: true,
    run: clear_directory,
};

/// Places that are traced at a time.
const SLICE_PLACES: usize = 64;

/// # Safety
///
/// `ptr` is a live directory.
unsafe fn trace_directory(ptr: NonNull<u8>, from: usize, marker: &mut Marker) {
    let this = ptr.cast::<Directory>();
    if from == 0 {
        // SAFETY: the link is a part of the directory.
        unsafe { marker.register(&this.as_ref().link, ptr, &DIRECTORY_OPS) };
    }
    // SAFETY: the caller's contract.
    let count = unsafe { this.as_ref() }.count.get();
    let end = count.min(from + SLICE_PLACES);
    marker.count_elements::<SegmentPtr>(end - from.min(end));
    for place in from..end {
        // SAFETY: the place exists, and its segment is alive.
        marker.mark(unsafe { Directory::place(this, place).read() }.0.cast());
    }
    if end < count {
        marker.push_slice(ptr, end);
    }
}

/// Removes dead strings from the segments, as many as the fuel allows, and shrinks segments that are mostly empty.
///
/// # Safety
///
/// `object` is a live directory.
unsafe fn clear_directory(
    object: NonNull<u8>,
    _stage: Stage,
    context: &Context,
    fuel: &mut usize,
) -> bool {
    let this = object.cast::<Directory>();
    // SAFETY: the caller's contract; places exist and segments are alive.
    unsafe {
        let head = this.as_ref();
        while head.cursor.get() < head.count.get() {
            if *fuel == 0 {
                return false;
            }
            let mut first = head.cursor.get();
            if context.is_young() {
                // At most a word of bits at a time.
                let word = Directory::young(this, first).read() >> (first % 64);
                let passed = (word.trailing_zeros() as usize).min(64 - first % 64);
                first += passed;
                *fuel = fuel.saturating_sub(8);
                if word == 0 || first >= head.count.get() {
                    head.cursor.set(first.min(head.count.get()));
                    continue;
                }
            }
            let segment = Directory::place(this, first).read();
            let mut end = first + 1;
            while end < head.count.get() && Directory::place(this, end).read() == segment {
                end += 1;
            }
            head.cursor.set(end);
            Directory::set_young(this, first..end, false);
            let (looked_at, removed) = segment.clear_dead(context);
            head.len.set(head.len.get() - removed);
            *fuel = fuel.saturating_sub(looked_at * 16 + 64);
            let len = segment.head().len.get() as usize;
            let fitting = (len * 2).next_power_of_two().max(MIN_CAPACITY);
            if fitting * 2 <= segment.cap()
                && let Some(small) =
                    SegmentPtr::allocate(context, fitting, segment.head().depth.get())
            {
                small.insert_all(segment);
                // A split may have left the segment's first places behind the cursor of an earlier piece.
                Directory::replace(this, segment, small, first, end);
                context.free_now(segment.0.cast());
            }
        }
        head.cursor.set(0);
    }
    true
}

impl Directory {
    /// A directory of one empty segment.
    pub(super) fn allocate(context: &Context) -> Option<NonNull<Self>> {
        let segment = SegmentPtr::allocate(context, MIN_CAPACITY, 0)?;
        let directory = Self::allocate_places(context, 0)?;
        // SAFETY: fresh, with one place.
        unsafe {
            Self::place(directory, 0).write(segment);
            Self::adopted(context, directory, segment);
        }
        Some(directory)
    }

    fn allocate_places(context: &Context, depth: u32) -> Option<NonNull<Self>> {
        let count = 1_usize << depth;
        let words = count.div_ceil(64);
        let cell = context.alloc_sized(
            &DIRECTORY,
            size_of::<Self>() + count * size_of::<SegmentPtr>() + words * size_of::<u64>(),
        )?;
        let this = cell.cast::<Self>();
        // SAFETY: the cell is fresh and has room; the bits lie behind the places.
        unsafe {
            this.add(1)
                .cast::<SegmentPtr>()
                .add(count)
                .cast::<u64>()
                .write_bytes(0, words);
            this.write(Self {
                depth,
                count: Cell::new(count),
                len: Cell::new(0),
                cursor: Cell::new(0),
                link: Link::new(),
            })
        };
        Some(this)
    }

    /// Makes sure that a cycle under way keeps a new directory and a new segment.
    ///
    /// # Safety
    ///
    /// Both are alive.
    unsafe fn adopted(context: &Context, directory: NonNull<Self>, segment: SegmentPtr) {
        if context.is_marking() {
            context.shade(segment.0.cast());
            context.shade(directory.cast());
        }
        // SAFETY: the caller's contract.
        unsafe {
            let link = &directory.as_ref().link;
            context.register_in_clear(link, directory.cast(), &DIRECTORY_OPS);
        }
    }

    /// # Safety
    ///
    /// `this` is alive, and `index` is at most its count.
    unsafe fn place(this: NonNull<Self>, index: usize) -> NonNull<SegmentPtr> {
        // SAFETY: the places lie behind the head.
        unsafe { this.add(1).cast::<SegmentPtr>().add(index) }
    }

    /// The word that holds the young bit of a place.
    ///
    /// # Safety
    ///
    /// `this` is alive and in use, and `index` is less than its count.
    unsafe fn young(this: NonNull<Self>, index: usize) -> NonNull<u64> {
        // SAFETY: the words lie behind the places, one for each 64 of them.
        unsafe {
            let places = 1_usize << this.as_ref().depth;
            Self::place(this, places).cast::<u64>().add(index / 64)
        }
    }

    /// Sets or clears the young bits of places.
    ///
    /// # Safety
    ///
    /// `this` is alive and in use, and the places are below its count.
    unsafe fn set_young(this: NonNull<Self>, places: Range<usize>, young: bool) {
        for index in places {
            // SAFETY: the caller's contract.
            unsafe {
                let word = Self::young(this, index);
                let bit = 1 << (index % 64);
                word.write(match young {
                    true => word.read() | bit,
                    false => word.read() & !bit,
                });
            }
        }
    }

    /// The place for a hash.
    #[inline]
    fn index(&self, hash: u32) -> usize {
        (u64::from(hash) >> (32 - self.depth)) as usize
    }

    /// The segment for a hash.
    ///
    /// # Safety
    ///
    /// `this` is alive and in use.
    #[inline]
    pub(super) unsafe fn segment(this: NonNull<Self>, hash: u32) -> SegmentPtr {
        // SAFETY: the caller's contract; the index has `depth` bits.
        unsafe { Self::place(this, this.as_ref().index(hash)).read() }
    }

    /// Entries of all segments.
    pub(super) fn len(&self) -> usize {
        self.len.get()
    }

    /// Counts an entry that was added for a hash.
    ///
    /// # Safety
    ///
    /// `this` is alive and in use.
    pub(super) unsafe fn count_inserted(this: NonNull<Self>, hash: u32) {
        // SAFETY: the caller's contract; the index has `depth` bits.
        unsafe {
            let head = this.as_ref();
            let index = head.index(hash);
            Self::set_young(this, index..index + 1, true);
            head.len.set(head.len.get() + 1);
        }
    }

    /// Writes `new` at every place of `old`, which all lie around `first..end`.
    ///
    /// # Safety
    ///
    /// `this` is alive, and `first..end` are places of `old`.
    unsafe fn replace(
        this: NonNull<Self>,
        old: SegmentPtr,
        new: SegmentPtr,
        mut first: usize,
        mut end: usize,
    ) {
        // SAFETY: the loop stays within the places.
        unsafe {
            while first > 0 && Self::place(this, first - 1).read() == old {
                first -= 1;
            }
            while end < this.as_ref().count.get() && Self::place(this, end).read() == old {
                end += 1;
            }
            for index in first..end {
                Self::place(this, index).write(new);
            }
        }
    }

    /// Grows or splits the full segment of a hash; answers the directory to use from now on.
    ///
    /// # Safety
    ///
    /// `this` is alive and in use.
    pub(super) unsafe fn make_room(
        this: NonNull<Self>,
        context: &Context,
        hash: u32,
    ) -> Option<NonNull<Self>> {
        // SAFETY: the caller's contract.
        unsafe {
            let head = this.as_ref();
            let segment = Self::segment(this, hash);
            // Hashes that agree in their top bits would split for ever: a directory far larger than its entries
            // deserve is a reason to grow the segment instead.
            let may_split = segment.head().depth.get() < head.depth
                || head.count.get() <= 8 * (head.len() / SPLIT_CAPACITY + 1);
            if segment.cap() < SPLIT_CAPACITY || !may_split {
                let grown =
                    SegmentPtr::allocate(context, segment.cap() * 2, segment.head().depth.get())?;
                grown.insert_all(segment);
                if context.is_marking() {
                    context.shade(grown.0.cast());
                }
                let index = head.index(hash);
                Self::replace(this, segment, grown, index, index + 1);
                context.free_now(segment.0.cast());
                return Some(this);
            }
            if segment.head().depth.get() == head.depth {
                return Self::doubled(this, context);
            }
            Self::split(this, context, segment, hash)?;
            Some(this)
        }
    }

    /// # Safety
    ///
    /// `this` is alive and in use, and `segment`, which holds `hash`, stands at two places or more.
    unsafe fn split(
        this: NonNull<Self>,
        context: &Context,
        segment: SegmentPtr,
        hash: u32,
    ) -> Option<()> {
        // SAFETY: the caller's contract.
        let depth = unsafe { this.as_ref() }.depth;
        let below = segment.head().depth.get() + 1;
        let halves = [
            SegmentPtr::allocate(context, segment.cap(), below)?,
            SegmentPtr::allocate(context, segment.cap(), below)?,
        ];
        for (hash, string, young) in segment.entries() {
            halves[(hash >> (32 - below)) as usize & 1].insert(hash, string, young);
        }
        let width = 1_usize << (depth - below);
        // SAFETY: the caller's contract.
        let first = unsafe { this.as_ref() }.index(hash) & !(2 * width - 1);
        // SAFETY: the segment stood at these places. Which half has the young strings is not known.
        unsafe { Self::set_young(this, first..first + 2 * width, true) };
        for (half, start) in [(halves[0], first), (halves[1], first + width)] {
            if context.is_marking() {
                context.shade(half.0.cast());
            }
            for index in start..start + width {
                // SAFETY: the segment stood at these places.
                unsafe { Self::place(this, index).write(half) };
            }
        }
        context.free_now(segment.0.cast());
        Some(())
    }

    /// A directory of twice as many places, which takes over.
    ///
    /// # Safety
    ///
    /// `this` is alive and in use.
    unsafe fn doubled(this: NonNull<Self>, context: &Context) -> Option<NonNull<Self>> {
        // SAFETY: the caller's contract; both have the places that are used.
        unsafe {
            let head = this.as_ref();
            let new = Self::allocate_places(context, head.depth + 1)?;
            for index in 0..head.count.get() {
                let segment = Self::place(this, index).read();
                Self::place(new, 2 * index).write(segment);
                Self::place(new, 2 * index + 1).write(segment);
                let young = Self::young(this, index).read() >> (index % 64) & 1 == 1;
                Self::set_young(new, 2 * index..2 * index + 2, young);
            }
            new.as_ref().len.set(head.len());
            // The old directory may be on the collector's list for this cycle: it has nothing to do there any more.
            head.count.set(0);
            head.cursor.set(0);
            if context.is_marking() {
                context.shade(new.cast());
            }
            context.register_in_clear(&new.as_ref().link, new.cast(), &DIRECTORY_OPS);
            Some(new)
        }
    }
}
