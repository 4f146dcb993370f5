//! List operations on values with metamethods: machines that make one access at a time.
//!
//! An operation lays out its slots and runs a loop; when an access has to call a function, the loop goes on in the
//! continuation, from where [`Call::state`] says. [`copy`] moves elements from list to list, [`gather`] collects them in a
//! fresh plain list, with which the operation then goes on as if it were the argument.

use super::{Move, concat_plain, insert_position, remove_position, sort};
use crate::vm::access::Access;
use crate::vm::error::Error;
use crate::vm::native::{Call, Flow, NativeResult};
use crate::vm::patience::Patience;
use crate::vm::table::Table;
use crate::vm::value::Value;

/// Finds out the length of slot 0 and goes on with it in `$next(call, length)`.
macro_rules! with_len {
    ($call:expr, $next:path) => {
        match $call.ctx.length($call.get(0))? {
            Access::Value(len) => {
                let len = checked_len($call, len)?;
                $next($call, len)
            }
            Access::Call { method, receiver } => $call.call(method, &[receiver], |call| {
                let len = call.result(0);
                let at = call.results();
                call.truncate(at);
                let len = checked_len(call, len)?;
                $next(call, len)
            }),
        }
    };
}

fn checked_len<'gc>(call: &mut Call<'gc>, len: Value<'gc>) -> Result<i64, Error<'gc>> {
    let len = match len {
        Value::Int(len) => Some(len),
        Value::Float(len) => crate::text::number::float_to_int(len),
        Value::Str(text) => match crate::text::number::parse(text.as_bytes()) {
            Some(crate::text::number::Number::Int(len)) => Some(len),
            _ => None,
        },
        _ => None,
    };
    len.ok_or_else(|| call.error("object length is not an integer"))
}

fn int_at(call: &Call<'_>, slot: usize) -> i64 {
    match call.get(slot) {
        Value::Int(int) => int,
        _ => 0,
    }
}

/// Slots of the copying machine.
mod copying {
    pub const SOURCE: usize = 0;
    pub const TARGET: usize = 1;
    pub const FROM: usize = 2;
    pub const TO: usize = 3;
    pub const COUNT: usize = 4;
    /// Whether to begin at the end.
    pub const BACKWARDS: usize = 5;
    /// A last element to store, unless the key is nil.
    pub const LAST_KEY: usize = 6;
    pub const LAST_VALUE: usize = 7;
    /// The result; none if `RETURNS` is false.
    pub const RESULT: usize = 8;
    pub const RETURNS: usize = 9;
    pub const SLOTS: usize = 10;
}

/// A copy to be made, and what comes after it.
struct Copy<'gc> {
    source: Value<'gc>,
    target: Value<'gc>,
    range: Move,
    last: Option<(i64, Value<'gc>)>,
    result: Option<Value<'gc>>,
}

fn begin_copy<'gc>(call: &mut Call<'gc>, copy: Copy<'gc>) -> NativeResult<'gc> {
    let Copy {
        source,
        target,
        range,
        last,
        result,
    } = copy;
    call.truncate(0);
    for value in [
        source,
        target,
        Value::Int(range.from),
        Value::Int(range.to),
        Value::Int(range.count),
        Value::Bool(range.backwards),
        last.map(|(key, _)| key).into(),
        last.map_or(Value::Nil, |(_, value)| value),
        result.unwrap_or(Value::Nil),
        Value::Bool(result.is_some()),
    ] {
        call.push(value);
    }
    call.state = 0;
    self::copy(call)
}

/// Goes on copying with element `state`.
fn copy<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    let patience = Patience::new(call.ctx);
    while call.state < int_at(call, copying::COUNT) {
        patience.step()?;
        let key = Value::Int(int_at(call, copying::FROM).wrapping_add(offset(call)));
        match call.ctx.index(call.get(copying::SOURCE), key)? {
            Access::Value(value) => {
                if let Some(flow) = store_element(call, value)? {
                    return Ok(flow);
                }
            }
            Access::Call { method, receiver } => {
                return call.call(method, &[receiver, key], |call| {
                    let value = call.result(0);
                    call.truncate(copying::SLOTS);
                    call.push(value);
                    copy_read(call)
                });
            }
        }
    }
    let key = call.get(copying::LAST_KEY);
    if !key.is_nil() {
        call.set(copying::LAST_KEY, Value::Nil);
        let value = call.get(copying::LAST_VALUE);
        if let Some(flow) = store(call, key, value)? {
            return Ok(flow);
        }
    }
    if call.get(copying::RETURNS).is_truthy() {
        call.ret1(call.get(copying::RESULT))
    } else {
        call.ret0()
    }
}

