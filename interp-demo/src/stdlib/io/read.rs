//! Reading: a machine that goes through the formats, and waits through the host where there is nothing to read yet.
//!
//! Slot 0 is the file, then come the formats, then the results so far; [`Call::state`] counts these.

use std::io;

use super::numeral::{self, Scanned};
use super::stream::{Fill, Shared, Stream};
use super::{DEFAULT_INPUT, flush_stdout, handle, lines};
use crate::text::number::{self, Number};
use crate::vm::buffer::counted;
use crate::vm::error::Error;
use crate::vm::native::{Call, NativeResult};
use crate::vm::state::Ctx;
use crate::vm::suspend::{Answer, Suspend};
use crate::vm::value::Value;
use sleepy_gc::idle::Interest;

/// What to read.
#[derive(Clone, Copy)]
enum Format {
    Number,
    Line { keep_end: bool },
    All,
    Bytes(usize),
}

/// What came of it.
enum Outcome<'gc> {
    Value(Value<'gc>),
    /// Nothing: the end of the file, or no numeral.
    Nothing,
    /// There may be more later.
    Wait,
}

/// Why reading stopped.
enum Failure<'gc> {
    System(io::Error),
    Lua(Error<'gc>),
}

pub(super) fn read<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    let stream = handle::check(call, 0)?;
    read_formats(call, &stream)
}

pub(super) fn read_default<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    let (value, stream) = handle::default(call, DEFAULT_INPUT)?;
    for slot in 0..call.len() {
        // Checked before the file moves them up by one, so that messages count right.
        check_format(call, slot)?;
    }
    call.insert(0, value);
    read_formats(call, &stream)
}

/// Reads what the formats in the slots from 1 on say.
pub(super) fn read_formats<'gc>(call: &mut Call<'gc>, stream: &Shared) -> NativeResult<'gc> {
    if call.len() == 1 {
        let line = call.ctx.string(b"l");
        call.push(line);
    }
    let formats = call.len() - 1 - call.state as usize;
    while (call.state as usize) < formats {
        let format = check_format(call, 1 + call.state as usize)?;
        let outcome = read_one(call.ctx, &mut stream.lock(), format);
        let value = match outcome {
            Ok(Outcome::Value(value)) => value,
            Ok(Outcome::Nothing) => {
                call.push(Value::Nil);
                call.state += 1;
                break;
            }
            Ok(Outcome::Wait) => return wait(call, stream),
            Err(Failure::System(error)) => return fail(call, &error),
            Err(Failure::Lua(error)) => {
                return call.or_again(Err(error), call.len(), read);
            }
        };
        call.push(value);
        call.state += 1;
    }
    let count = call.state as usize;
    if lines::is_iterator(call) {
        return lines::finish(call, stream, count);
    }
    call.ret_top(count)
}

fn fail<'gc>(call: &mut Call<'gc>, error: &io::Error) -> NativeResult<'gc> {
    if lines::is_iterator(call) {
        let message = crate::vm::error::os_message(error);
        return Err(call.error(message.as_bytes()));
    }
    call.ret_io_error(error, None)
}

/// Waits until there is something to read, then goes on.
fn wait<'gc>(call: &mut Call<'gc>, stream: &Shared) -> NativeResult<'gc> {
    flush_stdout();
    let Some(fd) = stream.lock().fd() else {
        return Err(call.error("attempt to use a closed file"));
    };
    call.suspend(
        Suspend::WaitFd {
            fd,
            interest: Interest::Readable,
            timeout: None,
        },
        |call| {
            if let Answer::Failed(error) = call.answer() {
                return fail(call, &error);
            }
            let stream = handle::check(call, 0)?;
            read_formats(call, &stream)
        },
    )
}

fn check_format<'gc>(call: &mut Call<'gc>, slot: usize) -> Result<Format, Error<'gc>> {
    if matches!(call.get(slot), Value::Int(_) | Value::Float(_)) {
        let count = call.check_int(slot)?;
        return Ok(Format::Bytes(usize::try_from(count).unwrap_or(usize::MAX)));
    }
    let text = call.check_str(slot)?.as_bytes();
    match text.strip_prefix(b"*").unwrap_or(text).first() {
        Some(b'n') => Ok(Format::Number),
        Some(b'l') => Ok(Format::Line { keep_end: false }),
        Some(b'L') => Ok(Format::Line { keep_end: true }),
        Some(b'a') => Ok(Format::All),
        _ => Err(call.arg_error(slot, "invalid format")),
    }
}

