//! Marking: colours are bits, gray is a queue, nothing recurses.

use std::ptr::NonNull;

use super::context::{Context, Phase};
use super::cycle::RootTrace;
use super::meter::{Meter, TICKS_PER_LOOK};
use super::page::{PageRef, TRACED, WAITED_FOR};
use super::special::{Link, WeakOps};
use super::waiting::Waiter;

/// Objects that are fetched into the cache before they are traced.
const PREFETCHED: usize = 8;

/// Bytes of a line of the cache.
const LINE_BYTES: usize = 64;

/// Lines of an object that are fetched before it is traced; the others when its trace begins.
const PREFETCHED_LINES: usize = 4;

/// A pointer looked at, in [`Marker::cost`]. What one trace counts stays below 256 GiB and 2^26 pointers, or else its count of
/// pointers wraps, which does no harm.
pub(super) const TICK: u64 = 1 << 38;

/// What it counts for to trace an object again, and from how many pointers on an object is left to the end of the marking.
const TICKS_PER_AGAIN: usize = 4;
const HEAVY_TICKS: usize = 128;

/// What it counts for to have an entry wait, or to resume it: up to six misses of the cache, 0.3 to 1 µs.
const TICKS_PER_WAIT: usize = 24;

/// What it counts for to look at a stack, however few slots it has.
const TICKS_PER_LATE: usize = 4;

/// What may be scanned of stacks beyond twice their size, before one step scans them to their end: a program that runs
/// between steps could otherwise keep ahead of the scan for ever.
const LATE_SLACK_BYTES: usize = 1 << 20;

/// The same for what stores have unmarked, beyond twice what the heap held when the cycle began.
pub(super) const AGAIN_SLACK_BYTES: usize = 1 << 20;

/// The collector's own tracer.
pub struct Marker {
    context: NonNull<Context>,
    /// Whether the trace under way comes from the queue of stacks.
    late: bool,
    /// Whether the step is to go on to the end of the marking.
    hurry: bool,
    /// What was done: bytes of objects marked, and above them ([`TICK`]) pointers looked at.
    cost: u64,
    /// What a probe has found, and from which element on it is to be looked at: a probe changes nothing.
    probe: Option<Vec<(NonNull<u8>, usize)>>,
}

impl Marker {
    fn new(context: &Context) -> Self {
        Self {
            context: NonNull::from(context),
            late: false,
            hurry: false,
            cost: 0,
            probe: None,
        }
    }

    /// A tracer that only finds. The heap has to be fully marked, except in builds that verify.
    pub(super) fn probe(context: &Context) -> Self {
        Self {
            probe: Some(Vec::new()),
            ..Self::new(context)
        }
    }

    /// The next object that a probe has found.
    pub(super) fn found(&mut self) -> Option<(NonNull<u8>, usize)> {
        self.probe.as_mut()?.pop()
    }

    /// Whether this trace changes nothing.
    #[inline(always)]
    pub(crate) fn is_probe(&self) -> bool {
        self.probe.is_some()
    }

    /// Notes what a probe has found; whether this is one.
    #[inline(always)]
    fn find(&mut self, object: NonNull<u8>, from: usize) -> bool {
        if self.is_probe() {
            self.note(object, from);
        }
        self.is_probe()
    }

    #[cold]
    #[inline(never)]
    fn note(&mut self, object: NonNull<u8>, from: usize) {
        if let Some(found) = &mut self.probe {
            found.push((object, from));
        }
    }

    #[inline(always)]
    pub(crate) fn context(&self) -> &Context {
        // SAFETY: a marker lives within a method of its context.
        unsafe { self.context.as_ref() }
    }

    /// Marks an object, and queues it where it must be traced.
    #[inline(always)]
    pub(crate) fn mark(&mut self, object: NonNull<u8>) {
        // The verifier looks at heaps that are not marked.
        if cfg!(any(debug_assertions, feature = "zeal")) && self.find(object, 0) {
            return;
        }
        // SAFETY: only objects are marked.
        let page = unsafe { PageRef::of(object) };
        if !page.set_marked(page.bit_of(object)) {
            self.cost = self.cost.wrapping_add(TICK);
            self.find(object, 0);
            return;
        }
        self.cost = self.cost.wrapping_add(page.mark_cost);
        match page.flags.get() {
            0 => {}
            TRACED if self.context().gray.push_in_chunk(object) => {}
            _ => self.mark_rare(object),
        }
    }

