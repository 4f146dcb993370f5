//! Functions written in Rust: how they see their call, and what they may ask of the interpreter.
//!
//! A native is a plain function `fn(&mut Call<'gc>) -> NativeResult<'gc>`. Its [`Call`] is a window of *slots* on the
//! stack of the running coroutine: at first the arguments, slot 0 the first. Slots are roots, so whatever must survive a
//! callback or a wait is kept in one. A native never runs Lua code by itself and never blocks: it *returns* what it
//! wants done, together with the function that goes on afterwards (its continuation):
//!
//! | the native wants | it returns |
//! |---|---|
//! | to return values | [`Call::ret0`], [`Call::ret1`], [`Call::ret`], [`Call::ret_top`] |
//! | to raise an error | `Err(call.error("message"))`, `Err(Error::new(value))`, and `?` on the argument checks |
//! | to call a function | [`Call::call`], [`Call::call_top`], [`Call::pcall_top`], [`Call::xpcall_top`] |
//! | to end in a call | [`Call::tail_call_top`] |
//! | to yield, resume or close a coroutine | [`Call::yield_top`], [`Call::resume_top`], [`Call::close_thread`] |
//! | to wait, collect or exit | [`Call::suspend`] |
//!
//! When the continuation runs, the slots below the call are as they were, and what came back stands above them
//! ([`Call::results`]). Small numbers that describe how far the work has got go into [`Call::state`]; larger states of
//! Rust types go into a [`UserData`](super::userdata::UserData) that is kept in a slot.
//!
//! ```ignore
//! // function twice(f, x) return f(f(x)) end
//! fn twice<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
//!     let f = call.check_function(0)?;
//!     let x = call.get(1);
//!     call.call(f, &[x], |call| {
//!         let (f, x) = (call.get(0), call.result(0));
//!         call.truncate(0);
//!         call.push(f);
//!         call.push(x);
//!         call.tail_call_top(1)
//!     })
//! }
//! ```

use std::cell::Cell;

use sleepy_gc::collect::Trace;
use sleepy_gc::collections::GcTail;
use sleepy_gc::{Collect, Gc};

use super::error::Error;
use super::state::Ctx;
use super::suspend::{GcRequest, Suspend};
use super::thread::Thread;
use super::value::Value;

/// A function written in Rust.
pub type NativeFn = for<'gc> fn(&mut Call<'gc>) -> NativeResult<'gc>;

/// What a native hands back.
pub type NativeResult<'gc> = Result<Flow, Error<'gc>>;

/// How the interpreter goes on after a native has returned.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[must_use = "a native must hand its flow back to the interpreter"]
pub enum Flow {
    /// The last so many slots are the results.
    Return(u32),
    /// The interpreter does what the call has noted in itself.
    Pending,
}

/// What a native has asked for when it returned [`Flow::Pending`].
#[derive(Clone, Copy)]
pub(super) enum Pending<'gc> {
    None,
    /// Call the function in slot `at` with the slots above it.
    Call {
        at: u32,
        then: NativeFn,
        guard: Guard,
    },
    /// As `Call`, and the callee's results are this call's results.
    TailCall {
        at: u32,
    },
    /// Hand the last `count` slots to whoever resumed this coroutine.
    Yield {
        count: u32,
        back: Back,
        then: NativeFn,
    },
    /// Run `thread` with the last `count` slots.
    Resume {
        thread: Thread<'gc>,
        count: u32,
        back: Back,
        then: NativeFn,
    },
    /// Close the pending variables of `thread`.
    Close {
        thread: Thread<'gc>,
        then: NativeFn,
    },
    /// Leave to the host with the request that the state holds.
    Suspend {
        then: NativeFn,
    },
    /// The body of the coroutine has returned the last `count` slots.
    ThreadDone {
        count: u32,
    },
    /// All `__close` methods have run: slot 0 is the error, if `failed`.
    Unwound {
        failed: bool,
    },
    /// The message handler has returned the error value in the last slot.
    Handled,
}

/// What a continuation does with the values that come back from another coroutine. Where it is as simple as here the
/// interpreter may do it without calling it; errors always come to the continuation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Back {
    /// It returns them.
    Results,
    /// It returns true and them.
    TrueAndResults,
}

/// What a callback is guarded by.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Guard {
    /// Errors go through.
    None,
    /// As `None`, and the callee can not yield.
    NoYield,
    /// Errors come back as the outcome.
    Protected,
    /// As `Protected`, and the function in this slot sees the error first.
    Handler(u32),
}

/// How a callback that may fail has ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// It returned.
    Done,
    /// It raised an error: the one result is the error value.
    Failed,
}

