//! The state of an arena's heap and collector.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::ptr::NonNull;
use std::time::Instant;

use super::delegate::{Delegated, Owned};
use super::generations::Generations;
use super::page::PageRef;
use super::queue::Stack;
#[cfg(debug_assertions)]
use super::shortage::{Shortage, Shortages};
use super::source::Source;
use super::space::Space;
use super::special::Specials;
use super::sweep::Dropping;
use super::vtable::{DROPPED, VTable};
use super::waiting::Waiting;
use super::zeal::Zeal;
use crate::metrics::{self, Metrics};
use crate::pacing::{DEFERRED_GRANULE_BYTES, Stretch};
use crate::step::CollectionPhase;

/// Where the cycle stands.
///
/// | phase | new objects | stores | what is dead |
/// |---|---|---|---|
/// | `Sleeping` | white | free | nothing is known |
/// | `Marking` | white | barrier | undecided |
/// | `Marked` | white | barrier | what is white, if nothing is changed |
/// | `Clearing` | black | free | what is white: decided; weak containers forget it in bounded pieces |
/// | `Sweeping` | white, in swept pages only | free | what is white in pages that are not swept |
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    Sleeping,
    Marking,
    Marked,
    Clearing,
    Sweeping,
}

/// A place of the cache from vtables to spaces.
pub(super) struct Cached {
    /// The vtable's address with the class in its low bits; 0 for none.
    pub(super) key: Cell<usize>,
    pub(super) space: Cell<NonNull<Space>>,
}

pub(super) const CACHE_PLACES: usize = 128;

/// The state of an arena's heap and collector. All of it is interior-mutable: callbacks hold it shared.
pub struct Context {
    /// Bytes that may be allocated before a step is due; negative: one is due.
    pub(super) credit: Cell<isize>,
    /// Debt, in bytes of allocation, that steps have put off for the sake of being short.
    pub(super) owed_bytes: Cell<usize>,
    /// Whether objects that stores have unmarked in this cycle are left to the end of its marking.
    pub(super) again_is_heavy: Cell<bool>,
    /// Work that stores have made since the arena was made: it pays nothing off.
    pub(super) retraced_bytes: Cell<usize>,
    /// `retraced_bytes` from which on a step goes on to the end of the marking.
    pub(super) retraced_limit: Cell<usize>,
    /// Whether the last step was used up by what stores have unmarked: the next one begins with other work.
    pub(super) retraced_only: Cell<bool>,
    /// What steps of this cycle have taken that allocation forced on the program.
    pub(super) collected_ns: Cell<u64>,
    /// When the last cycle ended.
    pub(super) cycle_ended: Cell<Option<Instant>>,
    /// When the arena was made.
    pub(super) born: Instant,
    /// Whether the program was at rest before the cycle under way.
    pub(super) at_rest: Cell<bool>,
    /// How much longer than by the pacing alone the collector sleeps.
    pub(super) stretch: Cell<Stretch>,
    /// Whether stores raise barriers: in `Marking` and `Marked`; always where marks stay.
    pub(super) barrier: Cell<bool>,
    pub(super) phase: Cell<Phase>,
    pub(super) cache: [Cached; CACHE_PLACES],
    pub(super) source: Source,
    pub(super) metrics: Metrics,
    pub(super) spaces: RefCell<Vec<NonNull<Space>>>,
    pub(super) space_of: RefCell<HashMap<usize, u32>>,
    /// Marked objects that are to be traced.
    pub(super) gray: Stack<NonNull<u8>>,
    /// Objects that a backward barrier has unmarked: to be marked and traced again.
    pub(super) again: Stack<NonNull<u8>>,
    /// Marked objects whose trace goes on at an element.
    pub(super) slices: Stack<(NonNull<u8>, usize)>,
    /// Stacks that are to be scanned again when all else is marked.
    pub(super) late: Stack<NonNull<u8>>,
    /// Whether a marked object was not queued for lack of memory.
    pub(super) overflowed: Cell<bool>,
    /// Whether the root is to be traced.
    pub(super) root_gray: Cell<bool>,
    pub(super) waiting: Waiting,
    pub(super) specials: Specials,
    /// Bytes of stacks that this cycle has met, and bytes that it has scanned of them so far.
    pub(super) late_met_bytes: Cell<usize>,
    pub(super) late_scanned_bytes: Cell<usize>,
    /// Whether a callback has run since the collector looked last.
    pub(super) mutated: Cell<bool>,
    /// Counts sweeps.
    pub(super) epoch: Cell<u32>,
    /// The space that is being swept.
    pub(super) sweep_space: Cell<usize>,
    /// Whether the sweep has come to spaces without destructors.
    pub(super) sweep_second: Cell<bool>,
    /// The object whose destructor is under way, in pieces.
    pub(super) dropping: Cell<Option<Dropping>>,
    /// What the sweep under way has found alive.
    pub(super) survivors_bytes: Cell<usize>,
    pub(super) survivors: Cell<usize>,
    /// Free bytes in swept pages that were kept for the next cycle.
    pub(super) kept_bytes: Cell<usize>,
    /// Those of them that lie in empty pages.
    pub(super) kept_empty_bytes: Cell<usize>,
    /// How many of them are kept.
    pub(super) keep_bytes: Cell<usize>,
    /// Bytes that marking has found alive.
    pub(super) marked_bytes: Cell<usize>,
    /// Bytes freed that no step has reported yet.
    pub(super) freed_unreported: Cell<usize>,
    /// `allocated_bytes` when the last cycle began.
    pub(super) allocated_at_start: Cell<u64>,
    /// Bytes that are allocated from one cycle to the next, of late.
    pub(super) period_bytes: Cell<usize>,
    pub(super) delegated: Delegated,
    pub(super) limit_bytes: Cell<usize>,
    /// Whether an allocation was refused: the next cycle is an emergency.
    pub(super) refused: Cell<bool>,
    pub(super) generations: Generations,
    /// Whether the arena may move between threads.
    send: bool,
    pub(super) zeal: Option<Zeal>,
    /// Which requests fail on purpose.
    #[cfg(debug_assertions)]
    pub(super) shortages: Shortages,
}

