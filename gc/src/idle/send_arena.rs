//! An arena that may move between threads.

use std::convert::Infallible;

use super::collector::{Collector, IdleHint};
use crate::arena::{Arena, MarkedArena, ParkedArena, Root, Rootable};
use crate::collect::Collect;
use crate::metrics::Metrics;
use crate::mutation::Mutation;
use crate::send_root::SendRoot;
use crate::step::{Budget, CollectionPhase, Progress};
use crate::summary::HeapSummary;

/// An [`Arena`] that may move between threads, used by one at a time: what a [`Gil`](super::Gil) guards.
///
/// Nothing that is bound to a thread can get into it:
/// - the root is [`SendRoot`], when it is made and when it is mapped to another;
/// - each object that is allocated in it, reachable or not, has a type with [`Collect::SEND`]; [`Gc::new`](crate::Gc::new) of any
///   other panics;
/// - the arena inside can't be taken out, and there is no `&mut Arena` that a common arena could be swapped with.
///
/// What leaves it ([`DynamicRoot`](crate::DynamicRoot), [`Metrics`]) may be anywhere. It can't be shared between threads: a
/// reference to it would let two of them allocate at a time.
///
/// ```
/// use sleepy_gc::{Rootable, collections::{GcStr, GcVec}, idle::SendArena};
///
/// let mut arena = SendArena::<Rootable![GcVec<'_, GcStr<'_>>]>::new(|_| GcVec::new());
/// arena.mutate(|mc, names| names.push(mc, GcStr::new(mc, "here")));
/// let arena = std::thread::spawn(move || {
///     arena.mutate(|mc, names| names.push(mc, GcStr::new(mc, "there")));
///     arena.finish_cycle();
///     arena
/// });
/// let arena = arena.join().unwrap();
/// assert_eq!(arena.mutate(|_, names| names.len()), 2);
/// ```
pub struct SendArena<R: for<'a> Rootable<'a> + SendRoot> {
    arena: Arena<R>,
}

// SAFETY: the root may move, as it is `SendRoot`. Each object was allocated in a context that takes `SEND` types only, as the one
// constructor made it so, and the field is not given out; so each may be used and dropped on another thread, provided that all of them
// move at once, and they do: no `Gc` outlives a callback, and a callback ends on the thread that it has begun on. The context's own
// state (tables, counters, the `sleepy_alloc::Heap`, which is `Send`) belongs to no thread; a heap that one thread has lent may be
// taken back by another.
unsafe impl<R> Send for SendArena<R>
where
    R: for<'a> Rootable<'a> + SendRoot,
    for<'a> Root<'a, R>: SendRoot,
{
}