/// A native's window on the stack.
pub struct Call<'gc> {
    /// The interpreter's state and the arena.
    pub ctx: Ctx<'gc>,
    /// A number that the native may use to note how far it has got; kept across callbacks and waits, at first 0.
    pub state: i64,
    pub(super) thread: Thread<'gc>,
    /// Stack index of slot 0; the function itself stands below it.
    pub(super) base: u32,
    /// Stack index above the last slot.
    pub(super) top: u32,
    /// Stack index above the slots that are as they were at first.
    intact: u32,
    /// Stack index of the first result of a callback.
    pub(super) results_at: u32,
    pub(super) outcome: Outcome,
    /// Whether the native has a frame of its own (it has one from its first continuation on).
    pub(super) framed: bool,
    /// Set when a push found no room.
    pub(super) overflow: bool,
    /// Set when there was no memory for more slots: whatever the native says then, it is that.
    pub(super) short: bool,
    pub(super) pending: Pending<'gc>,
}

impl<'gc> Call<'gc> {
    pub(super) fn new(ctx: Ctx<'gc>, thread: Thread<'gc>, base: u32, top: u32) -> Call<'gc> {
        Call {
            ctx,
            state: 0,
            thread,
            base,
            top,
            intact: top,
            results_at: top,
            outcome: Outcome::Done,
            framed: false,
            overflow: false,
            short: false,
            pending: Pending::None,
        }
    }

    /// Returns the last `count` slots.
    pub(super) fn give(&self, count: u32) -> NativeResult<'gc> {
        Ok(Flow::Return(count))
    }

    /// The running coroutine.
    #[must_use]
    pub fn thread(&self) -> Thread<'gc> {
        self.thread
    }

    /// The running native itself.
    #[must_use]
    pub fn function(&self) -> Value<'gc> {
        self.thread.stack_get(self.base - 1)
    }

    /// Upvalue `i` (from 0) of the running native; nil if there is none.
    #[must_use]
    pub fn upvalue(&self, i: usize) -> Value<'gc> {
        match self.function() {
            Value::Native(native) => native.upvalue(i),
            _ => Value::Nil,
        }
    }

    /// Changes upvalue `i` of the running native; does nothing if there is none.
    pub fn set_upvalue(&self, i: usize, value: Value<'gc>) {
        if let Value::Native(native) = self.function() {
            native.set_upvalue(self.ctx, i, value);
        }
    }

    /// The number of slots: at first the number of arguments.
    #[inline]
    #[must_use]
    pub fn len(&self) -> usize {
        (self.top - self.base) as usize
    }

    /// Whether there are no slots.
    #[inline]
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.top == self.base
    }

    /// The value in slot `i`; nil if there are fewer slots.
    #[inline]
    #[must_use]
    pub fn get(&self, i: usize) -> Value<'gc> {
        if i < self.len() {
            self.thread.stack_get(self.base + i as u32)
        } else {
            Value::Nil
        }
    }

    /// Sets slot `i`. Slots between the last and `i` become nil.
    pub fn set(&mut self, i: usize, value: Value<'gc>) {
        while self.len() <= i && !self.overflow {
            self.push(Value::Nil);
        }
        if i < self.len() {
            let at = self.base + i as u32;
            self.intact = self.intact.min(at);
            self.thread.stack_set(at, value);
        }
    }

    /// Appends a slot. When the stack can't grow any more the value is dropped, and "stack overflow" is raised as soon
    /// as the native returns; natives that push without a bound ask [`Call::reserve`] first.
    #[inline]
    pub fn push(&mut self, value: Value<'gc>) {
        if self.top < self.thread.stack_limit() || self.reserve(1) {
            self.thread.stack_set(self.top, value);
            self.top += 1;
        }
    }

    /// Makes room for `count` more slots; false if that is more than a stack can hold.
    #[cold]
    pub fn reserve(&mut self, count: usize) -> bool {
        let ok = u32::try_from(count).is_ok_and(|count| {
            let needed = self.top.saturating_add(count);
            let grown = self.thread.ensure_stack(self.ctx, needed);
            grown
                .inspect_err(|&error| self.short |= self.ctx.is_out_of_memory(error))
                .is_ok()
        });
        self.overflow |= !ok && count == 1;
        ok
    }

    /// Removes and returns the last slot; nil if there are none.
    pub fn pop(&mut self) -> Value<'gc> {
        if self.is_empty() {
            return Value::Nil;
        }
        self.top -= 1;
        self.intact = self.intact.min(self.top);
        self.thread.stack_get(self.top)
    }

    /// Drops slots above the first `len`, or appends nils up to that number.
    pub fn truncate(&mut self, len: usize) {
        while self.len() < len && !self.overflow {
            self.push(Value::Nil);
        }
        self.top = self.top.min(self.base + len as u32);
        self.intact = self.intact.min(self.top);
    }

    /// Puts `value` into slot `i` and moves the slots from `i` on up by one.
    pub fn insert(&mut self, i: usize, value: Value<'gc>) {
        self.push(Value::Nil);
        for slot in (i + 1..self.len()).rev() {
            let moved = self.get(slot - 1);
            self.set(slot, moved);
        }
        self.set(i, value);
    }

    /// The error of [`Call::reserve`] where that has failed for want of memory, and it is to be tried again.
    #[must_use]
    pub fn shortage(&mut self) -> Option<Error<'gc>> {
        std::mem::take(&mut self.short).then(|| self.ctx.out_of_memory())
    }

    /// How the last callback ended; interesting after a protected one.
    #[must_use]
    pub fn outcome(&self) -> Outcome {
        self.outcome
    }

    /// In a continuation: how many values came back (results of the callback, values passed to `resume`).
    #[must_use]
    pub fn result_count(&self) -> usize {
        self.top.saturating_sub(self.results_at) as usize
    }

    /// In a continuation: the slot of the first value that came back.
    #[must_use]
    pub fn results(&self) -> usize {
        (self.results_at - self.base) as usize
    }

    /// In a continuation: value `i` of those that came back; nil if there are fewer.
    #[must_use]
    pub fn result(&self, i: usize) -> Value<'gc> {
        self.get(self.results() + i)
    }

    /// Returns nothing.
    #[inline]
    pub fn ret0(&mut self) -> NativeResult<'gc> {
        Ok(Flow::Return(0))
    }

    /// Returns one value.
    #[inline]
    pub fn ret1(&mut self, value: impl Into<Value<'gc>>) -> NativeResult<'gc> {
        self.push(value.into());
        Ok(Flow::Return(1))
    }

    /// Returns these values.
    #[inline]
    pub fn ret(&mut self, values: &[Value<'gc>]) -> NativeResult<'gc> {
        for &value in values {
            self.push(value);
        }
        Ok(Flow::Return(values.len() as u32))
    }

    /// Returns the last `count` slots.
    #[inline]
    pub fn ret_top(&mut self, count: usize) -> NativeResult<'gc> {
        Ok(Flow::Return(count.min(self.len()) as u32))
    }

    /// Returns `nil, message, code`, as the functions of `io` and `os` do when the system refuses.
    pub fn ret_io_error(
        &mut self,
        error: &std::io::Error,
        what: Option<&[u8]>,
    ) -> NativeResult<'gc> {
        let mut text = Vec::new();
        if let Some(what) = what {
            text.extend_from_slice(what);
            text.extend_from_slice(b": ");
        }
        text.extend_from_slice(super::error::os_message(error).as_bytes());
        let message = self.ctx.string(&text);
        let code = i64::from(error.raw_os_error().unwrap_or(0));
        self.ret(&[Value::Nil, message, Value::Int(code)])
    }

    /// Calls `function` with `args`; `then` goes on with the results.
    pub fn call(
        &mut self,
        function: Value<'gc>,
        args: &[Value<'gc>],
        then: NativeFn,
    ) -> NativeResult<'gc> {
        self.push(function);
        for &arg in args {
            self.push(arg);
        }
        self.call_top(args.len(), then)
    }

    /// As [`Call::call_top`], and the callee can't yield (it gets "attempt to yield across a C-call boundary").
    pub fn call_top_no_yield(&mut self, args: usize, then: NativeFn) -> NativeResult<'gc> {
        self.pend_call(args, then, Guard::NoYield)
    }

    /// As [`Call::call`], and the callee can't yield (it gets "attempt to yield across a C-call boundary").
    pub fn call_no_yield(
        &mut self,
        function: Value<'gc>,
        args: &[Value<'gc>],
        then: NativeFn,
    ) -> NativeResult<'gc> {
        self.push(function);
        for &arg in args {
            self.push(arg);
        }
        self.pend_call(args.len(), then, Guard::NoYield)
    }

    /// Calls the function that stands in the slot below the last `args` slots with those as arguments. They are taken
    /// away; `then` goes on with the results.
    pub fn call_top(&mut self, args: usize, then: NativeFn) -> NativeResult<'gc> {
        self.pend_call(args, then, Guard::None)
    }

    /// As [`Call::call_top`], and an error comes back as [`Call::outcome`] with the error value as the one result.
    pub fn pcall_top(&mut self, args: usize, then: NativeFn) -> NativeResult<'gc> {
        self.pend_call(args, then, Guard::Protected)
    }

    /// As [`Call::pcall_top`]; where the error is raised, before anything is unwound, the function in slot `handler`
    /// is called with it, and what that returns is the error value.
    pub fn xpcall_top(&mut self, args: usize, handler: usize, then: NativeFn) -> NativeResult<'gc> {
        self.pend_call(args, then, Guard::Handler(handler as u32))
    }

    fn pend_call(&mut self, args: usize, then: NativeFn, guard: Guard) -> NativeResult<'gc> {
        let at = self.callee_slot(args)?;
        self.pending = Pending::Call { at, then, guard };
        Ok(Flow::Pending)
    }

    /// Calls the function below the last `args` slots; its results are the results of this native.
    pub fn tail_call_top(&mut self, args: usize) -> NativeResult<'gc> {
        let at = self.callee_slot(args)?;
        self.pending = Pending::TailCall { at };
        Ok(Flow::Pending)
    }

    /// The error of a native that has failed with `error`, or that has overflowed its stack where there is none.
    pub(super) fn failure(&self, error: Option<Error<'gc>>) -> Error<'gc> {
        match error {
            _ if self.short => self.ctx.out_of_memory(),
            Some(error) => error.placed(),
            None => self.ctx.stack_overflow(self.thread).placed(),
        }
    }

    fn callee_slot(&self, args: usize) -> Result<u32, Error<'gc>> {
        match self.len().checked_sub(args + 1) {
            Some(at) => Ok(at as u32),
            None if self.overflow => Err(self.ctx.stack_overflow(self.thread)),
            None => Err(self.error("a native function has lost its callee")),
        }
    }

    /// Yields the last `count` slots. When the coroutine is resumed, `then` goes on with the values that were passed, and
    /// does with them what `back` says.
    pub fn yield_top(&mut self, count: usize, back: Back, then: NativeFn) -> NativeResult<'gc> {
        let count = count.min(self.len()) as u32;
        self.pending = Pending::Yield { count, back, then };
        Ok(Flow::Pending)
    }

    /// Resumes `thread` with the last `count` slots, which are taken away. `then` goes on with what it yields or returns,
    /// and does with that what `back` says; if it fails, [`Call::outcome`] tells and the one result is the error value. Whether it may be resumed at all is
    /// checked here as well, and comes back in the same way.
    pub fn resume_top(
        &mut self,
        thread: Thread<'gc>,
        count: usize,
        back: Back,
        then: NativeFn,
    ) -> NativeResult<'gc> {
        let count = count.min(self.len()) as u32;
        self.pending = Pending::Resume {
            thread,
            count,
            back,
            then,
        };
        Ok(Flow::Pending)
    }

    /// Closes a suspended or dead coroutine: runs its pending `__close` methods. `then` goes on; if one of them failed,
    /// or the coroutine had died of an error, [`Call::outcome`] tells and the one result is the error value.
    pub fn close_thread(&mut self, thread: Thread<'gc>, then: NativeFn) -> NativeResult<'gc> {
        self.pending = Pending::Close { thread, then };
        Ok(Flow::Pending)
    }

    /// Leaves to the host, which does what `request` says (and collects while it waits). `then` goes on and takes the
    /// answer with [`Call::answer`].
    pub fn suspend(&mut self, request: Suspend, then: NativeFn) -> NativeResult<'gc> {
        self.ctx.state.request.replace(Some(request));
        self.pending = Pending::Suspend { then };
        Ok(Flow::Pending)
    }

    /// Whether the native may be called once more, if there is no memory for it: this is its first call, and its arguments are
    /// what they were.
    #[must_use]
    pub fn is_repeatable(&self) -> bool {
        let role = match self.function() {
            Value::Native(native) => native.role(),
            _ => Role::Plain,
        };
        role == Role::Repeatable && !self.framed && self.intact == self.results_at
    }

    /// Returns `result`; if that is want of memory, for the first time, has everything collected instead, and `again` goes on
    /// with the first `slots` slots. What was done until then must be what `again` expects; the answer concerns nobody.
    pub fn or_again(
        &mut self,
        result: NativeResult<'gc>,
        slots: usize,
        again: NativeFn,
    ) -> NativeResult<'gc> {
        match result {
            Err(error) if self.ctx.begin_retry(error) => {
                self.truncate(slots);
                self.suspend(Suspend::Collect(GcRequest::Room), again)
            }
            result => result,
        }
    }

    /// In the continuation of [`Call::suspend`]: what the host answered.
    #[must_use]
    pub fn answer(&mut self) -> super::suspend::Answer {
        self.ctx
            .state
            .answer
            .take()
            .unwrap_or(super::suspend::Answer::Done)
    }
}