impl Context {
    pub(crate) fn new_owned(send: bool) -> Owned {
        let Some(source) = Source::new() else {
            super::out_of_memory()
        };
        let metrics = Metrics::new();
        metrics::register(&metrics);
        let credit = metrics.pacing().credit_after_cycle(0, 0);
        let credit = isize::try_from(credit).unwrap_or(isize::MAX);
        metrics.set_credit(credit);
        let context = Owned::new(Self {
            credit: Cell::new(credit),
            owed_bytes: Cell::new(0),
            again_is_heavy: Cell::new(false),
            retraced_bytes: Cell::new(0),
            retraced_limit: Cell::new(0),
            retraced_only: Cell::new(false),
            collected_ns: Cell::new(0),
            cycle_ended: Cell::new(None),
            born: Instant::now(),
            at_rest: Cell::new(false),
            stretch: Cell::new(Stretch::NONE),
            barrier: Cell::new(false),
            phase: Cell::new(Phase::Sleeping),
            cache: [const {
                Cached {
                    key: Cell::new(0),
                    space: Cell::new(NonNull::dangling()),
                }
            }; CACHE_PLACES],
            source,
            metrics,
            spaces: RefCell::default(),
            space_of: RefCell::default(),
            gray: Stack::with_chunk(),
            again: Stack::new(),
            slices: Stack::new(),
            late: Stack::new(),
            overflowed: Cell::new(false),
            root_gray: Cell::new(false),
            waiting: Waiting::new(),
            specials: Specials::new(),
            late_met_bytes: Cell::new(0),
            late_scanned_bytes: Cell::new(0),
            mutated: Cell::new(false),
            epoch: Cell::new(0),
            sweep_space: Cell::new(0),
            sweep_second: Cell::new(false),
            dropping: Cell::new(None),
            survivors_bytes: Cell::new(0),
            survivors: Cell::new(0),
            kept_bytes: Cell::new(0),
            kept_empty_bytes: Cell::new(0),
            keep_bytes: Cell::new(0),
            marked_bytes: Cell::new(0),
            freed_unreported: Cell::new(0),
            allocated_at_start: Cell::new(0),
            period_bytes: Cell::new(0),
            delegated: Delegated::default(),
            limit_bytes: Cell::new(usize::MAX),
            refused: Cell::new(false),
            generations: Generations::from_environment(),
            send,
            zeal: Zeal::from_environment(),
            #[cfg(debug_assertions)]
            shortages: Shortages::new(),
        });
        if !send {
            /// # Safety
            ///
            /// `context` is a live context of this thread.
            unsafe fn update(context: NonNull<()>) {
                // SAFETY: the caller's contract.
                let context = unsafe { context.cast::<Context>().as_ref() };
                context.own();
                context.count_reserved();
            }
            // SAFETY: an arena that is not `Send` stays on its thread, and its context where it is until it is dropped. No
            // code of the user's runs while the context or a part of it is borrowed uniquely, but destructors in the drop of
            // the context: before that, `Owned` closes it, and no handle asks it any more.
            unsafe { context.metrics.ask(NonNull::from(&*context).cast(), update) };
        }
        context
    }