    /// Queues a marked object where that takes more than a store.
    #[cold]
    #[inline(never)]
    fn mark_rare(&self, object: NonNull<u8>) {
        // SAFETY: only objects are marked.
        let flags = unsafe { PageRef::of(object) }.flags.get();
        if flags & TRACED != 0 {
            self.context().push_gray(object);
        }
        if flags & WAITED_FOR != 0 {
            self.context().resume_waiters(object);
        }
    }

    pub(crate) fn is_marked(&self, object: NonNull<u8>) -> bool {
        self.context().is_marked(object)
    }

    /// Has memory that is about to be traced come into the cache, all lines at once and not one after the other; the first is there as
    /// a rule.
    #[inline(always)]
    pub(crate) fn fetch(&self, first: NonNull<u8>, bytes: usize) {
        for offset in (LINE_BYTES..bytes).step_by(LINE_BYTES) {
            // SAFETY: within these bytes.
            prefetch(unsafe { first.add(offset) });
        }
    }

    /// Counts elements of a tail that were traced.
    #[inline]
    pub(crate) fn count_elements<T>(&mut self, count: usize) {
        self.spend(4 + count / 8, count * size_of::<T>().max(1));
    }

    /// Counts work.
    #[inline(always)]
    fn spend(&mut self, ticks: usize, bytes: usize) {
        self.cost = self
            .cost
            .wrapping_add((ticks as u64).wrapping_mul(TICK))
            .wrapping_add(bytes as u64);
    }

    /// Queues the rest of a trace, from an element on; false where there is no memory for that, and all that is marked
    /// will be traced again from its start.
    pub(crate) fn push_slice(&mut self, object: NonNull<u8>, from: usize) -> bool {
        self.find(object, from) || self.context().push_slice(object, from)
    }

    /// Has the step go on to the end of the marking, whatever its budget.
    pub(crate) fn hurry(&mut self) {
        self.hurry = true;
    }

    /// A number that differs from one cycle to the next.
    pub(crate) fn cycle(&self) -> u32 {
        self.context().epoch.get()
    }

    /// Queues a stack to be scanned again.
    pub(crate) fn push_late(&mut self, stack: NonNull<u8>) {
        self.context().push_late(stack);
    }

    /// Notes a stack of so many slots that the cycle meets for the first time.
    pub(crate) fn meet_stack<T>(&mut self, slots: usize) {
        let met = &self.context().late_met_bytes;
        met.set(met.get() + slots * size_of::<T>().max(1));
    }

    /// Whether the trace under way comes from the queue of stacks.
    pub(crate) fn is_late(&self) -> bool {
        self.late
    }

    /// Remembers that a weak pointer names an object.
    #[inline]
    pub(crate) fn mark_weak(&mut self, object: NonNull<u8>) {
        self.spend(1, 0);
        if !self.is_probe() {
            self.context().shade_weak(object);
        }
    }

    /// Remembers a container that takes part in the decision what is dead: the object that holds its state, and what
    /// it does.
    ///
    /// # Safety
    ///
    /// The link is a part of the object, which is being traced.
    pub(crate) unsafe fn register(
        &mut self,
        link: &Link,
        object: NonNull<u8>,
        ops: &'static WeakOps,
    ) {
        if !self.is_probe() {
            // SAFETY: the caller's contract.
            unsafe { self.context().register(link, object, ops) };
        }
    }

    /// Has the trace of `map` go on at `from` as soon as `key` is marked; false where there is no memory for that.
    pub(crate) fn wait_for(&mut self, key: NonNull<u8>, map: NonNull<u8>, from: usize) -> bool {
        if self.is_probe() {
            return true;
        }
        self.spend(TICKS_PER_WAIT, 0);
        // SAFETY: keys are objects.
        let page = unsafe { PageRef::of(key) };
        page.flags.set(page.flags.get() | WAITED_FOR);
        self.context().waiting.add(key, Waiter { map, from })
    }

    /// Whether it is time to look at the clock: a trace of elements that take long goes on with the rest later.
    pub(crate) fn is_due(&self) -> bool {
        self.is_beyond(TICKS_PER_LOOK)
    }