/// What stands before the upvalues of a native.
pub struct NativeHeader {
    function: NativeFn,
    name: &'static str,
    role: Role,
}

/// What the interpreter knows of a native: iterators it does by itself in its loops, where nothing can tell the difference.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Role {
    /// Nothing.
    Plain,
    /// `next`.
    Next,
    /// What `ipairs` returns.
    NextIndex,
    /// It changes nothing before it fails for want of memory, so it may be called once more after a collection.
    Repeatable,
}

// SAFETY: a header holds no pointer into the arena.
unsafe impl<'gc> Collect<'gc> for NativeHeader {
    const SEND: bool = true;
    const NEEDS_TRACE: bool = false;
}

/// An upvalue of a native.
struct NativeUpvalue<'gc>(Cell<Value<'gc>>);

// SAFETY: the value is traced; `Native::set_upvalue`, the only store, runs a barrier.
unsafe impl<'gc> Collect<'gc> for NativeUpvalue<'gc> {
    const SEND: bool = true;

    fn trace<T: Trace<'gc>>(&self, cc: &mut T) {
        self.0.get().trace(cc);
    }
}

/// A function written in Rust, as a Lua value.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub struct Native<'gc>(GcTail<'gc, NativeHeader, NativeUpvalue<'gc>>);

// SAFETY: the one pointer is traced.
unsafe impl<'gc> Collect<'gc> for Native<'gc> {
    const SEND: bool = true;

    #[inline]
    fn trace<T: Trace<'gc>>(&self, cc: &mut T) {
        self.0.trace(cc);
    }
}

