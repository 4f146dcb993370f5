//! Sticky mark bits (A. Demers et al., "Combining generational and conservative garbage collection", 1990): cycles that look at what was allocated since the last one only.
//!
//! In a generational arena the sweep leaves the marks of survivors, and the time up to the next cycle is, to barriers and to
//! the mutator, a part of that cycle's marking: old objects are black, new ones white, a store into a black one raises
//! its barrier, and the next cycle goes on from the queues. A *young* cycle is a cycle without a beginning of its own.
//!
//! | `sticky` | `young` | the cycle under way, or the time after it |
//! |---|---|---|
//! | no | no | a cycle that found no marks; its sweep takes marks back |
//! | yes | no | the same up to the decision; its sweep leaves marks |
//! | yes | yes | a cycle that found the marks of old objects; its sweep leaves them |
//! | no | yes | the same; its sweep takes the marks of all back, as the next cycle is to be full |
//!
//! `sticky` changes at the decision, and where all marks are taken back at once. Between the decision and the end of the sweep marks
//! are what objects live by, so that a backward barrier can't take one back: it *remembers* the object instead.

use std::cell::{Cell, RefCell};
use std::collections::HashSet;
use std::ptr::NonNull;

use super::context::{Context, Phase};
use super::nursery;
use super::page::{PageRef, TRACED};
use crate::metrics::Cause;

/// What an arena knows of its generations.
#[derive(Default)]
pub(super) struct Generations {
    /// Whether the arena is generational from the next decision on.
    wanted: Cell<bool>,
    /// Whether the marks of survivors stay.
    sticky: Cell<bool>,
    /// Whether the cycle under way is a young one.
    young: Cell<bool>,
    /// Whether the next cycle is to be a full one.
    full: Cell<bool>,
    /// Bytes that the last full cycle found alive.
    live_at_full_bytes: Cell<usize>,
    /// Whether what cycles find alive is not to be old for the time being, though there are generations.
    one_for_now: Cell<bool>,
    /// Marked objects that were written to since the decision: they are on the queue of slices.
    remembered: RefCell<HashSet<NonNull<u8>>>,
}

impl Generations {
    pub(super) fn from_environment() -> Self {
        let generations = Self::default();
        let wanted = std::env::var_os("SLEEPY_GENERATIONAL").is_some_and(|value| value == "1");
        generations.wanted.set(wanted);
        generations
    }

    /// Whether the marks of survivors stay, and barriers with them.
    #[inline]
    pub(super) fn is_sticky(&self) -> bool {
        self.sticky.get()
    }

    /// Asks for the next cycle to be full.
    pub(super) fn ask_full(&self) {
        self.full.set(true);
    }
}

impl Context {
    /// Whether the arena has generations.
    pub(crate) fn is_generational(&self) -> bool {
        self.generations.wanted.get()
    }

    /// Whether the cycle under way is a young one.
    pub(crate) fn is_young(&self) -> bool {
        self.generations.young.get()
    }

    /// Whether the next cycle is to be young, as things stand.
    pub(crate) fn is_young_next(&self) -> bool {
        self.generations.sticky.get() && !self.generations.full.get()
    }

    /// Asks for the next cycle to be full.
    pub(crate) fn ask_full(&self) {
        self.generations.ask_full();
    }

    /// Says whether what the next cycles find alive is to be old.
    pub(crate) fn keep_old(&self, keep: bool) {
        self.generations.one_for_now.set(!keep);
    }

    /// Bytes that young cycles have made old since the last full one.
    pub(crate) fn promoted_bytes(&self) -> usize {
        match self.generations.sticky.get() {
            true => self
                .live_bytes()
                .saturating_sub(self.generations.live_at_full_bytes.get()),
            false => 0,
        }
    }

