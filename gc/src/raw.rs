//! The core without a face: what a layer with another API needs to stand on the same collector.
//!
//! Everything else in this crate that users see is such a layer. The core knows objects by address and types by [`VTable`]; what
//! may be reachable when, who may call what, and what lives for how long is the layer's to guarantee. So nearly all of it is
//! `unsafe`, and none of it is for programs. `gc/compat/v0_5` is gc-arena 0.5 on it, whose `Collect` has neither a lifetime nor
//! constants: about 600 lines.
//!
//! # What a layer does
//!
//! 1. It makes a [`VTable`] for each type, whose `trace` gives each pointer that an object owns to the [`Marker`].
//! 2. It keeps a [`Heap`] beside the root, and calls [`Heap::run`] with the root's trace, [`State::begin`] before each piece of the
//!    program, and [`State::root_may_change`] before one that may change the root.
//! 3. While the program runs it hands out [`State`], by which objects are [allocated](State::allocate) and barriers raised.
//!
//! Nothing is collected but in `run`.
//!
//! ```
//! use sleepy_gc::raw::{DROPPED, Goal, Heap, Marker, VTable};
//! use std::{alloc::Layout, ptr::NonNull};
//!
//! /// A cell of a list: the next one.
//! type Link = Option<NonNull<u8>>;
//!
//! /// # Safety
//! ///
//! /// `link` is a live `Link`.
//! unsafe fn trace(link: NonNull<u8>, _from: usize, marker: &mut Marker) {
//!     // SAFETY: the caller's contract; a link names an object of the same heap.
//!     unsafe {
//!         if let Some(next) = link.cast::<Link>().read() {
//!             marker.strong(next);
//!         }
//!     }
//! }
//!
//! /// # Safety
//! ///
//! /// None: there is nothing to drop.
//! unsafe fn drop(_link: NonNull<u8>, from: &mut usize, _limit: usize) {
//!     *from = DROPPED;
//! }
//!
//! /// # Safety
//! ///
//! /// `root` is a live `Link`.
//! unsafe fn trace_root(root: *const (), marker: &mut Marker) {
//!     // SAFETY: the caller's contract.
//!     unsafe { trace(NonNull::new_unchecked(root.cast_mut().cast()), 0, marker) };
//! }
//!
//! // SAFETY: the functions fit the type.
//! static LINK: VTable = unsafe {
//!     VTable::new(Layout::new::<Link>(), true, false, trace, drop, || "Link")
//! };
//!
//! let heap = Heap::new();
//! let mut root: Link = None;
//! heap.state().begin();
//! for kept in [true, true, false] {
//!     // SAFETY: the cell is written at once; what it names is reachable. No cycle is under way that wants a barrier.
//!     unsafe {
//!         let link = heap.state().allocate(&LINK).expect("there is memory");
//!         link.cast::<Link>().write(root);
//!         if kept {
//!             root = Some(link);
//!         }
//!     }
//! }
//! assert_eq!(heap.metrics().total_gc_count(), 3);
//! // SAFETY: the program does not run, and the root is traced.
//! unsafe { heap.run((&raw const root).cast(), trace_root, Goal::Cycle) };
//! assert_eq!(heap.metrics().total_gc_count(), 2);
//! ```

use std::alloc::Layout;
use std::ptr::NonNull;

use crate::heap::{self, RootTrace};
#[doc(inline)]
pub use crate::heap::{Context as State, DROPPED, Goal, Marker, VTable};
use crate::metrics::{Cause, Metrics};
use crate::step::{CollectionPhase, Progress};

/// A heap and its collector, without a root. It stays on its thread.
pub struct Heap {
    state: heap::Owned,
}

impl Default for Heap {
    fn default() -> Self {
        Self::new()
    }
}

impl Heap {
    /// An empty heap. Where there is no memory even for that, the process is aborted.
    #[must_use]
    pub fn new() -> Self {
        Self {
            state: State::new_owned(false),
        }
    }

    /// What a running program works with.
    #[inline]
    #[must_use]
    pub fn state(&self) -> &State {
        &self.state
    }

    /// The counters.
    #[must_use]
    pub fn metrics(&self) -> &Metrics {
        self.state.metrics()
    }

    /// Where the collector stands in its cycle.
    #[must_use]
    pub fn phase(&self) -> CollectionPhase {
        self.state.public_phase()
    }

    /// Starts a cycle; does nothing where one is under way.
    pub fn start_cycle(&self) {
        self.state.start_cycle(Cause::Explicit);
    }

    /// Collects, as far as the goal says.
    ///
    /// # Safety
    ///
    /// - No program runs that uses the heap's objects, and none is borrowed.
    /// - `trace` gives each object to the marker that the root names; called with `root`, it touches nothing that is not there.
    /// - What neither it nor any object's `trace` gives is not used again.
    pub unsafe fn run(
        &self,
        root: *const (),
        trace: unsafe fn(*const (), &mut Marker),
        goal: Goal,
    ) -> Progress {
        self.state.run(&RootTrace { root, trace }, goal)
    }
}

