//! Debug hooks: a function that is called at calls, returns, new lines, and every so many instructions.
//!
//! A coroutine with a hook runs in a form of the loop that asks [`before_instruction`] before each instruction. A hook
//! is called like any other function: a hidden native frame is pushed above the interrupted one, and the hook above that.
//! While it runs the interrupted Lua frame's `pc` stands behind the instruction at hand, as everywhere; when the hidden
//! frame ends it is set back, and the instruction begins anew. How far its hooks have got stands in the frame's `state`:
//!
//! ```text
//!   bits  0-1   events that are over for the instruction at hand: 0 none, 1 call, 2 count, 3 all
//!   bit   2     the function's call event is over
//!   bit   3     its return event is over
//!   bits  4-    the number of the last instruction that was looked at for a new line, plus one; 0: none
//! ```
//!
//! No hook is called while one runs: as long as the hidden frame, or one above it, is on top.

use super::call::{After, continue_native, precall, update_top};
use super::describe::position;
use super::error::Error;
use super::frame::{ALL_RESULTS, Flags, Frame};
use super::native::{Call, Native, NativeResult};
use super::state::Ctx;
use super::thread::Thread;
use super::value::Value;
use crate::opcode::Op;

/// Events that a hook may be called at.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct HookMask(u8);

impl HookMask {
    /// A function is called.
    pub const CALL: HookMask = HookMask(1);
    /// A function is about to return.
    pub const RETURN: HookMask = HookMask(1 << 1);
    /// A new line is about to run.
    pub const LINE: HookMask = HookMask(1 << 2);
    /// So many instructions have run.
    pub const COUNT: HookMask = HookMask(1 << 3);

    /// The events of both.
    #[must_use]
    pub const fn with(self, other: HookMask) -> HookMask {
        HookMask(self.0 | other.0)
    }

    /// Whether one of the events is in both.
    #[must_use]
    pub const fn has(self, other: HookMask) -> bool {
        self.0 & other.0 != 0
    }

    /// Whether there are no events.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }
}

/// What a coroutine knows of its hook, but for the function.
#[derive(Clone, Copy, Default)]
pub(super) struct Hook {
    pub mask: HookMask,
    /// Instructions between two count events.
    pub period: u32,
    /// Instructions until the next one.
    pub left: u32,
    /// The number of frames with the hidden frame of the running hook; 0 if none runs.
    pub depth: usize,
    /// The values that the event at hand hands over: the number of the first local, and how many.
    pub transfer: (u32, u32),
}

const STAGE: i64 = 3;
const CALLED: i64 = 1 << 2;
const RETURNED: i64 = 1 << 3;
const LAST_SHIFT: u32 = 4;

impl<'gc> Thread<'gc> {
    /// Sets the coroutine's hook. `period`: of count events.
    pub fn set_hook(self, ctx: Ctx<'gc>, function: Value<'gc>, mask: HookMask, period: u32) {
        self.set_hook_function(ctx, function);
        let depth = self.hook().depth;
        self.put_hook(Hook {
            mask,
            period,
            left: period,
            depth,
            transfer: (0, 0),
        });
        // What runs already has been called, and its lines are not new.
        for at in 0..self.frames().len() {
            let frame = self.frames()[at];
            if let Some((_, pc)) = position(self, &frame) {
                let last = (pc as i64 + 1) << LAST_SHIFT;
                self.frames()[at].state = frame.state & STAGE | CALLED | last;
            }
        }
    }

    /// The coroutine's hook: function, events, and period of count events.
    #[must_use]
    pub fn get_hook(self) -> (Value<'gc>, HookMask, u32) {
        let hook = self.hook();
        (self.hook_function(), hook.mask, hook.period)
    }

    /// Whether a hook may have to be called.
    #[inline(always)]
    pub(super) fn is_hooked(self) -> bool {
        !self.hook().mask.is_empty()
    }

