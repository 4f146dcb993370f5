//! The heap and its collector.

use std::alloc::Layout;
use std::cell::{Cell, RefCell};
use std::marker::PhantomData;
use std::ptr::NonNull;

use crate::collect::{Collect, CollectorToken, Trace};
use crate::idle::IdleHint;
use crate::metrics::{Cause, Metrics};
use crate::step::{Budget, CollectionPhase, Progress};
use crate::{Gc, GcWeak};

pub(crate) struct VTable {
    layout: Layout,
    drop: Option<unsafe fn(NonNull<u8>)>,
}

impl VTable {
    pub(crate) fn of<'gc, T: Collect<'gc>>() -> &'static VTable {
        /// # Safety
        ///
        /// `ptr` points at a live `T` that is not used again.
        unsafe fn drop_value<T>(ptr: NonNull<u8>) {
            // SAFETY: the caller's contract.
            unsafe { ptr.cast::<T>().drop_in_place() };
        }
        struct Of<T>(PhantomData<T>);
        impl<T> Of<T> {
            const VTABLE: VTable = VTable {
                layout: Layout::new::<T>(),
                drop: if std::mem::needs_drop::<T>() {
                    Some(drop_value::<T>)
                } else {
                    None
                },
            };
        }
        &Of::<T>::VTABLE
    }
}

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

impl<'gc> Trace<'gc> for Marker {
    fn trace_gc(&mut self, _gc: Gc<'gc, ()>) {}
    fn trace_gc_weak(&mut self, _gc: GcWeak<'gc, ()>) {}
    fn __collector(&self) -> Option<CollectorToken> {
        Some(CollectorToken::STOPPED)
    }
}

pub(crate) struct Context {
    metrics: Metrics,
    objects: RefCell<Vec<(NonNull<u8>, &'static VTable)>>,
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
        let ptr = if vtable.layout.size() == 0 {
            NonNull::new(std::ptr::without_provenance_mut(vtable.layout.align()))?
        } else {
            // SAFETY: the size is not zero.
            NonNull::new(unsafe { std::alloc::alloc(vtable.layout) })?
        };
        self.metrics
            .allocated_bytes
            .set(self.metrics.allocated_bytes.get() + vtable.layout.size());
        self.objects.borrow_mut().push((ptr, vtable));
        Some(ptr)
    }
    pub(crate) fn alloc_or_abort(&self, vtable: &'static VTable) -> NonNull<u8> {
        self.alloc(vtable)
            .unwrap_or_else(|| std::alloc::handle_alloc_error(vtable.layout))
    }
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
        for (ptr, vtable) in self.objects.take() {
            if let Some(drop) = vtable.drop {
                // SAFETY: the object is dropped once, here.
                unsafe { drop(ptr) };
            }
            if vtable.layout.size() != 0 {
                // SAFETY: allocated with this layout.
                unsafe { std::alloc::dealloc(ptr.as_ptr(), vtable.layout) };
            }
        }
    }
}
