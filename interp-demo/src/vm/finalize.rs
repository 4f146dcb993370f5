//! Finalizers: the host runs them at safe points, one at a time, each on a coroutine of its own, so that the
//! interrupted one notices nothing.

use sleepy_gc::unsize;

use super::error::Error;
use super::frame::Flags;
use super::native::Native;
use super::roster::NOBODY;
use super::state::Ctx;
use super::table::{Table, TableBody};
use super::thread::{Status, Thread};
use super::userdata::{UserData, UserDataBody};
use super::value::Value;
use crate::opcode::Event;

/// An object that may have a finalizer.
pub(super) trait Finalizable<'gc> {
    /// The object as a value.
    fn to_value(&self) -> Value<'gc>;
}

impl<'gc> Finalizable<'gc> for TableBody<'gc> {
    fn to_value(&self) -> Value<'gc> {
        Table::of_object(self).into()
    }
}

impl<'gc> Finalizable<'gc> for UserDataBody<'gc> {
    fn to_value(&self) -> Value<'gc> {
        UserData::of_object(self).into()
    }
}

impl<'gc> Ctx<'gc> {
    /// Makes the next finalizer that is due the current coroutine; false if none is.
    pub(crate) fn start_finalizer(self) -> bool {
        if self.state.finalizer_of.get() != NOBODY {
            return false;
        }
        while let Some(value) = self.next_finalizable() {
            let method = self.metamethod(value, Event::Gc);
            if method.is_nil() {
                continue;
            }
            // As everywhere, what is no function may have a `__call`.
            let callee = match method.is_function() {
                true => method,
                false => self.metamethod(method, Event::Call),
            };
            if !callee.is_function() {
                let kind = self.type_name(method);
                let kind = String::from_utf8_lossy(&kind);
                self.warn_of_finalizer(
                    format!("attempt to call a {kind} value (metamethod '__gc')").as_bytes(),
                );
                continue;
            }
            let args = [method, value];
            let args = &args[usize::from(method.is_function())..];
            let interrupted = self.state.current();
            let thread = self.state.finalizer_thread;
            self.barrier(interrupted.into());
            self.state.interrupted.set(Some(interrupted));
            if let Err(error) = self.start_on(thread, callee, args) {
                self.state.set_current(self, interrupted);
                if let Some(message) = self.number_or_string(error.value()) {
                    self.warn_of_finalizer(message.as_bytes());
                }
                continue;
            }
            for frame in thread.frames().iter_mut().skip(1) {
                frame.flags = frame.flags.with(Flags::FINALIZER);
            }
            self.state.finalizer_of.set(self.os_thread());
            return true;
        }
        false
    }

    /// The finalizer of this OS thread has returned, or failed with `error`, or is given up: goes back to the coroutine that it
    /// interrupted.
    pub(crate) fn end_finalizer(self, error: Option<Value<'gc>>) {
        // Another thread may have taken the finalizers over meanwhile.
        if self.is_finalizing() {
            self.state.finalizer_of.set(NOBODY);
        }
        if let Some(interrupted) = self.state.interrupted.take() {
            self.state.set_current(self, interrupted);
        }
        let thread = self.state.finalizer_thread;
        // One that was given up may still have variables to close.
        if thread.status() == Status::Dead && thread.to_close().is_empty() {
            // It is not to keep what the finalizer had in its registers until there is another one.
            thread.close_upvalues(self, 0);
            thread.leave_nothing(self);
        }
        if let Some(error) = error {
            match self.number_or_string(error) {
                Some(message) => self.warn_of_finalizer(message.as_bytes()),
                None => self.warn_of_finalizer(b"error object is not a string"),
            }
        }
    }

    /// The warning of a finalizer that has failed.
    fn warn_of_finalizer(self, message: &[u8]) {
        self.warn(&[b"error in __gc (", message, b")"].concat());
    }

    /// How many objects wait for their finalizers to be called.
    pub(crate) fn finalizers_due(self) -> usize {
        self.state.finalizable.ready()
    }

    fn next_finalizable(self) -> Option<Value<'gc>> {
        let object = self.state.finalizable.pop(self.mc)?;
        let value = object.to_value();
        match value {
            Value::Table(table) => table.set_finalizable(false),
            Value::UserData(data) => data.set_finalizable(false),
            _ => false,
        };
        Some(value)
    }

    /// Has a table or userdata finalized when it is unreachable, unless that is so already.
    pub(super) fn register_finalizer(self, value: Value<'gc>) -> Result<(), Error<'gc>> {
        let object = match value {
            Value::Table(table) if !table.set_finalizable(true) => {
                unsize!(table.object() => dyn Finalizable<'gc> + 'gc)
            }
            Value::UserData(data) if !data.set_finalizable(true) => {
                unsize!(data.object() => dyn Finalizable<'gc> + 'gc)
            }
            _ => return Ok(()),
        };
        if self.state.finalizable.try_register(self.mc, object).is_ok() {
            return Ok(());
        }
        match value {
            Value::Table(table) => table.set_finalizable(false),
            Value::UserData(data) => data.set_finalizable(false),
            _ => false,
        };
        Err(self.out_of_memory())
    }

    /// Makes a coroutine the current one that closes the pending variables of the main coroutine; false if there are
    /// none. To be called when nothing is to run any more.
    pub(crate) fn start_closing(self) -> bool {
        let main = self.state.main_thread();
        if main.to_close().is_empty() {
            return false;
        }
        let closer = Native::new(self, "?", |call| {
            let main = call.ctx.state.main_thread();
            call.close_thread(main, |call| call.ret0())
        });
        let Some(thread) = Thread::try_empty(self.mc) else {
            return false;
        };
        self.start_on(thread, closer.into(), &[]).is_ok()
    }

    /// Whether this OS thread runs a finalizer.
    #[must_use]
    pub fn is_finalizing(self) -> bool {
        self.state.finalizer_of.get() == self.os_thread()
    }

    /// From now on every object that has a finalizer is due.
    pub(crate) fn finalize_all(self) {
        self.state.finalizable.queue_all(self.mc);
    }

    /// Emits a warning, if they are on.
    pub fn warn(self, text: &[u8]) {
        if self.state.warnings.get() {
            use std::io::Write;
            let mut err = std::io::stderr().lock();
            // There is nobody to tell that standard error can't be written.
            let _ = err.write_all(&[b"Lua warning: ", text, b"\n"].concat());
        }
    }

    /// Turns warnings on or off.
    pub fn set_warnings(self, on: bool) {
        self.state.warnings.set(on);
    }
}