impl VTable {
    /// The vtable of a type whose layout is fixed.
    ///
    /// # Panics
    ///
    /// Where the type is aligned to more than 64 KiB.
    ///
    /// # Safety
    ///
    /// - `trace` may be called with any live object of the type, on the heap's thread, and gives each pointer to another object that
    ///   it owns to the marker, every time; without `needs_trace` there can be none. It may unwind, and is called again then.
    /// - `drop` may be called with an object that is not used again. It stores [`DROPPED`] in its second argument before it
    ///   runs a destructor, which looks at no other object. Without `needs_drop` nothing is lost if it is not called.
    #[must_use]
    pub const unsafe fn new(
        layout: Layout,
        needs_trace: bool,
        needs_drop: bool,
        trace: unsafe fn(NonNull<u8>, usize, &mut Marker),
        drop: unsafe fn(NonNull<u8>, &mut usize, usize),
        name: fn() -> &'static str,
    ) -> Self {
        assert!(
            layout.align() <= 1 << 16,
            "types aligned to more than 64 KiB can't live in an arena"
        );
        let align = if layout.align() < 8 {
            8
        } else {
            layout.align()
        };
        let bytes = if layout.size() < 8 { 8 } else { layout.size() };
        Self {
            object_bytes: bytes.next_multiple_of(align),
            align: layout.align(),
            needs_trace,
            needs_drop,
            send: false,
            trace,
            drop,
            name,
        }
    }
}

impl Marker {
    /// Takes a strong pointer of what is traced.
    ///
    /// # Safety
    ///
    /// It names a live object of the heap that is marked.
    #[inline]
    pub unsafe fn strong(&mut self, object: NonNull<u8>) {
        self.mark(object);
    }

    /// Takes a weak pointer of what is traced.
    ///
    /// # Safety
    ///
    /// It names an object of the heap that is marked, or one that has died while each cycle since was given a weak pointer to it.
    #[inline]
    pub unsafe fn weak(&mut self, object: NonNull<u8>) {
        self.mark_weak(object);
    }

    /// The counters of the heap.
    #[must_use]
    pub fn metrics(&self) -> &Metrics {
        self.context().metrics()
    }
}

impl State {
    /// The counters.
    #[must_use]
    pub fn counters(&self) -> &Metrics {
        self.metrics()
    }

    /// A cell for an object, at an address that it keeps until it dies; `None` where memory has run out or the limit is reached.
    ///
    /// # Safety
    ///
    /// An object of the vtable's type is written to it before anything else is done with the heap.
    #[inline(always)]
    pub unsafe fn allocate(&self, vtable: &'static VTable) -> Option<NonNull<u8>> {
        self.alloc(vtable)
    }

    /// As [`State::allocate`]; draws on a reserve where there is no memory, and then aborts.
    ///
    /// # Safety
    ///
    /// As for [`State::allocate`].
    #[inline(always)]
    pub unsafe fn allocate_or_abort(&self, vtable: &'static VTable) -> NonNull<u8> {
        match self.alloc(vtable) {
            Some(cell) => cell,
            None => self.alloc_or_abort(vtable),
        }
    }

    /// Notes that the program begins to run.
    pub fn begin(&self) {
        self.enter();
    }

    /// Notes that the root may change until the program stops.
    pub fn root_may_change(&self) {
        self.root_barrier();
    }

    /// Whether stores must raise barriers now.
    #[inline]
    #[must_use]
    pub fn wants_barriers(&self) -> bool {
        self.is_marking()
    }

    /// Has an object traced again that was: it may adopt any other until the program stops.
    ///
    /// # Safety
    ///
    /// It is a live object of this heap.
    #[inline]
    pub unsafe fn barrier(&self, parent: NonNull<u8>) {
        if self.is_marking() {
            self.backward_barrier(parent, None);
        }
    }

    /// Marks an object: any other may adopt it, and in a marked heap it lives on.
    ///
    /// # Safety
    ///
    /// It is a live object of this heap.
    #[inline]
    pub unsafe fn keep(&self, object: NonNull<u8>) {
        self.shade(object);
    }

    /// Whether an object was found reachable, in a heap that is fully marked.
    ///
    /// # Safety
    ///
    /// It is an object of this heap, or one that a weak pointer names.
    #[must_use]
    pub unsafe fn is_reachable(&self, object: NonNull<u8>) -> bool {
        self.is_marked(object)
    }

    /// Whether an object that a weak pointer names may be used.
    ///
    /// # Safety
    ///
    /// As for [`State::is_reachable`].
    #[must_use]
    pub unsafe fn can_upgrade(&self, object: NonNull<u8>) -> bool {
        self.is_upgradable(object)
    }
}

/// Whether the value of an object that a weak pointer names has not been dropped yet.
///
/// # Safety
///
/// As for [`State::is_reachable`], of any heap of this thread.
#[must_use]
pub unsafe fn is_there(object: NonNull<u8>) -> bool {
    heap::is_allocated(object)
}
