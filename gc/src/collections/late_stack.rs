//! A stack whose stores raise no barrier: the collector scans it again, late.

use std::cell::Cell;
use std::marker::PhantomData;
use std::ops::Range;
use std::ptr::NonNull;

use crate::collect::{Collect, Trace};
use crate::error::AllocError;
use crate::gc::{Gc, Invariant};
use crate::heap::{Marker, Tail, VTable};
use crate::mutation::Mutation;

/// What the collector knows of a stack. Slots are always initialised, up to the capacity.
///
/// ```text
/// 0 ........ scanned ........ top ........ high ........ cap
///   traced     to be traced     stale values   `fill`
/// ```
///
/// Marking is complete for a stack when `scanned == top`, nothing is dirty and `high <= top`; taking a window undoes that.
struct Head<T> {
    /// Slots below are live.
    top: Cell<usize>,
    /// Slots from here on hold `fill`.
    high: Cell<usize>,
    /// Slots below have been traced in this cycle, and those that are not `dirty` have not been written since. Means
    /// nothing outside of marking.
    scanned: Cell<usize>,
    /// Ranges of slots below `scanned` that are to be traced again; empty ones are not used.
    dirty: Cell<[(u32, u32); DIRTY_RANGES]>,
    /// Whether the collector's queue of stacks holds this one.
    queued: Cell<bool>,
    fill: T,
}

/// Windows below what was scanned that are remembered one by one; more are joined with the ones next to them.
const DIRTY_RANGES: usize = 4;

impl<T> Head<T> {
    fn is_dirty(&self) -> bool {
        self.dirty.get().iter().any(|(start, end)| start < end)
    }

    /// Remembers slots that may be written below `scanned`.
    fn soil(&self, start: usize, end: usize) {
        #[allow(
            clippy::cast_possible_truncation,
            reason = "a tail has at most 2^32 elements"
        )]
        let (mut start, mut end) = (start as u32, end as u32);
        let mut dirty = self.dirty.get();
        loop {
            // Where it touches a range it is a part of that, where there is room it has a place, else it joins the one
            // from which it is the least distance away; a range that has grown may touch others in its turn.
            let distance = |&(from, to): &(u32, u32)| match from < to {
                true => u64::from(from.saturating_sub(end)).max(start.saturating_sub(to).into()),
                false => 1 << 33,
            };
            let near = (0..DIRTY_RANGES).min_by_key(|&at| distance(&dirty[at]));
            let free = dirty.iter().position(|(from, to)| from >= to);
            let Some(near) = near else { break };
            if let (Some(free), true) = (free, distance(&dirty[near]) > 0) {
                dirty[free] = (start, end);
                break;
            }
            (start, end) = (start.min(dirty[near].0), end.max(dirty[near].1));
            dirty[near] = (0, 0);
        }
        self.dirty.set(dirty);
    }

    /// The next slots that are to be traced again, at most `limit`.
    fn first_dirty(&self, limit: usize) -> Option<Range<usize>> {
        let dirty = self.dirty.get();
        let &(start, end) = dirty.iter().find(|(start, end)| start < end)?;
        let start = start as usize;
        Some(start..(end as usize).min(start + limit))
    }

    /// Notes that the first of the slots that were to be traced again have been.
    fn clean(&self, slots: Range<usize>) {
        let mut dirty = self.dirty.get();
        if let Some((start, _)) = dirty.iter_mut().find(|(start, end)| start < end) {
            *start += u32::try_from(slots.len()).unwrap_or(u32::MAX);
        }
        self.dirty.set(dirty);
    }
}

// SAFETY: `fill` is the only value that is owned; the slots are traced by `trace_stack`.
unsafe impl<'gc, T: Collect<'gc>> Collect<'gc> for Head<T> {
    const NEEDS_TRACE: bool = T::NEEDS_TRACE;
    const SEND: bool = T::SEND;
}

type Buffer<T> = Tail<Head<T>, T>;

