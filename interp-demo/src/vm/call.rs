//! Calls and returns: from any frame to any function, without recursion in Rust.
//!
//! A callee stands on the stack with its arguments above it, up to the thread's `top`. [`precall`] either has the
//! call done at once (a plain native), or leaves a new frame on top. Whoever runs frames ([`super::run`]) goes on with
//! whatever frame is on top then.

use super::closure::Closure;
use super::coroutine;
use super::error::Error;
use super::finish::finish_op;
use super::frame::{ALL_RESULTS, Flags, Frame};
use super::hooks;
use super::native::{Back, Call, Flow, Guard, Native, NativeFn, NativeResult, Outcome, Pending};
use super::state::Ctx;
use super::thread::Thread;
use super::unwind;
use super::value::Value;
use crate::opcode::Event;

/// What a call has led to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum After {
    /// It is over: the results are where the function was.
    Done,
    /// A Lua frame is on top of the same coroutine.
    Lua,
    /// Some other frame is to go on, or another coroutine.
    Switch,
    /// The host is asked for something.
    Leave,
}

/// Calls the value at `func` with the arguments up to the thread's top.
pub(super) fn precall<'gc>(
    ctx: Ctx<'gc>,
    thread: Thread<'gc>,
    func: u32,
    results: i16,
    flags: Flags,
) -> Result<After, Error<'gc>> {
    loop {
        match thread.stack_get(func) {
            Value::Closure(closure) => {
                call_lua(ctx, thread, closure, func, results, flags)?;
                return Ok(After::Lua);
            }
            Value::Native(native) => return call_native(ctx, thread, native, func, results, flags),
            callee => prepare_call_method(ctx, thread, func, callee)?,
        }
    }
}

/// Puts the `__call` method of `callee` below it.
#[cold]
#[inline(never)]
pub(super) fn prepare_call_method<'gc>(
    ctx: Ctx<'gc>,
    thread: Thread<'gc>,
    func: u32,
    callee: Value<'gc>,
) -> Result<(), Error<'gc>> {
    let method = ctx.metamethod(callee, Event::Call);
    if method.is_nil() {
        return Err(super::describe::call_error(ctx, thread, callee));
    }
    let top = thread.top();
    ctx.look_for(top - func)?;
    thread.ensure_stack(ctx, top + 1)?;
    thread.stack_move(func, func + 1, top - func);
    thread.stack_set(func, method);
    thread.set_top(top + 1);
    Ok(())
}

/// Makes the frame of a Lua function.
#[inline]
pub(super) fn call_lua<'gc>(
    ctx: Ctx<'gc>,
    thread: Thread<'gc>,
    closure: Closure<'gc>,
    func: u32,
    results: i16,
    flags: Flags,
) -> Result<(), Error<'gc>> {
    let function = closure.function();
    let base = func + 1;
    let top = base + function.max_stack();
    thread.ensure_stack(ctx, top)?;
    let params_end = base + function.num_params();
    let mut at = thread.top();
    while at < params_end {
        thread.stack_set(at, Value::Nil);
        at += 1;
    }
    thread.frames().push(Frame {
        func,
        base,
        top,
        results,
        flags: flags.with(Flags::LUA),
        pc: function.code(),
        then: None,
        state: 0,
        aux: 0,
        aux2: 0,
    });
    Ok(())
}

fn call_native<'gc>(
    ctx: Ctx<'gc>,
    thread: Thread<'gc>,
    native: Native<'gc>,
    func: u32,
    results: i16,
    flags: Flags,
) -> Result<After, Error<'gc>> {
    let top = thread.top();
    thread.ensure_stack(ctx, top)?;
    if thread.is_hooked()
        && let Some(after) = hooks::call_native(ctx, thread, native, func, results, flags)?
    {
        return Ok(after);
    }
    let mut call = Call::new(ctx, thread, func + 1, top);
    match native.function()(&mut call) {
        Ok(Flow::Return(count)) if !call.overflow => {
            put_results(thread, call.top - count, count, func, results);
            Ok(After::Done)
        }
        other => {
            let frame = Frame::native(func, call.top, results, flags);
            thread.frames().push(frame);
            let error = match other {
                Ok(Flow::Pending) if !call.overflow => return pend(ctx, thread, &mut call),
                Ok(_) => call.failure(None),
                Err(error) => call.failure(Some(error)),
            };
            if !call.is_repeatable() {
                return Err(error);
            }
            // Without what it has pushed.
            call = Call::new(ctx, thread, func + 1, top);
            match call.or_again(Err(error), call.len(), call_again) {
                Ok(_) => pend(ctx, thread, &mut call),
                Err(error) => Err(error),
            }
        }
    }
}

/// The second attempt of a native for whose first there was no memory.
fn call_again<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    match call.function() {
        Value::Native(native) => native.function()(call),
        _ => call.ret0(),
    }
}

