//! Tables as lists.
//!
//! A list without a metatable is worked on directly. One with metamethods goes through [`slow`], whose machines make
//! one access at a time.

mod slow;
mod sort;
mod sorter;

use super::{Functions, register};
use crate::vm::buffer::Buffer;
use crate::vm::error::Error;
use crate::vm::native::{Call, NativeResult};
use crate::vm::patience::Patience;
use crate::vm::state::Ctx;
use crate::vm::table::Table;
use crate::vm::value::Value;

const FUNCTIONS: Functions = &[("move", move_), ("remove", remove), ("sort", sort::sort)];

/// What comes first in these is what may fail.
const REPEATABLE: Functions = &[
    ("concat", concat),
    ("insert", insert),
    ("pack", pack),
    ("unpack", unpack),
];

pub(super) fn open(ctx: Ctx<'_>) {
    let library = register(ctx, "table", FUNCTIONS);
    super::fill_repeatable(ctx, library, REPEATABLE);
}

/// What a list operation does to its argument.
#[derive(Clone, Copy)]
struct Needs {
    read: bool,
    write: bool,
    len: bool,
}

const READ: Needs = Needs {
    read: true,
    write: false,
    len: false,
};
const READ_LEN: Needs = Needs {
    read: true,
    write: false,
    len: true,
};
const WRITE: Needs = Needs {
    read: false,
    write: true,
    len: false,
};
const ALL: Needs = Needs {
    read: true,
    write: true,
    len: true,
};

/// What stands in a slot where a list is expected.
enum List<'gc> {
    /// A table without a metatable.
    Plain(Table<'gc>),
    /// Something that may have the metamethods that are needed.
    Slow,
}

fn check_list<'gc>(
    call: &mut Call<'gc>,
    slot: usize,
    needs: Needs,
) -> Result<List<'gc>, Error<'gc>> {
    let value = call.get(slot);
    match value {
        Value::Table(table) if table.metatable().is_none() => return Ok(List::Plain(table)),
        Value::Table(_) => return Ok(List::Slow),
        _ => {}
    }
    let lacks = |needed: bool, name: &str| needed && call.ctx.metafield(value, name).is_nil();
    if call.ctx.metatable(value).is_none()
        || lacks(needs.read, "__index")
        || lacks(needs.write, "__newindex")
        || lacks(needs.len, "__len")
    {
        return Err(call.type_error(slot, "table"));
    }
    Ok(List::Slow)
}

fn insert<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    let List::Plain(table) = check_list(call, 0, ALL)? else {
        return slow::insert(call);
    };
    let next = table.len(call.ctx).wrapping_add(1);
    let position = insert_position(call, next)?;
    let value = call.get(call.len() - 1);
    let patience = Patience::new(call.ctx);
    for index in (position..next).rev() {
        patience.step()?;
        table.set_int(call.ctx, index + 1, table.get_int(call.ctx, index))?;
    }
    table.set_int(call.ctx, position, value)?;
    call.ret0()
}

/// Where `insert` is to put its value, in a list whose first free position is `next`.
fn insert_position<'gc>(call: &mut Call<'gc>, next: i64) -> Result<i64, Error<'gc>> {
    match call.len() {
        2 => Ok(next),
        3 => {
            let position = call.check_int(1)?;
            // Compared as unsigned numbers, in case `next` has overflowed.
            if position.wrapping_sub(1).cast_unsigned() >= next.cast_unsigned() {
                return Err(call.arg_error(1, "position out of bounds"));
            }
            Ok(position)
        }
        _ => Err(call.error("wrong number of arguments to 'insert'")),
    }
}

fn remove<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    let List::Plain(table) = check_list(call, 0, ALL)? else {
        return slow::remove(call);
    };
    let size = table.len(call.ctx);
    let position = remove_position(call, size)?;
    let removed = table.get_int(call.ctx, position);
    let last = position.max(size);
    let patience = Patience::new(call.ctx);
    for index in position..last {
        patience.step()?;
        table.set_int(call.ctx, index, table.get_int(call.ctx, index + 1))?;
    }
    table.set_int(call.ctx, last, Value::Nil)?;
    call.ret1(removed)
}

/// Which position `remove` is to remove, in a list of `size` elements.
fn remove_position<'gc>(call: &mut Call<'gc>, size: i64) -> Result<i64, Error<'gc>> {
    let position = call.opt_int(1, size)?;
    if position != size
        && size.wrapping_add(1).wrapping_sub(position).cast_unsigned() > size.cast_unsigned()
    {
        return Err(call.arg_error(0, "position out of bounds"));
    }
    Ok(position)
}

