//! Handles that keep objects alive from outside of `mutate`.
//!
//! ```text
//! DynamicRoot ──Arc──▶ Ticket {shared, chunk, slot}       any thread, may outlive the arena
//!                        │
//! DynamicRootSet ──Gc──▶ Set {shared, first, free} ──Gc──▶ Chunk {slots[64], next} ──Gc──▶ …
//!                                                            └ Slot {object: Gc, ticket: Weak<Ticket>}
//! ```
//!
//! A slot's object is alive for as long as its ticket is, which is until the last handle is dropped, on whatever thread. The dead
//! ticket's place is put on a list in `Shared`, from which the next `stash` takes it. Each chunk is an object of its own, so that a set
//! of any size is traced in small pieces; storing into one passes a forward barrier, so that nothing is traced twice.

use std::{
    cell::{Cell, RefCell},
    fmt,
    ptr::NonNull,
    sync::{Arc, Weak},
};

use parking_lot::Mutex;

use crate::{
    Gc, Mutation, Root, Rootable,
    collect::{Collect, Trace},
};

/// How many slots a chunk has: what is traced in one go.
const CHUNK_SLOTS: usize = 64;

/// A set of objects that are kept alive by handles outside of the arena, [`DynamicRoot`]s.
///
/// It has to be reachable from the arena's root itself, or its objects are not.
///
/// ```
/// use sleepy_gc::{Arena, DynamicRootSet, Gc, Rootable};
///
/// let mut arena = Arena::<Rootable![DynamicRootSet<'_>]>::new(|mc| DynamicRootSet::new(mc));
/// let handle = arena.mutate(|mc, roots| roots.stash::<Rootable![String]>(mc, Gc::new(mc, "kept".to_owned())));
/// arena.finish_cycle();
/// arena.mutate(|_, roots| assert_eq!(roots.fetch(&handle).as_str(), "kept"));
/// ```
#[derive(Clone, Copy)]
pub struct DynamicRootSet<'gc>(Gc<'gc, Set<'gc>>);

// SAFETY: the one pointer is traced.
unsafe impl<'gc> Collect<'gc> for DynamicRootSet<'gc> {
    const SEND: bool = true;

    #[inline]
    fn trace<T: Trace<'gc>>(&self, cc: &mut T) {
        cc.trace(&self.0);
    }
}

impl<'gc> DynamicRootSet<'gc> {
    /// An empty set.
    pub fn new(mc: &Mutation<'gc>) -> Self {
        let shared = Arc::new(Shared {
            vacant: Mutex::new(Some(Vec::new())),
        });
        Self(Gc::new(
            mc,
            Set {
                shared: Membership(shared),
                first: Cell::new(None),
                unused: Cell::new(0),
            },
        ))
    }

    /// Keeps an object alive until the handle and all its clones are dropped.
    pub fn stash<R: for<'a> Rootable<'a>>(
        &self,
        mc: &Mutation<'gc>,
        root: Gc<'gc, Root<'gc, R>>,
    ) -> DynamicRoot<R> {
        let set = self.0.as_ref();
        let place = set.take_place(mc, self.0);
        let ticket = Arc::new(Ticket {
            shared: Arc::clone(&set.shared.0),
            place,
        });
        // SAFETY: the place is one of this set, whose chunks live as long as the set does, which is now.
        let chunk: Gc<'gc, Chunk<'gc>> = unsafe { Gc::from_ptr(place.chunk.as_ptr().cast()) };
        let object = Gc::erase(root);
        mc.forward_barrier(Some(Gc::erase(chunk)), object);
        let slot = &chunk.as_ref().slots[place.slot];
        slot.object.set(Some(object));
        slot.ticket.replace(Arc::downgrade(&ticket));
        // SAFETY: only the brand of the pointer's type changes, behind which the address is the same, and `fetch` gives it back.
        let ptr = unsafe {
            std::mem::transmute_copy::<*const Root<'gc, R>, *const Root<'static, R>>(&Gc::as_ptr(
                root,
            ))
        };
        DynamicRoot { ticket, ptr }
    }

    /// The object of a handle.
    ///
    /// # Panics
    /// If the handle is of another set.
    #[track_caller]
    pub fn fetch<R: for<'a> Rootable<'a>>(&self, root: &DynamicRoot<R>) -> Gc<'gc, Root<'gc, R>> {
        match self.try_fetch(root) {
            Ok(gc) => gc,
            Err(error) => panic!("{error}"),
        }
    }

    /// The object of a handle.
    ///
    /// # Errors
    /// If the handle is of another set.
    pub fn try_fetch<R: for<'a> Rootable<'a>>(
        &self,
        root: &DynamicRoot<R>,
    ) -> Result<Gc<'gc, Root<'gc, R>>, MismatchedRootSet> {
        if self.contains(root) {
            // SAFETY: the object was stashed in this very set, so it belongs to this arena, and it has been reachable ever since, as
            // the set is (for who has it can reach it) and the handle's ticket is alive.
            Ok(unsafe { Gc::from_ptr(root.as_ptr()) })
        } else {
            Err(MismatchedRootSet(()))
        }
    }

    /// Whether the handle is of this set.
    #[inline]
    pub fn contains<R: for<'a> Rootable<'a>>(&self, root: &DynamicRoot<R>) -> bool {
        // Each ticket holds its `Shared`, so that no other can ever have the same address.
        Arc::ptr_eq(&self.0.shared.0, &root.ticket.shared)
    }
}

/// A handle of a [`DynamicRootSet`], which keeps one object alive.
///
/// It can be kept anywhere, cloned, dropped on another thread, and it may outlive its arena; only the set can make a [`Gc`] of it again.
pub struct DynamicRoot<R: for<'a> Rootable<'a>> {
    ticket: Arc<Ticket>,
    ptr: *const Root<'static, R>,
}