impl<R> SendArena<R>
where
    R: for<'a> Rootable<'a> + SendRoot,
    for<'a> Root<'a, R>: Sized + Collect<'a> + SendRoot,
{
    /// As [`Arena::new`].
    pub fn new<F>(f: F) -> Self
    where
        F: for<'gc> FnOnce(&'gc Mutation<'gc>) -> Root<'gc, R>,
    {
        Self::try_new(|mc| Ok::<_, Infallible>(f(mc))).unwrap_or_else(|never| match never {})
    }

    /// As [`Arena::try_new`].
    ///
    /// # Errors
    ///
    /// What `f` reports.
    pub fn try_new<F, E>(f: F) -> Result<Self, E>
    where
        F: for<'gc> FnOnce(&'gc Mutation<'gc>) -> Result<Root<'gc, R>, E>,
    {
        Arena::try_new_send(f).map(|arena| Self { arena })
    }

    /// As [`Arena::map_root`], to a root that may move too.
    pub fn map_root<R2>(
        self,
        f: impl for<'gc> FnOnce(&'gc Mutation<'gc>, Root<'gc, R>) -> Root<'gc, R2>,
    ) -> SendArena<R2>
    where
        R2: for<'a> Rootable<'a> + SendRoot,
        for<'a> Root<'a, R2>: Sized + Collect<'a> + SendRoot,
    {
        SendArena {
            arena: self.arena.map_root(f),
        }
    }

    /// As [`Arena::try_map_root`], to a root that may move too.
    ///
    /// # Errors
    ///
    /// What `f` reports.
    pub fn try_map_root<R2, E>(
        self,
        f: impl for<'gc> FnOnce(&'gc Mutation<'gc>, Root<'gc, R>) -> Result<Root<'gc, R2>, E>,
    ) -> Result<SendArena<R2>, E>
    where
        R2: for<'a> Rootable<'a> + SendRoot,
        for<'a> Root<'a, R2>: Sized + Collect<'a> + SendRoot,
    {
        let arena = self.arena.try_map_root(f)?;
        Ok(SendArena { arena })
    }

    /// As [`Arena::mutate`].
    #[inline]
    pub fn mutate<F, T>(&self, f: F) -> T
    where
        F: for<'gc> FnOnce(&'gc Mutation<'gc>, &'gc Root<'gc, R>) -> T,
    {
        self.arena.mutate(f)
    }

    /// As [`Arena::mutate_root`].
    #[inline]
    pub fn mutate_root<F, T>(&mut self, f: F) -> T
    where
        F: for<'gc> FnOnce(&'gc Mutation<'gc>, &'gc mut Root<'gc, R>) -> T,
    {
        self.arena.mutate_root(f)
    }

    /// As [`Arena::metrics`].
    #[inline]
    pub fn metrics(&self) -> &Metrics {
        self.arena.metrics()
    }

    /// As [`Arena::collection_phase`].
    #[inline]
    pub fn collection_phase(&self) -> CollectionPhase {
        self.arena.collection_phase()
    }

    /// As [`Arena::has_work`].
    #[inline]
    pub fn has_work(&self) -> bool {
        self.arena.has_work()
    }

    /// As [`Arena::debt_due`].
    #[inline]
    pub fn debt_due(&self) -> bool {
        self.arena.debt_due()
    }

    /// As [`Arena::allocation_debt`].
    #[inline]
    pub fn allocation_debt(&self) -> usize {
        self.arena.allocation_debt()
    }

    /// As [`Arena::heap_bytes`].
    pub fn heap_bytes(&self) -> usize {
        self.arena.heap_bytes()
    }

    /// As [`Arena::committed_bytes`].
    pub fn committed_bytes(&self) -> usize {
        self.arena.committed_bytes()
    }

    /// As [`Arena::set_heap_limit`].
    pub fn set_heap_limit(&mut self, bytes: Option<usize>) {
        self.arena.set_heap_limit(bytes);
    }

    /// As [`Arena::set_shortage`].
    #[cfg(debug_assertions)]
    pub fn set_shortage(&mut self, shortage: crate::Shortage) -> crate::Shortage {
        self.arena.set_shortage(shortage)
    }

    /// As [`Arena::set_generational`].
    pub fn set_generational(&mut self, generational: bool) {
        self.arena.set_generational(generational);
    }

    /// As [`Arena::is_generational`].
    pub fn is_generational(&self) -> bool {
        self.arena.is_generational()
    }

    /// As [`Arena::park`]. A guard that is forgotten is made good by whichever thread uses the arena next.
    pub fn park(&mut self) -> ParkedArena<'_> {
        self.arena.park()
    }

    /// As [`Arena::collect_debt`].
    pub fn collect_debt(&mut self) {
        self.arena.collect_debt();
    }

    /// As [`Arena::mark_debt`].
    pub fn mark_debt(&mut self) -> Option<MarkedArena<'_, R>> {
        self.arena.mark_debt()
    }

    /// As [`Arena::finish_marking`].
    pub fn finish_marking(&mut self) -> Option<MarkedArena<'_, R>> {
        self.arena.finish_marking()
    }

    /// As [`Arena::cycle_debt`].
    pub fn cycle_debt(&mut self) {
        self.arena.cycle_debt();
    }

    /// As [`Arena::finish_cycle`].
    pub fn finish_cycle(&mut self) {
        self.arena.finish_cycle();
    }

    /// As [`Arena::step`].
    pub fn step(&mut self, budget: Budget) -> Progress {
        self.arena.step(budget)
    }

    /// As [`Arena::start_cycle`].
    pub fn start_cycle(&mut self) {
        self.arena.start_cycle();
    }

    /// As [`Arena::heap_summary`].
    pub fn heap_summary(&mut self) -> HeapSummary {
        self.arena.heap_summary()
    }

    /// As [`Arena::verify`].
    ///
    /// # Errors
    ///
    /// What is wrong, in words.
    pub fn verify(&mut self) -> Result<(), String> {
        self.arena.verify()
    }
}

impl<R> Collector for SendArena<R>
where
    R: for<'a> Rootable<'a> + SendRoot,
    for<'a> Root<'a, R>: Sized + Collect<'a> + SendRoot,
{
    fn has_work(&self) -> bool {
        self.arena.has_work()
    }

    fn wants_cycle(&self, hint: &IdleHint) -> bool {
        self.arena.wants_cycle(hint)
    }

    fn start_cycle(&mut self) {
        Collector::start_cycle(&mut self.arena);
    }

    fn start_full_cycle(&mut self) {
        self.arena.start_full_cycle();
    }

    fn keep_old(&mut self, keep: bool) {
        self.arena.keep_old(keep);
    }

    fn step(&mut self, budget: Budget) -> Progress {
        Collector::step(&mut self.arena, budget)
    }

    fn forced_step(&mut self, budget: Budget) -> Progress {
        self.arena.forced_step(budget)
    }

    fn while_lent<T>(&mut self, block: impl FnOnce() -> T) -> T {
        self.arena.while_lent(block)
    }

    fn lend(&mut self) {
        self.arena.lend();
    }

    fn take_back(&mut self) {
        self.arena.take_back();
    }

    fn hint(&self) -> IdleHint {
        self.arena.hint()
    }

    fn phase(&self) -> Option<CollectionPhase> {
        self.arena.phase()
    }

    fn can_delegate(&self) -> bool {
        self.arena.can_delegate()
    }
}