impl<'gc> Native<'gc> {
    /// A function value. `name` is for messages where nothing better is known, such as `insert`.
    #[must_use]
    pub fn new(ctx: Ctx<'gc>, name: &'static str, function: NativeFn) -> Native<'gc> {
        Self::with_upvalues(ctx, name, function, &[])
    }

    /// A function value with upvalues.
    #[must_use]
    pub fn with_upvalues(
        ctx: Ctx<'gc>,
        name: &'static str,
        function: NativeFn,
        upvalues: &[Value<'gc>],
    ) -> Native<'gc> {
        let role = Role::Plain;
        let header = NativeHeader {
            function,
            name,
            role,
        };
        Native(GcTail::new(ctx.mc, header, upvalues.len(), |i| {
            NativeUpvalue(Cell::new(upvalues[i]))
        }))
    }

    /// A function value that the interpreter knows something of.
    #[must_use]
    pub fn with_role(
        ctx: Ctx<'gc>,
        name: &'static str,
        function: NativeFn,
        role: Role,
    ) -> Native<'gc> {
        let header = NativeHeader {
            function,
            name,
            role,
        };
        Native(GcTail::new(ctx.mc, header, 0, |_| {
            NativeUpvalue(Cell::new(Value::Nil))
        }))
    }

    /// What the interpreter knows of it.
    #[inline(always)]
    #[must_use]
    pub fn role(self) -> Role {
        self.0.header().role
    }

    /// The Rust function.
    #[inline]
    #[must_use]
    pub fn function(self) -> NativeFn {
        self.0.header().function
    }

    /// The name it was made with.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.0.header().name
    }

    /// Upvalue `i`; nil if there is none.
    #[must_use]
    pub fn upvalue(self, i: usize) -> Value<'gc> {
        self.0.tail().get(i).map_or(Value::Nil, |v| v.0.get())
    }

    /// The number of upvalues.
    #[must_use]
    pub fn upvalue_count(self) -> usize {
        self.0.tail().len()
    }

    /// Changes upvalue `i`; does nothing if there is none.
    pub fn set_upvalue(self, ctx: Ctx<'gc>, i: usize, value: Value<'gc>) {
        if let Some(upvalue) = self.0.tail().get(i) {
            ctx.barrier_in(self.0.erase(), value);
            upvalue.0.set(value);
        }
    }

    /// Whether both are the same object.
    #[inline]
    #[must_use]
    pub fn ptr_eq(self, other: Native<'gc>) -> bool {
        self.address() == other.address()
    }

    /// The object, its type forgotten.
    pub(in crate::vm) fn erase(self) -> Gc<'gc, ()> {
        self.0.erase()
    }

    /// The object's address.
    #[inline]
    #[must_use]
    pub fn address(self) -> *const () {
        GcTail::as_ptr(self.0).cast()
    }
}