fn read_one<'gc>(
    ctx: Ctx<'gc>,
    stream: &mut Stream,
    format: Format,
) -> Result<Outcome<'gc>, Failure<'gc>> {
    match format {
        Format::Line { keep_end } => read_line(ctx, stream, keep_end),
        Format::Number => read_number(ctx, stream),
        Format::All => loop {
            match fill(ctx, stream, usize::MAX)? {
                Fill::Data => {}
                Fill::Wait => return Ok(Outcome::Wait),
                Fill::End => {
                    let size = stream.unread().len();
                    return take(ctx, stream, size, size);
                }
            }
        },
        Format::Bytes(count) => read_bytes(ctx, stream, count),
    }
}

/// Reads more; a file may have no end, so the program may be stopped here.
fn fill<'gc>(ctx: Ctx<'gc>, stream: &mut Stream, wanted: usize) -> Result<Fill, Failure<'gc>> {
    ctx.look().map_err(Failure::Lua)?;
    stream
        .fill(wanted, &mut counted(ctx))
        .map_err(|error| match error.kind() {
            io::ErrorKind::OutOfMemory => Failure::Lua(ctx.out_of_memory()),
            _ => Failure::System(error),
        })
}

/// Makes a string of the first `shown` bytes of the unread input and takes `taken` bytes away.
fn take<'gc>(
    ctx: Ctx<'gc>,
    stream: &mut Stream,
    shown: usize,
    taken: usize,
) -> Result<Outcome<'gc>, Failure<'gc>> {
    let text = ctx
        .try_string(&stream.unread()[..shown])
        .map_err(Failure::Lua)?;
    stream.consume(taken);
    Ok(Outcome::Value(text))
}

fn read_line<'gc>(
    ctx: Ctx<'gc>,
    stream: &mut Stream,
    keep_end: bool,
) -> Result<Outcome<'gc>, Failure<'gc>> {
    loop {
        if let Some(end) = stream.line_end() {
            return take(ctx, stream, if keep_end { end } else { end - 1 }, end);
        }
        match fill(ctx, stream, usize::MAX)? {
            Fill::Data => {}
            Fill::Wait => return Ok(Outcome::Wait),
            Fill::End => {
                let size = stream.unread().len();
                return if size == 0 {
                    Ok(Outcome::Nothing)
                } else {
                    take(ctx, stream, size, size)
                };
            }
        }
    }
}

fn read_bytes<'gc>(
    ctx: Ctx<'gc>,
    stream: &mut Stream,
    count: usize,
) -> Result<Outcome<'gc>, Failure<'gc>> {
    // Zero bytes: is there anything left at all?
    let needed = count.max(1);
    while stream.unread().len() < needed {
        let missing = needed - stream.unread().len();
        match fill(ctx, stream, missing)? {
            Fill::Data => {}
            Fill::Wait => return Ok(Outcome::Wait),
            Fill::End if stream.unread().is_empty() => return Ok(Outcome::Nothing),
            Fill::End => break,
        }
    }
    let size = count.min(stream.unread().len());
    take(ctx, stream, size, size)
}

fn read_number<'gc>(ctx: Ctx<'gc>, stream: &mut Stream) -> Result<Outcome<'gc>, Failure<'gc>> {
    let mut complete = false;
    loop {
        match numeral::scan(stream.unread(), complete) {
            Scanned::Span(start, end) => {
                let text = &stream.unread()[start..end];
                let number = if numeral::fits(text.len()) {
                    number::parse(text)
                } else {
                    None
                };
                stream.consume(end);
                return Ok(match number {
                    Some(Number::Int(int)) => Outcome::Value(Value::Int(int)),
                    Some(Number::Float(float)) => Outcome::Value(Value::Float(float)),
                    None => Outcome::Nothing,
                });
            }
            Scanned::NeedsMore => match fill(ctx, stream, usize::MAX)? {
                Fill::Data => {}
                Fill::Wait => return Ok(Outcome::Wait),
                Fill::End => complete = true,
            },
        }
    }
}