/// Moves `count` results that begin at `first` to `to`, as many as are wanted.
#[inline]
pub(super) fn put_results(thread: Thread<'_>, first: u32, count: u32, to: u32, wanted: i16) {
    match wanted {
        0 => {}
        1 => {
            let value = if count == 0 {
                Value::Nil
            } else {
                thread.stack_get(first)
            };
            thread.stack_set(to, value);
        }
        ALL_RESULTS => {
            thread.stack_move(first, to, count);
            thread.set_top(to + count);
        }
        _ => {
            let wanted = wanted as u32;
            let moved = count.min(wanted);
            thread.stack_move(first, to, moved);
            thread.stack_clear(to + moved, to + wanted);
        }
    }
}

/// Ends the frame on top with `count` results that begin at `first`. If the frame below was in the middle of an
/// instruction, that is finished.
pub(super) fn return_from_top<'gc>(
    ctx: Ctx<'gc>,
    thread: Thread<'gc>,
    first: u32,
    count: u32,
) -> Result<After, Error<'gc>> {
    let Some(frame) = thread.frames().pop() else {
        return Ok(After::Switch);
    };
    put_results(thread, first, count, frame.func, frame.results);
    if frame.flags.has(Flags::FINISH) {
        return finish_op(ctx, thread);
    }
    Ok(After::Switch)
}

/// Goes on with the native on top, whose callback, wait or yield is over: what came back begins at its `aux`, up to
/// the thread's top.
pub(super) fn continue_native<'gc>(
    ctx: Ctx<'gc>,
    thread: Thread<'gc>,
) -> Result<After, Error<'gc>> {
    const OVER: Flags = Flags::PROTECTED
        .with(Flags::HANDLER)
        .with(Flags::NO_YIELD)
        .with(Flags::IN_CALLBACK)
        .with(Flags::FAILED)
        .with(Flags::PASSES)
        .with(Flags::TELLS);
    // SAFETY: the frame on top, not kept beyond the copy.
    let frame = unsafe { *thread.frame() };
    if frame.flags.has(Flags::IN_CALLBACK) {
        thread.set_callbacks(thread.callbacks().saturating_sub(1));
    }
    if frame.flags.has(Flags::NO_YIELD) {
        thread.set_no_yield(thread.no_yield() - 1);
    }
    update_top(thread, |frame| frame.flags = frame.flags.without(OVER));
    let Some(then) = frame.then else {
        return Err(ctx.error("a native function has no continuation"));
    };
    let mut call = Call::new(ctx, thread, frame.base, thread.top());
    thread.touch(ctx, frame.func);
    thread.ensure_stack(ctx, call.top)?;
    call.results_at = frame.aux;
    call.state = frame.state;
    call.framed = true;
    if frame.flags.has(Flags::FAILED) {
        call.outcome = Outcome::Failed;
    }
    match then(&mut call) {
        _ if call.overflow => Err(call.failure(None)),
        Ok(Flow::Return(count)) => {
            if thread.is_hooked()
                && let Some(after) = hooks::native_returns(ctx, thread, call.top, count)?
            {
                return Ok(after);
            }
            return_from_top(ctx, thread, call.top - count, count)
        }
        Ok(Flow::Pending) => pend(ctx, thread, &mut call),
        Err(error) => {
            update_top(thread, |frame| frame.top = call.top);
            Err(call.failure(Some(error)))
        }
    }
}

#[inline]
pub(super) fn update_top(thread: Thread<'_>, change: impl FnOnce(&mut Frame)) {
    if let Some(frame) = thread.frames().last_mut() {
        change(frame);
    }
}

/// Does what the native on top has asked for.
pub(super) fn pend<'gc>(
    ctx: Ctx<'gc>,
    thread: Thread<'gc>,
    call: &mut Call<'gc>,
) -> Result<After, Error<'gc>> {
    let wait = |then: NativeFn, results_at: u32, flags: Flags| {
        update_top(thread, |frame| {
            frame.then = Some(then);
            frame.state = call.state;
            frame.aux = results_at;
            frame.top = results_at;
            frame.flags = frame.flags.with(flags);
        });
    };
    match call.pending {
        Pending::None => Err(ctx.error("a native function has lost its way")),
        Pending::Call { at, then, guard } => {
            let func = call.base + at;
            wait(then, func, guard_flags(guard).with(Flags::IN_CALLBACK));
            thread.set_callbacks(thread.callbacks() + 1);
            check_nesting(ctx, thread)?;
            match guard {
                Guard::NoYield => thread.set_no_yield(thread.no_yield() + 1),
                Guard::Handler(slot) => {
                    let slot = call.base + slot;
                    update_top(thread, |frame| frame.aux2 = slot);
                }
                Guard::None | Guard::Protected => {}
            }
            thread.set_top(call.top);
            match precall(ctx, thread, func, ALL_RESULTS, Flags::NONE)? {
                After::Done => Ok(After::Switch),
                after => Ok(after),
            }
        }
        Pending::TailCall { at } => {
            let Some(frame) = thread.frames().pop() else {
                return Ok(After::Switch);
            };
            let from = call.base + at;
            thread.stack_move(from, frame.func, call.top - from);
            thread.set_top(frame.func + (call.top - from));
            let kept = Flags::FINISH.with(Flags::FINALIZER);
            let flags = frame.flags.only(kept).with(Flags::TAIL);
            match precall(ctx, thread, frame.func, frame.results, flags)? {
                After::Done if flags.has(Flags::FINISH) => finish_op(ctx, thread),
                After::Done => Ok(After::Switch),
                after => Ok(after),
            }
        }
        Pending::Yield { count, back, then } => {
            wait(then, call.top - count, back_flags(back));
            coroutine::switch_to_resumer(ctx, thread, call.top - count, count)
        }
        Pending::Resume {
            thread: target,
            count,
            back,
            then,
        } => {
            wait(then, call.top - count, back_flags(back));
            coroutine::switch_to(ctx, thread, target, call.top - count, count)
        }
        Pending::Close {
            thread: target,
            then,
        } => {
            wait(then, call.top, Flags::NONE);
            coroutine::close(ctx, thread, target)
        }
        Pending::Suspend { then } => {
            wait(then, call.top, Flags::NONE);
            thread.set_top(call.top);
            Ok(After::Leave)
        }
        Pending::ThreadDone { count } => coroutine::finished(ctx, thread, call.top - count, count),
        Pending::Unwound { failed } => unwind::unwound(ctx, thread, failed.then(|| call.get(0))),
        Pending::Handled => unwind::handled(ctx, thread, call.get(call.len().wrapping_sub(1))),
    }
}

