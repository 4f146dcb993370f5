//! Sweeping: page by page, lazily where nothing needs dropping.

use std::time::Duration;

use sleepy_alloc::poison;

use super::context::{Context, Phase};
use super::meter::Meter;
use super::page::{Bit, PageRef};
use super::source::{PAGE_BYTES, Source};
use super::space::Space;
use super::special::Stage;
use super::vtable::DROPPED;
use super::zeal;

/// An object whose destructor runs in pieces.
#[derive(Clone, Copy)]
pub(super) struct Dropping {
    pub(super) page: PageRef,
    pub(super) index: usize,
    /// Where the destructor goes on.
    pub(super) from: usize,
}

/// Free bytes in pages that are kept however little is allocated from one cycle to the next.
const KEPT_AT_LEAST_BYTES: usize = 128 * 1024;

/// A program that allocates so little that no cycle was due for this long is at rest.
const AT_REST: Duration = Duration::from_secs(5);

/// Bytes of empty pages that a program at rest keeps at most, however much it has allocated since it rested.
const KEPT_EMPTY_BYTES: usize = 512 * 1024;

/// Elements dropped between two looks at the budget.
const DROPPED_AT_A_TIME: usize = 16;

/// What an element with a destructor counts for in bytes: the least size that one has that owns something.
const ELEMENT_BYTES: usize = 8;

/// What a page without young objects counts for in a young cycle, in pointers looked at and in bytes.
const OLD_PAGE_TICKS: usize = 4;
const OLD_PAGE_BYTES: usize = 32;

/// What a destructor counts for, in pointers looked at: it usually frees memory.
const TICKS_PER_DROP: usize = 8;

/// What the freeing of a chunk of a table counts for, in pointers looked at and in bytes.
const TICKS_PER_CHUNK: usize = 64;
const BYTES_PER_CHUNK: usize = 512;

impl Context {
    /// Decides: what is white is dead.
    pub(super) fn decide(&self) {
        // Cells that are reserved, but hold nothing yet, must not be taken for dead objects later, and what is
        // allocated in them from now on must be black: they are given back.
        self.close_spaces();
        self.decide_generation();
        self.barrier.set(self.generations.is_sticky());
        self.phase.set(Phase::Clearing);
        self.waiting.reset();
        self.reset_queues();
    }

    /// Forgets what is queued, and frees the memory.
    pub(super) fn reset_queues(&self) {
        self.gray.reset_to_chunk();
        self.again.reset();
        self.slices.reset();
        self.late.reset();
    }

    pub(super) fn close_spaces(&self) {
        self.each_space(|space| {
            let unused = space.close();
            let bytes = unused * space.cell_bytes;
            self.metrics.undo_heap(unused, bytes);
            self.earn(bytes);
        });
    }

    /// Has weak containers forget the dead, then begins to sweep; false where the budget ended first.
    pub(super) fn clear_step(&self, meter: &mut Meter) -> bool {
        if !self.run_stage(Stage::Clear, meter) {
            return false;
        }
        while self.waiting.free_some() {
            meter.spend(TICKS_PER_CHUNK, BYTES_PER_CHUNK);
            if meter.is_empty() {
                return false;
            }
        }
        if self.generations.is_sticky() {
            self.specials.rewind();
        } else {
            self.specials.clear();
        }
        self.close_spaces();
        self.epoch.set(self.epoch.get().wrapping_add(1));
        self.each_space(Space::begin_sweep);
        self.sweep_space.set(0);
        self.sweep_second.set(false);
        self.survivors.set(0);
        self.survivors_bytes.set(0);
        self.kept_bytes.set(0);
        self.kept_empty_bytes.set(0);
        // What the next cycle is likely to allocate, and at most what it may.
        let period = self.period_bytes.get();
        let likely = period + period / 4 + KEPT_AT_LEAST_BYTES;
        let allowed = self.metrics.pacing().sleep_bytes(self.marked_bytes.get());
        self.keep_bytes.set(likely.min(allowed));
        let before = self.cycle_ended.get().unwrap_or(self.born);
        self.at_rest.set(before.elapsed() >= AT_REST);
        self.phase.set(Phase::Sweeping);
        true
    }

