//! Finalizers: what an interpreter wants to do with an object that has become unreachable.
//!
//! A destructor can't look at other objects. A finalizer can, since it is code of the program's own that the *interpreter* runs, with an
//! object that the collector has brought back for it:
//!
//! ```text
//! register ──▶ registered ──▶ (unreachable: found after marking, resurrected) ──▶ ready ──▶ pop
//!               weakly held                                                     strongly held
//! ```
//!
//! The collector only moves objects from one list to the other, in bounded pieces between mark and sweep. It runs no code, on no
//! thread; the interpreter pops an object when it likes, and may register it again.

use std::{cell::Cell, fmt, marker::PhantomData, ptr::NonNull};

use crate::{
    AllocError, Gc, Mutation,
    collect::{Collect, Trace},
    heap::{Context, Link, Marker, Stage, VTable, WeakOps, drop_nothing},
};

/// A queue of objects that have become unreachable.
///
/// Objects found dead in one cycle are queued in the reverse order of their registration, behind those of earlier cycles. The queue
/// must be reachable itself; with it goes what is registered in it, without being queued.
///
/// ```
/// use sleepy_gc::{Arena, Gc, Rootable, finalize::FinalizerQueue};
///
/// let mut arena = Arena::<Rootable![FinalizerQueue<'_, String>]>::new(|mc| FinalizerQueue::new(mc));
/// arena.mutate(|mc, queue| queue.register(mc, Gc::new(mc, "close me".to_owned())));
/// arena.finish_cycle();
/// arena.mutate(|mc, queue| {
///     let lost = queue.pop(mc).expect("nothing else refers to it");
///     assert_eq!(lost.as_str(), "close me");
///     assert!(queue.pop(mc).is_none());
/// });
/// ```
pub struct FinalizerQueue<'gc, T: ?Sized + 'gc> {
    lists: Gc<'gc, Lists<'gc, T>>,
}

impl<T: ?Sized> Copy for FinalizerQueue<'_, T> {}

impl<T: ?Sized> Clone for FinalizerQueue<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T: ?Sized> fmt::Debug for FinalizerQueue<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FinalizerQueue")
            .field("registered", &self.registered())
            .field("ready", &self.ready())
            .finish()
    }
}

// SAFETY: the one pointer is traced.
unsafe impl<'gc, T: ?Sized + 'gc> Collect<'gc> for FinalizerQueue<'gc, T> {
    const SEND: bool = true;

    #[inline]
    fn trace<C: Trace<'gc>>(&self, cc: &mut C) {
        if cc.__collector().is_some() {
            cc.trace(&self.lists);
        } else {
            // A tracer that is not the collector's sees what is held strongly.
            for entry in self.lists.ready.iter() {
                cc.trace(&entry.object);
            }
        }
    }
}

