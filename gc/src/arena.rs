//! The arena: a heap, a root, and the only door to both.

use std::convert::Infallible;
use std::marker::PhantomData;

use crate::collect::Collect;
use crate::heap::{Context, Door, Goal, Owned, RootTrace};
use crate::idle::{Collector, IdleHint, Policy};
use crate::metrics::Metrics;
use crate::mutation::{Finalization, Mutation};
pub use crate::step::CollectionPhase;
use crate::step::{Budget, Progress};
use crate::summary::HeapSummary;

/// A family of root types, one for each lifetime `'gc`.
pub trait Rootable<'a> {
    /// The root's type in a callback of lifetime `'a`.
    type Root: ?Sized + 'a;
}

/// The root type of the family `R` in a callback of lifetime `'a`.
pub type Root<'a, R> = <R as Rootable<'a>>::Root;

#[doc(hidden)]
pub struct __DynRootable<T: ?Sized>(PhantomData<T>);

impl<'a, T: ?Sized + Rootable<'a>> Rootable<'a> for __DynRootable<T> {
    type Root = <T as Rootable<'a>>::Root;
}

/// Names a family of root types: `Rootable![Root<'_>]` or `Rootable!['gc => Root<'gc>]`.
#[macro_export]
macro_rules! Rootable {
    ($gc:lifetime => $root:ty) => {
        $crate::__DynRootable::<dyn for<$gc> $crate::Rootable<$gc, Root = $root>>
    };
    ($root:ty) => {
        $crate::Rootable!['__gc => $crate::__unelide_lifetimes!('__gc; $root)]
    };
}

/// A garbage-collected heap and its root.
pub struct Arena<R: for<'a> Rootable<'a>> {
    // Before the root, whose destructor may still look at objects: it has a heap that is lent taken back.
    door: Door,
    // Before the context, so that it is dropped before the heap.
    root: Box<Root<'static, R>>,
    context: Owned,
}

// The `Collect` bounds of the constructors are for soundness too: without them a closure over a root family such as
// `&'static Gc<'gc, _>` could take `'gc: 'static` for granted, and let pointers out.
impl<R> Arena<R>
where
    R: for<'a> Rootable<'a>,
    for<'a> Root<'a, R>: Sized + Collect<'a>,
{
    /// Makes an arena whose root is what `f` returns.
    pub fn new<F>(f: F) -> Self
    where
        F: for<'gc> FnOnce(&'gc Mutation<'gc>) -> Root<'gc, R>,
    {
        Self::in_context(Context::new_owned(false), |mc| Ok::<_, Infallible>(f(mc)))
            .unwrap_or_else(|never| match never {})
    }

    /// Makes an arena whose root is what `f` returns, unless it fails.
    ///
    /// # Errors
    ///
    /// What `f` reports.
    pub fn try_new<F, E>(f: F) -> Result<Self, E>
    where
        F: for<'gc> FnOnce(&'gc Mutation<'gc>) -> Result<Root<'gc, R>, E>,
    {
        Self::in_context(Context::new_owned(false), f)
    }

    /// As [`Arena::try_new`] for an arena that may move between threads: it refuses types that may not.
    pub(crate) fn try_new_send<F, E>(f: F) -> Result<Self, E>
    where
        F: for<'gc> FnOnce(&'gc Mutation<'gc>) -> Result<Root<'gc, R>, E>,
    {
        Self::in_context(Context::new_owned(true), f)
    }

    fn in_context<F, E>(context: Owned, f: F) -> Result<Self, E>
    where
        F: for<'gc> FnOnce(&'gc Mutation<'gc>) -> Result<Root<'gc, R>, E>,
    {
        // SAFETY: `f` is generic over `'gc`; the context lives in a box that the arena keeps as long as the root.
        let root = unsafe { f(Mutation::from_context(&*std::ptr::from_ref(&*context)))? };
        Ok(Self {
            door: context.door(),
            root: Box::new(root),
            context,
        })
    }

    /// Turns the root into another, of any family.
    pub fn map_root<R2>(
        self,
        f: impl for<'gc> FnOnce(&'gc Mutation<'gc>, Root<'gc, R>) -> Root<'gc, R2>,
    ) -> Arena<R2>
    where
        R2: for<'a> Rootable<'a>,
        for<'a> Root<'a, R2>: Sized + Collect<'a>,
    {
        let Self {
            root,
            context,
            door,
        } = self;
        context.enter();
        context.root_barrier();
        // SAFETY: as in `new`.
        let root = unsafe {
            f(
                Mutation::from_context(&*std::ptr::from_ref(&*context)),
                *root,
            )
        };
        Arena {
            door,
            root: Box::new(root),
            context,
        }
    }

    /// Turns the root into another, unless `f` fails; then the arena is dropped.
    ///
    /// # Errors
    ///
    /// What `f` reports.
    pub fn try_map_root<R2, E>(
        self,
        f: impl for<'gc> FnOnce(&'gc Mutation<'gc>, Root<'gc, R>) -> Result<Root<'gc, R2>, E>,
    ) -> Result<Arena<R2>, E>
    where
        R2: for<'a> Rootable<'a>,
        for<'a> Root<'a, R2>: Sized + Collect<'a>,
    {
        let Self {
            root,
            context,
            door,
        } = self;
        context.enter();
        context.root_barrier();
        // SAFETY: as in `new`.
        let root = unsafe {
            f(
                Mutation::from_context(&*std::ptr::from_ref(&*context)),
                *root,
            )?
        };
        Ok(Arena {
            door,
            root: Box::new(root),
            context,
        })
    }
}

