//! `process:wait`.

use std::io;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;

use super::{State, Waited, this};
use crate::runtime::Waiter;
use crate::stdlib::children::{self, Offspring};
use crate::stdlib::waiting::{NEVER_NS, is_over, left, moment_ns, park, ret_why, was_rung};
use crate::vm::native::{Call, NativeResult};
use crate::vm::suspend::{Answer, CustomWait, Suspend};
use crate::vm::value::Value;

/// A wait for a child, which holds its handle meanwhile.
struct WaitChild {
    child: Offspring,
    /// Where the handle comes back to, also if nobody takes the answer.
    waited: Arc<Mutex<Waited>>,
    timeout: Option<Duration>,
}

/// How a wait has ended.
type Ended = io::Result<Option<ExitStatus>>;

impl CustomWait for WaitChild {
    fn run(self: Box<Self>, wait: &mut Waiter<'_, '_>) -> Answer {
        let Self {
            mut child,
            waited,
            timeout,
        } = *self;
        let timeout = match (timeout, wait.time_left) {
            (Some(timeout), Some(left)) => Some(timeout.min(left)),
            (timeout, left) => timeout.or(left),
        };
        let ended: Ended = wait.sleeper.wait_child(wait.arena, &mut child, timeout);
        let mut waited = waited.lock();
        waited.child = Some(child);
        // They find its end, or one of them waits on.
        wait.enter(|ctx| waited.waiters.ring_all(ctx));
        Answer::Custom(Box::new(ended))
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
    let waited = match &this(call)?.state {
        State::Running(waited) => Arc::clone(waited),
        &State::Ended(status) => return ret_status(call, status),
    };
    let mut shared = waited.lock();
    if let Some(child) = shared.child.take() {
        drop(shared);
        let timeout = left(call.state);
        let wait = WaitChild {
            child,
            waited,
            timeout,
        };
        return call.suspend(Suspend::Custom(Box::new(wait)), wait_ended);
    }
    if is_over(call.state) {
        shared.waiters.forget_gone(ctx);
        return ret_why(call, "timeout");
    }
    let ticket = shared.waiters.join(ctx, false);
    park(call, ticket, call.state, |call| {
        was_rung(call);
        wait_more(call)
    })
}

fn wait_ended<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    let ended = match call.answer() {
        Answer::Custom(ended) => ended.downcast::<Ended>().ok(),
        _ => None,
    };
    match ended.map(|ended| *ended) {
        Some(Ok(Some(status))) => {
            this(call)?.state = State::Ended(status);
            ret_status(call, status)
        }
        Some(Ok(None)) | None => ret_why(call, "timeout"),
        Some(Err(error)) => call.ret_io_error(&error, None),
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
