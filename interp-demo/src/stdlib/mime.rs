//! `mime.core`: what LuaSocket's `mime.lua` stands on. The filters are pure ([`crate::text::mime`]).
//!
//! Each takes two strings: what was left over from the piece before, and the piece. It returns what it made of them, and what is left
//! over. Without a piece the text ends; without either there was none.

use super::{Functions, fill};
use crate::text::mime::{self, Rest};
use crate::vm::buffer::Buffer;
use crate::vm::error::Error;
use crate::vm::native::{Call, NativeResult};
use crate::vm::patience::PIECE_BYTES;
use crate::vm::state::Ctx;
use crate::vm::string::LuaStr;
use crate::vm::table::Table;
use crate::vm::value::Value;

const FUNCTIONS: Functions = &[
    ("b64", b64),
    ("dot", dot),
    ("eol", eol),
    ("qp", qp),
    ("qpwrp", qpwrp),
    ("unb64", unb64),
    ("unqp", unqp),
    ("wrp", wrp),
];

const LINE_BYTES: f64 = 76.0;

/// Makes `require "mime.core"` work. The library is made when it is first required.
pub(super) fn open(ctx: Ctx<'_>) {
    super::package::preload(ctx, "mime.core", load);
}

fn load<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    let ctx = call.ctx;
    let library = Table::new(ctx);
    fill(ctx, library, FUNCTIONS);
    library.set_name(ctx, "_VERSION", ctx.string(b"MIME 1.0.3"));
    call.ret1(library)
}

/// What a byte that is no line end may become.
const MOST_FACTOR: usize = 3;

/// So much is made of a piece at most, where line ends become the marker in slot 2.
fn most_bytes<'gc>(call: &Call<'gc>, piece: LuaStr<'gc>) -> usize {
    let ends = memchr::memchr2_iter(b'\r', b'\n', piece.as_bytes()).count();
    let marker = match call.get(2) {
        Value::Str(marker) => marker.len(),
        _ => 2,
    };
    let own = piece.len().saturating_mul(MOST_FACTOR);
    own.saturating_add(ends.saturating_mul(marker))
}

/// Runs a filter over the strings in slots 0 and 1; `end` where there is none in slot 1.
fn filter<'gc>(
    call: &mut Call<'gc>,
    mut step: impl FnMut(&[u8], &mut Rest, &mut Vec<u8>),
    end: impl FnOnce(&mut Rest, &mut Vec<u8>),
) -> NativeResult<'gc> {
    let Some(first) = call.opt_str(0)? else {
        return call.ret(&[Value::Nil, Value::Nil]);
    };
    let (mut rest, mut out) = (Rest::default(), Buffer::new());
    let mut take = |call: &Call<'gc>, text: LuaStr<'gc>, rest: &mut Rest, out: &mut Buffer| {
        out.make_room(call.ctx, most_bytes(call, text))?;
        for piece in text.as_bytes().chunks(PIECE_BYTES) {
            call.ctx.look()?;
            step(piece, rest, out);
        }
        Ok(())
    };
    take(call, first, &mut rest, &mut out)?;
    let Some(second) = call.opt_str(1)? else {
        end(&mut rest, &mut out);
        let made = match out.is_empty() {
            true => Value::Nil,
            false => call.ctx.try_string(&out)?,
        };
        return call.ret(&[made, Value::Nil]);
    };
    take(call, second, &mut rest, &mut out)?;
    let (made, left) = (call.ctx.try_string(&out)?, call.ctx.string(rest.bytes()));
    call.ret(&[made, left])
}

/// `b64(left over [, piece])`
fn b64<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    filter(call, mime::encode_base64, mime::end_base64)
}

/// `unb64(left over [, piece])`
fn unb64<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    filter(call, mime::decode_base64, |_, _| ())
}

/// `qp(left over [, piece [, marker]])`
fn qp<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    let marker = marker(call)?;
    filter(
        call,
        |piece, rest, out| mime::encode_quoted(piece, rest, marker, out),
        mime::end_quoted,
    )
}

/// `unqp(left over [, piece])`
fn unqp<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    filter(call, mime::decode_quoted, |_, _| ())
}

/// The line end in slot 2.
fn marker<'gc>(call: &mut Call<'gc>) -> Result<&'gc [u8], Error<'gc>> {
    Ok(call.opt_str(2)?.map_or(b"\r\n", |marker| marker.as_bytes()))
}

/// `wrp(room in the line [, piece [, length]])`
fn wrp<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    wrapped(call, false)
}

/// `qpwrp(room in the line [, piece [, length]])`
fn qpwrp<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    wrapped(call, true)
}

fn wrapped<'gc>(call: &mut Call<'gc>, quoted: bool) -> NativeResult<'gc> {
    // Lengths that are no integers are cut off, as in LuaSocket; and its numbers are floats.
    let left = call.check_float(0)? as i64;
    let piece = call.opt_str(1)?;
    let length = call.opt_float(2, LINE_BYTES)? as i64;
    let Some(piece) = piece else {
        let end = mime::end_wrapped(left, length, quoted);
        let end = end.map(|end| call.ctx.string(end));
        return call.ret(&[end.into(), Value::Float(length as f64)]);
    };
    let mut out = Buffer::new();
    out.make_room(call.ctx, piece.len().saturating_mul(MOST_FACTOR))?;
    let wrap = if quoted {
        mime::wrap_quoted
    } else {
        mime::wrap
    };
    let left = wrap(piece.as_bytes(), left, length, &mut out);
    ret_numbered(call, &out, left)
}

/// `eol(half of a line end, [piece [, marker]])`
fn eol<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    let last = call.check_int(0)?;
    let Some(piece) = call.opt_str(1)? else {
        return call.ret(&[Value::Nil, Value::Float(0.0)]);
    };
    let marker = marker(call)?;
    let mut out = Buffer::new();
    out.make_room(call.ctx, most_bytes(call, piece))?;
    let last = mime::normalize(piece.as_bytes(), last, marker, &mut out);
    ret_numbered(call, &out, last)
}

/// `dot(state [, piece])`
fn dot<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    let state = call.check_float(0)? as i64;
    let Some(piece) = call.opt_str(1)? else {
        return call.ret(&[Value::Nil, Value::Float(2.0)]);
    };
    let mut out = Buffer::new();
    out.make_room(call.ctx, piece.len().saturating_mul(2))?;
    let state = mime::stuff(piece.as_bytes(), state, &mut out);
    ret_numbered(call, &out, state)
}

fn ret_numbered<'gc>(call: &mut Call<'gc>, text: &[u8], number: i64) -> NativeResult<'gc> {
    let text = call.ctx.try_string(text)?;
    call.ret(&[text, Value::Float(number as f64)])
}
