//! Waiting for child processes through the host.

use std::os::unix::process::ExitStatusExt as _;
use std::process::ExitStatus;

use crate::runtime::Waiter;
use crate::stdlib::children::{self, Offspring};
use crate::vm::native::{Call, NativeResult};
use crate::vm::state::Ctx;
use crate::vm::suspend::{Answer, CustomWait, Suspend};
use crate::vm::value::Value;

/// A wait for the end of a process.
struct WaitForEnd(Offspring);

impl CustomWait for WaitForEnd {
    fn run(mut self: Box<Self>, wait: &mut Waiter<'_, '_>) -> Answer {
        match wait
            .sleeper
            .wait_child(wait.arena, &mut self.0, wait.time_left)
        {
            Ok(Some(status)) => Answer::Custom(Box::new(status)),
            // The program's time is over: nobody asks for a status any more.
            Ok(None) => Answer::Done,
            Err(error) => Answer::Failed(error),
        }
    }
}

/// Waits for the end of a process and returns how it ended.
pub(in crate::stdlib) fn wait_for<'gc>(
    call: &mut Call<'gc>,
    child: Offspring,
) -> NativeResult<'gc> {
    children::reap();
    call.suspend(
        Suspend::Custom(Box::new(WaitForEnd(child))),
        |call| match call.answer() {
            Answer::Failed(error) => call.ret_io_error(&error, None),
            Answer::Custom(status) => match status.downcast::<ExitStatus>() {
                Ok(status) => {
                    let results = exit_results(call.ctx, *status);
                    call.ret(&results)
                }
                Err(_) => call.ret0(),
            },
            _ => call.ret0(),
        },
    )
}

/// How a process ended, as `os.execute` tells it: true or nil, "exit" or "signal", and a number.
fn exit_results<'gc>(ctx: Ctx<'gc>, status: ExitStatus) -> [Value<'gc>; 3] {
    let done = if status.success() {
        Value::Bool(true)
    } else {
        Value::Nil
    };
    let (kind, code) = match (status.code(), status.signal()) {
        (Some(code), _) => ("exit", code),
        (None, signal) => ("signal", signal.unwrap_or(0)),
    };
    [
        done,
        ctx.string(kind.as_bytes()),
        Value::Int(i64::from(code)),
    ]
}
