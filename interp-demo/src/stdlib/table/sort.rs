//! `table.sort`.

use std::cmp::Ordering;

use super::sorter::{Sorter, Step};
use super::{ALL, List, check_list, slow};
use crate::vm::access::Compare;
use crate::vm::buffer::Reservation;
use crate::vm::error::Error;
use crate::vm::native::{Call, NativeResult};
use crate::vm::patience::Patience;
use crate::vm::state::Ctx;
use crate::vm::table::Table;
use crate::vm::userdata::UserData;
use crate::vm::value::Value;

/// Slots.
const LIST: usize = 0;
const COMPARISON: usize = 1;
const SORTER: usize = 2;
/// Where the sorted list is to be copied to; nil if it has been sorted in place.
const ORIGINAL: usize = 3;
const SLOTS: usize = 4;

pub(super) fn sort<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    let List::Plain(table) = check_list(call, 0, ALL)? else {
        return slow::sort(call);
    };
    let len = table.len(call.ctx);
    let comparison = check_comparison(call, len)?;
    begin(call, table, len, comparison, Value::Nil)
}

/// The second argument of `sort`: a function, or nil for `<`.
pub(super) fn check_comparison<'gc>(
    call: &mut Call<'gc>,
    len: i64,
) -> Result<Value<'gc>, Error<'gc>> {
    if len <= 1 {
        return Ok(Value::Nil);
    }
    if len >= i64::from(i32::MAX) {
        return Err(call.arg_error(0, "array too big"));
    }
    if call.is_none_or_nil(1) {
        Ok(Value::Nil)
    } else {
        call.check_function(1)
    }
}

pub(super) fn begin<'gc>(
    call: &mut Call<'gc>,
    list: Table<'gc>,
    len: i64,
    comparison: Value<'gc>,
    original: Value<'gc>,
) -> NativeResult<'gc> {
    if comparison.is_nil() && sort_alike(call, list, len)? {
        call.state = len;
        return finish(call, list, len, original);
    }
    let sorter = UserData::new(call.ctx, Sorter::new(len.max(0).cast_unsigned()));
    call.truncate(0);
    for value in [list.into(), comparison, sorter.into(), original] {
        call.push(value);
    }
    call.state = len;
    run(call, false)
}

fn finish<'gc>(
    call: &mut Call<'gc>,
    list: Table<'gc>,
    len: i64,
    original: Value<'gc>,
) -> NativeResult<'gc> {
    if original.is_nil() {
        call.ret0()
    } else {
        slow::put_back(call, list, len, original)
    }
}

/// Sorts at once what needs no metamethods: lists of strings only, or of numbers only that are not NaN.
fn sort_alike<'gc>(call: &mut Call<'gc>, list: Table<'gc>, len: i64) -> Result<bool, Error<'gc>> {
    // Where there is no memory for a copy, the list is sorted where it is.
    let count = usize::try_from(len).unwrap_or(0);
    let mut values = Vec::new();
    let bytes = count.saturating_mul(size_of::<Value<'_>>());
    let Some(_room) = Reservation::new(call.ctx, bytes) else {
        return Ok(false);
    };
    if values.try_reserve_exact(count).is_err() {
        return Ok(false);
    }
    let (mut strings, mut ints, mut floats) = (true, true, true);
    let patience = Patience::new(call.ctx);
    for index in 1..=len {
        patience.step()?;
        let value = list.get_int(call.ctx, index);
        strings &= matches!(value, Value::Str(_));
        ints &= matches!(value, Value::Int(_));
        floats &= matches!(value, Value::Float(float) if !float.is_nan());
        if !(strings || ints || floats) {
            return Ok(false);
        }
        values.push(value);
    }
    sort_stoppable(call.ctx, &mut values, &|a, b| match (a, b) {
        (Value::Str(a), Value::Str(b)) => a.as_bytes().cmp(b.as_bytes()),
        (Value::Int(a), Value::Int(b)) => a.cmp(b),
        // No NaN is among them.
        (Value::Float(a), Value::Float(b)) => a.partial_cmp(b).unwrap_or(Ordering::Equal),
        _ => Ordering::Equal,
    })?;
    for (index, value) in values.into_iter().enumerate() {
        list.set_int(call.ctx, index as i64 + 1, value)?;
    }
    Ok(true)
}

/// Lists up to this length are sorted without a look whether the program is to stop.
const PIECE: usize = 1 << 17;

/// Sorts; splits long lists at their median, so that the program may be stopped.
fn sort_stoppable<'gc>(
    ctx: Ctx<'gc>,
    values: &mut [Value<'gc>],
    order: &impl Fn(&Value<'gc>, &Value<'gc>) -> Ordering,
) -> Result<(), Error<'gc>> {
    if values.len() <= PIECE {
        values.sort_unstable_by(order);
        return Ok(());
    }
    let middle = values.len() / 2;
    let (left, _, right) = values.select_nth_unstable_by(middle, order);
    ctx.look()?;
    sort_stoppable(ctx, left, order)?;
    ctx.look()?;
    sort_stoppable(ctx, right, order)
}

fn answered<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    let less = call.result(0).is_truthy();
    call.truncate(SLOTS);
    run(call, less)
}

fn run<'gc>(call: &mut Call<'gc>, mut less: bool) -> NativeResult<'gc> {
    let (Value::Table(list), Value::UserData(holder)) = (call.get(LIST), call.get(SORTER)) else {
        return call.ret0();
    };
    let comparison = call.get(COMPARISON);
    let patience = Patience::new(call.ctx);
    let at = |place: u64| list.get_int(call.ctx, place.cast_signed());
    loop {
        patience.step()?;
        let Some(mut sorter) = holder.borrow::<Sorter>() else {
            return call.ret0();
        };
        let step = sorter.step(less);
        drop(sorter);
        match step {
            Step::Compare(a, b) => {
                let (a, b) = (at(a), at(b));
                if !comparison.is_nil() {
                    return call.call_no_yield(comparison, &[a, b], answered);
                }
                match call.ctx.less_than(a, b)? {
                    Compare::Done(answer) => less = answer,
                    Compare::Call(function) => {
                        return call.call_no_yield(function, &[a, b], answered);
                    }
                }
            }
            Step::Swap(a, b) => {
                let (first, second) = (at(a), at(b));
                list.set_int(call.ctx, a.cast_signed(), second)?;
                list.set_int(call.ctx, b.cast_signed(), first)?;
            }
            Step::Done => {
                let (len, original) = (call.state, call.get(ORIGINAL));
                return finish(call, list, len, original);
            }
            Step::InvalidOrder => return Err(call.error("invalid order function for sorting")),
        }
    }
}
