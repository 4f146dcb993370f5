//! Waits that a foreign library hides: the caller says that it is about to wait.

use std::panic::Location;
use std::time::Duration;

use super::bell::Bell;
use super::collector::Collector;
use super::site::{Kind, SiteId};
use super::sleeper::{Sleeper, Wait};

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
