//! Coroutines: a stack of values, the frames on it, the open upvalues that point into it.

use std::cell::{Cell, UnsafeCell};

use sleepy_gc::collect::Trace;
use sleepy_gc::collections::LateStack;
use sleepy_gc::{Collect, Gc, Mutation};

use super::closure::UpValue;
use super::error::Error;
use super::external::External;
use super::frame::Frame;
use super::hooks::Hook;
use super::state::Ctx;
use super::value::Value;

/// The largest stack, in slots.
pub(super) const MAX_STACK: u32 = 1_000_000;
/// What a message handler may use beyond it.
const HANDLER_RESERVE: u32 = 4_000;
/// Slots above the top that every function may use without asking.
pub(super) const MIN_FREE: u32 = 20;
/// Slots of a new stack.
const FIRST_SLOTS: usize = 40;
/// How far a window on the stack reaches above what is in use.
const WINDOW_SLOTS: u32 = 512;

/// Where a coroutine stands.
///
/// | state | its frames | next |
/// |---|---|---|
/// | `Suspended` | the body has not begun, or stands in a yield | `Running` by resume, `Dead` by close |
/// | `Running` | it is the current one | any |
/// | `Normal` | it has resumed another one | `Running` when that yields or ends |
/// | `Dead` | none, or those of the error it died of | – |
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Status {
    /// Not begun, or has yielded.
    Suspended,
    /// The one that runs now.
    Running,
    /// Has resumed another coroutine.
    Normal,
    /// Has returned, failed, or was closed.
    Dead,
}

impl Status {
    /// The name that `coroutine.status` returns.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Status::Suspended => "suspended",
            Status::Running => "running",
            Status::Normal => "normal",
            Status::Dead => "dead",
        }
    }
}

/// A coroutine.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub struct Thread<'gc>(Gc<'gc, ThreadBody<'gc>>);

/// The object behind a [`Thread`].
pub struct ThreadBody<'gc> {
    stack: LateStack<'gc, Value<'gc>>,
    /// The first slot of `stack`.
    slots: Cell<*mut Value<'gc>>,
    /// Slots from here up to `window_end` may be stored to without a barrier until the callback ends.
    window_start: Cell<u32>,
    window_end: Cell<u32>,
    frames: UnsafeCell<Vec<Frame>>,
    /// The bytes of the frames.
    external: External,
    /// Stack indices of the pending to-be-closed variables, rising.
    to_close: UnsafeCell<Vec<u32>>,
    /// Open upvalues, that of the highest slot first.
    open: Cell<Option<UpValue<'gc>>>,
    /// Above the last value of an open list of values (arguments or results "up to the top").
    top: Cell<u32>,
    status: Cell<Status>,
    /// Whether somebody wants to know of its end.
    tells_end: Cell<bool>,
    /// Whoever resumed this coroutine.
    resumer: Cell<Option<Thread<'gc>>>,
    /// The error it died of.
    failure: Cell<Option<Value<'gc>>>,
    /// Whether the host has started it.
    root: Cell<bool>,
    /// How many frames below forbid a yield.
    no_yield: Cell<u32>,
    /// How many coroutines stand below it, each resumed by the one before.
    depth: Cell<u32>,
    /// How many natives wait for a callback on it.
    callbacks: Cell<u32>,
    /// How many message handlers run on it, one in another.
    handlers: Cell<u32>,
    /// The function that hooks call.
    hook_function: Cell<Value<'gc>>,
    hook: Cell<Hook>,
}

// SAFETY: the stack, the open upvalues, the resumer, the failure and the hook are all the pointers there are; stores to
// the last four run a barrier (the setters below), those to the stack need none by the contract of `LateStack`; frames hold
// indices and pointers into instructions, which the closures on the stack keep alive.
unsafe impl<'gc> Collect<'gc> for ThreadBody<'gc> {
    const SEND: bool = true;

    fn trace<T: Trace<'gc>>(&self, cc: &mut T) {
        self.stack.trace(cc);
        self.open.get().trace(cc);
        self.resumer.get().trace(cc);
        self.failure.get().trace(cc);
        self.hook_function.get().trace(cc);
    }
}