    /// Has the counters be right without the context, which is about to be dropped.
    pub(super) fn close(&self) {
        self.close_spaces();
        self.metrics.forget_arena();
    }

    /// Notes that a callback begins.
    #[inline]
    pub(crate) fn enter(&self) {
        self.take_over();
        self.mutated.set(true);
        if self.zeal.as_ref().is_some_and(Zeal::is_due) {
            self.make_due();
        }
    }

    /// Takes over what was added to the debt, and to the external bytes, from outside.
    #[inline]
    pub(crate) fn take_over(&self) {
        self.own();
        let bytes = self.metrics.take_adjustment();
        if bytes != 0 {
            self.set_credit(self.credit.get().saturating_sub(bytes));
        }
        let marked = self.metrics.take_marked();
        match marked {
            0 => {}
            1.. => self.add_external_bytes(marked.unsigned_abs()),
            _ => self.sub_external_bytes(marked.unsigned_abs()),
        }
    }

    /// Sets what may be allocated before a step is due.
    pub(super) fn set_credit(&self, bytes: isize) {
        self.credit.set(bytes);
        self.metrics.set_credit(bytes);
    }

    /// Sets what steps have put off.
    pub(super) fn set_owed(&self, bytes: usize) {
        self.owed_bytes.set(bytes);
        self.metrics.set_owed(bytes);
    }

    /// Adds to what may be allocated before a step is due.
    pub(super) fn earn(&self, bytes: usize) {
        self.set_credit(self.credit.get().saturating_add_unsigned(bytes));
    }

    /// What is left of the credit when what is owed is paid.
    pub(super) fn balance(&self) -> isize {
        self.credit
            .get()
            .saturating_sub_unsigned(self.owed_bytes.get())
    }

    /// Adds what work has earned: what is owed comes first.
    pub(super) fn repay(&self, bytes: usize) {
        let owed = self.owed_bytes.get();
        let repaid = bytes.min(owed);
        self.set_owed(owed - repaid);
        self.earn(bytes - repaid);
    }

    /// Puts off the debt that a step has left: the program runs on for a part of a granule.
    pub(super) fn defer_debt(&self) {
        let granule = DEFERRED_GRANULE_BYTES.cast_signed();
        let balance = self.balance();
        if self.credit.get() < granule && balance > isize::MIN / 2 {
            self.set_owed((granule - balance).max(0).unsigned_abs());
            self.set_credit(granule.max(balance));
        }
    }

    /// Makes a step due.
    pub(super) fn make_due(&self) {
        self.set_credit(self.credit.get().min(-1));
    }

    /// Notes that the root may change.
    pub(crate) fn root_barrier(&self) {
        self.root_gray.set(self.barrier.get());
    }

