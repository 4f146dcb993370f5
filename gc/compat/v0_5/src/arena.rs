//! The arena: a heap, a root, and the door to both.

use std::convert::Infallible;
use std::marker::PhantomData;

use sleepy_gc::raw::{Goal, Heap};

use crate::collect::{Collect, trace_root};
use crate::metrics::Metrics;
use crate::{Finalization, Mutation};

/// A family of root types, one for each lifetime `'gc`.
pub trait Rootable<'a>: 'static {
    /// The root's type in a callback of lifetime `'a`.
    type Root: Collect + 'a;
}

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

/// The root type of the family `R` in a callback of lifetime `'a`.
pub type Root<'a, R> = <R as Rootable<'a>>::Root;

/// Where the collector stands in its cycle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CollectionPhase {
    /// No cycle is under way.
    Sleeping,
    /// Reachable objects are being marked.
    Marking,
    /// All is marked, and nothing has changed since.
    Marked,
    /// What is dead is being freed.
    Collecting,
}

/// A garbage-collected heap and its root.
pub struct Arena<R: for<'a> Rootable<'a>> {
    // Before the heap, so that it is dropped first: its destructor may still look at objects.
    root: Box<Root<'static, R>>,
    // The state that callbacks are given stays where it is: the heap holds it by a pointer.
    heap: Heap,
}

impl<R: for<'a> Rootable<'a>> Arena<R> {
    /// Makes an arena whose root is what `f` returns.
    pub fn new<F>(f: F) -> Self
    where
        F: for<'gc> FnOnce(&'gc Mutation<'gc>) -> Root<'gc, R>,
    {
        Self::try_new(|mc| Ok::<_, Infallible>(f(mc))).unwrap_or_else(|never| match never {})
    }

    /// Makes an arena whose root is what `f` returns, unless it fails.
    ///
    /// # Errors
    /// What `f` reports.
    pub fn try_new<F, E>(f: F) -> Result<Self, E>
    where
        F: for<'gc> FnOnce(&'gc Mutation<'gc>) -> Result<Root<'gc, R>, E>,
    {
        let heap = Heap::new();
        // SAFETY: `f` is generic over `'gc`, and the arena keeps the heap as long as the root.
        let root = unsafe { f(Mutation::new(&*std::ptr::from_ref(heap.state())))? };
        Ok(Self {
            root: Box::new(root),
            heap,
        })
    }

    /// Runs `f` with the right to allocate and to change objects.
    #[inline]
    pub fn mutate<F, T>(&self, f: F) -> T
    where
        F: for<'gc> FnOnce(&'gc Mutation<'gc>, &'gc Root<'gc, R>) -> T,
    {
        self.heap.state().begin();
        // SAFETY: `f` is generic over `'gc`, so nothing that it was given leaves it, and collection needs `&mut Arena`.
        unsafe {
            f(
                Mutation::new(&*std::ptr::from_ref(self.heap.state())),
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
        self.heap.state().begin();
        self.heap.state().root_may_change();
        // SAFETY: as in `mutate`; the root is borrowed uniquely with the arena.
        unsafe {
            f(
                Mutation::new(&*std::ptr::from_ref(self.heap.state())),
                &mut *std::ptr::from_mut(&mut *self.root),
            )
        }
    }

    /// Turns the root into another, of any family.
    pub fn map_root<R2: for<'a> Rootable<'a>>(
        self,
        f: impl for<'gc> FnOnce(&'gc Mutation<'gc>, Root<'gc, R>) -> Root<'gc, R2>,
    ) -> Arena<R2> {
        self.try_map_root::<R2, Infallible>(|mc, root| Ok(f(mc, root)))
            .unwrap_or_else(|never| match never {})
    }

    /// Turns the root into another, unless `f` fails; then the arena is dropped.
    ///
    /// # Errors
    /// What `f` reports.
    pub fn try_map_root<R2: for<'a> Rootable<'a>, E>(
        self,
        f: impl for<'gc> FnOnce(&'gc Mutation<'gc>, Root<'gc, R>) -> Result<Root<'gc, R2>, E>,
    ) -> Result<Arena<R2>, E> {
        let Self { root, heap } = self;
        heap.state().begin();
        heap.state().root_may_change();
        // SAFETY: as in `try_new`.
        let root = unsafe { f(Mutation::new(&*std::ptr::from_ref(heap.state())), *root)? };
        Ok(Arena {
            root: Box::new(root),
            heap,
        })
    }

