//! What a thread does from its beginning to its end.

use std::io::Write as _;

use super::{Handle, State};
use crate::vm::error::Error;
use crate::vm::native::{Call, Native, NativeResult, Outcome};
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
    turn::begin(ctx, body.into(), &all).map_err(|_| b"not enough memory".to_vec())
}

/// `handler, function, args…`: calls the function, and leaves what comes of it in the thread's handle.
fn run<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    call.xpcall_top(call.len() - 2, 0, |call| {
        let ctx = call.ctx;
        let results: Vec<_> = (0..call.result_count()).map(|i| call.result(i)).collect();
        let failed = call.outcome() == Outcome::Failed;
        if let Some(handle) = ctx.thread_handle() {
            set_values(ctx, handle, &results)?;
            end(ctx, handle, failed, || {
                crate::runtime::error_message(ctx, results.first().copied().unwrap_or_default())
            });
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

/// The running thread has failed where nothing could catch it.
pub(crate) fn give_up(ctx: Ctx<'_>, message: &[u8]) {
    let Some(handle) = ctx.thread_handle() else {
        return;
    };
    let error = ctx.string(message);
    // Without memory for the table there is nothing in it.
    let _ = set_values(ctx, handle, &[error]);
    end(ctx, handle, true, || message.to_vec());
}

/// Notes the end of a thread, tells those who wait for it, and shows its error if nobody does.
fn end<'gc>(ctx: Ctx<'gc>, handle: UserData<'gc>, failed: bool, message: impl FnOnce() -> Vec<u8>) {
    let Some(mut handle) = handle.borrow::<Handle>() else {
        return;
    };
    handle.state = match failed {
        true => State::Failed,
        false => State::Done,
    };
    let was_waited_for = handle.joiners.ring_all(ctx);
    if failed && !was_waited_for {
        let mut text = format!("error in thread {}: ", handle.id).into_bytes();
        match handle.traceback.is_empty() {
            true => text.extend_from_slice(&message()),
            false => text.append(&mut handle.traceback),
        }
        text.push(b'\n');
        crate::stdlib::io::flush_stdout();
        // There is nobody to tell that standard error can't be written.
        let _ = std::io::stderr().write_all(&text);
    }
    handle.traceback = Vec::new();
}
