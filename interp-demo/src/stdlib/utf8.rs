//! UTF-8.

use super::{Functions, register};
use crate::text::utf8;
use crate::vm::buffer::Buffer;
use crate::vm::error::Error;
use crate::vm::native::{Call, Native, NativeResult};
use crate::vm::state::Ctx;
use crate::vm::value::Value;

const FUNCTIONS: Functions = &[
    ("char", char),
    ("codepoint", codepoint),
    ("codes", codes),
    ("len", len),
    ("offset", offset),
];

/// Matches exactly one sequence in a valid subject.
const CHAR_PATTERN: &[u8] = b"[\0-\x7F\xC2-\xFD][\x80-\xBF]*";

pub(super) fn open(ctx: Ctx<'_>) {
    let library = register(ctx, "utf8", &[]);
    super::fill_repeatable(ctx, library, FUNCTIONS);
    library.set_name(ctx, "charpattern", ctx.string(CHAR_PATTERN));
}

/// A position as it is written (negative: from the end), counted from 1; 0 if it lies before the start.
fn position(position: i64, len: usize) -> i64 {
    if position >= 0 {
        position
    } else if position.unsigned_abs() > len as u64 {
        0
    } else {
        len as i64 + position + 1
    }
}

fn char<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    let mut text = Buffer::new();
    text.make_room(call.ctx, call.len())?;
    for index in 0..call.len() {
        let code = call.check_int(index)?;
        match u32::try_from(code) {
            Ok(code) if code <= utf8::MAX => utf8::encode(&mut text, code),
            _ => return Err(call.arg_error(index, "value out of range")),
        }
    }
    let text = call.ctx.try_string(&text)?;
    call.ret1(text)
}

fn codepoint<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    let text = call.check_str(0)?.as_bytes();
    let first = position(call.opt_int(1, 1)?, text.len());
    let last = position(call.opt_int(2, first)?, text.len());
    let lax = call.get(3).is_truthy();
    if first < 1 {
        return Err(call.arg_error(1, "out of bounds"));
    }
    if last > text.len() as i64 {
        return Err(call.arg_error(2, "out of bounds"));
    }
    if first > last {
        return call.ret0();
    }
    let mut at = first as usize - 1;
    let mut count = 0;
    if !call.reserve((last - first + 1) as usize) {
        return Err(call.error("string slice too long"));
    }
    while at < last as usize {
        let Some((code, size)) = utf8::decode(&text[at..], !lax) else {
            return Err(call.error("invalid UTF-8 code"));
        };
        call.push(Value::Int(i64::from(code)));
        count += 1;
        at += size;
    }
    call.ret_top(count)
}

fn len<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    let text = call.check_str(0)?.as_bytes();
    let first = position(call.opt_int(1, 1)?, text.len());
    let last = position(call.opt_int(2, -1)?, text.len());
    let lax = call.get(3).is_truthy();
    if first < 1 || first - 1 > text.len() as i64 {
        return Err(call.arg_error(1, "initial position out of bounds"));
    }
    if last > text.len() as i64 {
        return Err(call.arg_error(2, "final position out of bounds"));
    }
    let mut at = first - 1;
    let mut count = 0_i64;
    while at < last {
        let Some((_, size)) = utf8::decode(&text[at as usize..], !lax) else {
            return call.ret(&[Value::Nil, Value::Int(at + 1)]);
        };
        at += size as i64;
        count += 1;
    }
    call.ret1(count)
}

fn offset<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    let text = call.check_str(0)?.as_bytes();
    let size = text.len() as i64;
    let mut count = call.check_int(1)?;
    let start = position(
        call.opt_int(2, if count >= 0 { 1 } else { size + 1 })?,
        text.len(),
    );
    if start < 1 || start - 1 > size {
        return Err(call.arg_error(2, "position out of bounds"));
    }
    let mut at = start - 1;
    let continues = |at: i64| {
        text.get(at as usize)
            .is_some_and(|&byte| utf8::is_continuation(byte))
    };
    if count == 0 {
        while at > 0 && continues(at) {
            at -= 1;
        }
        return call.ret1(at + 1);
    }
    if continues(at) {
        return Err(call.error("initial position is a continuation byte"));
    }
    if count < 0 {
        while count < 0 && at > 0 {
            at -= 1;
            while at > 0 && continues(at) {
                at -= 1;
            }
            count += 1;
        }
    } else {
        count -= 1;
        while count > 0 && at < size {
            at += 1;
            while continues(at) {
                at += 1;
            }
            count -= 1;
        }
    }
    if count == 0 {
        call.ret1(at + 1)
    } else {
        call.ret1(Value::Nil)
    }
}

fn codes<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    let lax = call.get(1).is_truthy();
    let text = call.check_str(0)?;
    if text
        .as_bytes()
        .first()
        .is_some_and(|&byte| utf8::is_continuation(byte))
    {
        return Err(call.arg_error(0, "invalid UTF-8 code"));
    }
    let iterator = Native::new(
        call.ctx,
        "codes",
        if lax {
            |call| next_code(call, false)
        } else {
            |call| next_code(call, true)
        },
    );
    call.ret(&[iterator.into(), text.into(), Value::Int(0)])
}

fn next_code<'gc>(call: &mut Call<'gc>, strict: bool) -> NativeResult<'gc> {
    let text = call.check_str(0)?.as_bytes();
    let continues = |at: usize| {
        text.get(at)
            .is_some_and(|&byte| utf8::is_continuation(byte))
    };
    let mut at = call.check_int(1)?.cast_unsigned() as usize;
    // From the current code (position `at`, counted from 1) to the next one.
    while continues(at) {
        at += 1;
    }
    if at >= text.len() {
        return call.ret0();
    }
    match utf8::decode(&text[at..], strict) {
        Some((code, size)) if !continues(at + size) => {
            call.ret(&[Value::Int(at as i64 + 1), Value::Int(i64::from(code))])
        }
        _ => Err(invalid(call)),
    }
}

fn invalid<'gc>(call: &mut Call<'gc>) -> Error<'gc> {
    call.error("invalid UTF-8 code")
}