// SAFETY: the one pointer is traced.
unsafe impl<'gc> Collect<'gc> for Thread<'gc> {
    const SEND: bool = true;

    #[inline]
    fn trace<T: Trace<'gc>>(&self, cc: &mut T) {
        self.0.trace(cc);
    }
}

/// The first slot, valid until the stack grows.
fn first_slot<'gc>(mc: &Mutation<'gc>, stack: &LateStack<'gc, Value<'gc>>) -> *mut Value<'gc> {
    match stack.slots(mc, 0..stack.capacity()) {
        Some(slots) => slots.as_ptr().cast_mut().cast(),
        None => std::ptr::null_mut(),
    }
}

impl<'gc> Thread<'gc> {
    /// A coroutine without a body; none if there is no memory.
    pub(super) fn try_empty(mc: &Mutation<'gc>) -> Option<Thread<'gc>> {
        let stack = LateStack::try_new(mc, FIRST_SLOTS, Value::Nil).ok()?;
        Self::with_stack(mc, stack)
    }

    /// A coroutine without a body, for a new state.
    pub(super) fn empty(mc: &Mutation<'gc>) -> Thread<'gc> {
        match Self::try_empty(mc) {
            Some(thread) => thread,
            // A state that can't even be made has nobody to tell.
            None => std::process::abort(),
        }
    }

    fn with_stack(mc: &Mutation<'gc>, stack: LateStack<'gc, Value<'gc>>) -> Option<Thread<'gc>> {
        let slots = first_slot(mc, &stack);
        let body = Gc::try_new(
            mc,
            ThreadBody {
                stack,
                slots: Cell::new(slots),
                window_start: Cell::new(0),
                window_end: Cell::new(0),
                frames: UnsafeCell::new(Vec::new()),
                external: External::new(mc, 0),
                to_close: UnsafeCell::new(Vec::new()),
                open: Cell::new(None),
                top: Cell::new(0),
                status: Cell::new(Status::Suspended),
                tells_end: Cell::new(false),
                resumer: Cell::new(None),
                failure: Cell::new(None),
                root: Cell::new(false),
                no_yield: Cell::new(0),
                depth: Cell::new(0),
                callbacks: Cell::new(0),
                handlers: Cell::new(0),
                hook_function: Cell::new(Value::Nil),
                hook: Cell::new(Hook::default()),
            },
        );
        body.ok().map(Thread)
    }

    #[inline(always)]
    fn body(self) -> &'gc ThreadBody<'gc> {
        self.0.as_ref()
    }

    /// Whether both are the same coroutine.
    #[inline]
    #[must_use]
    pub fn ptr_eq(self, other: Thread<'gc>) -> bool {
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

    /// Where the coroutine stands.
    #[must_use]
    pub fn status(self) -> Status {
        self.body().status.get()
    }

    pub(super) fn set_status(self, ctx: Ctx<'gc>, status: Status) {
        self.body().status.set(status);
        if status == Status::Dead && self.body().tells_end.take() {
            ctx.state.has_told_end.set(true);
        }
    }

    /// Has the host told when the coroutine has ended, once.
    pub fn tell_end(self) {
        self.body().tells_end.set(true);
    }

    pub(super) fn resumer(self) -> Option<Thread<'gc>> {
        self.body().resumer.get()
    }

    pub(super) fn set_resumer(self, ctx: Ctx<'gc>, resumer: Option<Thread<'gc>>) {
        ctx.barrier_in(Gc::erase(self.0), resumer.into());
        self.body().resumer.set(resumer);
    }

    /// The error the coroutine died of.
    #[must_use]
    pub fn failure(self) -> Option<Value<'gc>> {
        self.body().failure.get()
    }

    pub(super) fn set_failure(self, ctx: Ctx<'gc>, failure: Option<Value<'gc>>) {
        ctx.barrier_in(Gc::erase(self.0), failure.into());
        self.body().failure.set(failure);
    }

    pub(super) fn hook_function(self) -> Value<'gc> {
        self.body().hook_function.get()
    }

    pub(super) fn set_hook_function(self, ctx: Ctx<'gc>, function: Value<'gc>) {
        ctx.barrier_in(Gc::erase(self.0), function);
        self.body().hook_function.set(function);
    }

    #[inline(always)]
    pub(super) fn hook(self) -> Hook {
        self.body().hook.get()
    }

    pub(super) fn put_hook(self, hook: Hook) {
        self.body().hook.set(hook);
    }

    /// Whether it was started by the host: nobody has resumed it, and nobody can.
    pub(super) fn is_root(self) -> bool {
        self.body().root.get()
    }

    pub(super) fn set_root(self) {
        self.body().root.set(true);
    }

    pub(super) fn no_yield(self) -> u32 {
        self.body().no_yield.get()
    }

    pub(super) fn set_no_yield(self, count: u32) {
        self.body().no_yield.set(count);
    }

    pub(super) fn depth(self) -> u32 {
        self.body().depth.get()
    }

    pub(super) fn set_depth(self, depth: u32) {
        self.body().depth.set(depth);
    }

    pub(super) fn callbacks(self) -> u32 {
        self.body().callbacks.get()
    }

    pub(super) fn set_callbacks(self, count: u32) {
        self.body().callbacks.set(count);
    }

    pub(super) fn handlers(self) -> u32 {
        self.body().handlers.get()
    }

    pub(super) fn set_handlers(self, count: u32) {
        self.body().handlers.set(count);
    }

    // The stack.

    /// The first slot. Valid until the stack grows.
    #[inline(always)]
    pub(super) fn stack(self) -> *mut Value<'gc> {
        self.body().slots.get()
    }