/// How many natives may wait for one another's callbacks, as in PUC Lua (where each takes some of the C stack).
const MAX_CALLBACKS: u32 = 195;
/// How many more there may be while an error is handled.
const HANDLER_CALLBACKS: u32 = 30;

fn check_nesting<'gc>(ctx: Ctx<'gc>, thread: Thread<'gc>) -> Result<(), Error<'gc>> {
    let limit = match thread.handlers() {
        0 => MAX_CALLBACKS,
        _ => MAX_CALLBACKS + HANDLER_CALLBACKS,
    };
    if thread.callbacks() > limit {
        return Err(ctx.error("C stack overflow").placed());
    }
    Ok(())
}

const fn guard_flags(guard: Guard) -> Flags {
    match guard {
        Guard::None => Flags::NONE,
        Guard::NoYield => Flags::NO_YIELD,
        Guard::Protected => Flags::PROTECTED,
        Guard::Handler(_) => Flags::PROTECTED.with(Flags::HANDLER),
    }
}

const fn back_flags(back: Back) -> Flags {
    match back {
        Back::Results => Flags::PASSES,
        Back::TrueAndResults => Flags::PASSES.with(Flags::TELLS),
    }
}

/// Gives values to the native on top of `thread`, which waits for them. If it would do no more than return them, it is
/// over, and they are where its results belong.
pub(super) fn deliver<'gc>(
    ctx: Ctx<'gc>,
    thread: Thread<'gc>,
    from: Thread<'gc>,
    first: u32,
    count: u32,
) -> Result<(), Error<'gc>> {
    // SAFETY: the frame on top, not kept beyond the statement.
    let (at, flags) = unsafe { ((*thread.frame()).aux, (*thread.frame()).flags) };
    if flags.has(Flags::PASSES) && !flags.has(Flags::FINISH) && !thread.is_hooked() {
        return pass(ctx, thread, from, first, count);
    }
    thread.ensure_stack(ctx, at + count)?;
    for i in 0..count {
        thread.stack_set(at + i, from.stack_get(first + i));
    }
    thread.set_top(at + count);
    Ok(())
}

/// Ends the native on top of `thread` with values of another coroutine as its results.
fn pass<'gc>(
    ctx: Ctx<'gc>,
    thread: Thread<'gc>,
    from: Thread<'gc>,
    first: u32,
    count: u32,
) -> Result<(), Error<'gc>> {
    // SAFETY: the frame on top, copied.
    let frame = unsafe { *thread.frame() };
    let lead = u32::from(frame.flags.has(Flags::TELLS));
    let (to, all) = (frame.func, lead + count);
    let wanted = if frame.results == ALL_RESULTS {
        thread.ensure_stack(ctx, to + all)?;
        thread.set_top(to + all);
        all
    } else {
        frame.results as u32
    };
    thread.pop_frame();
    if lead.min(wanted) == 1 {
        thread.stack_set(to, Value::Bool(true));
    }
    for i in lead..all.min(wanted) {
        thread.stack_set(to + i, from.stack_get(first + i - lead));
    }
    thread.stack_clear(to + all.min(wanted), to + wanted);
    Ok(())
}

/// Gives an error to the native on top of `thread`.
pub(super) fn deliver_error<'gc>(thread: Thread<'gc>, value: Value<'gc>) {
    // SAFETY: the frame on top, not kept beyond the expression. A native has free slots above its last one.
    let at = unsafe { (*thread.frame()).aux };
    thread.stack_set(at, value);
    thread.set_top(at + 1);
    update_top(thread, |frame| {
        frame.flags = frame.flags.with(Flags::FAILED)
    });
}