impl<R> Arena<R>
where
    R: for<'a> Rootable<'a>,
{
    /// Runs `f` with the right to allocate and to change objects. No collection runs meanwhile.
    #[inline]
    pub fn mutate<F, T>(&self, f: F) -> T
    where
        F: for<'gc> FnOnce(&'gc Mutation<'gc>, &'gc Root<'gc, R>) -> T,
    {
        self.context.enter();
        // SAFETY: `f` is generic over `'gc`, so nothing that it was given leaves it; the arena outlives the call, and
        // collection needs `&mut Arena`.
        unsafe {
            f(
                Mutation::from_context(&*std::ptr::from_ref(&*self.context)),
                &*std::ptr::from_ref(&*self.root),
            )
        }
    }

    /// As [`Arena::mutate`], with the root itself to change.
    #[inline]
    pub fn mutate_root<F, T>(&mut self, f: F) -> T
    where
        F: for<'gc> FnOnce(&'gc Mutation<'gc>, &'gc mut Root<'gc, R>) -> T,
    {
        self.context.enter();
        self.context.root_barrier();
        // SAFETY: as in `mutate`; the root is borrowed uniquely with the arena.
        unsafe {
            f(
                Mutation::from_context(&*std::ptr::from_ref(&*self.context)),
                &mut *std::ptr::from_mut(&mut *self.root),
            )
        }
    }

    /// The arena's counters.
    #[inline]
    pub fn metrics(&self) -> &Metrics {
        self.context.metrics()
    }

    /// Where the collector stands in its cycle.
    #[inline]
    pub fn collection_phase(&self) -> CollectionPhase {
        self.context.public_phase()
    }

    /// Whether a cycle is under way.
    #[inline]
    pub fn has_work(&self) -> bool {
        self.context.public_phase() != CollectionPhase::Sleeping
    }

    /// Whether a step is due.
    #[inline]
    pub fn debt_due(&self) -> bool {
        self.context.take_over();
        self.context.debt_due()
    }

    /// The work, in bytes, that a step should do now; 0 while none is due.
    #[inline]
    pub fn allocation_debt(&self) -> usize {
        self.context.allocation_debt()
    }

    /// Bytes of objects, payload and external memory at this moment, garbage that is not yet swept included.
    ///
    /// Exact, where [`Metrics::heap_bytes`] counts memory that is reserved for the next few objects too.
    pub fn heap_bytes(&self) -> usize {
        self.context.exact_heap_bytes()
    }

    /// Bytes that the arena's heap holds from the system, as the allocator counts them.
    pub fn committed_bytes(&self) -> usize {
        self.context.heap().committed_bytes()
    }

    /// Sets the number of bytes (objects, payload and external) beyond which `try_` operations fail.
    pub fn set_heap_limit(&mut self, bytes: Option<usize>) {
        self.context.set_heap_limit(bytes);
    }

    /// Has requests for memory fail on purpose, and tells what was left of the setting before: for tests, in debug builds only.
    #[cfg(debug_assertions)]
    pub fn set_shortage(&mut self, shortage: crate::Shortage) -> crate::Shortage {
        self.context.set_shortage(shortage)
    }

    /// Gives the arena two generations, or takes them from it again: an option that is off at first.
    ///
    /// Objects that a cycle has found alive are *old* then. Most cycles are *young* ones, which look at what was allocated
    /// since the last cycle only, and at old objects that were written to; what dies when it is old stays until a full cycle
    /// finds it. [`Arena::finish_cycle`], [`Arena::finish_marking`] and [`Arena::start_cycle`] start full ones; a cycle that
    /// a debt or a wait starts is full when the old objects have grown too much since the last full one.
    /// It takes effect with the end of the next cycle's marking.
    ///
    /// Barriers are raised all the time in such an arena: programs win with it whose live objects are many and are written to
    /// seldom. The environment variable `SLEEPY_GENERATIONAL=1` turns it on for arenas that are made.
    ///
    /// ```
    /// use sleepy_gc::{Arena, Gc, Rootable, collections::GcVec};
    ///
    /// let mut arena = Arena::<Rootable![GcVec<'_, Gc<'_, u64>>]>::new(|_| GcVec::new());
    /// arena.set_generational(true);
    /// for n in 0..100_000 {
    ///     arena.mutate(|mc, kept| kept.push(mc, Gc::new(mc, n)));
    ///     arena.collect_debt();
    /// }
    /// arena.mutate(|_, kept| assert_eq!(*kept.get(99_999).unwrap(), 99_999));
    /// ```
    pub fn set_generational(&mut self, generational: bool) {
        self.context.set_generational(generational);
    }

    /// Whether the arena has generations.
    pub fn is_generational(&self) -> bool {
        self.context.is_generational()
    }

    /// Lends the arena's free memory to the scavenger until the guard is dropped.
    ///
    /// In the middle of a sweep this leaves to it the pages of types without destructors, too: it sweeps one after the other, and stops
    /// within microseconds when the arena is used again. What it has freed is in [`Metrics`] at once, and in the [`Progress`] of the
    /// next step, which ends the cycle if nothing is left.
    pub fn park(&mut self) -> ParkedArena<'_> {
        self.context.park();
        ParkedArena {
            context: &self.context,
        }
    }
}