impl<'gc, T: ?Sized + 'gc> FinalizerQueue<'gc, T> {
    /// An empty queue. Where memory runs out, it does as [`Gc::new`].
    pub fn new(mc: &Mutation<'gc>) -> Self {
        Self::emplace(mc, mc.context().alloc_or_abort(Lists::<T>::vtable()))
    }

    /// An empty queue.
    ///
    /// # Errors
    /// Where memory has run out.
    pub fn try_new(mc: &Mutation<'gc>) -> Result<Self, AllocError> {
        match mc.context().alloc(Lists::<T>::vtable()) {
            Some(cell) => Ok(Self::emplace(mc, cell)),
            None => Err(AllocError::new(())),
        }
    }

    fn emplace(mc: &Mutation<'gc>, cell: NonNull<u8>) -> Self {
        let ops = &<Of<(PhantomData<&'gc ()>, PhantomData<T>)> as Tables>::OPS;
        let lists = cell.cast::<Lists<'gc, T>>();
        // SAFETY: the cell was just allocated for a `Lists<T>`.
        unsafe {
            lists.write(Lists {
                registered: List::new(),
                ready: List::new(),
                kept: Cell::new(None),
                link: Link::new(),
            });
            mc.context()
                .register_in_clear(&lists.as_ref().link, cell, ops);
            Self {
                lists: Gc::from_ptr(lists.as_ptr()),
            }
        }
    }

    /// Registers an object: once it is unreachable, it comes back from [`FinalizerQueue::pop`]. If it is registered several times, it
    /// comes back as often. Where memory runs out, it does as [`Gc::new`].
    pub fn register(self, mc: &Mutation<'gc>, object: Gc<'gc, T>) {
        self.add(mc, Gc::new(mc, Entry::new(object)));
    }

    /// Registers an object.
    ///
    /// # Errors
    /// Where memory has run out; the object is then not registered.
    pub fn try_register(self, mc: &Mutation<'gc>, object: Gc<'gc, T>) -> Result<(), AllocError> {
        match Gc::try_new(mc, Entry::new(object)) {
            Ok(entry) => {
                self.add(mc, entry);
                Ok(())
            }
            Err(_) => Err(AllocError::new(())),
        }
    }

    fn add(self, mc: &Mutation<'gc>, entry: Gc<'gc, Entry<'gc, T>>) {
        // The lists may have been made in this cycle, and are not looked through then, so the object has to outlive it.
        if mc.context().is_undecided() {
            mc.forward_barrier(None, Gc::erase(entry.object));
        }
        mc.forward_barrier(Some(Gc::erase(self.lists)), Gc::erase(entry));
        self.lists.registered.push_front(entry);
    }

    /// Takes the next object that has become unreachable. It is an object like any other from now on.
    pub fn pop(self, mc: &Mutation<'gc>) -> Option<Gc<'gc, T>> {
        let entry = self.lists.ready.pop_front()?;
        if let Some(next) = entry.next.get() {
            mc.forward_barrier(Some(Gc::erase(self.lists)), Gc::erase(next));
        }
        Some(entry.object)
    }

    /// Queues all objects that are registered, reachable or not: for the end of a program. One step of any length.
    pub fn queue_all(self, mc: &Mutation<'gc>) {
        self.lists.kept.set(None);
        while let Some(entry) = self.lists.registered.pop_front() {
            if let Some(next) = entry.next.get() {
                mc.forward_barrier(Some(Gc::erase(self.lists)), Gc::erase(next));
            }
            mc.forward_barrier(None, Gc::erase(entry.object));
            mc.forward_barrier(None, Gc::erase(entry));
            self.lists.ready.push_back(entry);
        }
    }

    /// How many objects are registered and have not been found unreachable.
    pub fn registered(self) -> usize {
        self.lists.registered.len.get()
    }

    /// How many objects are ready to be popped.
    pub fn ready(self) -> usize {
        self.lists.ready.len.get()
    }
}

/// The two lists of a queue.
struct Lists<'gc, T: ?Sized + 'gc> {
    /// The latest first.
    registered: List<'gc, T>,
    /// The next to be popped first.
    ready: List<'gc, T>,
    /// The last of the entries that were looked through and stay registered. What stands before it was looked through, or was
    /// registered since, and lives on in this cycle.
    kept: Cell<Option<Gc<'gc, Entry<'gc, T>>>>,
    link: Link,
}

struct Entry<'gc, T: ?Sized + 'gc> {
    object: Gc<'gc, T>,
    /// Whether the object is held strongly.
    ready: Cell<bool>,
    next: Cell<Option<Gc<'gc, Entry<'gc, T>>>>,
}

// SAFETY: a registered object is not traced, so it can be gone; but until then it has been moved to the ready ones, which are traced
// (rule 1). There is no destructor (rule 2). Entries are linked behind barriers (rule 3).
unsafe impl<'gc, T: ?Sized + 'gc> Collect<'gc> for Entry<'gc, T> {
    // The object was checked when it was made.
    const SEND: bool = true;

    #[inline]
    fn trace<C: Trace<'gc>>(&self, cc: &mut C) {
        if self.ready.get() {
            cc.trace(&self.object);
        }
        cc.trace(&self.next.get());
    }
}

impl<'gc, T: ?Sized + 'gc> Entry<'gc, T> {
    fn new(object: Gc<'gc, T>) -> Self {
        Self {
            object,
            ready: Cell::new(false),
            next: Cell::new(None),
        }
    }
}

/// A list of entries, linked by `next`.
struct List<'gc, T: ?Sized + 'gc> {
    first: Cell<Option<Gc<'gc, Entry<'gc, T>>>>,
    /// Kept for the ready list only.
    last: Cell<Option<Gc<'gc, Entry<'gc, T>>>>,
    len: Cell<usize>,
}