    /// Sweeps; true at the end, false where the budget ended first.
    ///
    /// Pages with destructors come first: allocation can't sweep those.
    pub(super) fn sweep_step(&self, meter: &mut Meter) -> bool {
        if !self.finish_dropping(meter) {
            return false;
        }
        loop {
            let Some(space) = self.space(self.sweep_space.get()) else {
                self.sweep_space.set(0);
                if self.sweep_second.replace(true) {
                    return true;
                }
                continue;
            };
            if space.vtable.needs_drop != self.sweep_second.get() {
                while let Some(page) = space.next_unswept(self.epoch.get()) {
                    if self.is_all_old(page) {
                        self.sweep_page(space, page, false);
                        meter.spend(OLD_PAGE_TICKS, OLD_PAGE_BYTES);
                        if meter.is_empty() {
                            return false;
                        }
                        continue;
                    }
                    if space.vtable.needs_drop && !self.drop_dead(page, meter) {
                        return false;
                    }
                    let page_bytes = if space.large {
                        page.cell_bytes
                    } else {
                        PAGE_BYTES
                    };
                    let before = self.survivors_bytes.get();
                    self.sweep_page(space, page, false);
                    if meter.is_empty() {
                        return false;
                    }
                    let kept = self.survivors_bytes.get() - before;
                    meter.spend(page_ticks(space), meter.sweep.page(kept, page_bytes - kept));
                }
            }
            self.sweep_space.set(self.sweep_space.get() + 1);
            meter.spend(1, 0);
        }
    }

    /// Runs the destructors of a page's dead objects; false where the budget ended first.
    fn drop_dead(&self, page: PageRef, meter: &mut Meter) -> bool {
        let mut from = 0;
        while let Some(index) = page.next_dead(from) {
            if meter.is_empty() {
                return false;
            }
            // Before its destructor: one that panics is not run again.
            page.clear_allocated(Bit::of(index));
            self.discharge(1, page.cell_bytes);
            if page.vtable.object_bytes != 0 {
                meter.spend(0, meter.sweep.dropped(page.cell_bytes));
            }
            self.dropping.set(Some(Dropping {
                page,
                index,
                from: 0,
            }));
            if !self.finish_dropping(meter) {
                return false;
            }
            from = index + 1;
        }
        true
    }

    /// Goes on with a destructor that is under way; false where the budget ended first.
    fn finish_dropping(&self, meter: &mut Meter) -> bool {
        while let Some(Dropping { page, index, from }) = self.dropping.get() {
            /// Remembers how far a destructor has come, also when it panics.
            struct Advance<'a>(&'a Context, Dropping);
            impl Drop for Advance<'_> {
                fn drop(&mut self) {
                    self.0
                        .dropping
                        .set((self.1.from != DROPPED).then_some(self.1));
                }
            }
            let object = page.cell(index);
            let mut advance = Advance(self, Dropping { page, index, from });
            // SAFETY: the object was found dead, and is dropped from where the last call stopped; its cell is not used
            // again before its page is swept.
            unsafe { (page.vtable.drop)(object, &mut advance.1.from, DROPPED_AT_A_TIME) };
            let ended = advance.1.from == DROPPED;
            drop(advance);
            meter.spend(TICKS_PER_DROP, 0);
            if page.vtable.object_bytes == 0 {
                meter.spend(
                    0,
                    meter
                        .sweep
                        .dropped(DROPPED_AT_A_TIME * ELEMENT_BYTES)
                        .max(1),
                );
            }
            if ended {
                if self.zeal.is_some() {
                    // SAFETY: the object has been dropped.
                    unsafe { zeal::poison(object, page.cell_bytes) };
                }
                poison::unused(object, page.cell_bytes);
            } else if meter.is_empty() {
                return false;
            }
        }
        true
    }

    /// Sweeps a page whose dead objects need no drop any more; true if it has free cells that can be used at once. An
    /// empty page goes back to the heap, unless allocation wants one.
    pub(super) fn sweep_page(&self, space: &Space, page: PageRef, wanted: bool) -> bool {
        self.sweep_page_of(&self.source, space, page, wanted)
    }

    /// The same, with the heap as whoever has it names it.
    pub(super) fn sweep_page_of(
        &self,
        source: &Source,
        space: &Space,
        page: PageRef,
        wanted: bool,
    ) -> bool {
        if self.zeal.is_some() || cfg!(asan) {
            self.poison_dead(page);
        }
        let swept = if self.is_all_old(page) {
            page.sweep_unchanged()
        } else {
            page.sweep(self.generations.is_sticky())
        };
        page.swept.set(self.epoch.get());
        page.listed.set(false);
        space.note_swept(swept);
        self.discharge(swept.freed, swept.freed * page.cell_bytes);
        self.survivors.set(self.survivors.get() + swept.live);
        self.survivors_bytes
            .set(self.survivors_bytes.get() + swept.live * page.cell_bytes);
        let (is_empty, free_bytes) = (swept.live + swept.held == 0, page.free_bytes(swept));
        let kept = self.kept_bytes.get();
        // A program at rest needs the few pages again that it has filled since the last cycle, some time. To give them back would
        // wake the scavenger each time for what is not worth it.
        let counted_bytes = match self.at_rest.get() && !space.large {
            true => page.resident_free_bytes(swept),
            false => free_bytes,
        };
        if is_empty && !wanted {
            let kept_empty = self.kept_empty_bytes.get() + counted_bytes;
            let keeps_empty = self.at_rest.get()
                && !space.large
                && space.is_used()
                && fits_at_rest(kept + counted_bytes, kept_empty, self.keep_bytes.get());
            if !keeps_empty {
                self.free_page_of(source, space, page);
                return false;
            }
            self.kept_empty_bytes.set(kept_empty);
        }
        if free_bytes == 0 {
            return false;
        }
        if wanted {
            return true;
        }
        // Memory for the next cycle's allocations is kept, of each space as much as it needs; what is beyond goes back, unit by unit. A
        // program at rest is not disturbed for that.
        let room_bytes = match kept > self.keep_bytes.get() {
            true => 0,
            false if self.at_rest.get() => usize::MAX,
            false => space.needed_bytes(),
        };
        let resident_bytes = page.resident_free_bytes(swept);
        let released_bytes = match resident_bytes > room_bytes {
            true => page.release(source, room_bytes),
            false => 0,
        };
        self.kept_bytes
            .set(kept + counted_bytes.saturating_sub(released_bytes));
        space.keep(resident_bytes.saturating_sub(released_bytes));
        if !space.large {
            space.offer(page);
        }
        false
    }

    fn poison_dead(&self, page: PageRef) {
        let mut from = 0;
        while let Some(index) = page.next_dead(from) {
            let cell = page.cell(index);
            if self.zeal.is_some() {
                // SAFETY: the object is dead, and dropped or in no need of it.
                unsafe { zeal::poison(cell, page.cell_bytes) };
            }
            poison::unused(cell, page.cell_bytes);
            from = index + 1;
        }
    }
}