impl<R> Arena<R>
where
    R: for<'a> Rootable<'a>,
    for<'a> Root<'a, R>: Sized + Collect<'a>,
{
    fn root_trace(&self) -> RootTrace {
        /// # Safety
        ///
        /// `root` points at the root of an arena of the family `R`.
        unsafe fn trace<R>(root: *const (), marker: &mut crate::heap::Marker)
        where
            R: for<'a> Rootable<'a>,
            for<'a> Root<'a, R>: Sized + Collect<'a>,
        {
            // SAFETY: the caller's contract.
            let root = unsafe { &*root.cast::<Root<'_, R>>() };
            root.trace(marker);
        }
        RootTrace {
            root: std::ptr::from_ref(&*self.root).cast(),
            trace: trace::<R>,
        }
    }

    /// Pays the debt that allocation has run up: does nothing while none is due.
    pub fn collect_debt(&mut self) {
        self.context.run(&self.root_trace(), Goal::Debt);
    }

    /// Pays debt, but never beyond the end of marking; the fully marked arena, where it was reached.
    pub fn mark_debt(&mut self) -> Option<MarkedArena<'_, R>> {
        self.context.run(&self.root_trace(), Goal::MarkDebt);
        self.marked()
    }

    /// Marks to the end, starting a cycle where none is under way; `None` where a sweep is under way.
    pub fn finish_marking(&mut self) -> Option<MarkedArena<'_, R>> {
        self.context.run(&self.root_trace(), Goal::Marked);
        self.marked()
    }

    /// Pays debt, but never beyond the end of the cycle.
    pub fn cycle_debt(&mut self) {
        self.context.run(&self.root_trace(), Goal::CycleDebt);
    }

    /// Runs the cycle to its end, starting one where none is under way.
    pub fn finish_cycle(&mut self) {
        self.context.run(&self.root_trace(), Goal::Cycle);
    }

    /// Works until the budget is used up or the cycle has ended; starts a cycle where a debt is due.
    pub fn step(&mut self, budget: Budget) -> Progress {
        self.context.run(&self.root_trace(), Goal::Step(budget))
    }

    /// Starts a cycle; does nothing where one is under way.
    pub fn start_cycle(&mut self) {
        self.context.start_cycle(crate::metrics::Cause::Explicit);
    }

    /// Checks the heap's bookkeeping, and (in builds with debug assertions or the feature `zeal`) by a trace of its own
    /// that everything reachable is alive. Walks the whole heap: for tests. No callback can be running meanwhile, hence `&mut`.
    ///
    /// # Errors
    ///
    /// What is wrong, in words.
    pub fn verify(&mut self) -> Result<(), String> {
        self.context.verify()?;
        #[cfg(any(debug_assertions, feature = "zeal"))]
        self.context.verify_reachable(&self.root_trace())?;
        Ok(())
    }

    /// What the heap holds, by type, with what the root retains of it.
    ///
    /// Runs the cycle under way to its end if it is sweeping, and marks to the end then. Takes its time: it is for people
    /// who look for what fills a heap.
    ///
    /// ```
    /// use sleepy_gc::{Arena, Gc, Rootable};
    ///
    /// let mut arena = Arena::<Rootable![Gc<'_, String>]>::new(|mc| {
    ///     Gc::new(mc, "garbage".to_owned());
    ///     Gc::new(mc, "kept".to_owned())
    /// });
    /// let summary = arena.heap_summary();
    /// let strings = &summary.types[0];
    /// assert_eq!((strings.total.objects, strings.retained.objects), (2, 1));
    /// println!("{summary}");
    /// ```
    pub fn heap_summary(&mut self) -> HeapSummary {
        if self.collection_phase() == CollectionPhase::Sweeping || self.context.is_young() {
            self.finish_cycle();
        }
        self.context.run(&self.root_trace(), Goal::Marked);
        self.context.summary(&self.root_trace())
    }

    fn marked(&mut self) -> Option<MarkedArena<'_, R>> {
        (self.context.public_phase() == CollectionPhase::Marked)
            .then_some(MarkedArena { arena: self })
    }
}