    /// Counts one instruction; whether it's the last of a period.
    fn count_down(self) -> bool {
        let mut hook = self.hook();
        hook.left = hook.left.saturating_sub(1);
        let is_due = hook.left == 0;
        if is_due {
            hook.left = hook.period;
        }
        self.put_hook(hook);
        is_due
    }

    /// Whether hooks of these events are to be called now.
    fn wants(self, mask: HookMask) -> bool {
        let mut hook = self.hook();
        if !hook.mask.has(mask) {
            return false;
        }
        if hook.depth != 0 {
            if self.frames().len() >= hook.depth {
                return false;
            }
            hook.depth = 0;
            self.put_hook(hook);
        }
        true
    }
}

/// Calls the hook, above stack index `at`.
fn fire<'gc>(
    ctx: Ctx<'gc>,
    thread: Thread<'gc>,
    at: u32,
    event: &str,
    line: Value<'gc>,
    transfer: (u32, u32),
) -> Result<After, Error<'gc>> {
    let top = thread.top();
    let function = thread.hook_function();
    thread.ensure_stack(ctx, at + 4)?;
    thread.stack_set(at, Value::Nil);
    let mut hidden = Frame::native(at, at + 1, 0, Flags::HIDDEN.with(Flags::HOOK));
    hidden.flags = hidden.flags.with(Flags::NO_YIELD).with(Flags::IN_CALLBACK);
    hidden.then = Some(hook_is_over);
    hidden.state = i64::from(top);
    thread.frames().push(hidden);
    thread.set_no_yield(thread.no_yield() + 1);
    thread.set_callbacks(thread.callbacks() + 1);
    let mut hook = thread.hook();
    hook.depth = thread.frames().len();
    hook.transfer = transfer;
    thread.put_hook(hook);
    thread.stack_set(at + 1, function);
    thread.stack_set(at + 2, ctx.string(event.as_bytes()));
    thread.stack_set(at + 3, line);
    thread.set_top(at + 4);
    match precall(ctx, thread, at + 1, ALL_RESULTS, Flags::NONE)? {
        After::Done => Ok(After::Switch),
        after => Ok(after),
    }
}

/// The continuation of the hidden frame.
fn hook_is_over<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    let thread = call.thread();
    let mut hook = thread.hook();
    hook.depth = 0;
    thread.put_hook(hook);
    thread.set_top(call.state as u32);
    let frames = thread.frames();
    if let Some(below) = frames.len().checked_sub(2)
        && frames[below].is_lua()
    {
        // Back to the instruction that was interrupted.
        frames[below].pc = frames[below].pc.wrapping_sub(1);
    }
    call.give(0)
}