    /// The counters, brought up to date.
    pub(crate) fn metrics(&self) -> &Metrics {
        self.own();
        if self.send {
            self.count_reserved();
        }
        &self.metrics
    }

    /// Tells the counters how many cells are reserved.
    fn count_reserved(&self) {
        let (cells, bytes) = self.reserved();
        self.metrics.set_reserved(cells, bytes);
    }

    /// Cells that are reserved but hold no object yet, and their bytes.
    fn reserved(&self) -> (usize, usize) {
        let (mut cells, mut bytes) = (0, 0);
        self.each_space(|space| {
            cells += space.reserved();
            bytes += space.reserved() * space.cell_bytes;
        });
        (cells, bytes)
    }

    pub(crate) fn heap(&self) -> &sleepy_alloc::Heap {
        self.source.heap()
    }

    /// Whether the arena may move between threads.
    pub(crate) fn is_send(&self) -> bool {
        self.send
    }

    #[inline(always)]
    pub(crate) fn is_marking(&self) -> bool {
        self.barrier.get()
    }

    /// Whether a cycle is under way that has not decided yet.
    pub(crate) fn is_undecided(&self) -> bool {
        matches!(self.phase.get(), Phase::Marking | Phase::Marked)
    }

    pub(crate) fn is_clearing(&self) -> bool {
        self.phase.get() == Phase::Clearing
    }

    #[inline(always)]
    pub(crate) fn debt_due(&self) -> bool {
        self.credit.get() < 0
    }

    pub(crate) fn allocation_debt(&self) -> usize {
        self.take_over();
        if self.debt_due() {
            self.metrics.pacing().debt_bytes(self.balance())
        } else {
            0
        }
    }

    pub(crate) fn set_heap_limit(&self, bytes: Option<usize>) {
        self.limit_bytes.set(bytes.unwrap_or(usize::MAX));
    }

    #[cfg(debug_assertions)]
    pub(crate) fn set_shortage(&self, shortage: Shortage) -> Shortage {
        self.shortages.set(shortage)
    }

    pub(crate) fn add_external_bytes(&self, bytes: usize) {
        self.metrics.add_external(bytes);
        self.charge(0, bytes);
    }

    /// As [`Context::add_external_bytes`], unless the heap limit has no room for them; without a debt.
    pub(crate) fn try_reserve_external_bytes(&self, bytes: usize) -> bool {
        self.take_over();
        let has_room = !self.is_short() && self.has_room(bytes);
        if has_room {
            self.metrics.add_external(bytes);
            self.metrics.add_heap(0, bytes);
        }
        has_room
    }

    pub(crate) fn sub_external_bytes(&self, bytes: usize) {
        let bytes = self.metrics.sub_external(bytes);
        self.discharge(0, bytes);
    }

    /// Counts cells, or external memory, that were allocated.
    pub(super) fn charge(&self, cells: usize, bytes: usize) {
        self.metrics.add_heap(cells, bytes);
        self.set_credit(self.credit.get().saturating_sub_unsigned(bytes));
    }

    /// Counts objects, or external memory, that were freed.
    pub(super) fn discharge(&self, objects: usize, bytes: usize) {
        self.metrics.sub_heap(objects, bytes);
        self.freed_unreported
            .set(self.freed_unreported.get() + bytes);
    }

    /// Heap bytes without cells that are reserved but hold no object yet.
    pub(crate) fn exact_heap_bytes(&self) -> usize {
        self.own();
        self.metrics.heap_bytes().saturating_sub(self.reserved().1)
    }

    pub(crate) fn public_phase(&self) -> CollectionPhase {
        match self.phase.get() {
            Phase::Sleeping => CollectionPhase::Sleeping,
            Phase::Marked if self.nothing_gray() => CollectionPhase::Marked,
            Phase::Marking | Phase::Marked => CollectionPhase::Marking,
            Phase::Clearing | Phase::Sweeping => CollectionPhase::Sweeping,
        }
    }