impl<R> Collector for Arena<R>
where
    R: for<'a> Rootable<'a>,
    for<'a> Root<'a, R>: Sized + Collect<'a>,
{
    fn has_work(&self) -> bool {
        Arena::has_work(self)
    }

    fn wants_cycle(&self, _hint: &IdleHint) -> bool {
        let new_bytes = self.context.allocated_since_start();
        let old_bytes = self.context.promoted_bytes();
        !self.has_work() && Policy::wants_cycle(new_bytes.saturating_add(old_bytes))
    }

    fn hint(&self) -> IdleHint {
        IdleHint {
            allocated_bytes_since_cycle: self.context.allocated_since_start(),
            live_bytes: self.context.live_bytes(),
            cycles: self.metrics().cycles(),
            young_next: self.context.is_young_next(),
            promoted_bytes: self.context.promoted_bytes(),
            ..IdleHint::default()
        }
    }

    fn phase(&self) -> Option<CollectionPhase> {
        Some(self.collection_phase())
    }

    fn can_delegate(&self) -> bool {
        self.context.can_delegate()
    }

    fn start_cycle(&mut self) {
        self.context.start_cycle(crate::metrics::Cause::Idle);
    }

    fn start_full_cycle(&mut self) {
        self.context.ask_full();
        self.context.start_cycle(crate::metrics::Cause::Idle);
    }

    fn keep_old(&mut self, keep: bool) {
        self.context.keep_old(keep);
    }

    fn step(&mut self, budget: Budget) -> Progress {
        self.context.run(&self.root_trace(), Goal::IdleStep(budget))
    }

    fn forced_step(&mut self, budget: Budget) -> Progress {
        self.context
            .run(&self.root_trace(), Goal::ForcedStep(budget))
    }

    fn while_lent<T>(&mut self, block: impl FnOnce() -> T) -> T {
        let parked = self.park();
        let result = block();
        drop(parked);
        result
    }

    fn lend(&mut self) {
        std::mem::forget(self.park());
    }

    fn take_back(&mut self) {
        self.context.take_back();
    }
}

/// A fully marked arena, before anything is freed.
pub struct MarkedArena<'a, R>
where
    R: for<'b> Rootable<'b>,
{
    arena: &'a mut Arena<R>,
}

impl<R> MarkedArena<'_, R>
where
    R: for<'b> Rootable<'b>,
    for<'b> Root<'b, R>: Sized + Collect<'b>,
{
    /// Runs `f`, which may ask what is dead and resurrect it.
    pub fn finalize<F, T>(self, f: F) -> T
    where
        F: for<'gc> FnOnce(&'gc Finalization<'gc>, &'gc Root<'gc, R>) -> T,
    {
        let arena: &Arena<R> = self.arena;
        arena.context.enter();
        // SAFETY: as in `Arena::mutate`; the arena is fully marked, since this guard borrows it uniquely.
        unsafe {
            f(
                Finalization::from_context(&*std::ptr::from_ref(&*arena.context)),
                &*std::ptr::from_ref(&*arena.root),
            )
        }
    }

    /// Decides that what is unmarked is dead, and begins to sweep it.
    pub fn start_sweeping(self) {
        self.arena
            .context
            .run(&self.arena.root_trace(), Goal::Sweeping);
    }
}

/// An arena whose free memory is lent; dropping it takes the memory back. A guard that is forgotten does no harm: the
/// heap is taken back by the first use of the arena that needs it.
pub struct ParkedArena<'a> {
    context: &'a Context,
}

impl Drop for ParkedArena<'_> {
    #[inline]
    fn drop(&mut self) {
        self.context.take_back();
    }
}

impl std::fmt::Debug for ParkedArena<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ParkedArena").finish_non_exhaustive()
    }
}

/// Runs `f` in an arena without a root, which is dropped at once.
pub fn rootless_mutate<F, T>(f: F) -> T
where
    F: for<'gc> FnOnce(&'gc Mutation<'gc>) -> T,
{
    let context = Context::new_owned(false);
    // SAFETY: `f` is generic over `'gc`; the context outlives the call.
    unsafe { f(Mutation::from_context(&*std::ptr::from_ref(&*context))) }
}