/// A growable stack for an interpreter's registers: one machine word, all methods on `&self`.
///
/// Stores raise no barrier. Instead the interpreter takes a [window](LateStack::window) on the slots that it is
/// about to use, anew in each callback, and the collector scans what windows were taken on once more before it decides
/// what is dead. Slots outside of windows are spared. Stores from outside go through [`LateStack::set`].
///
/// Slots above [the top](LateStack::set_top) are not alive: a cycle overwrites them with the stack's fill value.
pub struct LateStack<'gc, T: 'gc> {
    buffer: Cell<NonNull<Buffer<T>>>,
    invariant: Invariant<'gc>,
}

/// Slots that are scanned, or overwritten, at a time.
const SLICE_SLOTS: usize = 64;

fn vtable<'gc, T: Collect<'gc> + Copy>() -> &'static VTable {
    struct Of<T>(PhantomData<T>);
    trait HasVTable {
        const VTABLE: VTable;
    }
    impl<'gc, T: Collect<'gc> + Copy> HasVTable for Of<(PhantomData<&'gc ()>, T)> {
        const VTABLE: VTable = VTable {
            object_bytes: 0,
            align: align_of::<Buffer<T>>(),
            needs_trace: true,
            needs_drop: false,
            send: T::SEND,
            trace: trace_stack::<T>,
            drop: crate::heap::drop_nothing,
            name: std::any::type_name::<Buffer<T>>,
        };
    }
    &<Of<(PhantomData<&'gc ()>, T)> as HasVTable>::VTABLE
}

/// Traces the next slice of a stack, then overwrites the next stale slots, and queues the stack again until both are
/// done.
///
/// # Safety
///
/// `ptr` is the live buffer of a `LateStack<T>`.
unsafe fn trace_stack<'gc, T: Collect<'gc> + Copy>(
    ptr: NonNull<u8>,
    _from: usize,
    marker: &mut Marker,
) {
    let this = ptr.cast::<Buffer<T>>();
    // SAFETY: the caller's contract.
    let head = unsafe { &(*this.as_ptr()).header };
    if marker.is_probe() {
        for index in 0..head.top.get() {
            // SAFETY: all slots below `cap` are initialised, and `top` is at most `cap`.
            unsafe { Tail::element(this, index).read() }.trace(marker);
        }
        return;
    }
    if !marker.is_late() {
        // Met by a trace, not from the queue of stacks: the cycle sees it for the first time, or sees a grown one.
        head.scanned.set(0);
        head.dirty.set([(0, 0); DIRTY_RANGES]);
        marker.meet_stack::<T>(head.top.get());
        if T::NEEDS_TRACE {
            head.fill.trace(marker);
        }
    }
    let top = head.top.get();
    // What lies above a top that was lowered is traced when it comes up again.
    let scanned = head.scanned.get().min(top);
    head.scanned.set(scanned);
    let dirty = head.first_dirty(SLICE_SLOTS);
    let slots = match &dirty {
        Some(dirty) => dirty.start.min(scanned)..dirty.end.min(scanned),
        None => scanned..top.min(scanned + SLICE_SLOTS),
    };
    marker.count_elements::<T>(slots.len());
    if T::NEEDS_TRACE {
        for index in slots.clone() {
            // SAFETY: all slots below `cap` are initialised, and `top` is at most `cap`.
            unsafe { Tail::element(this, index).read() }.trace(marker);
        }
    }
    // Only now: a trace that panics is done again.
    match dirty {
        Some(dirty) => head.clean(dirty),
        None => head.scanned.set(slots.end),
    }
    if head.scanned.get() == top {
        let high = head.high.get().max(top);
        let low = top.max(high.saturating_sub(4 * SLICE_SLOTS));
        for index in low..high {
            // SAFETY: as above; no window is in use while the mutator stands.
            unsafe { Tail::element(this, index).write(head.fill) };
        }
        head.high.set(low);
    }
    let complete = head.scanned.get() == top && !head.is_dirty() && head.high.get() <= top;
    head.queued.set(!complete);
    if !complete {
        marker.push_late(ptr);
    }
}