/// Whether a program at rest keeps one more empty page, with which so many free bytes are kept, and so many of them in empty pages.
///
/// The last cycle's time says that the program rested before this one, and not that it has allocated little since: a burst after a pause
/// must not leave all its pages behind.
fn fits_at_rest(kept_bytes: usize, kept_empty_bytes: usize, keep_bytes: usize) -> bool {
    kept_bytes <= keep_bytes && kept_empty_bytes <= KEPT_EMPTY_BYTES
}

/// The cost of sweeping a page, in pointers looked at.
fn page_ticks(space: &Space) -> usize {
    if space.large {
        32
    } else {
        32 + PAGE_BYTES / space.cell_bytes / 64
    }
}

#[cfg(test)]
mod tests {
    use std::ptr::NonNull;
    use std::time::Instant;

    use super::super::waiting::Waiter;
    use super::*;
    use crate::pacing::Pacing;
    use crate::step::Budget;

    /// Of so many empty pages of a program at rest, those that are kept.
    fn kept_pages(pages: usize, keep_bytes: usize) -> usize {
        let mut kept = 0;
        for _ in 0..pages {
            let bytes = (kept + 1) * PAGE_BYTES;
            kept += usize::from(fits_at_rest(bytes, bytes, keep_bytes));
        }
        kept
    }

    #[test]
    fn a_program_at_rest_keeps_its_nursery_and_not_what_a_burst_has_left() {
        let most = KEPT_EMPTY_BYTES / PAGE_BYTES;
        assert_eq!(kept_pages(3, 4 * PAGE_BYTES), 3);
        assert_eq!(kept_pages(most, 40 << 20), most);
        // A burst of 31 MiB after a pause.
        assert_eq!(kept_pages((31 << 20) / PAGE_BYTES, 40 << 20), most);
        assert_eq!(kept_pages(most, PAGE_BYTES), 1);
        // Free cells in pages that are in use count as kept, but don't take the room of empty pages.
        assert!(fits_at_rest(30 << 20, PAGE_BYTES, 40 << 20));
        assert!(!fits_at_rest(30 << 20, PAGE_BYTES, 20 << 20));
    }

    #[test]
    fn a_large_table_of_who_waits_is_freed_in_many_steps() {
        let context = Context::new_owned(false);
        for n in 1..=100_000 {
            let key = NonNull::without_provenance(std::num::NonZero::new(n * 8).expect("not 0"));
            assert!(context.waiting.add(key, Waiter { map: key, from: 0 }));
        }
        context.decide();
        let mut steps = 0;
        loop {
            steps += 1;
            let prices = Pacing::DEFAULT.sweep_prices();
            let mut meter = Meter::new(Budget::Work(4096), Instant::now(), prices);
            if context.clear_step(&mut meter) {
                break;
            }
        }
        // Chunks of 512 entries.
        assert!(
            steps >= 100_000 / 512 * BYTES_PER_CHUNK / 4096,
            "{steps} steps"
        );
    }
}
