//! Errors on their way down the frames: message handlers, `__close` methods, and the protected call that catches.
//!
//! 1. [`raise`] looks for the innermost native whose callback is protected. If that has a message handler, the handler
//!    is called first, on top of everything, in a hidden frame ([`handled`] goes on).
//! 2. The frames above the catcher are dropped. If to-be-closed variables are left above it, a hidden frame calls their
//!    methods one after the other; an error in one of them replaces the error ([`unwound`] goes on).
//! 3. The error is delivered to the catcher, whose continuation runs next.
//!
//! A coroutine without a catcher dies; its resumer gets the error.

use super::call::{After, deliver_error, precall, update_top};
use super::coroutine;
use super::error::Error;
use super::frame::{ALL_RESULTS, Flags, Frame};
use super::native::{Call, Flow, NativeResult, Outcome, Pending};
use super::state::Ctx;
use super::thread::Thread;
use super::value::Value;
use crate::opcode::Event;

/// How deep message handlers may nest (each fails in turn) before the error is given up.
const MAX_HANDLERS: u32 = 30;

/// Above everything that is in use on the stack.
pub(super) fn stack_end(thread: Thread<'_>) -> u32 {
    let frames = thread.frames().last().map_or(0, |frame| frame.top);
    let to_close = thread.to_close().last().map_or(0, |at| at + 1);
    frames
        .max(thread.top())
        .max(to_close)
        .min(thread.stack_limit())
}

/// Deals with an error in the running coroutine. `Err`: nobody catches it.
pub(super) fn raise<'gc>(ctx: Ctx<'gc>, error: Error<'gc>) -> Result<(), Value<'gc>> {
    let thread = ctx.current();
    let catcher = thread
        .frames()
        .iter()
        .rposition(|frame| frame.flags.has(Flags::PROTECTED));
    // An error in a `__close` method is caught by the frame that calls these methods, but handled as the first error was.
    let handler = catcher
        .and_then(|at| {
            let frames = thread.frames()[..=at].iter();
            let may_have_handler = |frame: &&Frame| {
                frame.flags.has(Flags::PROTECTED) && !frame.flags.has(Flags::UNWINDING)
            };
            frames.rev().find(may_have_handler)
        })
        .filter(|frame| frame.flags.has(Flags::HANDLER))
        .map(|frame| thread.stack_get(frame.aux2));
    let mut value = error.value();
    if let Some(handler) = handler
        && !error.is_raw()
    {
        if thread.handlers() < MAX_HANDLERS {
            match call_handler(ctx, thread, handler, value) {
                Ok(()) => return Ok(()),
                Err(second) => value = second.value(),
            }
        } else {
            value = ctx.string(b"error in error handling");
        }
    }
    catch(ctx, thread, catcher, value)
}

fn call_handler<'gc>(
    ctx: Ctx<'gc>,
    thread: Thread<'gc>,
    handler: Value<'gc>,
    value: Value<'gc>,
) -> Result<(), Error<'gc>> {
    thread.set_handlers(thread.handlers() + 1);
    let end = stack_end(thread);
    thread.ensure_stack(ctx, end + 3)?;
    let mut frame = Frame::native(
        end,
        end + 1,
        0,
        Flags::HIDDEN.with(Flags::IN_HANDLER).with(Flags::NO_YIELD),
    );
    frame.then = Some(handler_done);
    frame.aux = end + 1;
    thread.stack_set(end, Value::Nil);
    thread.stack_set(end + 1, handler);
    thread.stack_set(end + 2, value);
    thread.set_top(end + 3);
    thread.set_no_yield(thread.no_yield() + 1);
    thread.frames().push(frame);
    match precall(ctx, thread, end + 1, ALL_RESULTS, Flags::NONE) {
        Ok(_) => Ok(()),
        Err(error) => raise(ctx, error).map_err(Error::new),
    }
}

fn handler_done<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    call.truncate(1);
    call.pending = Pending::Handled;
    Ok(Flow::Pending)
}

/// A message handler has returned the error value.
pub(super) fn handled<'gc>(
    ctx: Ctx<'gc>,
    thread: Thread<'gc>,
    value: Value<'gc>,
) -> Result<After, Error<'gc>> {
    let catcher = thread
        .frames()
        .iter()
        .rposition(|frame| frame.flags.has(Flags::PROTECTED));
    match catch(ctx, thread, catcher, value) {
        Ok(()) => Ok(After::Switch),
        Err(value) => Err(Error::raw(value)),
    }
}

