//! Switching between coroutines. A coroutine that resumes another one waits in a native frame; what the other yields,
//! returns or fails with is delivered to that frame.

use super::call::{After, deliver, deliver_error, precall};
use super::error::Error;
use super::frame::{ALL_RESULTS, Flags, Frame};
use super::native::{Call, NativeResult, Pending};
use super::state::Ctx;
use super::thread::{Status, Thread};
use super::unwind;
use super::value::Value;

/// How many coroutines may stand in one another's resumes.
const MAX_DEPTH: u32 = 190;

/// Where the body of a coroutine stands on its stack.
const BODY: u32 = 1;

impl<'gc> Thread<'gc> {
    /// A coroutine with this body.
    ///
    /// # Errors
    ///
    /// If there is no memory.
    pub fn new(ctx: Ctx<'gc>, body: Value<'gc>) -> Result<Thread<'gc>, Error<'gc>> {
        let Some(thread) = Thread::try_empty(ctx.mc) else {
            return Err(ctx.out_of_memory());
        };
        thread.begin(ctx, body)?;
        Ok(thread)
    }

    /// Puts a body on an empty stack.
    pub(super) fn begin(self, ctx: Ctx<'gc>, body: Value<'gc>) -> Result<(), Error<'gc>> {
        self.close_upvalues(ctx, 0);
        self.to_close().clear();
        self.frames().clear();
        self.set_top(0);
        self.open_window(ctx, 0);
        self.ensure_stack(ctx, BODY + 1)?;
        self.stack_set(0, Value::Nil);
        self.stack_set(BODY, body);
        let mut base = Frame::native(0, BODY, ALL_RESULTS, Flags::HIDDEN);
        base.then = Some(body_done);
        self.frames().push(base);
        self.count_frames(ctx);
        self.set_top(BODY + 1);
        self.set_live(ctx, BODY + 1);
        self.set_status(ctx, Status::Suspended);
        Ok(())
    }

    /// Whether the body has not begun.
    fn is_fresh(self) -> bool {
        self.frames().len() == 1 && self.status() == Status::Suspended
    }

    /// Whether the coroutine may yield now.
    #[must_use]
    pub fn is_yieldable(self) -> bool {
        self.no_yield() == 0 && !self.is_root()
    }
}

fn body_done<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    let count = call.result_count() as u32;
    call.pending = Pending::ThreadDone { count };
    Ok(super::native::Flow::Pending)
}

/// Runs `target` with `count` values of `thread` that begin at `first`; `thread` waits in the native on its top.
pub(super) fn switch_to<'gc>(
    ctx: Ctx<'gc>,
    thread: Thread<'gc>,
    target: Thread<'gc>,
    first: u32,
    count: u32,
) -> Result<After, Error<'gc>> {
    let refusal: Option<&[u8]> = match target.status() {
        Status::Suspended if thread.depth() >= MAX_DEPTH => Some(b"C stack overflow"),
        Status::Suspended => None,
        Status::Dead => Some(b"cannot resume dead coroutine"),
        Status::Running | Status::Normal => Some(b"cannot resume non-suspended coroutine"),
    };
    if let Some(refusal) = refusal {
        deliver_error(thread, ctx.string(refusal));
        return Ok(After::Switch);
    }
    let fresh = target.is_fresh();
    open_top(ctx, target);
    if fresh {
        if target.ensure_stack(ctx, BODY + 1 + count).is_err() {
            deliver_error(thread, ctx.string(b"stack overflow"));
            return Ok(After::Switch);
        }
        for i in 0..count {
            target.stack_set(BODY + 1 + i, thread.stack_get(first + i));
        }
        target.set_top(BODY + 1 + count);
    } else {
        deliver(ctx, target, thread, first, count)?;
    }
    enter(ctx, thread, target);
    if fresh {
        enter_body(ctx, target)?;
    }
    Ok(After::Switch)
}

/// Calls the body with the arguments above it.
pub(super) fn enter_body<'gc>(ctx: Ctx<'gc>, thread: Thread<'gc>) -> Result<(), Error<'gc>> {
    match precall(ctx, thread, BODY, ALL_RESULTS, Flags::NONE) {
        Ok(_) => Ok(()),
        Err(error) => Err(error.placed()),
    }
}

/// Makes `target`, whose window is open, the running coroutine; `thread` waits for it.
fn enter<'gc>(ctx: Ctx<'gc>, thread: Thread<'gc>, target: Thread<'gc>) {
    // SAFETY: the frame on top, not kept beyond the expression.
    thread.set_live(ctx, unsafe { (*thread.frame()).aux });
    thread.set_status(ctx, Status::Normal);
    target.set_status(ctx, Status::Running);
    target.set_resumer(ctx, Some(thread));
    target.set_depth(thread.depth() + 1);
    ctx.set_current(ctx, target);
}

