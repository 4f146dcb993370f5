//! `pack`, `packsize` and `unpack`.

use super::{MAX_BYTES, start_position};
use crate::text::pack::{self, Field, Kind, Layout, PackError};
use crate::vm::buffer::Buffer;
use crate::vm::error::Error;
use crate::vm::native::{Call, NativeResult};
use crate::vm::patience::Patience;
use crate::vm::value::Value;

/// The byte that fills gaps.
const PADDING: u8 = 0;

fn refuse<'gc>(call: &mut Call<'gc>, error: PackError) -> Error<'gc> {
    if error.is_bad_argument() {
        call.arg_error(0, error.to_string())
    } else {
        call.error(error.message())
    }
}

pub(super) fn pack<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    let mut layout = Layout::new(call.check_str(0)?.as_bytes());
    // A missing value is told of as nil, as Lua does.
    call.push(Value::Nil);
    let mut buffer = Buffer::new();
    let mut total = 0;
    let mut slot = 0;
    let patience = Patience::new(call.ctx);
    while let Some(field) = layout
        .next_field(total)
        .map_err(|error| refuse(call, error))?
    {
        patience.step()?;
        total += field.padding + field.size;
        buffer.make_room(call.ctx, field.padding + field.size)?;
        let out = &mut *buffer;
        out.resize(out.len() + field.padding, PADDING);
        if !matches!(field.kind, Kind::Padding | Kind::Nothing) {
            slot += 1;
        }
        total += pack_field(call, &mut buffer, field, layout.is_little(), slot)?;
    }
    let packed = call.ctx.try_string(&buffer)?;
    call.ret1(packed)
}

/// Appends one value; the number of bytes beyond the size of the field.
fn pack_field<'gc>(
    call: &mut Call<'gc>,
    out: &mut Buffer,
    field: Field,
    little: bool,
    slot: usize,
) -> Result<usize, Error<'gc>> {
    match field.kind {
        Kind::Int => {
            let value = call.check_int(slot)?;
            if !pack::fits_signed(value, field.size) {
                return Err(call.arg_error(slot, "integer overflow"));
            }
            pack::put_int(out, value, value < 0, little, field.size);
        }
        Kind::Uint => {
            let value = call.check_int(slot)?;
            if !pack::fits_unsigned(value.cast_unsigned(), field.size) {
                return Err(call.arg_error(slot, "unsigned overflow"));
            }
            pack::put_int(out, value, false, little, field.size);
        }
        Kind::Float if field.size == 4 => {
            #[expect(
                clippy::cast_possible_truncation,
                reason = "the format asks for single precision"
            )]
            let value = call.check_float(slot)? as f32;
            pack::put_bytes(out, &mut value.to_le_bytes(), little);
        }
        Kind::Float => pack::put_bytes(out, &mut call.check_float(slot)?.to_le_bytes(), little),
        Kind::Chars => {
            let text = call.check_str(slot)?.as_bytes();
            if text.len() > field.size {
                return Err(call.arg_error(slot, "string longer than given size"));
            }
            out.extend_from_slice(text);
            let padded = out.len() + field.size - text.len();
            out.resize(padded, PADDING);
        }
        Kind::Counted => {
            let text = call.check_str(slot)?.as_bytes();
            if !pack::fits_unsigned(text.len() as u64, field.size) {
                return Err(call.arg_error(slot, "string length does not fit in given size"));
            }
            pack::put_int(out, text.len() as i64, false, little, field.size);
            out.make_room(call.ctx, text.len())?;
            out.extend_from_slice(text);
            return Ok(text.len());
        }
        Kind::ZeroEnded => {
            let text = call.check_str(slot)?.as_bytes();
            if text.contains(&0) {
                return Err(call.arg_error(slot, "string contains zeros"));
            }
            out.make_room(call.ctx, text.len() + 1)?;
            out.extend_from_slice(text);
            out.push(0);
            return Ok(text.len() + 1);
        }
        Kind::Padding => out.push(PADDING),
        Kind::Nothing => {}
    }
    Ok(0)
}

pub(super) fn packsize<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    let mut layout = Layout::new(call.check_str(0)?.as_bytes());
    let mut total = 0;
    let patience = Patience::new(call.ctx);
    while let Some(field) = layout
        .next_field(total)
        .map_err(|error| refuse(call, error))?
    {
        patience.step()?;
        if matches!(field.kind, Kind::Counted | Kind::ZeroEnded) {
            return Err(call.arg_error(0, "variable-length format"));
        }
        let size = field.padding + field.size;
        if size > MAX_BYTES || total > MAX_BYTES - size {
            return Err(call.arg_error(0, "format result too large"));
        }
        total += size;
    }
    call.ret1(total as i64)
}

pub(super) fn unpack<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    let mut layout = Layout::new(call.check_str(0)?.as_bytes());
    let data = call.check_str(1)?.as_bytes();
    let mut at = start_position(call.opt_int(2, 1)?, data.len()) - 1;
    if at > data.len() {
        return Err(call.arg_error(2, "initial position out of string"));
    }
    let mut count = 0;
    let patience = Patience::new(call.ctx);
    while let Some(field) = layout.next_field(at).map_err(|error| refuse(call, error))? {
        patience.step()?;
        if field.padding + field.size > data.len() - at {
            return Err(call.arg_error(1, "data string too short"));
        }
        at += field.padding;
        let bytes = &data[at..at + field.size];
        at += field.size;
        let value = match field.kind {
            Kind::Int | Kind::Uint => {
                let int = pack::get_int(bytes, layout.is_little(), field.kind == Kind::Int);
                Value::Int(int.map_err(|error| refuse(call, error))?)
            }
            Kind::Float => Value::Float(pack::get_float(bytes, layout.is_little())),
            Kind::Chars => call.ctx.try_string(bytes)?,
            Kind::Counted => {
                let len = pack::get_int(bytes, layout.is_little(), false)
                    .map_err(|error| refuse(call, error))?;
                let len = usize::try_from(len)
                    .ok()
                    .filter(|&len| len <= data.len() - at);
                let Some(len) = len else {
                    return Err(call.arg_error(1, "data string too short"));
                };
                at += len;
                call.ctx.try_string(&data[at - len..at])?
            }
            Kind::ZeroEnded => {
                let Some(len) = memchr::memchr(0, &data[at..]) else {
                    return Err(call.arg_error(1, "unfinished string for format 'z'"));
                };
                at += len + 1;
                call.ctx.try_string(&data[at - len - 1..at - 1])?
            }
            Kind::Padding | Kind::Nothing => continue,
        };
        call.push(value);
        count += 1;
    }
    call.push(Value::Int(at as i64 + 1));
    call.ret_top(count + 1)
}
