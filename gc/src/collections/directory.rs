//! The first level of an intern set: which segment the strings of a hash are in.

use std::cell::Cell;
use std::ops::Range;
use std::ptr::NonNull;

use super::segment::{SPLIT_SIZE, SegmentPtr};
use crate::heap::{Context, Link, Marker, Stage, VTable, WeakOps};

/// Entries of a segment that is about to be split.
const SPLIT_ENTRIES: usize = 128;

/// The hash of an entry's string.
///
/// # Safety
///
/// Called with strings of one set, alive or dead but not swept.
pub(super) type HashOf = unsafe fn(NonNull<u8>) -> u32;

/// A table of segments by the top bits of the hash.
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
        marker.mark(unsafe { Directory::place(this, place).read() }.object());
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
            let cleared = segment.clear_dead(context.is_young(), |it| context.is_marked(it));
            head.len.set(head.len.get() - cleared.removed);
            *fuel = fuel.saturating_sub(cleared.cost_bytes + 64);
            let fitting = SegmentPtr::size_for(segment.len());
            if fitting < segment.size()
                && let Some(small) = segment.resized(context, fitting)
            {
                // A split may have left the segment's first places behind the cursor of an earlier piece.
                Directory::replace(this, segment, small, first, end);
                context.free_now(segment.object());
            }
        }
        head.cursor.set(0);
    }
    true
}

impl Directory {
    /// A directory of one empty segment.
    pub(super) fn allocate(context: &Context) -> Option<NonNull<Self>> {
        let segment = SegmentPtr::allocate_first(context)?;
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
            context.shade(segment.object());
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
    /// `this` is alive and in use, and `hash_of` is for its strings.
    pub(super) unsafe fn make_room(
        this: NonNull<Self>,
        context: &Context,
        hash: u32,
        hash_of: HashOf,
    ) -> Option<NonNull<Self>> {
        // SAFETY: the caller's contract.
        unsafe {
            let head = this.as_ref();
            let segment = Self::segment(this, hash);
            // Hashes that agree in their top bits would split for ever: a directory far larger than its entries
            // deserve is a reason to grow the segment instead.
            let may_split = segment.depth() < head.depth
                || head.count.get() <= 8 * (head.len() / SPLIT_ENTRIES + 1);
            if segment.size() < SPLIT_SIZE || !may_split {
                let grown = segment.resized(context, segment.size() + 1)?;
                if context.is_marking() {
                    context.shade(grown.object());
                }
                let index = head.index(hash);
                Self::replace(this, segment, grown, index, index + 1);
                context.free_now(segment.object());
                return Some(this);
            }
            if segment.depth() == head.depth {
                return Self::doubled(this, context);
            }
            Self::split(this, context, segment, hash, hash_of)?;
            Some(this)
        }
    }

    /// # Safety
    ///
    /// `this` is alive and in use, and `segment`, which holds `hash`, stands at two places or more. `hash_of` is for its strings.
    unsafe fn split(
        this: NonNull<Self>,
        context: &Context,
        segment: SegmentPtr,
        hash: u32,
        hash_of: HashOf,
    ) -> Option<()> {
        // SAFETY: the caller's contract.
        let depth = unsafe { this.as_ref() }.depth;
        let below = segment.depth() + 1;
        let halves = [
            SegmentPtr::allocate(context, segment.size(), below)?,
            SegmentPtr::allocate(context, segment.size(), below)?,
        ];
        for entry in segment.entries() {
            // SAFETY: the caller's contract; the dead leave the set before they are swept.
            let hash = entry
                .string()
                .map_or(0, |string| unsafe { hash_of(string) });
            halves[(hash >> (32 - below)) as usize & 1].insert(entry);
        }
        let width = 1_usize << (depth - below);
        // SAFETY: the caller's contract.
        let first = unsafe { this.as_ref() }.index(hash) & !(2 * width - 1);
        // SAFETY: the segment stood at these places. Which half has the young strings is not known.
        unsafe { Self::set_young(this, first..first + 2 * width, true) };
        for (half, start) in [(halves[0], first), (halves[1], first + width)] {
            if context.is_marking() {
                context.shade(half.object());
            }
            for index in start..start + width {
                // SAFETY: the segment stood at these places.
                unsafe { Self::place(this, index).write(half) };
            }
        }
        context.free_now(segment.object());
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