/// Lets the frame on top of a coroutine that was not running use its slots.
pub(super) fn open_top<'gc>(ctx: Ctx<'gc>, thread: Thread<'gc>) {
    let start = thread.frames().last().map_or(0, |frame| frame.func);
    thread.open_window(ctx, start);
}

/// Makes the resumer of `thread`, whose window is open, the running coroutine again.
fn leave<'gc>(ctx: Ctx<'gc>, thread: Thread<'gc>, resumer: Thread<'gc>, status: Status) {
    thread.set_status(ctx, status);
    thread.set_resumer(ctx, None);
    resumer.set_status(ctx, Status::Running);
    ctx.set_current(ctx, resumer);
}

/// Yields: gives `count` values that begin at `first` to the resumer.
pub(super) fn switch_to_resumer<'gc>(
    ctx: Ctx<'gc>,
    thread: Thread<'gc>,
    first: u32,
    count: u32,
) -> Result<After, Error<'gc>> {
    let message = match thread.resumer() {
        Some(_) if thread.no_yield() > 0 => "attempt to yield across a C-call boundary",
        None if ctx.is_finalizing() => "attempt to yield across a C-call boundary",
        None => "attempt to yield from outside a coroutine",
        Some(resumer) => {
            open_top(ctx, resumer);
            deliver(ctx, resumer, thread, first, count)?;
            thread.set_live(ctx, first);
            thread.count_frames(ctx);
            leave(ctx, thread, resumer, Status::Suspended);
            return Ok(After::Switch);
        }
    };
    Err(ctx.error(message).placed())
}

/// The body has returned.
pub(super) fn finished<'gc>(
    ctx: Ctx<'gc>,
    thread: Thread<'gc>,
    first: u32,
    count: u32,
) -> Result<After, Error<'gc>> {
    let Some(resumer) = thread.resumer() else {
        // The main coroutine, or a finalizer's: the host takes the results.
        thread.stack_move(first, BODY, count);
        thread.set_top(BODY + count);
        thread.set_status(ctx, Status::Dead);
        return Ok(After::Leave);
    };
    open_top(ctx, resumer);
    deliver(ctx, resumer, thread, first, count)?;
    thread.leave_nothing(ctx);
    leave(ctx, thread, resumer, Status::Dead);
    Ok(After::Switch)
}

/// No frame of `thread` has caught an error. False: there is nobody to give it to but the host.
pub(super) fn died<'gc>(ctx: Ctx<'gc>, thread: Thread<'gc>, value: Value<'gc>) -> bool {
    thread.set_failure(ctx, Some(value));
    thread.set_status(ctx, Status::Dead);
    let live = unwind::stack_end(thread);
    thread.set_live(ctx, live);
    let Some(resumer) = thread.resumer() else {
        return false;
    };
    open_top(ctx, resumer);
    leave(ctx, thread, resumer, Status::Dead);
    deliver_error(resumer, value);
    true
}

/// Closes `target`; `thread` waits in the native on its top.
pub(super) fn close<'gc>(
    ctx: Ctx<'gc>,
    thread: Thread<'gc>,
    target: Thread<'gc>,
) -> Result<After, Error<'gc>> {
    let failure = target.failure();
    target.set_failure(ctx, None);
    target.close_upvalues(ctx, 0);
    // SAFETY: the frame on top, not kept beyond the expression.
    thread.set_top(unsafe { (*thread.frame()).aux });
    if target.to_close().is_empty() {
        target.leave_nothing(ctx);
        target.set_status(ctx, Status::Dead);
        if let Some(value) = failure {
            deliver_error(thread, value);
        }
        return Ok(After::Switch);
    }
    if thread.depth() >= MAX_DEPTH {
        deliver_error(thread, ctx.string(b"C stack overflow"));
        return Ok(After::Switch);
    }
    target.frames().truncate(1);
    // The frame stays below the methods: none of them yields to whoever closes.
    super::call::update_top(target, |frame| {
        frame.flags = frame.flags.with(Flags::NO_YIELD)
    });
    target.set_no_yield(1);
    open_top(ctx, target);
    enter(ctx, thread, target);
    unwind::begin_unwinding(ctx, target, 0, failure)?;
    Ok(After::Switch)
}

/// The `__close` methods of a coroutine that is being closed have run.
pub(super) fn closed<'gc>(
    ctx: Ctx<'gc>,
    thread: Thread<'gc>,
    failure: Option<Value<'gc>>,
) -> After {
    thread.leave_nothing(ctx);
    thread.set_no_yield(0);
    let Some(resumer) = thread.resumer() else {
        return After::Leave;
    };
    open_top(ctx, resumer);
    leave(ctx, thread, resumer, Status::Dead);
    if let Some(value) = failure {
        deliver_error(resumer, value);
    }
    After::Switch
}
