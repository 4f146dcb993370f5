//! The basic functions.

use super::{Functions, fill, io, load, text_of};
use crate::text::number::{self, Number};
use crate::vm::access::Access;
use crate::vm::error::Error;
use crate::vm::native::{Call, Native, NativeResult, Outcome, Role};
use crate::vm::state::Ctx;
use crate::vm::value::Value;

const FUNCTIONS: Functions = &[
    ("assert", assert),
    ("collectgarbage", super::gc::collectgarbage),
    ("dofile", load::dofile),
    ("error", error),
    ("getmetatable", getmetatable),
    ("loadfile", load::loadfile),
    ("pcall", pcall),
    ("print", print),
    ("rawequal", rawequal),
    ("rawget", rawget),
    ("rawlen", rawlen),
    ("tonumber", tonumber),
    ("type", type_of),
    ("warn", warn),
    ("xpcall", xpcall),
];

/// What changes nothing before it fails for want of memory.
const REPEATABLE: Functions = &[
    ("load", load::load),
    ("rawset", rawset),
    ("select", select),
    ("setmetatable", setmetatable),
    ("tostring", tostring),
];

pub(super) fn open(ctx: Ctx<'_>) {
    let globals = ctx.state.globals();
    fill(ctx, globals, FUNCTIONS);
    super::fill_repeatable(ctx, globals, REPEATABLE);
    // The iterators that `pairs` and `ipairs` return are always the same functions.
    let next = Native::with_role(ctx, "next", next, Role::Next);
    let pairs = Native::with_upvalues(ctx, "pairs", pairs, &[next.into()]);
    let ipairs_next = Native::with_role(ctx, "ipairs_next", ipairs_next, Role::NextIndex);
    let ipairs = Native::with_upvalues(ctx, "ipairs", ipairs, &[ipairs_next.into()]);
    globals.set_name(ctx, "next", next);
    globals.set_name(ctx, "pairs", pairs);
    globals.set_name(ctx, "ipairs", ipairs);
    globals.set_name(ctx, "_G", globals);
    globals.set_name(ctx, "_VERSION", ctx.string(b"Lua 5.4"));
    ctx.state.loaded().set_name(ctx, "_G", globals);
}

/// Strings of this length are printed without a copy.
const LONG_BYTES: usize = 4096;

fn print<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    let mut line = Vec::new();
    // `state` counts the arguments that have been shown before a callback.
    while (call.state as usize) < call.len() {
        let index = call.state as usize;
        if index > 0 {
            line.push(b'\t');
        }
        let value = call.get(index);
        if let Value::Str(text) = value
            && text.len() >= LONG_BYTES
        {
            io::print(call.ctx, &line);
            line.clear();
            io::print(call.ctx, text.as_bytes());
            call.state += 1;
            continue;
        }
        if let Some(metamethod) = text_of::write_text(call.ctx, value, &mut line) {
            io::print(call.ctx, &line);
            return call.call(metamethod, &[value], |call| {
                if let Value::Str(text) = text_of::returned_text(call)? {
                    io::print(call.ctx, text.as_bytes());
                }
                let args = call.results();
                call.truncate(args);
                call.state += 1;
                print(call)
            });
        }
        call.state += 1;
    }
    line.push(b'\n');
    io::print(call.ctx, &line);
    io::ret_printed(call)
}

fn warn<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    call.check_str(0)?;
    let mut message = Vec::new();
    for index in 0..call.len() {
        message.extend_from_slice(call.check_str(index)?.as_bytes());
    }
    match message.as_slice() {
        b"@on" if call.len() == 1 => call.ctx.set_warnings(true),
        b"@off" if call.len() == 1 => call.ctx.set_warnings(false),
        // Control messages that nobody knows are ignored.
        [b'@', ..] if call.len() == 1 => {}
        text => call.ctx.warn(text),
    }
    call.ret0()
}

fn type_of<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    let name = call.check_any(0)?.type_name();
    let name = call.ctx.string(name.as_bytes());
    call.ret1(name)
}

pub(super) fn tostring<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    let value = call.check_any(0)?;
    if matches!(value, Value::Str(_)) {
        return call.ret1(value);
    }
    let mut text = Vec::new();
    match text_of::write_text(call.ctx, value, &mut text) {
        None => {
            let text = call.ctx.string(&text);
            call.ret1(text)
        }
        Some(metamethod) => call.call(metamethod, &[value], |call| {
            let text = text_of::returned_text(call)?;
            call.ret1(text)
        }),
    }
}

fn tonumber<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    if call.is_none_or_nil(1) {
        return match call.check_any(0)? {
            number @ (Value::Int(_) | Value::Float(_)) => call.ret1(number),
            Value::Str(text) => {
                call.ctx.look_in(text)?;
                let number = number::parse(text.as_bytes()).map(value_of);
                call.ret1(number)
            }
            _ => call.ret1(Value::Nil),
        };
    }
    let base = call.check_int(1)?;
    let Value::Str(text) = call.get(0) else {
        return Err(call.type_error(0, "string"));
    };
    if !(2..=36).contains(&base) {
        return Err(call.arg_error(1, "base out of range"));
    }
    call.ctx.look_in(text)?;
    let number = number::parse_base(text.as_bytes(), base as u32);
    call.ret1(number)
}

