//! What a thread does from its beginning to its end.

use std::io::Write as _;

use super::{Handle, State};
use crate::vm::error::Error;
use crate::vm::native::{Call, Native, NativeResult, Outcome};
use crate::vm::roster::ThreadId;
use crate::vm::state::Ctx;
use crate::vm::table::Table;
use crate::vm::turn;
use crate::vm::userdata::UserData;
use crate::vm::value::Value;

/// Puts these values into the handle's table.
pub(super) fn set_values<'gc>(
    ctx: Ctx<'gc>,
    handle: UserData<'gc>,
    values: &[Value<'gc>],
) -> Result<(), Error<'gc>> {
    let table = Table::new(ctx);
    for (i, &value) in values.iter().enumerate() {
        table.set_int(ctx, i as i64 + 1, value)?;
    }
    handle.set_user_value(ctx, table.into());
    if let Some(mut handle) = handle.borrow::<Handle>() {
        handle.count = values.len();
    }
    Ok(())
}

/// Prepares the running thread to call the function that its handle holds.
///
/// # Errors
///
/// What has failed, as text.
pub(crate) fn begin(ctx: Ctx<'_>) -> Result<(), Vec<u8>> {
    let Some(handle) = ctx.thread_handle() else {
        return Ok(());
    };
    let Value::Table(values) = handle.user_value() else {
        return Ok(());
    };
    let count = handle.borrow::<Handle>().map_or(0, |handle| handle.count);
    let mut all = vec![Native::new(ctx, "?", note_traceback).into()];
    all.extend((1..=count).map(|i| values.get_int(ctx, i as i64)));
    let body = Native::new(ctx, "?", run);
    turn::begin(ctx, body.into(), &all).map_err(|value| crate::runtime::error_message(ctx, value))
}

/// `handler, function, args…`: calls the function, and leaves what comes of it in the thread's handle.
fn run<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    call.xpcall_top(call.len() - 2, 0, |call| {
        let ctx = call.ctx;
        let results: Vec<_> = (0..call.result_count()).map(|i| call.result(i)).collect();
        let failed = call.outcome() == Outcome::Failed;
        if let Some(handle) = ctx.thread_handle() {
            set_values(ctx, handle, &results)?;
            if let Some(mut handle) = handle.borrow::<Handle>() {
                handle.outcome = match failed {
                    true => State::Failed,
                    false => State::Done,
                };
            }
        }
        call.ret0()
    })
}

/// The message handler: leaves the error as it is, and notes where it was raised.
fn note_traceback<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    let error = call.get(0);
    let message = crate::runtime::error_message(call.ctx, error);
    let traceback = call.traceback(Some(&message), 1);
    if let Some(handle) = call.ctx.thread_handle()
        && let Some(mut handle) = handle.borrow::<Handle>()
    {
        handle.traceback = traceback;
    }
    call.ret1(error)
}

/// The system has refused the OS thread that a place was made for.
pub(crate) fn refused(ctx: Ctx<'_>, id: ThreadId) {
    if let Some(handle) = ctx.handle_of(id)
        && let Some(mut handle) = handle.borrow::<Handle>()
    {
        handle.state = State::Failed;
    }
    ctx.dismiss(id);
}

/// The running thread has ended; with a message if it has failed where nothing could catch it. Notes it, tells those who wait for
/// the thread, and, if `is_shown`, shows its error if nobody does.
pub(crate) fn end(ctx: Ctx<'_>, message: Option<&[u8]>, is_shown: bool) {
    let Some(object) = ctx.thread_handle() else {
        return;
    };
    let outcome = object
        .borrow::<Handle>()
        .map_or(State::Done, |handle| handle.outcome);
    let was_stopped = message.is_none() && outcome == State::Running;
    let message = match was_stopped {
        true => Some(&b"the program ends"[..]),
        false => message,
    };
    if let Some(message) = message {
        let error = ctx.string(message);
        // Without memory for the table there is nothing in it.
        let _ = set_values(ctx, object, &[error]);
    }
    let Some(mut handle) = object.borrow::<Handle>() else {
        return;
    };
    handle.state = match message {
        Some(_) => State::Failed,
        None => handle.outcome,
    };
    let was_waited_for = handle.joiners.ring_all(ctx);
    let traceback = std::mem::take(&mut handle.traceback);
    if handle.state != State::Failed || was_waited_for || was_stopped || !is_shown {
        return;
    }
    let text = match (traceback.is_empty(), object.user_value()) {
        (true, Value::Table(values)) => crate::runtime::error_message(ctx, values.get_int(ctx, 1)),
        _ => traceback,
    };
    let title = format!("error in thread {}: ", handle.id);
    crate::stdlib::io::flush_stdout();
    // There is nobody to tell that standard error can't be written.
    let _ = std::io::stderr().write_all(&[title.as_bytes(), &text, b"\n"].concat());
}
