//! Handles that keep values alive from outside of `mutate`.

use std::fmt;
use std::rc::{Rc, Weak};

use crate::barrier::Write;
use crate::collect::{Collect, Collection};
use crate::lock::RefLock;
use crate::{Gc, Mutation, Root, Rootable};

/// A set of values that are kept alive by handles outside of the arena, [`DynamicRoot`]s.
#[derive(Clone, Copy)]
pub struct DynamicRootSet<'gc>(Gc<'gc, Set<'gc>>);

struct Set<'gc> {
    /// Shared by the handles, so that no other set has this address while one is left.
    identity: Rc<()>,
    held: RefLock<Vec<Weak<Held<dyn Collect + 'gc>>>>,
}

/// What a handle owns.
struct Held<T: ?Sized> {
    identity: Rc<()>,
    root: T,
}

// SAFETY: the one pointer is traced.
unsafe impl Collect for DynamicRootSet<'_> {
    fn trace(&self, cc: &Collection) {
        self.0.trace(cc);
    }
}

// SAFETY: what a handle is left of is traced; of the others nobody can get at the value any more. `stash` raises the barrier.
unsafe impl Collect for Set<'_> {
    fn trace(&self, cc: &Collection) {
        for held in self.held.borrow().iter().filter_map(Weak::upgrade) {
            held.root.trace(cc);
        }
    }
}

impl<'gc> DynamicRootSet<'gc> {
    /// An empty set.
    pub fn new(mc: &Mutation<'gc>) -> Self {
        let set = Set {
            identity: Rc::default(),
            held: RefLock::default(),
        };
        Self(Gc::new(mc, set))
    }

    /// Keeps a value alive until the handle and all its clones are dropped.
    pub fn stash<R: for<'a> Rootable<'a>>(
        &self,
        mc: &Mutation<'gc>,
        root: Root<'gc, R>,
    ) -> DynamicRoot<R> {
        let held = Rc::new(Held {
            identity: Rc::clone(&self.0.identity),
            root,
        });
        let set: &Write<Set<'gc>> = Gc::write(mc, self.0);
        let mut all = crate::barrier::unlock!(set, Set, held).borrow_mut();
        if all.len() == all.capacity() {
            all.retain(|held| held.strong_count() > 0);
            let more = 1 + all.len();
            all.reserve(more);
        }
        let weak = Rc::downgrade(&held);
        all.push(weak);
        DynamicRoot {
            // SAFETY: only the brand of the value's type changes, and `fetch` gives it back.
            held: unsafe {
                std::mem::transmute::<Rc<Held<Root<'gc, R>>>, Rc<Held<Root<'static, R>>>>(held)
            },
        }
    }

    /// The value of a handle.
    ///
    /// # Panics
    /// If the handle is of another set.
    #[track_caller]
    pub fn fetch<'a, R: for<'r> Rootable<'r>>(&self, root: &'a DynamicRoot<R>) -> &'a Root<'gc, R> {
        match self.try_fetch(root) {
            Ok(root) => root,
            Err(error) => panic!("{error}"),
        }
    }

    /// The value of a handle.
    ///
    /// # Errors
    /// If the handle is of another set.
    pub fn try_fetch<'a, R: for<'r> Rootable<'r>>(
        &self,
        root: &'a DynamicRoot<R>,
    ) -> Result<&'a Root<'gc, R>, MismatchedRootSet> {
        if self.contains(root) {
            // SAFETY: it was stashed in this very set, so it is of this arena, and was traced ever since.
            Ok(unsafe { &*root.as_ptr() })
        } else {
            Err(MismatchedRootSet(()))
        }
    }

    /// Whether the handle is of this set.
    pub fn contains<R: for<'r> Rootable<'r>>(&self, root: &DynamicRoot<R>) -> bool {
        Rc::ptr_eq(&self.0.identity, &root.held.identity)
    }
}

/// A handle of a [`DynamicRootSet`], which keeps one value alive.
pub struct DynamicRoot<R: for<'a> Rootable<'a>> {
    held: Rc<Held<Root<'static, R>>>,
}

impl<R: for<'a> Rootable<'a>> Clone for DynamicRoot<R> {
    fn clone(&self) -> Self {
        Self {
            held: Rc::clone(&self.held),
        }
    }
}

impl<R: for<'a> Rootable<'a>> DynamicRoot<R> {
    /// The address of the value; what it names is gone if the arena is.
    pub fn as_ptr<'gc>(&self) -> *const Root<'gc, R> {
        // SAFETY: only the brand of the value's type changes.
        unsafe { std::mem::transmute::<&Root<'static, R>, &Root<'gc, R>>(&self.held.root) }
    }
}

/// A handle was given to a [`DynamicRootSet`] that it is not of.
#[derive(Debug)]
pub struct MismatchedRootSet(());

impl fmt::Display for MismatchedRootSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the handle belongs to another set of roots")
    }
}

impl std::error::Error for MismatchedRootSet {}