    /// Gives the arena generations, or takes them from it.
    pub(crate) fn set_generational(&self, wanted: bool) {
        self.generations.wanted.set(wanted);
        if !wanted && self.phase.get() == Phase::Sleeping {
            self.take_marks_back();
        }
    }

    /// Says whether the cycle that begins is young; answers so.
    pub(super) fn begin_generation(&self, cause: Cause) -> bool {
        let generations = &self.generations;
        let full = generations.full.take()
            || matches!(cause, Cause::Explicit | Cause::Emergency)
            || !generations.sticky.get();
        if full {
            self.take_marks_back();
        }
        generations.young.set(!full);
        !full
    }

    /// Decides whether marks stay after the sweep that is about to begin.
    pub(super) fn decide_generation(&self) {
        let generations = &self.generations;
        let old_enough = !generations.young.get()
            || !nursery::is_full_due(
                &self.metrics.pacing(),
                self.marked_bytes.get() + self.metrics.external_bytes(),
                generations.live_at_full_bytes.get(),
            );
        generations
            .sticky
            .set(generations.wanted.get() && !generations.one_for_now.get() && old_enough);
    }

    /// Notes what a cycle has found alive; answers what may be allocated before the next one, where the arena is
    /// generational.
    pub(super) fn end_generation(&self, live_bytes: usize) -> Option<usize> {
        let generations = &self.generations;
        if !generations.young.replace(false) {
            generations.live_at_full_bytes.set(live_bytes);
        }
        if generations.sticky.get() {
            generations.remembered.take();
        }
        if !generations.wanted.get() {
            self.take_marks_back();
            return None;
        }
        if generations.one_for_now.get() && !generations.sticky.get() {
            return None;
        }
        self.marked_bytes.set(self.survivors_bytes.get());
        let grown = self.metrics.counted_bytes().saturating_sub(live_bytes);
        let full_next = !generations.sticky.get();
        Some(nursery::credit_bytes(
            &self.metrics.pacing(),
            live_bytes,
            grown,
            full_next,
        ))
    }

    /// Makes all objects white while no cycle is under way.
    fn take_marks_back(&self) {
        debug_assert!(self.phase.get() == Phase::Sleeping || !self.generations.sticky.get());
        if !self.generations.sticky.replace(false) {
            return;
        }
        self.barrier.set(false);
        self.each_space(|space| {
            for index in 0..space.len() {
                if let Some(page) = space.page(index) {
                    page.take_marks_back();
                }
            }
        });
        self.specials.take_off();
        self.reset_queues();
        self.overflowed.set(false);
        self.root_gray.set(false);
    }

    /// Whether a marked object without a destructor, which nothing names any more, is on no queue.
    pub(super) fn may_free_marked(&self, page: PageRef) -> bool {
        !matches!(self.phase.get(), Phase::Marking | Phase::Marked)
            && (page.flags.get() & TRACED == 0 || self.gray.is_empty() && self.slices.is_empty())
    }

    /// Whether the sweep under way finds all objects of a page alive, and leaves their marks.
    pub(super) fn is_all_old(&self, page: PageRef) -> bool {
        let generations = &self.generations;
        generations.young.get() && generations.sticky.get() && page.is_unchanged()
    }

    /// Has the next cycle trace a marked object again that is written to when its mark must stay; false where the mark
    /// may be taken back.
    pub(super) fn remember(&self, page: PageRef, object: NonNull<u8>) -> bool {
        let must_stay = match self.phase.get() {
            Phase::Sleeping | Phase::Marking | Phase::Marked => false,
            Phase::Clearing => true,
            Phase::Sweeping => page.swept.get() != self.epoch.get(),
        };
        if must_stay {
            let mut remembered = self.generations.remembered.borrow_mut();
            if remembered.try_reserve(1).is_err() {
                // The rescan of all marked objects comes by it.
                self.overflowed.set(true);
            } else if remembered.insert(object) {
                let _ = self.push_slice(object, 0);
            }
        }
        must_stay
    }
}
