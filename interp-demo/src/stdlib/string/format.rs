//! `string.format`.

use crate::stdlib::text_of;
use crate::text::format::{self, Directive, FormatError, Piece, Pieces, Spec};
use crate::vm::buffer::Buffer;
use crate::vm::error::Error;
use crate::vm::native::{Call, NativeResult};
use crate::vm::patience::PIECE_BYTES;
use crate::vm::value::Value;

/// From this length on a string without precision is taken as it is, whatever its width.
const LONG_BYTES: usize = 100;

/// What `%q` may add to a byte.
const MAX_ESCAPE_BYTES: usize = 3;

pub(super) fn format<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    let format = call.check_str(0)?.as_bytes();
    let mut out = Buffer::new();
    out.make_room(call.ctx, format.len() + 16)?;
    let mut slot = 0;
    for piece in Pieces::new(format) {
        match piece {
            Ok(Piece::Literal(text)) => {
                out.make_room(call.ctx, text.len())?;
                out.extend_from_slice(text);
            }
            Ok(Piece::Directive(directive)) => {
                slot += 1;
                if let Value::Str(text) = call.get(slot) {
                    out.make_room(call.ctx, text.len())?;
                }
                if slot >= call.len() {
                    return Err(call.arg_error(slot, "no value"));
                }
                if let Some(metamethod) = write(call, &mut out, directive, slot)? {
                    // The text takes the place of the value, then all is done again.
                    call.state = slot as i64;
                    let value = call.get(slot);
                    return call.call(metamethod, &[value], |call| {
                        let text = text_of::returned_text(call)?;
                        let args = call.results();
                        call.truncate(args);
                        call.set(call.state as usize, text);
                        let result = self::format(call);
                        call.or_again(result, args, self::format)
                    });
                }
            }
            Err(error) => return Err(refuse(call, &error)),
        }
    }
    let text = call.ctx.try_string(&out)?;
    call.ret1(text)
}

fn refuse<'gc>(call: &mut Call<'gc>, error: &FormatError) -> Error<'gc> {
    call.error(error.message())
}

fn check<'gc>(call: &mut Call<'gc>, directive: Directive<'_>) -> Result<Spec, Error<'gc>> {
    directive.check().map_err(|error| refuse(call, &error))
}

/// Writes the value in `slot`, or returns the `__tostring` metamethod that must be called first.
fn write<'gc>(
    call: &mut Call<'gc>,
    out: &mut Buffer,
    directive: Directive<'_>,
    slot: usize,
) -> Result<Option<Value<'gc>>, Error<'gc>> {
    match directive.conversion() {
        b'c' => {
            let spec = check(call, directive)?;
            let byte = call.check_int(slot)? as u8;
            format::string(out, &spec, &[byte]);
        }
        b'd' | b'i' | b'u' | b'o' | b'x' | b'X' => {
            let value = call.check_int(slot)?;
            let spec = check(call, directive)?;
            format::integer(out, &spec, value);
        }
        b'a' | b'A' => {
            let spec = check(call, directive)?;
            let value = call.check_float(slot)?;
            format::float(out, &spec, value);
        }
        b'e' | b'E' | b'f' | b'g' | b'G' => {
            let value = call.check_float(slot)?;
            let spec = check(call, directive)?;
            format::float(out, &spec, value);
        }
        b'p' => {
            let spec = check(call, directive)?;
            let address = call.get(slot).address().map(<*const ()>::addr);
            format::pointer(out, &spec, address);
        }
        b'q' => {
            check(call, directive)?;
            quote(call, out, slot)?;
        }
        b's' => return write_string(call, out, directive, slot),
        _ => return Err(refuse(call, &directive.unknown())),
    }
    Ok(None)
}

fn write_string<'gc>(
    call: &mut Call<'gc>,
    out: &mut Vec<u8>,
    directive: Directive<'_>,
    slot: usize,
) -> Result<Option<Value<'gc>>, Error<'gc>> {
    let value = call.get(slot);
    if directive.is_plain() {
        return Ok(text_of::write_text(call.ctx, value, out));
    }
    let mut short = Vec::new();
    let text = match value {
        Value::Str(text) => text.as_bytes(),
        _ => {
            if let Some(metamethod) = text_of::write_text(call.ctx, value, &mut short) {
                return Ok(Some(metamethod));
            }
            &short
        }
    };
    if text.contains(&0) {
        return Err(call.arg_error(slot, "string contains zeros"));
    }
    let spec = check(call, directive)?;
    if spec.precision.is_none() && text.len() >= LONG_BYTES {
        out.extend_from_slice(text);
    } else {
        format::string(out, &spec, text);
    }
    Ok(None)
}

fn quote<'gc>(call: &mut Call<'gc>, out: &mut Buffer, slot: usize) -> Result<(), Error<'gc>> {
    match call.get(slot) {
        Value::Str(text) => {
            let escaped = |byte: &&u8| byte.is_ascii_control() || matches!(byte, b'"' | b'\\');
            let more = text.as_bytes().iter().filter(escaped).count() * MAX_ESCAPE_BYTES;
            out.make_room(call.ctx, text.len() + more + 2)?;
            out.push(b'"');
            let mut pieces = text.as_bytes().chunks(PIECE_BYTES).peekable();
            while let Some(piece) = pieces.next() {
                call.ctx.look()?;
                let next = pieces.peek().and_then(|next| next.first().copied());
                format::quote_piece(out, piece, next);
            }
            out.push(b'"');
        }
        Value::Int(value) => format::quote_int(out, value),
        Value::Float(value) => format::quote_float(out, value),
        value @ (Value::Nil | Value::Bool(_)) => {
            text_of::write_text(call.ctx, value, out);
        }
        _ => return Err(call.arg_error(slot, "value has no literal form")),
    }
    Ok(())
}