    /// The number of slots that may be stored to.
    #[inline(always)]
    pub(super) fn stack_limit(self) -> u32 {
        self.body().window_end.get()
    }

    /// Must be called before anything is stored to slots from `start` on: once in each callback, and again for lower
    /// slots.
    #[inline(always)]
    pub(super) fn touch(self, ctx: Ctx<'gc>, start: u32) {
        if start < self.body().window_start.get() {
            self.open_window(ctx, start);
        }
    }

    /// Opens the window in a callback that has not touched the stack yet: from `start` to a little above what is in
    /// use.
    pub(super) fn open_window(self, ctx: Ctx<'gc>, start: u32) {
        let body = self.body();
        let used = self.frames().last().map_or(0, |frame| frame.top);
        let end = used.max(body.top.get()) + WINDOW_SLOTS;
        let end = end
            .max(body.window_end.get())
            .min(body.stack.capacity() as u32);
        self.set_window(ctx, start, end);
    }

    fn set_window(self, ctx: Ctx<'gc>, start: u32, end: u32) {
        let body = self.body();
        // What message handlers may use beyond is theirs, also where a stack was once made large enough for them.
        let most = match self.handlers() {
            0 => MAX_STACK + MIN_FREE,
            _ => u32::MAX,
        };
        let end = end.min(most);
        // The slots themselves are reached through `slots`; this tells the collector where to look again.
        let _ = body.stack.slots(ctx.mc, start as usize..end as usize);
        body.window_start.set(start);
        body.window_end.set(end);
    }