    /// The arena's counters.
    #[inline]
    pub fn metrics(&self) -> &Metrics {
        Metrics::of(self.heap.metrics())
    }

    /// Where the collector stands in its cycle.
    pub fn collection_phase(&self) -> CollectionPhase {
        match self.heap.phase() {
            sleepy_gc::CollectionPhase::Sleeping => CollectionPhase::Sleeping,
            sleepy_gc::CollectionPhase::Marking => CollectionPhase::Marking,
            sleepy_gc::CollectionPhase::Marked => CollectionPhase::Marked,
            sleepy_gc::CollectionPhase::Sweeping => CollectionPhase::Collecting,
        }
    }

    fn run(&mut self, goal: Goal) {
        let root = std::ptr::from_ref(&*self.root).cast();
        // SAFETY: no callback runs, since `self` is borrowed uniquely; the root is alive.
        unsafe { self.heap.run(root, trace_root::<Root<'static, R>>, goal) };
    }

    fn marked(&mut self) -> Option<MarkedArena<'_, R>> {
        (self.collection_phase() == CollectionPhase::Marked).then_some(MarkedArena(self))
    }

    /// Pays the debt that allocation has run up.
    pub fn collect_debt(&mut self) {
        self.run(Goal::Debt);
    }

    /// Pays debt, but never beyond the end of marking; the fully marked arena, where it was reached.
    pub fn mark_debt(&mut self) -> Option<MarkedArena<'_, R>> {
        self.run(Goal::MarkDebt);
        self.marked()
    }

    /// Runs the cycle to its end, starting one where none is under way.
    pub fn collect_all(&mut self) {
        self.run(Goal::Cycle);
    }

    /// Marks to the end, starting a cycle where none is under way; `None` where a sweep is under way.
    pub fn mark_all(&mut self) -> Option<MarkedArena<'_, R>> {
        self.run(Goal::Marked);
        self.marked()
    }
}

/// A fully marked arena, before anything is freed.
pub struct MarkedArena<'a, R: for<'b> Rootable<'b>>(&'a mut Arena<R>);

impl<R: for<'b> Rootable<'b>> MarkedArena<'_, R> {
    /// Runs `f`, which may ask what is dead and resurrect it.
    pub fn finalize<F, T>(self, f: F) -> T
    where
        F: for<'gc> FnOnce(&'gc Finalization<'gc>, &'gc Root<'gc, R>) -> T,
    {
        let arena: &Arena<R> = self.0;
        arena.heap.state().begin();
        // SAFETY: as in `Arena::mutate`; the arena is fully marked, since this guard borrows it uniquely.
        unsafe {
            f(
                Finalization::new(&*std::ptr::from_ref(arena.heap.state())),
                &*std::ptr::from_ref(&*arena.root),
            )
        }
    }

    /// Decides that what is unmarked is dead, and begins to free it.
    pub fn start_collecting(self) {
        self.0.run(Goal::Sweeping);
    }
}

/// Runs `f` in an arena without a root, which is dropped at once.
pub fn rootless_arena<F, T>(f: F) -> T
where
    F: for<'gc> FnOnce(&'gc Mutation<'gc>) -> T,
{
    let heap = Heap::new();
    // SAFETY: `f` is generic over `'gc`; the heap outlives the call.
    unsafe { f(Mutation::new(&*std::ptr::from_ref(heap.state()))) }
}