/// What is due before the next instruction of the Lua frame on top, whose `pc` is up to date.
#[inline(never)]
pub(super) fn before_instruction<'gc>(
    ctx: Ctx<'gc>,
    thread: Thread<'gc>,
) -> Result<Option<After>, Error<'gc>> {
    use HookMask as On;
    if !thread.wants(On::CALL.with(On::RETURN).with(On::LINE).with(On::COUNT)) {
        // The instructions of hooks count, too.
        thread.count_down();
        return Ok(None);
    }
    let Some(&frame) = thread.frames().last() else {
        return Ok(None);
    };
    let mut next = frame;
    next.pc = frame.pc.wrapping_add(1);
    let Some((proto, pc)) = position(thread, &next) else {
        return Ok(None);
    };
    if proto.code[pc].op() == Op::VarargPrep {
        return Ok(None);
    }
    let at = frame.top.max(thread.top());
    let mut state = frame.state;
    let keep = |state: i64| update_top(thread, |frame| frame.state = state);
    let due = |state: i64, stage: i64, event: &str, line: Value<'gc>| {
        update_top(thread, |frame| {
            frame.state = state & !STAGE | stage;
            frame.pc = frame.pc.wrapping_add(1);
        });
        fire(
            ctx,
            thread,
            at,
            event,
            line,
            (1, u32::from(proto.num_params)),
        )
        .map(Some)
    };
    let stage = state & STAGE;
    if state & CALLED == 0 {
        state |= CALLED;
        if thread.wants(On::CALL) {
            let event = if frame.flags.has(Flags::TAIL) {
                "tail call"
            } else {
                "call"
            };
            return due(state, 1, event, Value::Nil);
        }
    }
    if stage < 2 && thread.wants(On::COUNT) && thread.count_down() {
        return due(state, 2, "count", Value::Nil);
    }
    if stage < 3 && thread.wants(On::LINE) {
        let last = usize::try_from(state >> LAST_SHIFT)
            .unwrap_or(0)
            .checked_sub(1);
        state = state & (STAGE | CALLED | RETURNED) | (pc as i64 + 1) << LAST_SHIFT;
        // A jump back begins its line anew.
        let is_new = last.is_none_or(|last| pc <= last || proto.line(last) != proto.line(pc));
        if is_new {
            let line = proto
                .line(pc)
                .map_or(Value::Nil, |line| Value::Int(line.into()));
            return due(state, 3, "line", line);
        }
    }
    keep(state & !STAGE);
    Ok(None)
}

/// What is due before the Lua frame on top returns `count` values that begin at `first`.
#[inline(never)]
pub(super) fn before_return<'gc>(
    ctx: Ctx<'gc>,
    thread: Thread<'gc>,
    first: u32,
    count: u32,
) -> Result<Option<After>, Error<'gc>> {
    let Some(&frame) = thread.frames().last() else {
        return Ok(None);
    };
    if frame.state & RETURNED != 0 || !thread.wants(HookMask::RETURN) {
        return Ok(None);
    }
    update_top(thread, |frame| frame.state |= RETURNED | STAGE);
    let at = frame.top.max(thread.top()).max(first + count);
    let transfer = (first - frame.base + 1, count);
    fire(ctx, thread, at, "return", Value::Nil, transfer).map(Some)
}

/// Calls a native with the arguments up to the thread's top, if its hooks need a frame of it.
#[cold]
pub(super) fn call_native<'gc>(
    ctx: Ctx<'gc>,
    thread: Thread<'gc>,
    native: Native<'gc>,
    func: u32,
    results: i16,
    flags: Flags,
) -> Result<Option<After>, Error<'gc>> {
    if !thread.wants(HookMask::CALL.with(HookMask::RETURN)) {
        return Ok(None);
    }
    let top = thread.top();
    let mut frame = Frame::native(func, top, results, flags);
    frame.then = Some(native.function());
    thread.frames().push(frame);
    if thread.wants(HookMask::CALL) {
        let transfer = (1, top - frame.base);
        return fire(ctx, thread, top, "call", Value::Nil, transfer).map(Some);
    }
    continue_native(ctx, thread).map(Some)
}

/// What is due before the native on top returns its last `count` slots, of which the last is below `top`.
#[cold]
pub(super) fn native_returns<'gc>(
    ctx: Ctx<'gc>,
    thread: Thread<'gc>,
    top: u32,
    count: u32,
) -> Result<Option<After>, Error<'gc>> {
    let Some(&frame) = thread.frames().last() else {
        return Ok(None);
    };
    if frame.flags.has(Flags::HIDDEN.with(Flags::RETURNING)) || !thread.wants(HookMask::RETURN) {
        return Ok(None);
    }
    update_top(thread, |frame| {
        frame.flags = frame.flags.with(Flags::RETURNING);
        frame.then = Some(|call| call.give(call.state as u32));
        frame.state = i64::from(count);
        frame.top = top;
        frame.aux = top;
    });
    thread.set_top(top);
    let transfer = (top - count - frame.base + 1, count);
    fire(ctx, thread, top, "return", Value::Nil, transfer).map(Some)
}
