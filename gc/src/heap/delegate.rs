//! Sweeping on the scavenger's side, while the arena is parked.
//!
//! Once it is decided who is dead, a page of a type without destructors is swept by its bitmaps alone: no object is touched, no code
//! of the program runs. So it matters little who does it, and a parked arena leaves it, page by page, to whoever its heap is lent to
//! ([`sleepy_alloc::SweepHook`]). Everything else (destructors, the end of the cycle, what the work earns) waits for the owner.
//!
//! # Who may touch a context
//! A `Context` is full of cells, and is not `Sync`. It passes from its owner to the sweeper and back like the heap inside it, by the
//! heap's park word:
//!
//! - The owner arms the hook and lends the heap in one call, [`Context::park`], for which the arena is borrowed uniquely; so no callback is
//!   running. Lending is a release, the sweeper's claim an acquire: it sees all that the owner has written.
//! - From then on the owner touches, until it has its heap back, only `lent`, which the sweeper never touches, and `phase` and what else
//!   `Context::public_phase` and `Context::hint` read, which the sweeper never writes, or which is atomic. Every other way into the
//!   context goes through [`Context::own`] first: `take_over` (callbacks, steps, debts), `metrics`, `exact_heap_bytes`, `can_delegate`,
//!   another `park`, a handle of the counters that was kept and is read on the arena's thread, the drop of the arena's root and that of
//!   the context itself. Three go in without it, and touch nothing that the sweeper does: `committed_bytes` reads the heap's own
//!   counters, `set_heap_limit` writes a cell that only allocation reads, and `set_generational` one that only decisions read, and marks
//!   while nothing is swept.
//! - `own` takes the heap back: an acquire, after the sweeper's release; and waits for that where a page is being swept. So it sees all
//!   that the sweeper has done, and the sweeper touches nothing any more.
//!
//! An arena that moves meanwhile leaves the context where it is: it is owned through a pointer ([`Owned`]), not a box, which would claim
//! to be the only way to it.

use std::cell::Cell;
use std::ops::Deref;
use std::ptr::NonNull;

use sleepy_alloc::{Heap, SweepHook};

use super::context::{Context, Phase};
use super::source::{PAGE_BYTES, Source};
use super::space::Unswept;

/// Pages and spaces looked at in one piece, as far as there is nothing to sweep in them: each may be a miss of the cache.
const LOOKS: u32 = 32;

/// A dead object of more slices than this is left to its owner: to give its memory back takes time for each.
const MAX_SLICES: usize = 64;

/// What a context knows of sweeping on the scavenger's side.
#[derive(Default)]
pub(super) struct Delegated {
    /// The heap may be lent with the hook armed. The owner's own.
    lent: Cell<bool>,
    /// Spaces below have nothing left for the sweeper. From here on whoever has the heap uses it.
    space: Cell<usize>,
    /// Pages swept, and bytes found alive and free in them, that are not accounted for yet.
    pages: Cell<usize>,
    kept_bytes: Cell<usize>,
    free_bytes: Cell<usize>,
    /// Bytes freed that no step has reported yet.
    freed_unreported: Cell<usize>,
    /// The epoch of the sweep under way, if the sweeper has left something of it undone.
    undone: Cell<Option<u32>>,
}

/// A context, owned through a pointer: see the module.
pub(crate) struct Owned(NonNull<Context>);

impl Owned {
    pub(super) fn new(context: Context) -> Self {
        Self(NonNull::from(Box::leak(Box::new(context))))
    }

    /// What takes the heap back when the arena's root is dropped.
    pub(crate) fn door(&self) -> Door {
        Door(self.0)
    }
}

impl Deref for Owned {
    type Target = Context;

    #[inline(always)]
    fn deref(&self) -> &Context {
        // SAFETY: it was a box, and is freed by the drop of this.
        unsafe { self.0.as_ref() }
    }
}

impl Drop for Owned {
    fn drop(&mut self) {
        self.own();
        self.close();
        // SAFETY: it was a box, and is freed once. The heap has been taken back, so no sweeper has a reference; nor do
        // handles of the counters, which a destructor may read, come by theirs any more.
        drop(unsafe { Box::from_raw(self.0.as_ptr()) });
    }
}

/// Takes an arena's heap back when it is dropped, before the root is, whose destructor may look at objects. Dropped before the context is.
pub(crate) struct Door(NonNull<Context>);

impl Drop for Door {
    fn drop(&mut self) {
        // SAFETY: an arena's door is dropped before its context.
        unsafe { self.0.as_ref() }.own();
    }
}

impl Context {
    /// Lends the heap, and leaves to the sweeper what it may sweep. The caller has the arena to itself.
    #[inline]
    pub(crate) fn park(&self) {
        // Only in a sweep may the heap be lent with the hook armed.
        if self.phase.get() == Phase::Sweeping {
            self.park_in_sweep();
        } else {
            std::mem::forget(self.heap().park());
        }
    }

