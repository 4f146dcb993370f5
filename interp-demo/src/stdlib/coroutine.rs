//! Coroutines.

use super::{Functions, register};
use crate::vm::error::Error;
use crate::vm::native::{Back, Call, Native, NativeResult, Outcome};
use crate::vm::state::Ctx;
use crate::vm::thread::{Status, Thread};
use crate::vm::value::Value;

const FUNCTIONS: Functions = &[
    ("close", close),
    ("isyieldable", isyieldable),
    ("resume", resume),
    ("running", running),
    ("status", status),
    ("yield", yield_),
];

pub(super) fn open(ctx: Ctx<'_>) {
    let library = register(ctx, "coroutine", FUNCTIONS);
    super::fill_repeatable(ctx, library, &[("create", create), ("wrap", wrap)]);
}

fn check_thread<'gc>(call: &mut Call<'gc>) -> Result<Thread<'gc>, Error<'gc>> {
    match call.get(0) {
        Value::Thread(thread) => Ok(thread),
        _ => Err(call.type_error(0, "thread")),
    }
}

/// A coroutine with the function in slot 0 as its body.
fn new_thread<'gc>(call: &mut Call<'gc>) -> Result<Thread<'gc>, Error<'gc>> {
    let body = call.check_function(0)?;
    Thread::new(call.ctx, body)
}

fn create<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    let thread = new_thread(call)?;
    call.ret1(thread)
}

fn resume<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    let thread = check_thread(call)?;
    let count = call.len() - 1;
    call.resume_top(thread, count, Back::TrueAndResults, |call| {
        let done = call.outcome() == Outcome::Done;
        let (at, count) = (call.results(), call.result_count());
        call.insert(at, Value::Bool(done));
        call.ret_top(count + 1)
    })
}

fn wrap<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    let thread = new_thread(call)?;
    let function = Native::with_upvalues(call.ctx, "wrap", resume_wrapped, &[thread.into()]);
    call.ret1(function)
}

fn resume_wrapped<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    let Value::Thread(thread) = call.upvalue(0) else {
        return call.ret0();
    };
    let count = call.len();
    call.resume_top(thread, count, Back::Results, |call| {
        if call.outcome() == Outcome::Done {
            let count = call.result_count();
            return call.ret_top(count);
        }
        let error = call.result(0);
        let Value::Thread(thread) = call.upvalue(0) else {
            return call.ret0();
        };
        call.truncate(0);
        call.push(error);
        // A coroutine that has failed is closed; one that could not be resumed is left as it is.
        if thread.failure().is_some() {
            return call.close_thread(thread, |call| {
                let error = if call.outcome() == Outcome::Failed {
                    call.result(0)
                } else {
                    call.get(0)
                };
                Err(with_position(call, error))
            });
        }
        Err(with_position(call, error))
    })
}

/// An error message gets the position of whoever called the wrapped coroutine put before it.
fn with_position<'gc>(call: &mut Call<'gc>, error: Value<'gc>) -> Error<'gc> {
    let Value::Str(message) = error else {
        return Error::new(error);
    };
    let mut text = call.position(1);
    text.extend_from_slice(message.as_bytes());
    Error::new(call.ctx.string(&text))
}

fn yield_<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    let count = call.len();
    call.yield_top(count, Back::Results, |call| {
        let count = call.result_count();
        call.ret_top(count)
    })
}

fn status<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    let name = check_thread(call)?.status().name();
    let name = call.ctx.string(name.as_bytes());
    call.ret1(name)
}

fn running<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    let thread = call.thread();
    let is_main = thread.ptr_eq(call.ctx.state.main_thread());
    call.ret(&[thread.into(), Value::Bool(is_main)])
}

fn isyieldable<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    let thread = match call.is_none(0) {
        true => call.thread(),
        false => check_thread(call)?,
    };
    let yieldable = thread.is_yieldable();
    call.ret1(yieldable)
}

fn close<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    let thread = check_thread(call)?;
    match thread.status() {
        Status::Suspended | Status::Dead => call.close_thread(thread, |call| {
            if call.outcome() == Outcome::Done {
                return call.ret1(true);
            }
            let error = call.result(0);
            call.ret(&[Value::Bool(false), error])
        }),
        status => Err(call.error(format!("cannot close a {} coroutine", status.name()))),
    }
}
