//! How the host starts a function and what it makes of its failure.

use super::End;
use crate::vm::{Call, Ctx, Error, Flow, Native, NativeResult, Outcome, Value};

/// Starts `function` with `args` under a message handler that adds a traceback.
pub(super) fn start<'gc>(
    ctx: Ctx<'gc>,
    function: Value<'gc>,
    args: &[Value<'gc>],
) -> Result<(), Error<'gc>> {
    let handler = Native::new(ctx, "?", add_traceback);
    let guard = Native::new(ctx, "?", guarded);
    let mut all = vec![handler.into(), function];
    all.extend_from_slice(args);
    ctx.start(guard.into(), &all)
}

/// `handler, function, args… → true, results… | false, message`
fn guarded<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    call.xpcall_top(call.len() - 2, 0, |call| {
        let ok = call.outcome() == Outcome::Done;
        let count = call.result_count();
        call.insert(call.results(), Value::Bool(ok));
        call.ret_top(count + 1)
    })
}

/// The message handler of the stand-alone interpreter.
fn add_traceback<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    let value = call.get(0);
    match value {
        Value::Str(_) | Value::Int(_) | Value::Float(_) => {}
        value => {
            let method = call.ctx.metafield(value, "__tostring");
            if !method.is_nil() {
                return call.call(method, &[value], |call| {
                    let text = call.result(0);
                    if let Value::Str(_) = text {
                        return call.ret1(text);
                    }
                    with_traceback(call)
                });
            }
        }
    }
    with_traceback(call)
}

fn with_traceback<'gc>(call: &mut Call<'gc>) -> Result<Flow, Error<'gc>> {
    let message = message(call.ctx, call.get(0));
    let text = call.traceback(Some(&message), 1);
    let text = call.ctx.string(&text);
    call.ret1(text)
}

/// An error value as the text that is shown.
pub(crate) fn message<'gc>(ctx: Ctx<'gc>, value: Value<'gc>) -> Vec<u8> {
    match ctx.number_or_string(value) {
        Some(text) => text.as_bytes().to_vec(),
        None => {
            let mut text = b"(error object is a ".to_vec();
            text.extend_from_slice(value.type_name().as_bytes());
            text.extend_from_slice(b" value)");
            text
        }
    }
}

/// What the function that [`start`] has started has come to.
pub(super) fn outcome(ctx: Ctx<'_>) -> End {
    let results = ctx.results();
    match results.first() {
        Some(Value::Bool(false)) => {
            End::Failed(message(ctx, results.get(1).copied().unwrap_or_default()))
        }
        _ => End::Done,
    }
}
