//! The heap and its collector.

use std::alloc::Layout;
use std::cell::{Cell, RefCell};
use std::ptr::NonNull;

use crate::collect::{CollectorToken, Trace};
use crate::idle::IdleHint;
use crate::metrics::{Cause, Metrics};
use crate::step::{Budget, CollectionPhase, Progress};
use crate::{Gc, GcWeak};

mod special;
mod tail;
mod vtable;

pub use special::{Stage, WeakContainer, WeakOps};
pub(crate) use tail::Tail;
pub(crate) use vtable::{DROPPED, VTable};

/// # Safety
///
/// None.
pub(crate) unsafe fn drop_nothing(_ptr: NonNull<u8>, _from: usize, _limit: usize) -> usize {
    DROPPED
}

/// # Safety
///
/// None.
pub(crate) unsafe fn trace_nothing(_ptr: NonNull<u8>, _from: usize, _marker: &mut Marker) {}

#[cold]
pub(crate) fn out_of_memory() -> ! {
    eprintln!("sleepy-gc: out of memory");
    std::process::abort()
}

pub(crate) fn abandon_cell(_ptr: NonNull<u8>) {}

pub(crate) fn is_allocated(_ptr: NonNull<u8>) -> bool {
    true
}

pub(crate) struct RootTrace {
    pub(crate) root: *const (),
    pub(crate) trace: unsafe fn(*const (), &mut Marker),
}

pub(crate) enum Goal {
    Debt,
    MarkDebt,
    Marked,
    Sweeping,
    CycleDebt,
    Cycle,
    Step(Budget),
    IdleStep(Budget),
}

pub(crate) struct Marker;

impl Marker {
    pub(crate) fn push_slice(&mut self, _ptr: NonNull<u8>, _from: usize) {}
    pub(crate) fn push_late(&mut self, _ptr: NonNull<u8>) {}
    pub(crate) fn is_late(&self) -> bool {
        false
    }
    pub(crate) fn is_marked(&self, _ptr: NonNull<u8>) -> bool {
        true
    }
    pub(crate) fn mark(&mut self, _ptr: NonNull<u8>) {}
    pub(crate) fn register(&mut self, _container: WeakContainer<'_>) {}
    pub(crate) fn wait_for(&mut self, _key: NonNull<u8>, _map: NonNull<u8>, _from: usize) -> bool {
        true
    }
}

impl<'gc> Trace<'gc> for Marker {
    fn trace_gc(&mut self, _gc: Gc<'gc, ()>) {}
    fn trace_gc_weak(&mut self, _gc: GcWeak<'gc, ()>) {}
    fn __collector(&self) -> Option<CollectorToken> {
        Some(CollectorToken::STOPPED)
    }
}

pub(crate) struct Context {
    metrics: Metrics,
    objects: RefCell<Vec<(NonNull<u8>, &'static VTable, Layout)>>,
    phase: Cell<CollectionPhase>,
}

impl Context {
    pub(crate) fn new_boxed(_send: bool) -> Box<Self> {
        Box::new(Self {
            metrics: Metrics::default(),
            objects: RefCell::default(),
            phase: Cell::new(CollectionPhase::Sleeping),
        })
    }
    pub(crate) fn enter(&self) {}
    pub(crate) fn root_barrier(&self) {}
    pub(crate) fn metrics(&self) -> &Metrics {
        &self.metrics
    }
    pub(crate) fn alloc(&self, vtable: &'static VTable) -> Option<NonNull<u8>> {
        self.alloc_sized(vtable, vtable.object_bytes)
    }
    pub(crate) fn alloc_sized(&self, vtable: &'static VTable, bytes: usize) -> Option<NonNull<u8>> {
        let layout =
            Layout::from_size_align(bytes.next_multiple_of(16), vtable.align.max(16)).ok()?;
        // SAFETY: the size is not zero.
        let ptr = NonNull::new(unsafe { std::alloc::alloc(layout) })?;
        self.metrics
            .allocated_bytes
            .set(self.metrics.allocated_bytes.get() + layout.size());
        self.objects.borrow_mut().push((ptr, vtable, layout));
        Some(ptr)
    }
    pub(crate) fn alloc_or_abort(&self, vtable: &'static VTable) -> NonNull<u8> {
        self.alloc(vtable).unwrap_or_else(|| out_of_memory())
    }
    pub(crate) fn cell_bytes_for(&self, _vtable: &'static VTable, bytes: usize) -> usize {
        bytes.next_multiple_of(16)
    }
    pub(crate) fn would_shrink(&self, from: usize, to: usize) -> bool {
        to < from
    }
    pub(crate) fn free_now(&self, _ptr: NonNull<u8>) {}
    pub(crate) fn revive(&self, _ptr: NonNull<u8>) {}
    pub(crate) fn is_clearing(&self) -> bool {
        false
    }
    pub(crate) fn push_late(&self, _ptr: NonNull<u8>) -> bool {
        true
    }
    pub(crate) fn register_in_clear(&self, _ptr: NonNull<u8>, _ops: &'static WeakOps) {}
    pub(crate) fn is_upgradable(&self, _ptr: NonNull<u8>) -> bool {
        true
    }
    pub(crate) fn is_marked(&self, _ptr: NonNull<u8>) -> bool {
        true
    }
    pub(crate) fn shade(&self, _ptr: NonNull<u8>) {}
    pub(crate) fn shade_weak(&self, _ptr: NonNull<u8>) {}
    pub(crate) fn backward_barrier(&self, _parent: NonNull<u8>, _child: Option<NonNull<u8>>) {}
    pub(crate) fn backward_barrier_weak(&self, _parent: NonNull<u8>, _child: NonNull<u8>) {}
    pub(crate) fn forward_barrier(&self, _parent: Option<NonNull<u8>>, _child: NonNull<u8>) {}
    pub(crate) fn forward_barrier_weak(&self, _parent: Option<NonNull<u8>>, _child: NonNull<u8>) {}
    pub(crate) fn add_external_bytes(&self, _bytes: usize) {}
    pub(crate) fn sub_external_bytes(&self, _bytes: usize) {}
    pub(crate) fn is_marking(&self) -> bool {
        self.phase.get() == CollectionPhase::Marking
    }
    pub(crate) fn debt_due(&self) -> bool {
        false
    }
    pub(crate) fn allocation_debt(&self) -> usize {
        0
    }
    pub(crate) fn set_heap_limit(&self, _bytes: Option<usize>) {}
    pub(crate) fn public_phase(&self) -> CollectionPhase {
        self.phase.get()
    }
    pub(crate) fn start_cycle(&self, _cause: Cause) {}
    pub(crate) fn wants_cycle(&self, _hint: &IdleHint) -> bool {
        false
    }
    pub(crate) fn run(&self, root: RootTrace, goal: Goal) -> Progress {
        // SAFETY: the root is the arena's own.
        unsafe { (root.trace)(root.root, &mut Marker) };
        let phase = match goal {
            Goal::Marked => CollectionPhase::Marked,
            Goal::Sweeping => CollectionPhase::Sweeping,
            _ => CollectionPhase::Sleeping,
        };
        self.phase.set(phase);
        Progress::new(phase, 0, 0, phase == CollectionPhase::Sleeping)
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        for (ptr, vtable, layout) in self.objects.take() {
            if vtable.needs_drop {
                let mut from = 0;
                while from != DROPPED {
                    // SAFETY: the object is dropped once, here.
                    from = unsafe { (vtable.drop)(ptr, from, 64) };
                }
            }
            // SAFETY: allocated with this layout.
            unsafe { std::alloc::dealloc(ptr.as_ptr(), layout) };
        }
    }
}