/// How far the current element is from the beginning of its range.
fn offset(call: &Call<'_>) -> i64 {
    if call.get(copying::BACKWARDS).is_truthy() {
        int_at(call, copying::COUNT) - 1 - call.state
    } else {
        call.state
    }
}

/// Stores the element in the last slot, and goes on copying.
fn copy_read<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    let value = call.pop();
    match store_element(call, value)? {
        Some(flow) => Ok(flow),
        None => copy(call),
    }
}

fn store_element<'gc>(call: &mut Call<'gc>, value: Value<'gc>) -> Result<Option<Flow>, Error<'gc>> {
    let key = Value::Int(int_at(call, copying::TO).wrapping_add(offset(call)));
    call.state += 1;
    store(call, key, value).or_else(|error| {
        call.state -= 1;
        call.push(value);
        let flow = call.or_again(Err(error), copying::SLOTS + 1, copy_read)?;
        Ok(Some(flow))
    })
}

/// Stores into the target; if that takes a call, its flow is returned and copying goes on after it.
fn store<'gc>(
    call: &mut Call<'gc>,
    key: Value<'gc>,
    value: Value<'gc>,
) -> Result<Option<Flow>, Error<'gc>> {
    match call.ctx.set_index(call.get(copying::TARGET), key, value)? {
        None => Ok(None),
        Some((method, receiver)) => {
            let flow = call.call(method, &[receiver, key, value], |call| {
                call.truncate(copying::SLOTS);
                copy(call)
            })?;
            Ok(Some(flow))
        }
    }
}

pub(super) fn insert<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    with_len!(call, insert_at)
}

fn insert_at<'gc>(call: &mut Call<'gc>, len: i64) -> NativeResult<'gc> {
    let next = len.wrapping_add(1);
    let position = insert_position(call, next)?;
    let list = call.get(0);
    let value = call.get(call.len() - 1);
    let range = Move {
        from: position,
        count: next - position,
        to: position + 1,
        backwards: true,
    };
    begin_copy(
        call,
        Copy {
            source: list,
            target: list,
            range,
            last: Some((position, value)),
            result: None,
        },
    )
}

pub(super) fn remove<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    with_len!(call, remove_at)
}

fn remove_at<'gc>(call: &mut Call<'gc>, len: i64) -> NativeResult<'gc> {
    let position = remove_position(call, len)?;
    let list = call.get(0);
    call.truncate(1);
    call.push(Value::Int(position));
    call.push(Value::Int(len));
    match call.ctx.index(list, Value::Int(position))? {
        Access::Value(removed) => remove_found(call, removed),
        Access::Call { method, receiver } => {
            call.call(method, &[receiver, Value::Int(position)], |call| {
                let removed = call.result(0);
                remove_found(call, removed)
            })
        }
    }
}

fn remove_found<'gc>(call: &mut Call<'gc>, removed: Value<'gc>) -> NativeResult<'gc> {
    let (list, position, len) = (call.get(0), int_at(call, 1), int_at(call, 2));
    let last = position.max(len);
    let range = Move {
        from: position.wrapping_add(1),
        count: last - position,
        to: position,
        backwards: false,
    };
    begin_copy(
        call,
        Copy {
            source: list,
            target: list,
            range,
            last: Some((last, Value::Nil)),
            result: Some(removed),
        },
    )
}

pub(super) fn move_<'gc>(call: &mut Call<'gc>, target: usize, range: Move) -> NativeResult<'gc> {
    let (source, target) = (call.get(0), call.get(target));
    begin_copy(
        call,
        Copy {
            source,
            target,
            range,
            last: None,
            result: Some(target),
        },
    )
}

/// Copies a sorted list back to where it came from.
pub(super) fn put_back<'gc>(
    call: &mut Call<'gc>,
    list: Table<'gc>,
    len: i64,
    target: Value<'gc>,
) -> NativeResult<'gc> {
    let range = Move {
        from: 1,
        count: len,
        to: 1,
        backwards: false,
    };
    begin_copy(
        call,
        Copy {
            source: list.into(),
            target,
            range,
            last: None,
            result: None,
        },
    )
}

/// Slots of the gathering machine.
mod gathering {
    pub const SOURCE: usize = 0;
    /// The fresh list.
    pub const LIST: usize = 1;
    pub const FIRST: usize = 2;
    pub const COUNT: usize = 3;
    /// What to do with the list.
    pub const USE: usize = 4;
    /// The separator, or the comparison.
    pub const EXTRA: usize = 5;
    pub const SLOTS: usize = 6;
}