// SAFETY: without its set, the pointer is nothing but an address. The ticket can be sent and shared.
unsafe impl<R: for<'a> Rootable<'a>> Send for DynamicRoot<R> {}
// SAFETY: as for `Send`.
unsafe impl<R: for<'a> Rootable<'a>> Sync for DynamicRoot<R> {}

impl<R: for<'a> Rootable<'a>> DynamicRoot<R> {
    /// The address of the object, which is gone if the arena is.
    #[inline]
    pub fn as_ptr<'gc>(&self) -> *const Root<'gc, R> {
        // SAFETY: only the brand of the pointer's type changes.
        unsafe {
            std::mem::transmute_copy::<*const Root<'static, R>, *const Root<'gc, R>>(&self.ptr)
        }
    }
}

impl<R: for<'a> Rootable<'a>> Clone for DynamicRoot<R> {
    fn clone(&self) -> Self {
        Self {
            ticket: Arc::clone(&self.ticket),
            ptr: self.ptr,
        }
    }
}

impl<R: for<'a> Rootable<'a>> fmt::Debug for DynamicRoot<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("DynamicRoot")
            .field(&self.ptr.cast::<()>())
            .finish()
    }
}

/// A handle was given to a [`DynamicRootSet`] that it is not of.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("the handle belongs to another set of roots")]
pub struct MismatchedRootSet(());

/// What handles and their set have in common.
struct Shared {
    /// Places whose last handle is gone; `None` once the set itself is.
    vacant: Mutex<Option<Vec<Place>>>,
}

/// The address of a slot.
#[derive(Clone, Copy)]
struct Place {
    /// A `Chunk` of the set. Only the set may look at it.
    chunk: NonNull<()>,
    slot: usize,
}

// SAFETY: nobody but the set, on its own thread, does more with the address than to carry it.
unsafe impl Send for Place {}
// SAFETY: as for `Send`.
unsafe impl Sync for Place {}

/// What the handles of one `stash` share. Dropped with the last of them.
struct Ticket {
    shared: Arc<Shared>,
    place: Place,
}

impl Drop for Ticket {
    fn drop(&mut self) {
        // The slot's `Weak` has no strong count any more, so its object is not traced from now on.
        if let Some(vacant) = &mut *self.shared.vacant.lock() {
            vacant.push(self.place);
        }
    }
}

/// The set's own hold on what it shares; when it goes, handles need not report any longer.
struct Membership(Arc<Shared>);

impl Drop for Membership {
    fn drop(&mut self) {
        self.0.vacant.lock().take();
    }
}

struct Set<'gc> {
    shared: Membership,
    first: Cell<Option<Gc<'gc, Chunk<'gc>>>>,
    /// Slots of the first chunk that were never used.
    unused: Cell<usize>,
}

// SAFETY: the one pointer is traced (rule 1), `Membership` knows no pointer (rule 2), `first` is stored behind a barrier (rule 3).
// `Arc<Shared>` can be dropped anywhere.
unsafe impl<'gc> Collect<'gc> for Set<'gc> {
    const SEND: bool = true;

    fn trace<T: Trace<'gc>>(&self, cc: &mut T) {
        cc.trace(&self.first.get());
    }
}

impl<'gc> Set<'gc> {
    /// A slot that is not in use.
    fn take_place(&self, mc: &Mutation<'gc>, this: Gc<'gc, Self>) -> Place {
        let vacant = self.shared.0.vacant.lock().as_mut().and_then(Vec::pop);
        if let Some(place) = vacant {
            return place;
        }
        let chunk = match self.first.get() {
            Some(chunk) if self.unused.get() > 0 => chunk,
            next => {
                let chunk = Gc::new(mc, Chunk::new(next));
                mc.forward_barrier(Some(Gc::erase(this)), Gc::erase(chunk));
                self.first.set(Some(chunk));
                self.unused.set(CHUNK_SLOTS);
                chunk
            }
        };
        self.unused.set(self.unused.get() - 1);
        Place {
            chunk: NonNull::from(chunk.as_ref()).cast(),
            slot: self.unused.get(),
        }
    }
}

struct Chunk<'gc> {
    slots: [Slot<'gc>; CHUNK_SLOTS],
    next: Option<Gc<'gc, Chunk<'gc>>>,
}

impl<'gc> Chunk<'gc> {
    fn new(next: Option<Gc<'gc, Self>>) -> Self {
        Self {
            slots: std::array::from_fn(|_| Slot {
                object: Cell::new(None),
                ticket: RefCell::new(Weak::new()),
            }),
            next,
        }
    }
}

struct Slot<'gc> {
    object: Cell<Option<Gc<'gc, ()>>>,
    ticket: RefCell<Weak<Ticket>>,
}

// SAFETY: all pointers are traced (rule 1), except for those of slots whose ticket is dead: these are never looked at again, since there is
// no handle to do it with, and `stash` overwrites them. Tickets know no pointer (rule 2); stores pass a barrier (rule 3).
// `Weak<Ticket>` can be dropped anywhere.
unsafe impl<'gc> Collect<'gc> for Chunk<'gc> {
    const SEND: bool = true;

    fn trace<T: Trace<'gc>>(&self, cc: &mut T) {
        for slot in &self.slots {
            // The count can reach zero at any moment, but never leave it: there is no handle to clone, and nobody upgrades.
            if slot.ticket.borrow().strong_count() > 0 {
                cc.trace(&slot.object.get());
            }
        }
        cc.trace(&self.next);
    }
}

impl fmt::Debug for DynamicRootSet<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("DynamicRootSet")
            .field(&Gc::as_ptr(self.0).cast::<()>())
            .finish()
    }
}