    /// Whether more than so many pointers were looked at.
    fn is_beyond(&self, ticks: usize) -> bool {
        self.cost / TICK > ticks as u64
    }

    /// Pointers looked at and bytes marked so far; both start anew.
    fn take_cost(&mut self) -> (usize, usize) {
        let cost = std::mem::take(&mut self.cost);
        #[allow(clippy::cast_possible_truncation, reason = "what a step can do fits")]
        ((cost / TICK) as usize + 1, (cost % TICK) as usize)
    }
}

/// Puts an object back on a queue when its trace panics.
struct Requeue<'a> {
    context: &'a Context,
    object: NonNull<u8>,
    from: usize,
    late: bool,
}

impl Drop for Requeue<'_> {
    #[cold]
    fn drop(&mut self) {
        if self.late {
            self.context.push_late(self.object);
        } else {
            self.context.push_slice(self.object, self.from);
        }
    }
}

/// The objects on their way into the cache, and the one that is being traced: queued again where a trace panics.
struct Ring<'a> {
    context: &'a Context,
    objects: [Option<NonNull<u8>>; PREFETCHED],
    current: Option<NonNull<u8>>,
    /// The element from which on `current` is traced.
    from: usize,
}

/// Where a [`Ring`] stands, beside it so that it can be kept in registers: in the ring, what a panic needs, it could not.
#[derive(Clone, Copy)]
struct Place {
    /// The oldest object is here or, in a ring that is not full, behind.
    at: usize,
    /// How many objects there are.
    len: usize,
}

impl<'a> Ring<'a> {
    fn new(context: &'a Context) -> Self {
        Self {
            context,
            objects: [None; PREFETCHED],
            current: None,
            from: 0,
        }
    }

    /// The next gray object; others are fetched meanwhile.
    #[inline(always)]
    fn next(&mut self, place: &mut Place) -> Option<NonNull<u8>> {
        let gray = &self.context.gray;
        while let Some(object) = gray.pop() {
            if place.len == 0 && gray.is_empty() {
                // The only one, as in a long list.
                return Some(object);
            }
            prefetch_object(object);
            let slot = &mut self.objects[place.at % PREFETCHED];
            place.at += 1;
            match slot.replace(object) {
                None => place.len += 1,
                oldest => return oldest,
            }
        }
        if place.len == 0 {
            return None;
        }
        place.len -= 1;
        loop {
            place.at += 1;
            let oldest = self.objects[(place.at - 1) % PREFETCHED].take();
            if oldest.is_some() {
                return oldest;
            }
        }
    }

    /// Traces what is to be traced when no object is gray; false where there is nothing.
    #[cold]
    #[inline(never)]
    fn trace_rare(&mut self, marker: &mut Marker) -> bool {
        if self.trace_again(marker) {
            return true;
        }
        let (object, from) = match self.context.slices.pop() {
            Some(slice) => slice,
            None => match self.context.waiting.pop_ready() {
                Some(waiter) => (waiter.map, waiter.from),
                None => return false,
            },
        };
        // An entry that finds all that it names marked counts nothing else.
        marker.spend(TICKS_PER_WAIT, TICKS_PER_WAIT);
        self.trace_from(marker, object, from);
        true
    }

    /// Traces the next object that a barrier has unmarked; false where there is none.
    fn trace_again(&mut self, marker: &mut Marker) -> bool {
        let Some(object) = self.context.again.pop() else {
            return false;
        };
        // SAFETY: only objects are queued.
        let page = unsafe { PageRef::of(object) };
        let marked = page.set_marked(page.bit_of(object));
        let bytes = if marked {
            page.mark_bytes()
        } else {
            // It has been reached since, and counted then.
            TICKS_PER_AGAIN
        };
        marker.spend(TICKS_PER_AGAIN, bytes);
        // Work that a store has made pays nothing off: a program could make it for ever.
        let retraced = &self.context.retraced_bytes;
        retraced.set(retraced.get() + bytes);
        if marked {
            if page.flags.get() & WAITED_FOR != 0 {
                self.context.resume_waiters(object);
            }
            self.trace_from(marker, object, 0);
        }
        true
    }

    fn trace_from(&mut self, marker: &mut Marker, object: NonNull<u8>, from: usize) {
        self.current = Some(object);
        self.from = from;
        // SAFETY: as in `run`.
        unsafe { (PageRef::of(object).trace)(object, from, marker) };
        self.current = None;
        self.from = 0;
    }