/// The arguments of `move`: what to copy, and where to.
#[derive(Clone, Copy)]
struct Move {
    from: i64,
    count: i64,
    to: i64,
    /// Whether to begin at the end, since the ranges overlap.
    backwards: bool,
}

fn move_<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    let (from, end, to) = (call.check_int(1)?, call.check_int(2)?, call.check_int(3)?);
    let target = if call.is_none_or_nil(4) { 0 } else { 4 };
    let source_list = check_list(call, 0, READ)?;
    let target_list = check_list(call, target, WRITE)?;
    if end < from {
        return call.ret1(call.get(target));
    }
    if !(from > 0 || end < i64::MAX + from) {
        return Err(call.arg_error(2, "too many elements to move"));
    }
    let count = end - from + 1;
    if to > i64::MAX - count + 1 {
        return Err(call.arg_error(3, "destination wrap around"));
    }
    let overlaps = to > from && to <= end && call.get(0).raw_equals(call.get(target));
    let range = Move {
        from,
        count,
        to,
        backwards: overlaps,
    };
    let (List::Plain(source), List::Plain(target)) = (source_list, target_list) else {
        return slow::move_(call, target, range);
    };
    // `state` counts what has been copied: a second attempt goes on from there.
    let patience = Patience::new(call.ctx);
    for step in call.state..count {
        patience.step()?;
        let offset = if range.backwards {
            count - 1 - step
        } else {
            step
        };
        let value = source.get_int(call.ctx, from + offset);
        if let Err(error) = target.set_int(call.ctx, to + offset, value) {
            call.state = step;
            let arguments = call.results();
            return call.or_again(Err(error), arguments, move_);
        }
    }
    call.ret1(target)
}

fn pack<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    let count = call.len();
    let table = Table::with_capacity(call.ctx, count as u32, 1)?;
    for index in 0..count {
        table.set_int(call.ctx, index as i64 + 1, call.get(index))?;
    }
    table.set_name(call.ctx, "n", count as i64);
    call.ret1(table)
}

fn unpack<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    let list = match call.get(0) {
        Value::Table(table) if table.metatable().is_none() => Some(table),
        _ => None,
    };
    let first = call.opt_int(1, 1)?;
    let last = match (call.is_none_or_nil(2), list) {
        (false, _) => call.check_int(2)?,
        (true, Some(table)) => table.len(call.ctx),
        (true, None) => return slow::unpack_len(call),
    };
    if first > last {
        return call.ret0();
    }
    let count = last.wrapping_sub(first).cast_unsigned().wrapping_add(1);
    let count = usize::try_from(count)
        .ok()
        .filter(|&count| count > 0 && count < i32::MAX as usize);
    let Some(count) = count.filter(|&count| call.reserve(count)) else {
        return Err(call.error("too many results to unpack"));
    };
    let Some(table) = list else {
        return slow::unpack(call, first, count);
    };
    call.ctx.look_for(count as u32)?;
    for index in first..=last {
        call.push(table.get_int(call.ctx, index));
    }
    call.ret_top(count)
}

fn concat<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    let list = check_list(call, 0, READ_LEN)?;
    call.opt_str(1)?;
    let List::Plain(table) = list else {
        return slow::concat(call);
    };
    let first = call.opt_int(2, 1)?;
    let last = call.opt_int(3, table.len(call.ctx))?;
    concat_plain(call, table, call.get(1), (first, last), first)
}

/// Joins the elements of `table` from `first` to `last`; in messages the first one is called `shown`.
fn concat_plain<'gc>(
    call: &mut Call<'gc>,
    table: Table<'gc>,
    separator: Value<'gc>,
    (first, last): (i64, i64),
    shown: i64,
) -> NativeResult<'gc> {
    let separator = match separator {
        Value::Str(text) => text.as_bytes(),
        _ => b"",
    };
    let mut out = Buffer::new();
    let mut index = first;
    let patience = Patience::new(call.ctx);
    while index <= last {
        patience.step()?;
        match table.get_int(call.ctx, index) {
            Value::Str(text) => {
                out.make_room(call.ctx, text.len())?;
                out.extend_from_slice(text.as_bytes());
            }
            Value::Int(int) => crate::text::number::write_int(&mut out, int),
            Value::Float(float) => crate::text::number::write_float(&mut out, float),
            other => {
                let at = index.wrapping_sub(first).wrapping_add(shown);
                let kind = other.type_name();
                return Err(call.error(format!(
                    "invalid value ({kind}) at index {at} in table for 'concat'"
                )));
            }
        }
        if index == last {
            break;
        }
        out.make_room(call.ctx, separator.len())?;
        out.extend_from_slice(separator);
        index += 1;
    }
    let text = call.ctx.try_string(&out)?;
    call.ret1(text)
}
