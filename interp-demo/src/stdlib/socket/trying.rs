//! `socket.newtry`, `try`, `protect` and `skip`: failures that are returned become errors, and errors of that kind
//! become returned failures again.

use crate::vm::native::{Call, Native, NativeResult, Outcome};
use crate::vm::table::Table;
use crate::vm::value::Value;

/// The metatable of the tables that carry a failure from `try` to `protect`.
const METATABLE: &str = "socket.failure";

/// `newtry([finalizer])`
pub(super) fn newtry<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    let finalizer = call.get(0);
    let tried = Native::with_upvalues(call.ctx, "try", attempt, &[finalizer]);
    call.ret1(tried)
}

/// What `newtry` returns: passes on what it gets, unless the first of it is false.
pub(super) fn attempt<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    if call.get(0).is_truthy() {
        return call.ret_top(call.len());
    }
    let finalizer = call.upvalue(0);
    if !finalizer.is_function() {
        return fail(call);
    }
    call.truncate(2);
    call.push(finalizer);
    call.pcall_top(0, fail)
}

/// Raises the second argument as a failure.
fn fail<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    let ctx = call.ctx;
    let failure = Table::new(ctx);
    failure.set_int(ctx, 1, call.get(1))?;
    let metatable = match ctx.state.registry().get_name(ctx, METATABLE) {
        Value::Table(metatable) => metatable,
        _ => {
            let metatable = Table::new(ctx);
            ctx.state.registry().set_name(ctx, METATABLE, metatable);
            metatable
        }
    };
    ctx.set_metatable(failure.into(), Some(metatable))?;
    Err(crate::vm::error::Error::new(failure))
}

/// `protect(function)`
pub(super) fn protect<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    let function = call.check_function(0)?;
    let protected = Native::with_upvalues(call.ctx, "protected", protected, &[function]);
    call.ret1(protected)
}

fn protected<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    let function = call.upvalue(0);
    call.insert(0, function);
    call.pcall_top(call.len() - 1, |call| {
        if call.outcome() == Outcome::Done {
            return call.ret_top(call.result_count());
        }
        let error = call.result(0);
        let ctx = call.ctx;
        match (error, ctx.state.registry().get_name(ctx, METATABLE)) {
            (Value::Table(failure), Value::Table(class))
                if failure.metatable().is_some_and(|m| m.ptr_eq(class)) =>
            {
                call.ret(&[Value::Nil, failure.get_int(ctx, 1)])
            }
            _ => Err(crate::vm::error::Error::new(error)),
        }
    })
}

/// `skip(count, ...)`: all but the first `count` values
pub(super) fn skip<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    let count = call.check_int(0)?.max(0) as usize;
    call.ret_top((call.len() - 1).saturating_sub(count))
}