fn value_of<'gc>(number: Number) -> Value<'gc> {
    match number {
        Number::Int(int) => Value::Int(int),
        Number::Float(float) => Value::Float(float),
    }
}

fn assert<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    if call.get(0).is_truthy() {
        let count = call.len();
        return call.ret_top(count);
    }
    call.check_any(0)?;
    match call.get(1) {
        _ if call.len() < 2 => Err(call.error("assertion failed!")),
        Value::Str(message) => Err(call.error(message.as_bytes())),
        value => Err(Error::new(value)),
    }
}

fn error<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    let level = call.opt_int(1, 1)?;
    match call.get(0) {
        Value::Str(message) if level > 0 => {
            let mut text = call.position(usize::try_from(level).unwrap_or(usize::MAX));
            text.extend_from_slice(message.as_bytes());
            Err(Error::new(call.ctx.try_string(&text)?))
        }
        value => Err(Error::new(value)),
    }
}

fn pcall<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    call.check_any(0)?;
    let args = call.len() - 1;
    call.pcall_top(args, protected)
}

fn xpcall<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    let (function, handler) = (call.get(0), call.get(1));
    if !handler.is_function() {
        return Err(call.type_error(1, "function"));
    }
    call.set(0, handler);
    call.set(1, function);
    let args = call.len() - 2;
    call.xpcall_top(args, 0, protected)
}

/// Returns whether the call went well, and what it gave.
fn protected<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    let done = call.outcome() == Outcome::Done;
    let (at, count) = (call.results(), call.result_count());
    call.insert(at, Value::Bool(done));
    call.ret_top(count + 1)
}

fn select<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    let count = call.len() as i64;
    if let Value::Str(text) = call.get(0)
        && text.as_bytes().first() == Some(&b'#')
    {
        return call.ret1(count - 1);
    }
    let index = call.check_int(0)?;
    let first = if index < 0 {
        count.saturating_add(index)
    } else {
        index.min(count)
    };
    if first < 1 {
        return Err(call.arg_error(0, "index out of range"));
    }
    call.ret_top((count - first) as usize)
}

fn rawequal<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    let (a, b) = (call.check_any(0)?, call.check_any(1)?);
    call.ret1(a.raw_equals(b))
}

fn rawlen<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    match call.get(0) {
        Value::Table(table) => call.ret1(table.len(call.ctx)),
        Value::Str(text) => call.ret1(text.len() as i64),
        _ => Err(call.type_error(0, "table or string")),
    }
}

fn rawget<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    let table = call.check_table(0)?;
    let key = call.check_any(1)?;
    call.ret1(table.get(call.ctx, key))
}

fn rawset<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    let table = call.check_table(0)?;
    let (key, value) = (call.check_any(1)?, call.check_any(2)?);
    table.set(call.ctx, key, value)?;
    call.ret1(table)
}

fn getmetatable<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    let value = call.check_any(0)?;
    let Some(metatable) = call.ctx.metatable(value) else {
        return call.ret1(Value::Nil);
    };
    let shown = metatable.get_name(call.ctx, "__metatable");
    if shown.is_nil() {
        call.ret1(metatable)
    } else {
        call.ret1(shown)
    }
}

fn setmetatable<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    let table = call.check_table(0)?;
    let metatable = match call.get(1) {
        Value::Nil if call.len() > 1 => None,
        Value::Table(metatable) => Some(metatable),
        _ => return Err(call.type_error(1, "nil or table")),
    };
    if !call.ctx.metafield(table.into(), "__metatable").is_nil() {
        return Err(call.error("cannot change a protected metatable"));
    }
    call.ctx.set_metatable(table.into(), metatable)?;
    call.ret1(table)
}

fn next<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    let table = call.check_table(0)?;
    match table.next_of_program(call.ctx, call.get(1))? {
        Some((key, value)) => call.ret(&[key, value]),
        None => call.ret1(Value::Nil),
    }
}

fn pairs<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    let value = call.check_any(0)?;
    let metamethod = call.ctx.metafield(value, "__pairs");
    if metamethod.is_nil() {
        let next = call.upvalue(0);
        return call.ret(&[next, value, Value::Nil]);
    }
    call.call(metamethod, &[value], |call| {
        let three = [call.result(0), call.result(1), call.result(2)];
        call.ret(&three)
    })
}

fn ipairs<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    let value = call.check_any(0)?;
    let iterator = call.upvalue(0);
    call.ret(&[iterator, value, Value::Int(0)])
}

fn ipairs_next<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    let index = call.check_int(1)?.wrapping_add(1);
    if let Value::Table(table) = call.get(0) {
        let value = table.get_int(call.ctx, index);
        if !value.is_nil() {
            return call.ret(&[Value::Int(index), value]);
        }
    }
    call.state = index;
    match call.ctx.index(call.get(0), Value::Int(index))? {
        Access::Value(value) => ipairs_found(call, value),
        Access::Call { method, receiver } => {
            call.call(method, &[receiver, Value::Int(index)], |call| {
                let value = call.result(0);
                ipairs_found(call, value)
            })
        }
    }
}

fn ipairs_found<'gc>(call: &mut Call<'gc>, value: Value<'gc>) -> NativeResult<'gc> {
    if value.is_nil() {
        return call.ret1(Value::Nil);
    }
    let index = Value::Int(call.state);
    call.ret(&[index, value])
}