impl<'gc, T: Collect<'gc> + Copy + 'gc> LateStack<'gc, T> {
    /// A stack of at least `capacity` slots, all of them `fill`, with its top at 0.
    ///
    /// # Errors
    ///
    /// Where memory has run out.
    pub fn try_new(mc: &Mutation<'gc>, capacity: usize, fill: T) -> Result<Self, AllocError> {
        let head = Head {
            top: Cell::new(0),
            high: Cell::new(0),
            scanned: Cell::new(0),
            dirty: Cell::new([(0, 0); DIRTY_RANGES]),
            queued: Cell::new(false),
            fill,
        };
        let (buffer, cap) = Self::allocate(mc, capacity, head)?;
        // SAFETY: fresh, with room for `cap` slots.
        unsafe {
            for index in 0..cap {
                Tail::element(buffer, index).write(fill);
            }
            buffer.as_ref().set_len(cap);
        }
        Ok(Self {
            buffer: Cell::new(buffer),
            invariant: PhantomData,
        })
    }

    /// As [`LateStack::try_new`]; where memory runs out, it does as [`Gc::new`].
    pub fn new(mc: &Mutation<'gc>, capacity: usize, fill: T) -> Self {
        match Self::try_new(mc, capacity, fill) {
            Ok(stack) => stack,
            Err(_) => crate::heap::out_of_memory(),
        }
    }

    /// A buffer, and how many slots it has room for.
    fn allocate(
        mc: &Mutation<'gc>,
        capacity: usize,
        head: Head<T>,
    ) -> Result<(NonNull<Buffer<T>>, usize), AllocError> {
        let bytes = Buffer::<T>::bytes_for(capacity).ok_or(AllocError::new(()))?;
        let cell_bytes = mc.context().cell_bytes_for(vtable::<T>(), bytes);
        let cell = mc
            .context()
            .alloc_sized(vtable::<T>(), bytes)
            .ok_or(AllocError::new(()))?;
        // SAFETY: the cell is fresh and has `cell_bytes`.
        let buffer = unsafe { Buffer::<T>::init(cell, head) };
        Ok((buffer, Buffer::<T>::cap_in(cell_bytes)))
    }

    #[inline]
    fn head(&self) -> &Head<T> {
        // SAFETY: the buffer is alive as long as its owner, and its header is never borrowed uniquely.
        unsafe { &(*self.buffer.get().as_ptr()).header }
    }

    /// How many slots there are.
    #[inline]
    pub fn capacity(&self) -> usize {
        // SAFETY: the buffer is alive as long as its owner; all its slots are initialised.
        unsafe { self.buffer.get().as_ref() }.len()
    }

    /// Slots below are alive.
    #[inline]
    pub fn top(&self) -> usize {
        self.head().top.get()
    }

    /// Says which slots are alive.
    ///
    /// # Panics
    ///
    /// Where `top` is beyond the capacity.
    #[inline]
    #[track_caller]
    pub fn set_top(&self, mc: &Mutation<'gc>, top: usize) {
        assert!(
            top <= self.capacity(),
            "the top of a stack is within its capacity"
        );
        let head = self.head();
        head.high.set(head.high.get().max(head.top.get()));
        head.top.set(top);
        if mc.is_marking() && top > head.scanned.get() {
            self.requeue(mc);
        }
    }

