//! Writing.

use sleepy_gc::idle::Interest;

use super::stream::Shared;
use super::{DEFAULT_OUTPUT, handle};
use crate::text::format::{self, Spec};
use crate::text::number;
use crate::vm::buffer::counted;
use crate::vm::native::{Call, NativeFn, NativeResult};
use crate::vm::suspend::Suspend;
use crate::vm::value::Value;

pub(super) fn write<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    let stream = handle::check(call, 0)?;
    write_slots(call, &stream, 1)
}

pub(super) fn write_default<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    let (value, stream) = handle::default(call, DEFAULT_OUTPUT)?;
    let outcome = write_values(call, &stream, 0)?;
    finish(call, &stream, value, value, outcome)
}

fn write_slots<'gc>(call: &mut Call<'gc>, stream: &Shared, first: usize) -> NativeResult<'gc> {
    let outcome = write_values(call, stream, first)?;
    let file = call.get(0);
    finish(call, stream, file, file, outcome)
}

/// Writes what stands in the slots from `first` on; all that comes before an argument of a wrong type.
fn write_values<'gc>(
    call: &mut Call<'gc>,
    stream: &Shared,
    first: usize,
) -> Result<std::io::Result<()>, crate::vm::error::Error<'gc>> {
    let ctx = call.ctx;
    let mut room = counted(ctx);
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
            outcome = stream.write(text, &mut room);
        }
    }
    Ok(outcome)
}

/// Returns `result` once the descriptor has taken what is due.
fn finish<'gc>(
    call: &mut Call<'gc>,
    stream: &Shared,
    file: Value<'gc>,
    result: Value<'gc>,
    outcome: std::io::Result<()>,
) -> NativeResult<'gc> {
    if let Err(error) = outcome {
        return call.ret_io_error(&error, None);
    }
    if !stream.lock().is_backed_up() {
        return call.ret1(result);
    }
    call.truncate(0);
    call.push(file);
    call.push(result);
    wait(call, stream, |call| {
        // A wait that has failed shows in the attempt to write.
        let _ = call.answer();
        let stream = handle::check(call, 0)?;
        let outcome = stream.lock().give_out().map(drop);
        let (file, result) = (call.get(0), call.get(1));
        finish(call, &stream, file, result, outcome)
    })
}

/// Waits until more can be written.
pub(super) fn wait<'gc>(
    call: &mut Call<'gc>,
    stream: &Shared,
    then: NativeFn,
) -> NativeResult<'gc> {
    let Some(fd) = stream.lock().fd() else {
        return Err(call.error("attempt to use a closed file"));
    };
    call.suspend(
        Suspend::WaitFd {
            fd,
            interest: Interest::Writable,
            timeout: None,
        },
        then,
    )
}

pub(super) fn flush<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    let stream = handle::check(call, 0)?;
    let file = call.get(0);
    flush_stream(call, &stream, file)
}

pub(super) fn flush_default<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    let (file, stream) = handle::default(call, DEFAULT_OUTPUT)?;
    flush_stream(call, &stream, file)
}

fn flush_stream<'gc>(call: &mut Call<'gc>, stream: &Shared, file: Value<'gc>) -> NativeResult<'gc> {
    let outcome = stream.lock().give_out().map(drop);
    finish(call, stream, file, Value::Bool(true), outcome)
}
