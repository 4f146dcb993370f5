//! Full userdata: objects of the host, with a metatable and one user value.

use std::any::Any;
use std::cell::{Cell, RefCell, RefMut};

use sleepy_gc::collect::Trace;
use sleepy_gc::{Collect, Gc};

use super::external::External;
use super::state::Ctx;
use super::table::Table;
use super::value::Value;

/// An object of the host. The data may not refer to values of the arena: those go into the user value.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub struct UserData<'gc>(Gc<'gc, UserDataBody<'gc>>);

/// The object behind a [`UserData`].
pub struct UserDataBody<'gc> {
    metatable: Cell<Option<Table<'gc>>>,
    user_value: Cell<Value<'gc>>,
    data: RefCell<Box<dyn Any + Send>>,
    /// Whether the object is registered for finalization.
    finalizable: Cell<bool>,
    /// The data's own bytes.
    _external: External,
}

// SAFETY: both places that hold pointers are traced, every store to them runs a barrier (the setters below), and
// the boxed data is `'static`, so it holds no pointer into the arena and its destructor can't reach one; it is `Send`.
unsafe impl<'gc> Collect<'gc> for UserDataBody<'gc> {
    const SEND: bool = true;

    fn trace<T: Trace<'gc>>(&self, cc: &mut T) {
        if let Some(metatable) = self.metatable.get() {
            metatable.trace(cc);
        }
        self.user_value.get().trace(cc);
    }
}

// SAFETY: the one pointer is traced.
unsafe impl<'gc> Collect<'gc> for UserData<'gc> {
    const SEND: bool = true;

    #[inline]
    fn trace<T: Trace<'gc>>(&self, cc: &mut T) {
        self.0.trace(cc);
    }
}

impl<'gc> UserData<'gc> {
    /// A new object without a metatable.
    #[must_use]
    pub fn new<T: Any + Send>(ctx: Ctx<'gc>, data: T) -> UserData<'gc> {
        UserData(Gc::new(
            ctx.mc,
            UserDataBody {
                metatable: Cell::new(None),
                user_value: Cell::new(Value::Nil),
                data: RefCell::new(Box::new(data)),
                finalizable: Cell::new(false),
                _external: External::new(ctx.mc, size_of::<T>()),
            },
        ))
    }

    /// The data, if it is a `T` and nobody has borrowed it.
    #[must_use]
    pub fn borrow<T: Any>(self) -> Option<RefMut<'gc, T>> {
        let data = self.0.as_ref().data.try_borrow_mut().ok()?;
        RefMut::filter_map(data, |data| data.downcast_mut()).ok()
    }

    /// Whether the data is a `T`. False while it is borrowed.
    #[must_use]
    pub fn is<T: Any>(self) -> bool {
        self.0.data.try_borrow().is_ok_and(|data| data.is::<T>())
    }

    /// The metatable.
    #[inline]
    #[must_use]
    pub fn metatable(self) -> Option<Table<'gc>> {
        self.0.metatable.get()
    }

    /// Changes the metatable. `__gc` is looked at by [`Ctx::set_metatable`], not here.
    pub fn set_metatable(self, ctx: Ctx<'gc>, metatable: Option<Table<'gc>>) {
        ctx.barrier_in(Gc::erase(self.0), metatable.into());
        self.0.metatable.set(metatable);
    }

    /// The value kept beside the data.
    #[must_use]
    pub fn user_value(self) -> Value<'gc> {
        self.0.user_value.get()
    }

    /// Changes the value kept beside the data.
    pub fn set_user_value(self, ctx: Ctx<'gc>, value: Value<'gc>) {
        ctx.barrier_in(Gc::erase(self.0), value);
        self.0.user_value.set(value);
    }

    /// Notes that the object is registered for finalization, or not any more; whether it was before.
    pub(super) fn set_finalizable(self, finalizable: bool) -> bool {
        self.0.finalizable.replace(finalizable)
    }

    /// The object, as the collector's queue of finalizers holds it.
    pub(super) fn object(self) -> Gc<'gc, UserDataBody<'gc>> {
        self.0
    }

    /// The userdata that an object is.
    pub(super) fn of_object(object: &UserDataBody<'gc>) -> UserData<'gc> {
        // SAFETY: bodies of userdata are made by `Gc::new` only, and are not moved.
        UserData(unsafe { Gc::from_ptr(object) })
    }

    /// Whether both are the same object.
    #[inline]
    #[must_use]
    pub fn ptr_eq(self, other: UserData<'gc>) -> bool {
        Gc::ptr_eq(self.0, other.0)
    }

    /// The object, its type forgotten.
    pub(in crate::vm) fn erase(self) -> Gc<'gc, ()> {
        Gc::erase(self.0)
    }

    /// The object's address.
    #[inline]
    #[must_use]
    pub fn address(self) -> *const () {
        Gc::as_ptr(self.0).cast()
    }
}
