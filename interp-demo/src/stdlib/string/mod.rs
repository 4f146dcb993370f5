//! Strings.

mod arith;
mod find;
mod format;
mod gsub;
mod pack;

use super::{Functions, register};
use crate::vm::buffer::Buffer;
use crate::vm::native::{Call, NativeResult};
use crate::vm::patience::PIECE_BYTES;
use crate::vm::state::Ctx;
use crate::vm::table::Table;
use crate::vm::value::{Type, Value};

/// So much is copied at once.
const MOST_COPIED_BYTES: usize = 16 << 20;

/// The longest string that a function of this library makes on purpose.
pub(super) const MAX_BYTES: usize = i32::MAX as usize;

/// All of them change nothing but what they make.
const FUNCTIONS: Functions = &[
    ("byte", byte),
    ("char", char),
    ("dump", dump),
    ("find", find::find),
    ("format", format::format),
    ("gmatch", find::gmatch),
    ("gsub", gsub::gsub),
    ("len", len),
    ("lower", |call| map(call, u8::to_ascii_lowercase)),
    ("match", find::match_),
    ("pack", pack::pack),
    ("packsize", pack::packsize),
    ("rep", rep),
    ("reverse", reverse),
    ("sub", sub),
    ("unpack", pack::unpack),
    ("upper", |call| map(call, u8::to_ascii_uppercase)),
];

pub(super) fn open(ctx: Ctx<'_>) {
    let library = register(ctx, "string", &[]);
    super::fill_repeatable(ctx, library, FUNCTIONS);
    let metatable = Table::new(ctx);
    super::fill(ctx, metatable, arith::METHODS);
    metatable.set_name(ctx, "__index", library);
    ctx.state
        .set_type_metatable(ctx, Type::String, Some(metatable));
}

/// A start position as it is written, brought into `1..`; negative ones count from the end.
#[inline]
pub(super) fn start_position(position: i64, len: usize) -> usize {
    match position {
        1.. => usize::try_from(position).unwrap_or(usize::MAX),
        0 => 1,
        _ => match usize::try_from(position.unsigned_abs()) {
            Ok(back) if back <= len => len - back + 1,
            _ => 1,
        },
    }
}

/// An end position as it is written, brought into `0..=len`; negative ones count from the end.
#[inline]
fn end_position(position: i64, len: usize) -> usize {
    match usize::try_from(position) {
        Ok(position) => position.min(len),
        Err(_) => match usize::try_from(position.unsigned_abs()) {
            Ok(back) if back <= len => len - back + 1,
            _ => 0,
        },
    }
}

fn len<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    let len = call.check_str(0)?.len();
    call.ret1(len as i64)
}

fn sub<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    let text = call.check_str(0)?;
    let start = start_position(call.check_int(1)?, text.len());
    let end = end_position(call.opt_int(2, -1)?, text.len());
    let part = if start <= end {
        &text.as_bytes()[start - 1..end]
    } else {
        &[]
    };
    let part = if part.len() == text.len() {
        text.into()
    } else {
        call.ctx.try_string(part)?
    };
    call.ret1(part)
}

fn map<'gc>(call: &mut Call<'gc>, change: fn(&u8) -> u8) -> NativeResult<'gc> {
    let text = call.check_str(0)?.as_bytes();
    let mut changed = Buffer::new();
    changed.make_room(call.ctx, text.len())?;
    for piece in text.chunks(PIECE_BYTES) {
        call.ctx.look()?;
        changed.extend(piece.iter().map(change));
    }
    let text = call.ctx.try_string(&changed)?;
    call.ret1(text)
}

fn reverse<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    let text = call.check_str(0)?.as_bytes();
    let mut reversed = Buffer::new();
    reversed.make_room(call.ctx, text.len())?;
    for piece in text.rchunks(PIECE_BYTES) {
        call.ctx.look()?;
        reversed.extend(piece.iter().rev());
    }
    let text = call.ctx.try_string(&reversed)?;
    call.ret1(text)
}

fn rep<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    let text = call.check_str(0)?.as_bytes();
    let count = call.check_int(1)?;
    let separator = call.opt_str(2)?.map_or(&b""[..], |text| text.as_bytes());
    let Some(count) = usize::try_from(count).ok().filter(|&count| count > 0) else {
        let empty = call.ctx.string(b"");
        return call.ret1(empty);
    };
    let bytes = (text.len() + separator.len())
        .checked_mul(count)
        .filter(|&bytes| bytes <= MAX_BYTES);
    let Some(bytes) = bytes else {
        return Err(call.error("resulting string too large"));
    };
    let bytes = bytes - separator.len();
    let mut result = Buffer::new();
    result.make_room(call.ctx, bytes)?;
    result.extend_from_slice(text);
    if count > 1 {
        result.extend_from_slice(separator);
    }
    // What is there is a whole number of turns, and so is what is appended.
    let turn = result.len().max(1);
    let turns = (MOST_COPIED_BYTES / turn).max(1) * turn;
    while result.len() < bytes {
        call.ctx.look()?;
        let more = result.len().min(bytes - result.len()).min(turns);
        result.extend_from_within(..more);
    }
    let result = call.ctx.try_string(&result)?;
    call.ret1(result)
}

fn byte<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    let text = call.check_str(0)?.as_bytes();
    let first = call.opt_int(1, 1)?;
    let start = start_position(first, text.len());
    let end = end_position(call.opt_int(2, first)?, text.len());
    if start > end {
        return call.ret0();
    }
    let part = &text[start - 1..end];
    if let &[byte] = part {
        return call.ret1(Value::Int(i64::from(byte)));
    }
    if part.len() >= MAX_BYTES {
        return Err(call.error("string slice too long"));
    }
    if !call.reserve(part.len()) {
        return Err(call.error("stack overflow (string slice too long)"));
    }
    for &byte in part {
        call.push(Value::Int(i64::from(byte)));
    }
    call.ret_top(part.len())
}

fn char<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    let mut text = Buffer::new();
    text.make_room(call.ctx, call.len())?;
    for index in 0..call.len() {
        match u8::try_from(call.check_int(index)?) {
            Ok(byte) => text.push(byte),
            Err(_) => return Err(call.arg_error(index, "value out of range")),
        }
    }
    let text = call.ctx.try_string(&text)?;
    call.ret1(text)
}

fn dump<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    let Value::Closure(function) = call.check_function(0)? else {
        return Err(call.error("unable to dump given function"));
    };
    let strip = call.get(1).is_truthy();
    let binary = crate::dump::save(function.proto(), strip);
    let binary = call.ctx.try_string(&binary)?;
    call.ret1(binary)
}