    /// Traces what is gray, until so many pointers were looked at or nothing is left; whether something may be left.
    #[inline(always)]
    fn run(&mut self, place: &mut Place, marker: &mut Marker, ticks: usize) -> bool {
        let end = ticks as u64 * TICK;
        while marker.cost < end {
            let Some(object) = self.next(place) else {
                // What was traced last was traced to its end.
                self.current = None;
                if self.trace_rare(marker) {
                    continue;
                }
                return false;
            };
            self.current = Some(object);
            // SAFETY: only live objects are queued, and their page's `trace` is theirs. No callback is running.
            unsafe { (PageRef::of(object).trace)(object, 0, marker) };
        }
        self.current = None;
        true
    }
}

impl Drop for Ring<'_> {
    fn drop(&mut self) {
        for &object in self.objects.iter().flatten() {
            self.context.push_gray(object);
        }
        if let Some(object) = self.current {
            self.context.push_slice(object, self.from);
        }
    }
}

/// Fetches the first lines of an object that will be traced soon.
#[inline(always)]
fn prefetch_object(object: NonNull<u8>) {
    prefetch(object);
    // SAFETY: only objects are queued.
    let bytes = unsafe { PageRef::of(object) }.cell_bytes;
    for line in 1..PREFETCHED_LINES {
        if bytes > line * LINE_BYTES {
            // SAFETY: within the object.
            prefetch(unsafe { object.add(line * LINE_BYTES) });
        }
    }
}

#[inline(always)]
fn prefetch(object: NonNull<u8>) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a prefetch of any address is harmless.
    unsafe {
        std::arch::x86_64::_mm_prefetch::<{ std::arch::x86_64::_MM_HINT_T0 }>(
            object.as_ptr().cast(),
        );
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = object;
}

impl Context {
    /// Marks, until everything reachable is marked and traced, weak values and finalizers are decided, and nothing has
    /// changed since; false where the budget ended first.
    pub(super) fn mark_step(&self, root: &RootTrace, meter: &mut Meter) -> bool {
        self.mutated.set(false);
        let mut marker = Marker::new(self);
        loop {
            if !self.drain(root, &mut marker, meter) {
                return false;
            }
            if let Some(stack) = self.late.pop() {
                let before = self.marked_bytes.get();
                marker.late = true;
                self.trace(&mut marker, stack, 0);
                marker.late = false;
                meter.spend(TICKS_PER_LATE, TICKS_PER_LATE);
                self.account(&mut marker, meter);
                let scanned = self.late_scanned_bytes.get() + self.marked_bytes.get() - before;
                self.late_scanned_bytes.set(scanned);
                if scanned > 2 * self.late_met_bytes.get() + LATE_SLACK_BYTES {
                    meter.lift();
                }
                if meter.is_empty() && !self.late.is_empty() {
                    return false;
                }
                continue;
            }
            if self.overflowed.replace(false) {
                self.rescan_marked(&mut marker, meter);
                // Else a program that stores between steps would have it all scanned again by each.
                meter.lift();
                continue;
            }
            if !self.run_marking_stages(meter) {
                return false;
            }
            if self.nothing_gray() {
                meter.settle();
                return true;
            }
        }
    }

    /// Traces what is gray; false where the budget ended first.
    fn drain(&self, root: &RootTrace, marker: &mut Marker, meter: &mut Meter) -> bool {
        let mut ring = Ring::new(self);
        let mut place = Place { at: 0, len: 0 };
        if meter.is_empty() {
            return false;
        }
        // A program that stores much between two steps has every other one at least go on with the rest.
        let rest_first = self.retraced_only.take();
        while !rest_first && !self.again_is_heavy.get() && ring.trace_again(marker) {
            // What was stored to since the last step is still in the cache, and would be traced more than once if it were
            // left to the end. Unless that takes long, as for a large array in one piece: then once is enough.
            self.again_is_heavy.set(marker.is_beyond(HEAVY_TICKS));
            self.account(marker, meter);
            self.lift_where_needed(marker, meter);
            if meter.is_empty() {
                self.retraced_only.set(true);
                return false;
            }
        }
        loop {
            let more = ring.run(&mut place, marker, meter.ticks_of_marking());
            self.account(marker, meter);
            self.lift_where_needed(marker, meter);
            if !more {
                if !self.root_gray.get() {
                    return true;
                }
                // The root comes last: a program that changes it between steps does not have it traced in each of them.
                // SAFETY: the root is alive, and no callback is running.
                unsafe { (root.trace)(root.root, marker) };
                // Only now: a trace that panics is done again.
                self.root_gray.set(false);
                self.account(marker, meter);
                if self.gray.is_empty() && self.slices.is_empty() && self.waiting.none_ready() {
                    // However large the root, so that a budget that it uses up does not have it traced again.
                    return true;
                }
            }
            if meter.is_empty() {
                return false;
            }
        }
    }

