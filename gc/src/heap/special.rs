//! Containers that take part in the decision what is dead: weak maps, weak sets, queues of finalizers.

use std::cell::Cell;
use std::ptr::NonNull;

use super::context::Context;
use super::meter::Meter;
use crate::pacing::STAGE_DIVISOR;

/// What it counts for to come by a container, in pointers looked at and in bytes: there may be a million of them.
const CONTAINER: usize = 8;

/// When a container is asked, once everything reachable is marked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    /// Weak values that are dead leave their maps, before anything is resurrected for its finalizer.
    Values,
    /// Dead objects with finalizers are resurrected and queued. Marking goes on afterwards, and then the stages are
    /// run again for containers that were reached only now.
    Finalize,
    /// It is decided who is dead: what names a dead object goes. The mutator may run between two calls, and is told
    /// by the container's own methods that entries of dead objects are absent already.
    Clear,
}

/// What a container does at its stages.
pub(crate) struct WeakOps {
    /// Whether it takes part in [`Stage::Values`].
    pub(crate) values: bool,
    /// Whether it takes part in [`Stage::Finalize`].
    pub(crate) finalize: bool,
    /// Whether it takes part in [`Stage::Clear`].
    pub(crate) clear: bool,
    /// Does a bounded piece, subtracting its cost in bytes looked at from the fuel, and stopping when there is none
    /// left; answers whether the stage is complete. The container keeps its own cursor and resets it at completion.
    ///
    /// # Safety
    ///
    /// The pointer is the object that was registered, alive, in this context, whose marking has come to its end with
    /// nothing gray left.
    pub(crate) run: unsafe fn(NonNull<u8>, Stage, &Context, &mut usize) -> bool,
}

/// What a container's own object keeps for the list of those that a cycle has met: so the list needs no memory, and
/// can't fail or grow in one long piece.
pub(crate) struct Link {
    next: Cell<Option<NonNull<Link>>>,
    /// The object and what it does, while it is on the list.
    listed: Cell<Option<(NonNull<u8>, &'static WeakOps)>>,
}

impl Link {
    pub(crate) const fn new() -> Self {
        Self {
            next: Cell::new(None),
            listed: Cell::new(None),
        }
    }
}

/// The containers of the cycle under way, in the order in which they were met.
pub(super) struct Specials {
    first: Cell<Option<NonNull<Link>>>,
    last: Cell<Option<NonNull<Link>>>,
    /// For each stage, the last one that has it behind it.
    done: [Cell<Option<NonNull<Link>>>; 3],
}

impl Specials {
    pub(super) const fn new() -> Self {
        Self {
            first: Cell::new(None),
            last: Cell::new(None),
            done: [const { Cell::new(None) }; 3],
        }
    }

    /// Adds a container, unless it is there.
    fn add(&self, link: &Link, object: NonNull<u8>, ops: &'static WeakOps) {
        if link.listed.replace(Some((object, ops))).is_some() {
            return;
        }
        link.next.set(None);
        match self.last.replace(Some(NonNull::from(link))) {
            // SAFETY: who is on the list is marked, or queued to be, and so alive until the sweep; and then the list is
            // empty, or all on it are old and marks are sticky.
            Some(last) => unsafe { last.as_ref() }.next.set(Some(NonNull::from(link))),
            None => self.first.set(Some(NonNull::from(link))),
        }
    }

    /// The next container for a stage.
    fn next(&self, stage: Stage) -> Option<NonNull<Link>> {
        match self.done[stage as usize].get() {
            // SAFETY: as in `add`.
            Some(done) => unsafe { done.as_ref() }.next.get(),
            None => self.first.get(),
        }
    }

    /// Keeps all for the next cycle, in which those that are old are not traced.
    pub(super) fn rewind(&self) {
        for done in &self.done {
            done.set(None);
        }
    }

    /// Takes all off the list.
    pub(super) fn take_off(&self) {
        let mut next = self.first.get();
        while let Some(link) = next {
            // SAFETY: as in `add`.
            let link = unsafe { link.as_ref() };
            link.listed.set(None);
            next = link.next.get();
        }
        self.clear();
    }

