//! `lines`: iterators that read.

use std::ops::ControlFlow::{Break, Continue};

use super::stream::Shared;
use super::{DEFAULT_INPUT, handle, open, read};
use crate::vm::error::Error;
use crate::vm::native::{Call, Native, NativeResult};
use crate::vm::value::Value;

/// Upvalues of an iterator: the file, whether to close it at its end, then the formats.
const FILE: usize = 0;
const CLOSES: usize = 1;
const FIRST_FORMAT: usize = 2;

/// The most formats that an iterator may have.
const MAX_FORMATS: usize = 250;

pub(super) fn lines<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    handle::check(call, 0)?;
    let file = call.get(0);
    let iterator = iterator(call, file, false)?;
    call.ret1(iterator)
}

pub(super) fn lines_of_path<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    if call.is_none_or_nil(0) {
        let (file, _) = handle::default(call, DEFAULT_INPUT)?;
        let iterator = iterator(call, file, false)?;
        return call.ret(&[iterator, Value::Nil, Value::Nil, Value::Nil]);
    }
    let path = call.check_str(0)?.as_bytes();
    let file = match open::open_or_raise(call, path, "r", lines_of_path)? {
        Continue(file) => file,
        Break(flow) => return Ok(flow),
    };
    let iterator = iterator(call, file, true)?;
    // The last value is for the loop to close if it is left early.
    call.ret(&[iterator, Value::Nil, Value::Nil, file])
}

fn iterator<'gc>(
    call: &mut Call<'gc>,
    file: Value<'gc>,
    closes: bool,
) -> Result<Value<'gc>, Error<'gc>> {
    let formats = call.len().saturating_sub(1);
    if formats > MAX_FORMATS {
        return Err(call.arg_error(MAX_FORMATS + 1, "too many arguments"));
    }
    let mut upvalues = vec![file, Value::Bool(closes)];
    upvalues.extend((1..=formats).map(|slot| call.get(slot)));
    Ok(Native::with_upvalues(call.ctx, "lines_next", next_line, &upvalues).into())
}

fn next_line<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    let Value::Native(iterator) = call.function() else {
        return call.ret0();
    };
    let file = call.upvalue(FILE);
    let Some(stream) = handle::stream_of(file) else {
        return call.ret0();
    };
    if stream.lock().is_closed() {
        return Err(call.error("file is already closed"));
    }
    call.truncate(0);
    call.push(file);
    for index in FIRST_FORMAT..iterator.upvalue_count() {
        call.push(iterator.upvalue(index));
    }
    read::read_formats(call, &stream)
}

/// Whether the running native is an iterator of `lines`.
pub(super) fn is_iterator(call: &Call<'_>) -> bool {
    matches!(call.upvalue(FILE), Value::UserData(_))
}

/// Returns what was read, `count` values; at the end of the file, closes it if it is the iterator's own.
pub(super) fn finish<'gc>(
    call: &mut Call<'gc>,
    stream: &Shared,
    count: usize,
) -> NativeResult<'gc> {
    let first = call.get(call.len() - count);
    if first.is_nil() && call.upvalue(CLOSES).is_truthy() {
        let (outcome, _) = stream.lock().close();
        if let Err(error) = outcome {
            let message = crate::vm::error::os_message(&error);
            return Err(call.error(message.as_bytes()));
        }
    }
    call.ret_top(count)
}
