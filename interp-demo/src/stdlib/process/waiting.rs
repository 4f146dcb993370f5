//! `process:wait`.

use std::io;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::time::Duration;

use super::{State, this};
use crate::runtime::Waiter;
use crate::stdlib::children::{self, Offspring};
use crate::stdlib::waiting::{NEVER_NS, is_over, left, moment_ns, park, ret_why, was_rung};
use crate::vm::native::{Call, NativeResult};
use crate::vm::suspend::{Answer, CustomWait, Suspend};
use crate::vm::value::Value;

/// A wait for a child, which holds its handle meanwhile.
struct WaitChild {
    child: Offspring,
    timeout: Option<Duration>,
}

/// The handle again, and how the wait has ended.
type Waited = (Offspring, io::Result<Option<ExitStatus>>);

impl CustomWait for WaitChild {
    fn run(self: Box<Self>, wait: &mut Waiter<'_, '_>) -> Answer {
        let Self { mut child, timeout } = *self;
        let timeout = match (timeout, wait.time_left) {
            (Some(timeout), Some(left)) => Some(timeout.min(left)),
            (timeout, left) => timeout.or(left),
        };
        let waited = wait.sleeper.wait_child(wait.arena, &mut child, timeout);
        let answer: Waited = (child, waited);
        Answer::Custom(Box::new(answer))
    }
}

/// `wait([seconds])`: what `os.execute` returns, or nil and "timeout".
pub(super) fn wait<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    let timeout = match call.is_none_or_nil(1) {
        true => None,
        false => Some(Duration::try_from_secs_f64(call.check_float(1)?).unwrap_or_default()),
    };
    call.truncate(1);
    call.state = timeout.map_or(NEVER_NS, |timeout| moment_ns(timeout.as_secs_f64()));
    wait_more(call)
}

fn wait_more<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    children::reap();
    let ctx = call.ctx;
    let mut process = this(call)?;
    match std::mem::replace(&mut process.state, State::WaitedFor) {
        State::Running(child) => {
            drop(process);
            let timeout = left(call.state);
            let wait = WaitChild { child, timeout };
            call.suspend(Suspend::Custom(Box::new(wait)), waited)
        }
        // With one thread this is a process whose wait was given up.
        State::WaitedFor if ctx.is_alone() => Err(call.error("the process is being waited for")),
        State::WaitedFor if is_over(call.state) => {
            process.waiters.forget_gone(ctx);
            ret_why(call, "timeout")
        }
        State::WaitedFor => {
            let ticket = process.waiters.join(ctx, false);
            drop(process);
            park(call, ticket, call.state, |call| {
                was_rung(call);
                wait_more(call)
            })
        }
        State::Ended(status) => {
            process.state = State::Ended(status);
            drop(process);
            ret_status(call, status)
        }
    }
}

fn waited<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    let answer = match call.answer() {
        Answer::Custom(answer) => answer.downcast::<Waited>().ok(),
        _ => None,
    };
    let Some(answer) = answer else {
        return Err(call.error("the process was lost while it was waited for"));
    };
    let (child, result) = *answer;
    let mut process = this(call)?;
    process.state = match &result {
        Ok(Some(status)) => State::Ended(*status),
        _ => State::Running(child),
    };
    // They find its end, or one of them waits on.
    process.waiters.ring_all(call.ctx);
    drop(process);
    match result {
        Ok(Some(status)) => ret_status(call, status),
        Ok(None) => ret_why(call, "timeout"),
        Err(error) => call.ret_io_error(&error, None),
    }
}

fn ret_status<'gc>(call: &mut Call<'gc>, status: ExitStatus) -> NativeResult<'gc> {
    let success = if status.success() {
        Value::Bool(true)
    } else {
        Value::Nil
    };
    let (how, number) = match (status.code(), status.signal()) {
        (Some(code), _) => ("exit", code),
        (None, signal) => ("signal", signal.unwrap_or_default()),
    };
    let how = call.ctx.string(how.as_bytes());
    call.ret(&[success, how, Value::Int(i64::from(number))])
}
