//! `find`, `match` and `gmatch`.

use super::start_position;
use crate::text::pattern::{self, Captured, Matcher, PatternError, Scan};
use crate::vm::error::Error;
use crate::vm::native::{Call, Native, NativeResult};
use crate::vm::value::Value;

pub(super) fn find<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    search(call, true)
}

pub(super) fn match_<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    search(call, false)
}

fn search<'gc>(call: &mut Call<'gc>, is_find: bool) -> NativeResult<'gc> {
    let subject = call.check_str(0)?.as_bytes();
    let pattern = call.check_str(1)?.as_bytes();
    let start = start_position(call.opt_int(2, 1)?, subject.len()) - 1;
    if start > subject.len() {
        return call.ret1(Value::Nil);
    }
    if is_find && (call.get(3).is_truthy() || pattern::is_plain(pattern)) {
        return match pattern::find_plain(&subject[start..], pattern) {
            Some(at) => {
                call.push(Value::Int((start + at + 1) as i64));
                call.push(Value::Int((start + at + pattern.len()) as i64));
                call.ret_top(2)
            }
            None => call.ret1(Value::Nil),
        };
    }
    let (anchored, pattern) = split_anchor(pattern);
    let ctx = call.ctx;
    let stop = || ctx.is_to_stop();
    let mut matcher = Matcher::new(subject, pattern).stopping(&stop);
    let found = Scan::new(start, anchored).next_match(&mut matcher, subject.len());
    let Some((from, to)) = found.map_err(|error| raise(call, error))? else {
        return call.ret1(Value::Nil);
    };
    let mut count = 0;
    if is_find {
        call.push(Value::Int(from as i64 + 1));
        call.push(Value::Int(to as i64));
        count = 2;
    }
    count += push_captures(call, &matcher, from, to, !is_find)?;
    call.ret_top(count)
}

pub(super) fn split_anchor(pattern: &[u8]) -> (bool, &[u8]) {
    match pattern {
        [b'^', rest @ ..] => (true, rest),
        _ => (false, pattern),
    }
}

pub(super) fn raise<'gc>(call: &mut Call<'gc>, error: PatternError) -> Error<'gc> {
    if error == PatternError::Stopped
        && let Err(stopped) = call.ctx.look()
    {
        return stopped;
    }
    call.error(error.to_string())
}

/// Pushes the captures of a match; the whole match if there are none and `whole` asks for it.
pub(super) fn push_captures<'gc>(
    call: &mut Call<'gc>,
    matcher: &Matcher<'_, '_>,
    start: usize,
    end: usize,
    whole: bool,
) -> Result<usize, Error<'gc>> {
    let count = match matcher.capture_count() {
        0 => usize::from(whole),
        count => count,
    };
    for index in 0..count {
        let value = capture_value(call, matcher, index, start, end)?;
        call.push(value);
    }
    Ok(count)
}

pub(super) fn capture_value<'gc>(
    call: &mut Call<'gc>,
    matcher: &Matcher<'_, '_>,
    index: usize,
    start: usize,
    end: usize,
) -> Result<Value<'gc>, Error<'gc>> {
    match matcher
        .capture(index, start, end)
        .map_err(|error| raise(call, error))?
    {
        Captured::Text(text) => call.ctx.try_string(text),
        Captured::Position(position) => Ok(Value::Int(position as i64)),
    }
}

/// Upvalues of the iterator that `gmatch` returns.
const SUBJECT: usize = 0;
const PATTERN: usize = 1;
/// Where the next attempt begins.
const NEXT: usize = 2;
/// Where the last match ended; nil before the first.
const LAST_END: usize = 3;

pub(super) fn gmatch<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    let subject = call.check_str(0)?;
    let pattern = call.check_str(1)?;
    // A start beyond the end means: no match at all.
    let start = (start_position(call.opt_int(2, 1)?, subject.len()) - 1).min(subject.len() + 1);
    let upvalues = [
        subject.into(),
        pattern.into(),
        Value::Int(start as i64),
        Value::Nil,
    ];
    let iterator = Native::with_upvalues(call.ctx, "gmatch_next", gmatch_next, &upvalues);
    call.ret1(iterator)
}

fn gmatch_next<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    let (Value::Str(subject), Value::Str(pattern), Value::Int(start)) = (
        call.upvalue(SUBJECT),
        call.upvalue(PATTERN),
        call.upvalue(NEXT),
    ) else {
        return call.ret0();
    };
    let (subject, pattern) = (subject.as_bytes(), pattern.as_bytes());
    let last_end = match call.upvalue(LAST_END) {
        Value::Int(end) => Some(end as usize),
        _ => None,
    };
    let ctx = call.ctx;
    let stop = || ctx.is_to_stop();
    let mut matcher = Matcher::new(subject, pattern).stopping(&stop);
    let mut scan = Scan::resume(start as usize, last_end);
    let found = scan
        .next_match(&mut matcher, subject.len())
        .map_err(|error| raise(call, error))?;
    let Some((from, to)) = found else {
        call.set_upvalue(NEXT, Value::Int(subject.len() as i64 + 1));
        return call.ret1(Value::Nil);
    };
    call.set_upvalue(NEXT, Value::Int(to as i64));
    call.set_upvalue(LAST_END, Value::Int(to as i64));
    let count = push_captures(call, &matcher, from, to, true)?;
    call.ret_top(count)
}