/// Drops the frames above the catcher and gives it the error, or lets the coroutine die.
fn catch<'gc>(
    ctx: Ctx<'gc>,
    thread: Thread<'gc>,
    catcher: Option<usize>,
    value: Value<'gc>,
) -> Result<(), Value<'gc>> {
    let Some(catcher) = catcher else {
        return if coroutine::died(ctx, thread, value) {
            Ok(())
        } else {
            Err(value)
        };
    };
    thread.frames().truncate(catcher + 1);
    let count = |flag| {
        let frames = thread.frames().iter();
        frames.filter(|frame| frame.flags.has(flag)).count() as u32
    };
    // The catcher itself may have both flags, but not for what it has caught.
    thread.set_no_yield(count(Flags::NO_YIELD));
    thread.set_handlers(count(Flags::IN_HANDLER));
    thread.set_callbacks(count(Flags::IN_CALLBACK));
    coroutine::open_top(ctx, thread);
    // SAFETY: the frame on top, not kept beyond the expression.
    let level = unsafe { (*thread.frame()).aux };
    thread.close_upvalues(ctx, level);
    if thread.to_close().last().is_some_and(|&at| at >= level) {
        if let Err(second) = begin_unwinding(ctx, thread, level, Some(value)) {
            return raise(ctx, second);
        }
    } else {
        deliver_error(thread, value);
    }
    Ok(())
}

/// Pushes the hidden frame that calls the pending `__close` methods of variables from `level` on.
pub(super) fn begin_unwinding<'gc>(
    ctx: Ctx<'gc>,
    thread: Thread<'gc>,
    level: u32,
    error: Option<Value<'gc>>,
) -> Result<(), Error<'gc>> {
    let func = thread.to_close().last().map_or(level, |at| at + 1);
    thread.ensure_stack(ctx, func + 2)?;
    thread.stack_set(func, Value::Nil);
    thread.stack_set(func + 1, error.unwrap_or_default());
    let mut frame = Frame::native(func, func + 2, 0, Flags::HIDDEN.with(Flags::UNWINDING));
    frame.then = Some(unwind_step);
    frame.aux = func + 2;
    frame.aux2 = level;
    frame.state = i64::from(error.is_some());
    thread.set_top(func + 2);
    thread.frames().push(frame);
    Ok(())
}

/// Calls the next `__close` method. Slot 0 holds the error, if there is one (`state` is 1 then).
fn unwind_step<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    if call.outcome() == Outcome::Failed {
        let error = call.result(0);
        call.set(0, error);
        call.state = 1;
    }
    call.truncate(1);
    // SAFETY: this native's own frame, not kept beyond the expression.
    let level = unsafe { (*call.thread.frame()).aux2 };
    let to_close = call.thread.to_close();
    match to_close.last() {
        Some(&at) if at >= level => {
            to_close.pop();
            let value = call.thread.stack_get(at);
            let method = call.ctx.metamethod(value, Event::Close);
            let error = call.get(0);
            call.push(if method.is_nil() { value } else { method });
            call.push(value);
            call.push(error);
            call.pcall_top(2, unwind_step)
        }
        _ => {
            call.pending = Pending::Unwound {
                failed: call.state != 0,
            };
            Ok(Flow::Pending)
        }
    }
}

/// All `__close` methods have run.
pub(super) fn unwound<'gc>(
    ctx: Ctx<'gc>,
    thread: Thread<'gc>,
    error: Option<Value<'gc>>,
) -> Result<After, Error<'gc>> {
    thread.frames().pop();
    if !is_catcher(thread) {
        return Ok(coroutine::closed(ctx, thread, error));
    }
    deliver_error(thread, error.unwrap_or_default());
    update_top(thread, |frame| {
        // The catcher's callback is over.
        frame.top = frame.aux;
    });
    Ok(After::Switch)
}

fn is_catcher(thread: Thread<'_>) -> bool {
    let frames = thread.frames();
    frames
        .last()
        .is_some_and(|frame| frame.flags.has(Flags::PROTECTED))
}

/// The first `to-be-closed` variable from `level` on, taken off the list.
pub(super) fn next_to_close<'gc>(thread: Thread<'gc>, level: u32) -> Option<Value<'gc>> {
    let to_close = thread.to_close();
    match to_close.last() {
        Some(&at) if at >= level => {
            to_close.pop();
            Some(thread.stack_get(at))
        }
        _ => None,
    }
}

/// Calls the `__close` method of `value`, above everything of the Lua frame on top, which repeats its instruction
/// afterwards.
pub(super) fn call_close<'gc>(
    ctx: Ctx<'gc>,
    thread: Thread<'gc>,
    value: Value<'gc>,
    at: u32,
) -> Result<After, Error<'gc>> {
    let method = ctx.metamethod(value, Event::Close);
    thread.ensure_stack(ctx, at + 3)?;
    thread.stack_set(at, if method.is_nil() { value } else { method });
    thread.stack_set(at + 1, value);
    thread.stack_set(at + 2, Value::Nil);
    thread.set_top(at + 3);
    match precall(ctx, thread, at, 0, Flags::FINISH)? {
        After::Done => super::finish::finish_op(ctx, thread),
        after => Ok(after),
    }
}