impl<'gc, T: ?Sized + 'gc> List<'gc, T> {
    fn new() -> Self {
        Self {
            first: Cell::new(None),
            last: Cell::new(None),
            len: Cell::new(0),
        }
    }

    fn iter(&self) -> impl Iterator<Item = Gc<'gc, Entry<'gc, T>>> {
        std::iter::successors(self.first.get(), |entry| entry.next.get())
    }

    fn push_front(&self, entry: Gc<'gc, Entry<'gc, T>>) {
        entry.next.set(self.first.get());
        self.first.set(Some(entry));
        self.len.set(self.len.get() + 1);
    }

    /// Takes the first entry. It still points to the next one.
    fn pop_front(&self) -> Option<Gc<'gc, Entry<'gc, T>>> {
        let entry = self.first.get()?;
        self.first.set(entry.next.get());
        self.len.set(self.len.get() - 1);
        Some(entry)
    }

    /// Takes the entry behind `before`, or the first.
    fn remove_after(&self, before: Option<Gc<'gc, Entry<'gc, T>>>, entry: Gc<'gc, Entry<'gc, T>>) {
        match before {
            Some(before) => before.next.set(entry.next.get()),
            None => self.first.set(entry.next.get()),
        }
        self.len.set(self.len.get() - 1);
    }

    /// Adds an entry to the ready ones.
    fn push_back(&self, entry: Gc<'gc, Entry<'gc, T>>) {
        entry.ready.set(true);
        entry.next.set(None);
        match self.first.get().and(self.last.get()) {
            Some(last) => last.next.set(Some(entry)),
            None => self.first.set(Some(entry)),
        }
        self.last.set(Some(entry));
        self.len.set(self.len.get() + 1);
    }
}

impl<'gc, T: ?Sized + 'gc> Lists<'gc, T> {
    fn vtable() -> &'static VTable {
        &<Of<(PhantomData<&'gc ()>, PhantomData<T>)> as Tables>::VTABLE
    }
}

/// The tables of `Lists<T>`: beside being traced, it takes part in the cycle.
struct Of<T>(PhantomData<T>);

trait Tables {
    const VTABLE: VTable;
    const OPS: WeakOps;
}

impl<'gc, T: ?Sized + 'gc> Tables for Of<(PhantomData<&'gc ()>, PhantomData<T>)> {
    const VTABLE: VTable = VTable {
        object_bytes: size_of::<Lists<'gc, T>>(),
        align: align_of::<Lists<'gc, T>>(),
        needs_trace: true,
        needs_drop: false,
        send: true,
        trace: trace_lists::<T>,
        drop: drop_nothing,
        name: std::any::type_name::<Lists<'gc, T>>,
    };
    const OPS: WeakOps = WeakOps {
        values: false,
        finalize: true,
        clear: false,
        run: find_dead::<T>,
    };
}

/// # Safety
/// `ptr` is a live `Lists<T>`.
unsafe fn trace_lists<'gc, T: ?Sized + 'gc>(ptr: NonNull<u8>, _from: usize, marker: &mut Marker) {
    // SAFETY: the caller's contract.
    let lists: Gc<'gc, Lists<'gc, T>> = unsafe { Gc::from_ptr(ptr.as_ptr().cast()) };
    let ops = &<Of<(PhantomData<&'gc ()>, PhantomData<T>)> as Tables>::OPS;
    // SAFETY: the link is a part of the lists.
    unsafe { marker.register(&lists.link, ptr, ops) };
    lists.kept.set(None);
    // The last ready entry is reached from the first one, the kept one from the first registered one.
    marker.trace(&lists.registered.first.get());
    marker.trace(&lists.ready.first.get());
}

/// Queues dead objects, as many as the fuel allows to look for.
///
/// # Safety
/// `object` is a live `Lists<T>`, and everything that can be reached is marked.
unsafe fn find_dead<'gc, T: ?Sized + 'gc>(
    object: NonNull<u8>,
    _stage: Stage,
    context: &Context,
    fuel: &mut usize,
) -> bool {
    // SAFETY: the caller's contract.
    let lists: Gc<'gc, Lists<'gc, T>> = unsafe { Gc::from_ptr(object.as_ptr().cast()) };
    loop {
        let before = lists.kept.get();
        let next = match before {
            Some(entry) => entry.next.get(),
            None => lists.registered.first.get(),
        };
        let Some(entry) = next else {
            lists.kept.set(None);
            return true;
        };
        if *fuel == 0 {
            return false;
        }
        *fuel = fuel.saturating_sub(size_of::<Entry<'gc, T>>());
        if context.is_marked(entry.object.raw()) {
            lists.kept.set(Some(entry));
        } else {
            // Everything that is stored here is marked: the entries are reachable, and the object is from now on.
            context.shade(entry.object.raw());
            lists.registered.remove_after(before, entry);
            lists.ready.push_back(entry);
        }
    }
}