/// What to do with a list that has been gathered.
#[derive(Clone, Copy)]
enum Use {
    Unpack = 0,
    Concat = 1,
    Sort = 2,
}

fn begin_gather<'gc>(
    call: &mut Call<'gc>,
    first: i64,
    count: i64,
    extra: Value<'gc>,
    purpose: Use,
) -> NativeResult<'gc> {
    let source = call.get(0);
    let list = Table::new(call.ctx);
    call.truncate(0);
    for value in [
        source,
        list.into(),
        Value::Int(first),
        Value::Int(count),
        Value::Int(purpose as i64),
        extra,
    ] {
        call.push(value);
    }
    call.state = 0;
    gather(call)
}

/// Goes on gathering with element `state`.
fn gather<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    let count = int_at(call, gathering::COUNT);
    let patience = Patience::new(call.ctx);
    while call.state < count {
        patience.step()?;
        let key = Value::Int(int_at(call, gathering::FIRST).wrapping_add(call.state));
        match call.ctx.index(call.get(gathering::SOURCE), key)? {
            Access::Value(value) => {
                if let Err(error) = keep(call, value) {
                    call.push(value);
                    return call.or_again(Err(error), gathering::SLOTS + 1, gather_read);
                }
            }
            Access::Call { method, receiver } => {
                return call.call(method, &[receiver, key], |call| {
                    let value = call.result(0);
                    call.truncate(gathering::SLOTS);
                    call.push(value);
                    gather_read(call)
                });
            }
        }
    }
    let (source, extra) = (call.get(gathering::SOURCE), call.get(gathering::EXTRA));
    let (Value::Table(list), Value::Int(purpose)) =
        (call.get(gathering::LIST), call.get(gathering::USE))
    else {
        return call.ret0();
    };
    if purpose == Use::Sort as i64 {
        return sort::begin(call, list, count, extra, source);
    }
    if purpose == Use::Concat as i64 {
        let shown = int_at(call, gathering::FIRST);
        let result = concat_plain(call, list, extra, (1, count), shown);
        return call.or_again(result, gathering::SLOTS, gather);
    }
    if !call.reserve(count as usize) {
        let error = call.error("too many results to unpack");
        let error = call.shortage().unwrap_or(error);
        return call.or_again(Err(error), gathering::SLOTS, gather);
    }
    for index in 1..=count {
        call.push(list.get_int(call.ctx, index));
    }
    call.ret_top(count as usize)
}

/// Keeps the element in the last slot, and goes on gathering.
fn gather_read<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    let value = call.get(gathering::SLOTS);
    if let Err(error) = keep(call, value) {
        return call.or_again(Err(error), gathering::SLOTS + 1, gather_read);
    }
    call.truncate(gathering::SLOTS);
    gather(call)
}

fn keep<'gc>(call: &mut Call<'gc>, value: Value<'gc>) -> Result<(), Error<'gc>> {
    if let Value::Table(list) = call.get(gathering::LIST) {
        list.set_int(call.ctx, call.state + 1, value)?;
    }
    call.state += 1;
    Ok(())
}

/// `unpack` without a last position.
pub(super) fn unpack_len<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    with_len!(call, unpack_to)
}

fn unpack_to<'gc>(call: &mut Call<'gc>, len: i64) -> NativeResult<'gc> {
    call.set(2, Value::Int(len));
    super::unpack(call)
}

pub(super) fn unpack<'gc>(call: &mut Call<'gc>, first: i64, count: usize) -> NativeResult<'gc> {
    begin_gather(call, first, count as i64, Value::Nil, Use::Unpack)
}

pub(super) fn concat<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    // The length is asked for even if the last position is given.
    with_len!(call, concat_to)
}

fn concat_to<'gc>(call: &mut Call<'gc>, len: i64) -> NativeResult<'gc> {
    let first = call.opt_int(2, 1)?;
    let last = call.opt_int(3, len)?;
    let separator = call.get(1);
    let count = if first > last {
        0
    } else {
        last.wrapping_sub(first).saturating_add(1)
    };
    begin_gather(call, first, count, separator, Use::Concat)
}

pub(super) fn sort<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    with_len!(call, sort_to)
}

fn sort_to<'gc>(call: &mut Call<'gc>, len: i64) -> NativeResult<'gc> {
    let comparison = sort::check_comparison(call, len)?;
    begin_gather(call, 1, len, comparison, Use::Sort)
}
