//! Writing.

use super::stream::Shared;
use super::{DEFAULT_OUTPUT, handle};
use crate::text::format::{self, Spec};
use crate::text::number;
use crate::vm::native::{Call, NativeResult};
use crate::vm::value::Value;

pub(super) fn write<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    let stream = handle::check(call, 0)?;
    write_slots(call, &stream, 1)
}

pub(super) fn write_default<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    let (value, stream) = handle::default(call, DEFAULT_OUTPUT)?;
    let outcome = write_values(call, &stream, 0)?;
    finish(call, value, outcome)
}

fn write_slots<'gc>(call: &mut Call<'gc>, stream: &Shared, first: usize) -> NativeResult<'gc> {
    let outcome = write_values(call, stream, first)?;
    let file = call.get(0);
    finish(call, file, outcome)
}

/// Writes what stands in the slots from `first` on; all that comes before an argument of a wrong type.
fn write_values<'gc>(
    call: &mut Call<'gc>,
    stream: &Shared,
    first: usize,
) -> Result<std::io::Result<()>, crate::vm::error::Error<'gc>> {
    let mut stream = stream.lock();
    let mut outcome = Ok(());
    for slot in first..call.len() {
        let mut digits = Vec::new();
        let text = match call.get(slot) {
            Value::Str(text) => text.as_bytes(),
            Value::Int(int) => {
                number::write_int(&mut digits, int);
                &digits
            }
            Value::Float(float) => {
                // Unlike `tostring`, this adds nothing to floats that look like integers.
                format::float(&mut digits, &Spec::with_precision(b'g', 14), float);
                &digits
            }
            _ => return Err(call.type_error(slot, "string")),
        };
        if outcome.is_ok() {
            outcome = stream.write(text);
        }
    }
    Ok(outcome)
}

fn finish<'gc>(
    call: &mut Call<'gc>,
    file: Value<'gc>,
    outcome: std::io::Result<()>,
) -> NativeResult<'gc> {
    match outcome {
        Ok(()) => call.ret1(file),
        Err(error) => call.ret_io_error(&error, None),
    }
}

pub(super) fn flush<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    let stream = handle::check(call, 0)?;
    flush_stream(call, &stream)
}

pub(super) fn flush_default<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    let (_, stream) = handle::default(call, DEFAULT_OUTPUT)?;
    flush_stream(call, &stream)
}

fn flush_stream<'gc>(call: &mut Call<'gc>, stream: &Shared) -> NativeResult<'gc> {
    let outcome = stream.lock().flush();
    finish(call, Value::Bool(true), outcome)
}