    /// Has the step go on to the end of the marking where a program could otherwise put that off for ever: with stores between
    /// steps only when nothing else is left than what they have unmarked, so that this step is as long as they were many.
    #[inline(always)]
    fn lift_where_needed(&self, marker: &Marker, meter: &mut Meter) {
        let is_put_off = || {
            self.retraced_bytes.get() > self.retraced_limit.get()
                && self.gray.is_empty()
                && self.slices.is_empty()
                && self.waiting.none_ready()
        };
        if marker.hurry || is_put_off() {
            meter.lift();
        }
    }

    #[inline(always)]
    fn account(&self, marker: &mut Marker, meter: &mut Meter) {
        let (ticks, bytes) = marker.take_cost();
        self.marked_bytes.set(self.marked_bytes.get() + bytes);
        meter.spend(ticks, bytes);
    }

    #[inline(always)]
    fn trace(&self, marker: &mut Marker, object: NonNull<u8>, from: usize) {
        let requeue = Requeue {
            context: self,
            object,
            from,
            late: marker.late,
        };
        // SAFETY: only live objects are queued, and their page's vtable is theirs. No callback is running.
        unsafe { (PageRef::of(object).trace)(object, from, marker) };
        std::mem::forget(requeue);
    }

    /// Traces all marked objects again: some were marked when there was no memory to queue them.
    ///
    /// One piece, however large the heap: the alternative at this point would be to end the process. Each queue has room
    /// for one element at least, and the first one for a chunk, so an object's trace always comes to its end, and each
    /// pass over the heap marks more.
    #[cold]
    fn rescan_marked(&self, marker: &mut Marker, meter: &mut Meter) {
        /// After a panic it has to be done again: it has not come by all of them.
        struct Again<'a>(&'a Context);