    /// The value in a slot.
    #[inline(always)]
    pub(super) fn stack_get(self, at: u32) -> Value<'gc> {
        debug_assert!((at as usize) < self.body().stack.capacity());
        // SAFETY: indices come from frames and calls, which lie below the capacity (`ensure_stack` before each); every
        // slot below the capacity holds a value.
        unsafe { Value::load(self.stack().add(at as usize)) }
    }

    /// Changes the value in a slot.
    #[inline(always)]
    pub(super) fn stack_set(self, at: u32, value: Value<'gc>) {
        debug_assert!(at < self.stack_limit());
        // SAFETY: as in `stack_get`; no reference to a slot is ever held.
        unsafe { Value::store(self.stack().add(at as usize), value) }
    }

    /// Copies `count` values from slot `from` to slot `to`.
    #[inline]
    pub(super) fn stack_move(self, from: u32, to: u32, count: u32) {
        debug_assert!(from.max(to) + count <= self.stack_limit());
        if count == 1 {
            self.stack_set(to, self.stack_get(from));
            return;
        }
        // SAFETY: both ranges lie below the capacity, as in `stack_get`.
        unsafe {
            let stack = self.stack();
            std::ptr::copy(
                stack.add(from as usize),
                stack.add(to as usize),
                count as usize,
            );
        }
    }

    /// Sets slots to nil.
    #[inline]
    pub(super) fn stack_clear(self, from: u32, to: u32) {
        for at in from..to {
            self.stack_set(at, Value::Nil);
        }
    }

    /// Makes sure that there are slots up to `needed` and [`MIN_FREE`] more.
    #[inline(always)]
    pub(super) fn ensure_stack(self, ctx: Ctx<'gc>, needed: u32) -> Result<(), Error<'gc>> {
        if needed + MIN_FREE <= self.stack_limit() {
            return Ok(());
        }
        self.grow_stack(ctx, needed)
    }

    #[cold]
    #[inline(never)]
    fn grow_stack(self, ctx: Ctx<'gc>, needed: u32) -> Result<(), Error<'gc>> {
        let limit = if self.handlers() > 0 {
            MAX_STACK + HANDLER_RESERVE
        } else {
            MAX_STACK
        };
        if needed > limit {
            return Err(ctx.stack_overflow(self));
        }
        let body = self.body();
        let capacity = body.stack.capacity() as u32;
        let start = body.window_start.get();
        if needed + MIN_FREE <= capacity {
            self.set_window(ctx, start, (needed + WINDOW_SLOTS).min(capacity));
            return Ok(());
        }
        let old_address = self.stack().addr();
        let size = (needed + MIN_FREE)
            .max(capacity.saturating_mul(2))
            .min(limit + MIN_FREE);
        // The frames grow with the stack, outside of the heap.
        let frames_bytes = self.frames().capacity() * 2 * size_of::<Frame>();
        let stack_bytes = size as usize * size_of::<Value<'_>>();
        if ctx.heap_bytes() + frames_bytes + stack_bytes > ctx.state.hard_limit_bytes.get()
            || body.stack.try_grow(ctx.mc, size as usize).is_err()
        {
            return Err(ctx.out_of_memory());
        }
        self.count_frames(ctx);
        body.slots.set(first_slot(ctx.mc, &body.stack));
        let end = (needed + WINDOW_SLOTS).min(body.stack.capacity() as u32);
        self.set_window(ctx, start, end);
        let mut open = body.open.get();
        while let Some(upvalue) = open {
            let index = (upvalue.place().addr() - old_address) / size_of::<Value<'_>>();
            // SAFETY: the place was a slot of the stack before it moved, so `index` is that slot; what is in the list
            // of open upvalues is open.
            unsafe {
                upvalue.move_to(self.stack().add(index));
                open = upvalue.next();
            }
        }
        Ok(())
    }

    /// Above the last value of an open list of values.
    #[inline(always)]
    pub(super) fn top(self) -> u32 {
        self.body().top.get()
    }

    #[inline(always)]
    pub(super) fn set_top(self, top: u32) {
        self.body().top.set(top);
    }

    /// Tells the collector which slots are alive, before it may run.
    pub(super) fn set_live(self, ctx: Ctx<'gc>, top: u32) {
        let stack = &self.body().stack;
        stack.set_top(ctx.mc, (top as usize).min(stack.capacity()));
    }

    /// Leaves neither frames nor live slots, as nothing of the coroutine is to run any more.
    pub(super) fn leave_nothing(self, ctx: Ctx<'gc>) {
        self.frames().clear();
        self.set_live(ctx, 0);
    }

    /// What is alive on the stack, and what else the coroutine refers to, at a safe point.
    pub(super) fn values(self, ctx: Ctx<'gc>) -> Vec<Value<'gc>> {
        let body = self.body();
        let slots = body.stack.slots(ctx.mc, 0..body.stack.top());
        let slots = slots.unwrap_or_default().iter().map(Cell::get);
        let others = [
            body.resumer.get().into(),
            body.failure.get().into(),
            body.hook_function.get(),
        ];
        slots.chain(others).collect()
    }

    // The frames.

    /// Tells the collector what the frames take; they are counted where a coroutine begins or its stack grows, and where it is left.
    #[inline]
    pub(super) fn count_frames(self, ctx: Ctx<'gc>) {
        let bytes = self.frames().capacity() * size_of::<Frame>();
        self.body().external.grow_to(ctx.mc, bytes);
    }

    /// The frames. No reference to them is kept while anything else runs.
    #[inline(always)]
    pub(super) fn frames(self) -> &'gc mut Vec<Frame> {
        // SAFETY: every use is a short expression in this crate's interpreter that takes what it needs and lets go of
        // the reference before another use; the collector does not look at frames.
        unsafe { &mut *self.body().frames.get() }
    }

    /// The frame on top; there is always one while the coroutine lives.
    #[inline(always)]
    pub(super) fn frame(self) -> *mut Frame {
        let frames = self.frames();
        debug_assert!(!frames.is_empty());
        // SAFETY: there is a frame: the base frame is pushed at birth and popped at the end.
        unsafe { frames.as_mut_ptr().add(frames.len() - 1) }
    }

    /// Drops the frame on top, of which there is one.
    #[inline(always)]
    pub(super) fn pop_frame(self) {
        let frames = self.frames();
        debug_assert!(!frames.is_empty());
        // SAFETY: one less than the length, and frames need no drop.
        unsafe { frames.set_len(frames.len() - 1) };
    }

    /// The pending to-be-closed variables; used as [`Thread::frames`] is.
    #[inline]
    pub(super) fn to_close(self) -> &'gc mut Vec<u32> {
        // SAFETY: as in `frames`.
        unsafe { &mut *self.body().to_close.get() }
    }

    // Open upvalues.

    /// The upvalue of a stack slot, made if there is none yet.
    pub(super) fn find_upvalue(self, ctx: Ctx<'gc>, at: u32) -> UpValue<'gc> {
        // SAFETY: the index is below the capacity; what is in the list is open.
        unsafe {
            let place = self.stack().add(at as usize);
            let mut above = None;
            let mut found = self.body().open.get();
            while let Some(upvalue) = found
                && upvalue.place() >= place
            {
                if upvalue.place() == place {
                    return upvalue;
                }
                above = Some(upvalue);
                found = upvalue.next();
            }
            let fresh = UpValue::open(ctx, self, place, found);
            match above {
                Some(above) => above.set_next(ctx, Some(fresh)),
                None => self.set_open(ctx, Some(fresh)),
            }
            fresh
        }
    }

    fn set_open(self, ctx: Ctx<'gc>, open: Option<UpValue<'gc>>) {
        ctx.mc.shade_in(Gc::erase(self.0), &open);
        self.body().open.set(open);
    }

    /// Closes the open upvalues of slots from `level` on.
    #[inline]
    pub(super) fn close_upvalues(self, ctx: Ctx<'gc>, level: u32) {
        if self.body().open.get().is_some() {
            self.close_upvalues_slow(ctx, level);
        }
    }

    fn close_upvalues_slow(self, ctx: Ctx<'gc>, level: u32) {
        // SAFETY: the level is below the capacity; what is in the list is open.
        unsafe {
            let place = self.stack().add(level as usize);
            while let Some(upvalue) = self.body().open.get()
                && upvalue.place() >= place
            {
                let next = upvalue.next();
                upvalue.close(ctx);
                self.set_open(ctx, next);
            }
        }
    }
}