    /// Whether everything that is marked has been traced.
    pub(super) fn nothing_gray(&self) -> bool {
        !self.root_gray.get()
            && !self.overflowed.get()
            && self.gray.is_empty()
            && self.again.is_empty()
            && self.slices.is_empty()
            && self.late.is_empty()
            && self.waiting.none_ready()
    }

    pub(super) fn space(&self, index: usize) -> Option<&Space> {
        let space = self.spaces.borrow().get(index).copied();
        // SAFETY: spaces live as long as the context.
        space.map(|space| unsafe { space.as_ref() })
    }

    pub(super) fn each_space(&self, mut f: impl FnMut(&Space)) {
        let mut index = 0;
        while let Some(space) = self.space(index) {
            f(space);
            index += 1;
        }
    }

    /// Frees a page that holds nothing.
    pub(super) fn free_page(&self, space: &Space, page: PageRef) {
        self.free_page_of(&self.source, space, page);
    }

    /// The same, with the heap as whoever has it names it.
    pub(super) fn free_page_of(&self, source: &Source, space: &Space, page: PageRef) {
        space.remove(page);
        // SAFETY: no object is left in it, and it is on no list: lists are rebuilt by the sweep that found it empty.
        unsafe { page.free(source) };
    }
}

/// Drops all objects of an arena; a destructor that panics does not keep the others from being dropped.
struct DropAll<'a> {
    context: &'a Context,
    space: usize,
    page: usize,
    cell: usize,
    from: usize,
}

impl DropAll<'_> {
    fn run(&mut self) {
        while let Some(space) = self.context.space(self.space) {
            while let Some(page) = space.page(self.page).filter(|_| space.vtable.needs_drop) {
                while let Some(index) = page.next_object(self.cell) {
                    self.cell = index;
                    while self.from != DROPPED {
                        // SAFETY: the object is alive, and dropped from where the last call stopped.
                        unsafe { (page.vtable.drop)(page.cell(index), &mut self.from, usize::MAX) };
                    }
                    self.cell += 1;
                    self.from = 0;
                }
                self.page += 1;
                self.cell = 0;
            }
            self.space += 1;
            self.page = 0;
        }
    }
}

impl Drop for DropAll<'_> {
    fn drop(&mut self) {
        // After a panic: the rest. A second panic aborts, as everywhere.
        self.run();
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        /// The rest, also after a panic; pages and tables are freed with the source's heap.
        struct Free<'a>(&'a Context);
        impl Drop for Free<'_> {
            fn drop(&mut self) {
                for space in self.0.spaces.take() {
                    // SAFETY: made from a box, and freed once.
                    drop(unsafe { Box::from_raw(space.as_ptr()) });
                }
                self.0.metrics.arena_dropped();
                metrics::unregister(&self.0.metrics);
            }
        }
        let free = Free(self);
        self.each_space(Space::end_sweep);
        let dropping = self.dropping.take();
        let mut all = DropAll {
            context: self,
            space: 0,
            page: 0,
            cell: 0,
            from: 0,
        };
        if let Some(Dropping {
            page,
            index,
            mut from,
        }) = dropping
        {
            while from != DROPPED {
                // SAFETY: the object was being dropped, and is dropped from where that stopped.
                unsafe { (page.vtable.drop)(page.cell(index), &mut from, usize::MAX) };
            }
        }
        all.run();
        drop(all);
        drop(free);
    }
}

/// The vtable's class key.
#[inline(always)]
pub(super) fn key_of(vtable: &'static VTable, class: usize) -> usize {
    std::ptr::from_ref(vtable).addr() | class
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_debt_is_told_with_what_steps_have_put_off() {
        let context = Context::new_owned(false);
        context.charge(0, 1);
        context.set_credit(-1_000_000);
        context.defer_debt();
        assert!(!context.debt_due());
        assert_eq!(context.metrics().allocation_debt(), 0.0);
        let balance = context.balance();
        context.charge(0, 100_000);
        assert!(context.debt_due());
        let debt = context.metrics().allocation_debt();
        assert_eq!(debt, (100_000 - balance) as f64);
        context.discharge(0, 100_001);
    }
}