        impl Drop for Again<'_> {
            #[cold]
            fn drop(&mut self) {
                self.0.overflowed.set(true);
            }
        }

        let again = Again(self);
        self.each_space(|space| {
            let mut index = 0;
            while let Some(page) = space.page(index).filter(|_| space.vtable.needs_trace) {
                for cell in page.objects() {
                    let object = page.cell(cell);
                    if page.is_marked(page.bit_of(object)) {
                        self.trace(marker, object, 0);
                        self.trace_queued(marker);
                    }
                }
                index += 1;
            }
        });
        std::mem::forget(again);
        self.account(marker, meter);
    }

    /// Traces all that is queued, stacks included.
    #[cold]
    fn trace_queued(&self, marker: &mut Marker) {
        loop {
            if let Some((object, from)) = self.slices.pop() {
                self.trace(marker, object, from);
            } else if let Some(object) = self.gray.pop() {
                self.trace(marker, object, 0);
            } else if let Some(waiter) = self.waiting.pop_ready() {
                self.trace(marker, waiter.map, waiter.from);
            } else if let Some(stack) = self.late.pop() {
                marker.late = true;
                self.trace(marker, stack, 0);
                marker.late = false;
            } else {
                return;
            }
        }
    }

    #[cold]
    fn resume_waiters(&self, key: NonNull<u8>) {
        self.waiting.wake(key);
    }

    #[inline(always)]
    fn push_gray(&self, object: NonNull<u8>) {
        if !self.gray.push(object) {
            self.overflowed.set(true);
        }
    }

    pub(super) fn push_slice(&self, object: NonNull<u8>, from: usize) -> bool {
        let queued = self.slices.push((object, from));
        if !queued {
            self.overflowed.set(true);
        }
        queued
    }

    /// Queues a stack to be scanned again; answers whether it is queued.
    pub(crate) fn push_late(&self, stack: NonNull<u8>) -> bool {
        if self.late.push(stack) {
            return true;
        }
        // The rescan of all marked objects comes by it, after the callback.
        self.overflowed.set(true);
        false
    }

    /// Whether the object is marked.
    pub(crate) fn is_marked(&self, object: NonNull<u8>) -> bool {
        // SAFETY: callers name objects.
        let page = unsafe { PageRef::of(object) };
        page.is_marked(page.bit_of(object))
    }

    /// Marks an object from a callback.
    pub(crate) fn shade(&self, object: NonNull<u8>) {
        if self.barrier.get() {
            let mut marker = Marker::new(self);
            marker.mark(object);
            let (_, bytes) = marker.take_cost();
            self.marked_bytes.set(self.marked_bytes.get() + bytes);
        }
    }

    /// Remembers a weak pointer to an object.
    pub(crate) fn shade_weak(&self, object: NonNull<u8>) {
        // SAFETY: callers name objects, dropped ones that a weak pointer holds included.
        let page = unsafe { PageRef::of(object) };
        let bit = page.bit_of(object);
        if !page.set_weak(bit, &self.source) && page.is_allocated(bit) {
            // No memory to remember it by: the object lives for another cycle. One that is dropped already can't be
            // held that way.
            self.shade(object);
        }
    }

    /// Marks an object that was found dead, but not swept, again. For objects that need no trace only.
    pub(crate) fn revive(&self, object: NonNull<u8>) {
        if self.phase.get() == Phase::Clearing {
            // SAFETY: callers name objects.
            let page = unsafe { PageRef::of(object) };
            page.set_marked(page.bit_of(object));
        }
    }

    /// Whether an object that a weak pointer names may be used.
    pub(crate) fn is_upgradable(&self, object: NonNull<u8>) -> bool {
        // SAFETY: a weak pointer names an object, or a cell that it holds.
        let page = unsafe { PageRef::of(object) };
        let bit = page.bit_of(object);
        page.is_allocated(bit)
            && match self.phase.get() {
                // Nothing is decided.
                Phase::Sleeping | Phase::Marking | Phase::Marked => true,
                // What is white is dead; what was allocated since is black.
                Phase::Clearing => page.is_marked(bit),
                // A swept page has only survivors and new objects.
                Phase::Sweeping => page.swept.get() == self.epoch.get() || page.is_marked(bit),
            }
    }

    /// Has a marked parent traced again, where the child, if any is given, is not marked.
    pub(crate) fn backward_barrier(&self, parent: NonNull<u8>, child: Option<NonNull<u8>>) {
        // SAFETY: callers name objects.
        let page = unsafe { PageRef::of(parent) };
        let bit = page.bit_of(parent);
        if page.is_marked(bit)
            && page.flags.get() & TRACED != 0
            && child.is_none_or(|child| !self.is_marked(child))
        {
            self.unmark(page, parent);
        }
    }

    /// As [`Context::backward_barrier`] for a weak child.
    pub(crate) fn backward_barrier_weak(&self, parent: NonNull<u8>, _child: NonNull<u8>) {
        self.backward_barrier(parent, None);
    }

    /// Turns a marked object white, and queues it to be marked and traced again. It is queued once however often its
    /// barrier is raised, since it is white from then on.
    fn unmark(&self, page: PageRef, object: NonNull<u8>) {
        if self.remember(page, object) {
            return;
        }
        if self.again.push(object) {
            page.clear_marked(page.bit_of(object));
            let marked = self.marked_bytes.get();
            self.marked_bytes
                .set(marked.saturating_sub(page.mark_bytes()));
        } else {
            // It stays marked: the rescan of all marked objects comes by it.
            self.overflowed.set(true);
        }
    }

    /// Marks a child where the parent, if any is given, is marked.
    pub(crate) fn forward_barrier(&self, parent: Option<NonNull<u8>>, child: NonNull<u8>) {
        if parent.is_none_or(|parent| self.is_marked(parent)) {
            self.shade(child);
        }
    }

    /// As [`Context::forward_barrier`] for a weak child.
    pub(crate) fn forward_barrier_weak(&self, parent: Option<NonNull<u8>>, child: NonNull<u8>) {
        if parent.is_none_or(|parent| self.is_marked(parent)) {
            self.shade_weak(child);
        }
    }
}

#[cfg(test)]
#[path = "mark_tests.rs"]
mod tests;