    #[cold]
    fn park_in_sweep(&self) {
        self.own();
        let bytes = self.delegable_bytes();
        if bytes == 0 {
            std::mem::forget(self.heap().park());
            return;
        }
        // A guard that was forgotten may have lent it without anything to do.
        self.heap().take_back();
        self.delegated.space.set(0);
        self.delegated.lent.set(true);
        let hook = SweepHook::new(piece, NonNull::from(self).cast(), bytes);
        // SAFETY: `data` is this context, which `Owned` drops only after it has the heap back, and which nobody else touches meanwhile:
        // see the module. `piece` allocates nothing, takes no lock, makes no system call and does not unwind: it changes cells of the
        // context, its spaces and descriptors, and gives runs, units and tables back through the reference that it gets.
        std::mem::forget(unsafe { self.heap().park_with(hook) });
    }

    /// Takes the heap back, and accounts for what was swept meanwhile.
    #[inline]
    pub(crate) fn own(&self) {
        if self.delegated.lent.get() {
            self.take_back_slow();
        }
    }

    /// As [`Context::own`], where the heap may be lent without anything left to do.
    #[inline]
    pub(crate) fn take_back(&self) {
        if self.delegated.lent.get() {
            self.take_back_slow();
        } else {
            self.heap().take_back();
        }
    }

    #[cold]
    fn take_back_slow(&self) {
        self.heap().take_back();
        let Delegated {
            lent,
            pages,
            kept_bytes,
            free_bytes,
            undone,
            ..
        } = &self.delegated;
        lent.set(false);
        let pages = pages.take();
        if pages == 0 {
            // Nobody came by in time: what is left is not left again.
            undone.set(Some(self.epoch.get()));
            return;
        }
        let pacing = self.metrics.pacing();
        let work_bytes = pacing
            .sweep_prices()
            .page(kept_bytes.take(), free_bytes.take());
        self.repay(pacing.credit_of_work(work_bytes));
        self.metrics.delegated(pages);
    }

    /// Whether the rest of the cycle is such that a sweeper can do it while the heap is lent, and likely to.
    pub(crate) fn can_delegate(&self) -> bool {
        self.own();
        self.phase.get() == Phase::Sweeping
            && self.sweep_second.get()
            && self.delegated.undone.get() != Some(self.epoch.get())
            && sleepy_alloc::has_scavenger()
            && self.delegable_bytes() != 0
    }

    /// Bytes of pages that a sweeper may sweep now that a sweep is under way, roughly; 0: there are none.
    fn delegable_bytes(&self) -> usize {
        let mut bytes = 0;
        self.each_space(|space| {
            if !space.vtable.needs_drop {
                bytes += space.unswept_pages() * space.cell_bytes.max(PAGE_BYTES);
            }
        });
        bytes
    }

    /// Bytes freed on the scavenger's side that no step has reported yet.
    pub(super) fn take_delegated_bytes(&self) -> usize {
        self.delegated.freed_unreported.take()
    }

    /// Sweeps a page, if one is found soon; false where nothing is left. The caller has the heap, and gives it as `source`.
    fn sweep_delegated(&self, source: &Source) -> bool {
        let cursor = &self.delegated.space;
        for _ in 0..LOOKS {
            let Some(space) = self.space(cursor.get()) else {
                return false;
            };
            let next = match space.vtable.needs_drop {
                true => Unswept::End,
                false => space.look_unswept(self.epoch.get()),
            };
            match next {
                Unswept::Page(page)
                    if page.slices() <= MAX_SLICES || page.next_dead(0).is_none() =>
                {
                    let (freed, kept) = (self.freed_unreported.get(), self.survivors_bytes.get());
                    // Before it is swept: it may be gone then.
                    let page_bytes = if space.large {
                        page.cell_bytes
                    } else {
                        PAGE_BYTES
                    };
                    self.sweep_page_of(source, space, page, false);
                    let freed = self.freed_unreported.get() - freed;
                    let kept = self.survivors_bytes.get() - kept;
                    let add = |to: &Cell<usize>, bytes| to.set(to.get() + bytes);
                    add(&self.delegated.pages, 1);
                    add(&self.delegated.kept_bytes, kept);
                    add(&self.delegated.free_bytes, page_bytes - kept);
                    add(&self.delegated.freed_unreported, freed);
                    self.metrics.delegated_freed(freed);
                    return true;
                }
                Unswept::Swept => {}
                Unswept::Page(_) => {
                    self.delegated.undone.set(Some(self.epoch.get()));
                    cursor.set(cursor.get() + 1);
                }
                Unswept::End => cursor.set(cursor.get() + 1),
            }
        }
        true
    }
}

/// The hook: sweeps a page of a parked arena.
///
/// # Safety
///
/// `context` is a [`Context`] whose heap is `heap`, and which is the caller's to touch: see the module.
unsafe fn piece(context: NonNull<()>, heap: &Heap) -> bool {
    // SAFETY: the caller's contract.
    let context: &Context = unsafe { context.cast().as_ref() };
    context.sweep_delegated(Source::of(heap))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delegated_work_repays_what_is_owed_first() {
        let context = Context::new_owned(true);
        context.set_credit(-1_000_000);
        context.defer_debt();
        let (credit, balance) = (context.credit.get(), context.balance());
        context.delegated.pages.set(1);
        context.delegated.free_bytes.set(1_000_000);
        context.take_back_slow();
        assert_eq!(context.credit.get(), credit, "it is no leave to allocate");
        assert!(context.balance() > balance);
    }
}