    /// Forgets all: the last stage is behind them.
    pub(super) fn clear(&self) {
        self.first.set(None);
        self.last.set(None);
        self.rewind();
    }
}

impl Context {
    /// Remembers a container for the stages of this cycle.
    ///
    /// # Safety
    ///
    /// The link is a part of the object, which is being traced, or black in a cycle that clears.
    pub(crate) unsafe fn register(&self, link: &Link, object: NonNull<u8>, ops: &'static WeakOps) {
        self.specials.add(link, object, ops);
    }

    /// Remembers a container that was made while others are being cleared, with entries that may be dead.
    ///
    /// # Safety
    ///
    /// The link is a part of the object, which is new.
    pub(crate) unsafe fn register_in_clear(
        &self,
        link: &Link,
        object: NonNull<u8>,
        ops: &'static WeakOps,
    ) {
        if self.is_clearing() {
            self.specials.add(link, object, ops);
        }
    }

    /// Runs the stages that belong to marking, each for all containers; false where the budget ended first. What they
    /// resurrect is gray.
    pub(super) fn run_marking_stages(&self, meter: &mut Meter) -> bool {
        self.run_stage(Stage::Values, meter) && self.run_stage(Stage::Finalize, meter)
    }

    /// Runs a stage for the containers that do not have it behind them; false where the budget ended first, or where
    /// something became gray that is to be marked before the stage goes on.
    pub(super) fn run_stage(&self, stage: Stage, meter: &mut Meter) -> bool {
        loop {
            let Some(next) = self.specials.next(stage) else {
                return true;
            };
            // SAFETY: as in `Specials::add`.
            let link = unsafe { next.as_ref() };
            let Some((object, ops)) = link.listed.get() else {
                unreachable!("it is on the list");
            };
            let takes_part = match stage {
                Stage::Values => ops.values,
                Stage::Finalize => ops.finalize,
                Stage::Clear => ops.clear,
            };
            let mut complete = true;
            if takes_part {
                let mut fuel = Meter::PIECE_BYTES;
                // SAFETY: the object was registered in this cycle and is alive until its sweep. The context is one
                // whose marking has come to its end with nothing gray left.
                complete = unsafe { (ops.run)(object, stage, self, &mut fuel) };
                meter.spend(
                    (Meter::PIECE_BYTES - fuel) / 16,
                    (Meter::PIECE_BYTES - fuel) / STAGE_DIVISOR,
                );
            }
            meter.spend(CONTAINER, CONTAINER);
            if complete {
                self.specials.done[stage as usize].set(Some(next));
                if stage == Stage::Clear && !self.generations.is_sticky() {
                    link.listed.set(None);
                }
            }
            if meter.is_empty() {
                return false;
            }
            if stage != Stage::Clear && !self.nothing_gray() {
                return true;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;
    use crate::pacing::Pacing;
    use crate::step::Budget;

    #[test]
    fn containers_that_take_no_part_are_passed_in_many_steps() {
        const ASIDE: WeakOps = WeakOps {
            values: false,
            finalize: false,
            clear: true,
            run: |_, _, _, _| unreachable!("it takes no part"),
        };
        let context = Context::new_owned(false);
        let links: Vec<_> = (0..1000).map(|_| Link::new()).collect();
        for link in &links {
            context.specials.add(link, NonNull::dangling(), &ASIDE);
        }
        let mut steps = 0;
        loop {
            steps += 1;
            let prices = Pacing::DEFAULT.sweep_prices();
            let mut meter = Meter::new(Budget::Work(64), Instant::now(), prices);
            if context.run_stage(Stage::Values, &mut meter) {
                break;
            }
            assert!(meter.work_bytes <= 64 + CONTAINER);
        }
        assert!(steps >= 1000 * CONTAINER / 64, "{steps}");
        context.specials.clear();
    }
}
