//! Waits that a foreign library hides: the caller says that it is about to wait.

use std::panic::Location;
use std::time::Duration;

use super::bell::Bell;
use super::clock::wall_ns;
use super::collector::{Collector, IdleHint};
use super::site::{Kind, SiteId};
use super::sleeper::{Sleeper, Wait};
use crate::step::{Budget, CollectionPhase, Progress};

impl Sleeper {
    /// Waits by calling `block`, after collecting for as long as `ready` says that `block` would
    /// have to wait.
    ///
    /// `ready` is asked first, and again after each step; it may be the operation itself in a form
    /// that does not block (a `recv` into a buffer that the closures share, say), so that a wait that
    /// is ready at once costs nothing beyond it. When it says `true`, `block` is called at once, and
    /// is expected to return without waiting; otherwise it is called with the heap lent.
    ///
    /// ```no_run
    /// # fn wait<C: sleepy_gc::idle::Collector>(
    /// #     sleeper: &mut sleepy_gc::idle::Sleeper, collector: &mut C,
    /// #     is_busy: impl Fn() -> bool, fetch: impl FnOnce() -> Vec<u8>) {
    /// let rows = sleeper.about_to_wait(collector, || !is_busy(), || fetch());
    /// # }
    /// ```
    #[track_caller]
    pub fn about_to_wait<C: Collector, T>(
        &mut self,
        c: &mut C,
        ready: impl FnMut() -> bool,
        block: impl FnOnce() -> T,
    ) -> T {
        let site = SiteId::new(
            Kind::Foreign,
            std::ptr::from_ref(Location::caller()).addr() as u64,
        );
        let mut wait = ForeignWait {
            ready,
            block: Some(block),
        };
        loop {
            if let Some(value) = self.wait_on(c, site, &mut wait, None) {
                return value;
            }
        }
    }

    /// The first half of [`about_to_wait`](Self::about_to_wait), for waits that no closure can be put
    /// around: collects for as long as `ready` says that the caller would have to wait, then lends the
    /// heap. `true`: what is waited for is there already; nothing was lent.
    ///
    /// After the wait the caller says so by [`wait_ends`](Self::wait_ends). Calls without their other
    /// half do no harm: a heap that is lent is taken back when it is used.
    ///
    /// A [`GilGuard`](super::GilGuard) is not given up here. Dropped after this call, it leaves the heap
    /// lent, and whoever takes the lock next takes it back:
    ///
    /// ```
    /// # use sleepy_gc::{Rootable, idle::{Gil, Policy, SendArena, Sleeper}};
    /// # let gil = Gil::new(SendArena::<Rootable![u32]>::new(|_| 0));
    /// # let mut sleeper = Sleeper::new(Policy::default());
    /// # let (is_ready, wait) = (|| false, || ());
    /// let mut arena = gil.lock();
    /// if !sleeper.wait_begins(&mut arena, is_ready) {
    ///     drop(arena);
    ///     wait();
    ///     arena = gil.lock();
    ///     sleeper.wait_ends(&mut arena);
    /// }
    /// ```
    #[track_caller]
    pub fn wait_begins<C: Collector>(
        &mut self,
        c: &mut C,
        mut ready: impl FnMut() -> bool,
    ) -> bool {
        let site = SiteId::new(
            Kind::Foreign,
            std::ptr::from_ref(Location::caller()).addr() as u64,
        );
        self.half_begins(c, site, Some(&mut ready))
    }

    /// As [`wait_begins`](Self::wait_begins); without `ready` at most one step is made.
    pub(super) fn half_begins<C: Collector>(
        &mut self,
        c: &mut C,
        site: SiteId,
        ready: Option<&mut dyn FnMut() -> bool>,
    ) -> bool {
        let begun_ns = wall_ns();
        let mut half = Half(c);
        // Without a timeout a wait ends by an event only.
        let is_there = match ready {
            Some(ready) => self.wait_on(&mut half, site, &mut HalfWait { ready }, None),
            None => self.wait_on(&mut half, site, &mut BlindWait, None),
        } == Some(true);
        self.half = (!is_there).then_some((site, begun_ns));
        is_there
    }

    /// The wait that [`wait_begins`](Self::wait_begins) has prepared is over: takes the heap back.
    pub fn wait_ends<C: Collector>(&mut self, c: &mut C) {
        c.take_back();
        if let Some((site, begun_ns)) = self.half.take() {
            self.observe(site, wall_ns().saturating_sub(begun_ns));
        }
    }
}

/// A collector that is lent where the wait would block, and not taken back.
struct Half<'c, C>(&'c mut C);

impl<C: Collector> Collector for Half<'_, C> {
    fn has_work(&self) -> bool {
        self.0.has_work()
    }

    fn wants_cycle(&self, hint: &IdleHint) -> bool {
        self.0.wants_cycle(hint)
    }

    fn start_cycle(&mut self) {
        self.0.start_cycle();
    }

    fn start_full_cycle(&mut self) {
        self.0.start_full_cycle();
    }

    fn keep_old(&mut self, keep: bool) {
        self.0.keep_old(keep);
    }

    fn step(&mut self, budget: Budget) -> Progress {
        self.0.step(budget)
    }

    fn contended(&self) -> bool {
        self.0.contended()
    }

    fn while_lent<T>(&mut self, block: impl FnOnce() -> T) -> T {
        self.0.lend();
        block()
    }

    fn hint(&self) -> IdleHint {
        self.0.hint()
    }

    fn phase(&self) -> Option<CollectionPhase> {
        self.0.phase()
    }
}

/// A wait whose other half is the caller's. The event is whether what is waited for is there.
struct HalfWait<'r> {
    ready: &'r mut dyn FnMut() -> bool,
}

impl Wait for HalfWait<'_> {
    type Event = bool;

    const LIMITED: bool = false;
    const WHOLE: bool = false;

    fn ready(&mut self) -> Option<bool> {
        (self.ready)().then_some(true)
    }

    fn block(&mut self, _limit: Option<Duration>, _bell: Option<&Bell>) -> Option<bool> {
        Some(false)
    }
}

/// The same where nothing can be asked.
struct BlindWait;

impl Wait for BlindWait {
    type Event = bool;

    const LIMITED: bool = false;
    const WHOLE: bool = false;
    const MAX_STEPS: u32 = 1;

    fn ready(&mut self) -> Option<bool> {
        None
    }

    fn block(&mut self, _limit: Option<Duration>, _bell: Option<&Bell>) -> Option<bool> {
        Some(false)
    }
}

struct ForeignWait<R, B> {
    ready: R,
    /// Taken when it is called, which ends the wait.
    block: Option<B>,
}

impl<T, R: FnMut() -> bool, B: FnOnce() -> T> Wait for ForeignWait<R, B> {
    type Event = T;

    const LIMITED: bool = false;

    fn ready(&mut self) -> Option<T> {
        match (self.ready)() {
            true => self.block(None, None),
            false => None,
        }
    }

    fn block(&mut self, _limit: Option<Duration>, _bell: Option<&Bell>) -> Option<T> {
        self.block.take().map(|block| block())
    }
}
