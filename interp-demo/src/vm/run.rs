//! Runs the current coroutine until the host has something to do.

use super::call::{After, continue_native};
use super::coroutine::open_top;
use super::error::Error;
use super::execute::execute;
use super::finish::concat_again;
use super::state::Ctx;
use super::thread::{Status, Thread};
use super::unwind;
use super::value::Value;
use crate::opcode::Op;

/// Why the interpreter has left the arena.
pub enum Exit<'gc> {
    /// The collector may be owed work, or limits are to be looked at. Run again.
    SafePoint,
    /// There was no memory for an instruction. Collect, and run again: it is done once more, and fails if that does not help.
    ShortOfMemory,
    /// The state holds a request to the host. Answer it, and run again.
    Request,
    /// The function that the host has started has returned.
    Done,
    /// It has failed.
    Failed(Value<'gc>),
}

/// Why the interpreter's loop was left.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Leave {
    /// Another frame is to go on.
    Switch,
    /// The host shall have a look: the collector is owed work, or the program has run for a while.
    SafePoint,
    /// The host is asked for something.
    Host,
}

/// How many switches between frames pass before the host may look at its limits.
const SWITCHES: u32 = 256;

/// Runs the current coroutine.
pub fn run<'gc>(ctx: Ctx<'gc>) -> Exit<'gc> {
    open_top(ctx, ctx.current());
    let mut switches = 0_u32;
    loop {
        let thread = ctx.current();
        // SAFETY: the frame on top, not kept beyond the expression.
        let is_lua = unsafe { (*thread.frame()).is_lua() };
        let left = if is_lua && thread.is_hooked() {
            execute::<true>(ctx, thread)
        } else if is_lua {
            execute::<false>(ctx, thread)
        } else {
            continue_native(ctx, thread).map(|after| match after {
                After::Leave => Leave::Host,
                After::Done | After::Lua | After::Switch => Leave::Switch,
            })
        };
        match left {
            Ok(Leave::Switch) => {}
            Ok(Leave::SafePoint) => {
                ctx.state.retrying.set(false);
                return Exit::SafePoint;
            }
            Ok(Leave::Host) => {
                let thread = ctx.current();
                thread.set_live(ctx, unwind::stack_end(thread));
                return if ctx.state.request.borrow().is_some() {
                    Exit::Request
                } else {
                    Exit::Done
                };
            }
            Err(error) => {
                if prepare_retry(ctx, error) {
                    return Exit::ShortOfMemory;
                }
                if let Err(value) = unwind::raise(ctx, error) {
                    return Exit::Failed(value);
                }
                if ctx.state.request.borrow().is_some() {
                    return Exit::Request;
                }
            }
        }
        // Programs that do nothing but switch come to a safe point too.
        switches = switches.wrapping_add(1);
        let looks = switches.is_multiple_of(SWITCHES) && ctx.state.needs_attention();
        if looks || (!is_lua && ctx.mc.debt_due()) {
            let thread = ctx.current();
            thread.set_live(ctx, unwind::stack_end(thread));
            ctx.state.retrying.set(false);
            return Exit::SafePoint;
        }
    }
}

/// If there was no memory for an instruction that has changed nothing, and that is not a second attempt: goes back to it.
fn prepare_retry<'gc>(ctx: Ctx<'gc>, error: Error<'gc>) -> bool {
    let thread = ctx.current();
    // SAFETY: the frame on top; nothing changes the frames while the reference is in use.
    let frame = unsafe { &mut *thread.frame() };
    // A hook would see the instruction twice.
    if !frame.is_lua() || thread.is_hooked() || !ctx.is_out_of_memory(error) {
        return false;
    }
    // SAFETY: what fails has stored its place first, so the cursor stands behind the instruction that has failed, or behind
    // the operand that follows it.
    let failed = unsafe {
        match (*frame.pc.sub(1)).op() {
            Op::ExtraArg => frame.pc.sub(2),
            _ => frame.pc.sub(1),
        }
    };
    // SAFETY: as above.
    let instruction = unsafe { *failed };
    let repeatable = match instruction.op() {
        Op::SetTabUp | Op::SetTable | Op::SetI | Op::SetField | Op::NewTable | Op::SetList => true,
        Op::Concat | Op::Vararg | Op::VarargPrep => true,
        // Unless a `__call` method was put below the callee.
        Op::Call => {
            let args_end = frame.base + u32::from(instruction.a()) + u32::from(instruction.b());
            instruction.b() != 0 && thread.top() == args_end
        }
        _ => false,
    };
    if !repeatable || !ctx.begin_retry(error) {
        return false;
    }
    match instruction.op() {
        Op::Concat => concat_again(thread, instruction),
        _ => frame.pc = failed,
    }
    thread.set_live(ctx, unwind::stack_end(thread));
    true
}

/// Raises an error from outside in the current coroutine, which must have left the arena at a safe point.
///
/// # Errors
///
/// The error value, if nothing catches it.
pub fn fail<'gc>(ctx: Ctx<'gc>, error: Error<'gc>) -> Result<(), Value<'gc>> {
    let thread = ctx.current();
    open_top(ctx, thread);
    let error = super::describe::locate(ctx, thread, error);
    unwind::raise(ctx, error)
}

impl<'gc> Ctx<'gc> {
    /// Starts `function` with `args` on the main coroutine, of which nothing may be running: [`run`] runs it.
    ///
    /// # Errors
    ///
    /// If there is no memory.
    pub fn start(self, function: Value<'gc>, args: &[Value<'gc>]) -> Result<(), Error<'gc>> {
        self.start_on(self.state.main_thread(), function, args)
    }

    /// Starts `function` with `args` on a coroutine that is not running.
    pub(super) fn start_on(
        self,
        thread: Thread<'gc>,
        function: Value<'gc>,
        args: &[Value<'gc>],
    ) -> Result<(), Error<'gc>> {
        thread.set_failure(self, None);
        thread.set_resumer(self, None);
        thread.set_no_yield(0);
        thread.set_root();
        thread.set_handlers(0);
        thread.set_callbacks(0);
        thread.begin(self, function)?;
        let first = thread.top();
        thread.ensure_stack(self, first + args.len() as u32)?;
        for (i, &arg) in args.iter().enumerate() {
            thread.stack_set(first + i as u32, arg);
        }
        thread.set_top(first + args.len() as u32);
        thread.set_status(self, Status::Running);
        self.state.set_current(self, thread);
        super::coroutine::enter_body(self, thread)
    }

    /// The results of what [`Ctx::start`] has started, after [`Exit::Done`].
    #[must_use]
    pub fn results(self) -> Vec<Value<'gc>> {
        let thread = self.state.current();
        (1..thread.top()).map(|at| thread.stack_get(at)).collect()
    }
}