    /// A window on the `N` slots from `base` on, for unbarriered loads and stores until the callback ends; `None`
    /// where the stack must grow first.
    #[inline]
    pub fn window<const N: usize>(
        &self,
        mc: &Mutation<'gc>,
        base: usize,
    ) -> Option<&'gc [Cell<T>; N]> {
        let end = base.checked_add(N)?;
        if end > self.capacity() {
            return None;
        }
        self.touch(mc, base, end);
        // SAFETY: the slots are initialised, are given out as cells only, and stay in place until the callback ends:
        // a buffer that was outgrown is freed by the sweep, not at once.
        Some(unsafe {
            Tail::element(self.buffer.get(), base)
                .cast::<[Cell<T>; N]>()
                .as_ref()
        })
    }

    /// A window on a range of slots, for unbarriered loads and stores until the callback ends; `None` where the stack
    /// must grow first.
    #[inline]
    pub fn slots(&self, mc: &Mutation<'gc>, range: Range<usize>) -> Option<&'gc [Cell<T>]> {
        if range.end > self.capacity() || range.start > range.end {
            return None;
        }
        self.touch(mc, range.start, range.end);
        // SAFETY: as in `window`.
        unsafe {
            let first = Tail::element(self.buffer.get(), range.start).cast::<Cell<T>>();
            Some(NonNull::slice_from_raw_parts(first, range.len()).as_ref())
        }
    }

    /// A copy of a slot.
    #[inline]
    pub fn get(&self, index: usize) -> Option<T> {
        // SAFETY: all slots below the capacity are initialised.
        (index < self.capacity()).then(|| unsafe { Tail::element(self.buffer.get(), index).read() })
    }

    /// Stores into a slot from outside of a window, below the top: with a barrier of its own.
    ///
    /// # Panics
    ///
    /// Where `index` is not below the top.
    #[inline]
    #[track_caller]
    pub fn set(&self, mc: &Mutation<'gc>, index: usize, value: T) {
        assert!(index < self.top(), "slot {index} is not below the top");
        mc.shade(&value);
        // SAFETY: the slot exists; references to it are cells.
        unsafe { Tail::element(self.buffer.get(), index).write(value) };
    }

    /// Makes room for at least `capacity` slots. Windows taken before show the old slots, which are no longer the
    /// stack's.
    ///
    /// # Errors
    ///
    /// Where memory has run out; nothing has changed then.
    pub fn try_grow(&self, mc: &Mutation<'gc>, capacity: usize) -> Result<(), AllocError> {
        if capacity <= self.capacity() {
            return Ok(());
        }
        let old = self.buffer.get();
        let head = self.head();
        let fill = head.fill;
        let copied = head.high.get().max(head.top.get());
        let head = Head {
            top: Cell::new(head.top.get()),
            high: Cell::new(copied),
            scanned: Cell::new(0),
            dirty: Cell::new([(0, 0); DIRTY_RANGES]),
            queued: Cell::new(false),
            fill,
        };
        let (new, cap) = Self::allocate(mc, capacity, head)?;
        // SAFETY: `copied` slots exist in both; the rest of the new ones is written here.
        unsafe {
            Tail::element(new, 0).copy_from_nonoverlapping(Tail::element(old, 0), copied);
            for index in copied..cap {
                Tail::element(new, index).write(fill);
            }
            new.as_ref().set_len(cap);
        }
        self.buffer.set(new);
        if mc.is_marking() {
            mc.context().shade(new.cast());
        }
        Ok(())
    }

    #[inline]
    fn touch(&self, mc: &Mutation<'gc>, start: usize, end: usize) {
        let head = self.head();
        head.high.set(head.high.get().max(end));
        if mc.is_marking() {
            let scanned = head.scanned.get();
            if end < scanned {
                head.soil(start, end);
            } else {
                head.scanned.set(scanned.min(start));
            }
            self.requeue(mc);
        }
    }

    #[cold]
    fn requeue(&self, mc: &Mutation<'gc>) {
        let buffer = self.buffer.get().cast();
        // A stack that is not marked yet will be traced from its start, if at all.
        if !self.head().queued.get() && mc.context().is_marked(buffer) {
            self.head().queued.set(mc.context().push_late(buffer));
        }
    }
}

// SAFETY: the buffer is an object of the arena, which is traced as such.
unsafe impl<'gc, T: Collect<'gc> + Copy + 'gc> Collect<'gc> for LateStack<'gc, T> {
    const SEND: bool = T::SEND;

    #[inline]
    fn trace<C: Trace<'gc>>(&self, cc: &mut C) {
        if cc.__collector().is_none() {
            // A trace that is not the collector's must not keep a pointer to the buffer.
            for index in 0.. {
                match self.get(index) {
                    Some(value) if index < self.top() => cc.trace(&value),
                    _ => return,
                }
            }
        }
        // SAFETY: the buffer is an object of this arena, alive as long as its owner.
        cc.trace_gc(unsafe { Gc::from_ptr(self.buffer.get().as_ptr().cast()) });
    }
}
