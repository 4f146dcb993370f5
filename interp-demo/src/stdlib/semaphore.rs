//! The `semaphore` library: counted resources, in the names of copas.
//!
//! `semaphore.new(max [, start [, seconds]])` makes one with `start` resources (0 if none is given), which never has more than
//! `max`; `seconds` is how long `take` waits at most unless it is told otherwise, for ever if there is none.
//!
//! | method | what it does |
//! |---|---|
//! | `take([count [, seconds]])` | takes resources, and waits for them: true; nil and "timeout", "too many" or "destroyed" |
//! | `give([count])` | gives some back: true; nil and "too many" if there are `max` now |
//! | `get_count()`, `get_wait()` | how many there are; how many are missing for all that wait |
//! | `destroy()` | ends all waits |
//!
//! Who waits first is served first, also where a later one wants less.

use std::cell::RefMut;
use std::collections::VecDeque;

use super::waiting::{deadline_ns, is_over, park, ret_why, timeout_s, was_rung};
use super::{Functions, class, fill};
use crate::vm::error::Error;
use crate::vm::native::{Call, NativeResult};
use crate::vm::roster::Ticket;
use crate::vm::state::Ctx;
use crate::vm::table::Table;
use crate::vm::userdata::UserData;
use crate::vm::value::Value;

const METHODS: Functions = &[
    ("destroy", destroy),
    ("get_count", get_count),
    ("get_wait", get_wait),
    ("give", give),
    ("take", take),
];

const METATABLE: &str = "semaphore";

/// What stands behind a semaphore.
#[derive(Debug)]
struct Semaphore {
    count: i64,
    max: i64,
    timeout_s: f64,
    /// Who waits, and for how many.
    waiters: VecDeque<(Ticket, i64)>,
    is_destroyed: bool,
}

impl Semaphore {
    /// Serves those who wait, as far as there is enough.
    fn serve(&mut self, ctx: Ctx<'_>) {
        while let Some(&(ticket, wanted)) = self.waiters.front() {
            if wanted > self.count && ctx.is_parked(ticket) {
                break;
            }
            self.waiters.pop_front();
            if ctx.ring(ticket) {
                self.count -= wanted;
            }
        }
    }
}

/// Makes `require "semaphore"` work.
pub(super) fn open(ctx: Ctx<'_>) {
    super::package::preload(ctx, "semaphore", load);
}

fn load<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    let library = Table::new(call.ctx);
    fill(call.ctx, library, &[("new", new)]);
    call.ret1(library)
}

/// `new(max [, start [, seconds]])`
fn new<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    let ctx = call.ctx;
    let max = call.check_int(0)?;
    if max < 1 {
        return Err(call.arg_error(0, "max must be positive"));
    }
    let count = call.opt_int(1, 0)?;
    if !(0..=max).contains(&count) {
        return Err(call.arg_error(1, "start must be between 0 and max"));
    }
    let timeout_s = timeout_s(call, 2)?;
    let object = UserData::new(
        ctx,
        Semaphore {
            count,
            max,
            timeout_s,
            waiters: VecDeque::new(),
            is_destroyed: false,
        },
    );
    object.set_metatable(ctx, Some(class(ctx, METATABLE, METHODS, &[])));
    call.ret1(object)
}

/// The semaphore in slot 0.
fn this<'gc>(call: &Call<'gc>) -> Result<RefMut<'gc, Semaphore>, Error<'gc>> {
    match call.get(0) {
        Value::UserData(data) => data.borrow::<Semaphore>(),
        _ => None,
    }
    .ok_or_else(|| call.type_error(0, METATABLE))
}

/// A number of resources in slot 1; 1 if there is none.
fn count_arg<'gc>(call: &Call<'gc>) -> Result<i64, Error<'gc>> {
    let count = call.opt_int(1, 1)?;
    if count < 0 {
        return Err(call.arg_error(1, "count must not be negative"));
    }
    Ok(count)
}

/// `take([count [, seconds]])`
fn take<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    let ctx = call.ctx;
    let timeout_s = this(call)?.timeout_s;
    let wanted = count_arg(call)?;
    let deadline_ns = deadline_ns(call, 2, timeout_s)?;
    call.truncate(1);
    let mut semaphore = this(call)?;
    if semaphore.is_destroyed {
        return ret_why(call, "destroyed");
    }
    if wanted > semaphore.max {
        return ret_why(call, "too many");
    }
    semaphore.serve(ctx);
    if semaphore.waiters.is_empty() && semaphore.count >= wanted {
        semaphore.count -= wanted;
        return call.ret1(true);
    }
    if is_over(deadline_ns) {
        return ret_why(call, "timeout");
    }
    let ticket = ctx.ticket();
    semaphore.waiters.push_back((ticket, wanted));
    drop(semaphore);
    park(call, ticket, deadline_ns, |call| {
        let ctx = call.ctx;
        let was_rung = was_rung(call);
        let mut semaphore = this(call)?;
        if !was_rung {
            semaphore
                .waiters
                .retain(|&(ticket, _)| ctx.is_parked(ticket));
            // Those behind may want less.
            semaphore.serve(ctx);
            return ret_why(call, "timeout");
        }
        match semaphore.is_destroyed {
            true => ret_why(call, "destroyed"),
            false => call.ret1(true),
        }
    })
}

/// `give([count])`
fn give<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    let given = count_arg(call)?;
    let mut semaphore = this(call)?;
    if semaphore.is_destroyed {
        return ret_why(call, "destroyed");
    }
    let count = semaphore.count.saturating_add(given);
    let too_many = count > semaphore.max;
    semaphore.count = count.min(semaphore.max);
    semaphore.serve(call.ctx);
    match too_many {
        true => ret_why(call, "too many"),
        false => call.ret1(true),
    }
}

/// `get_count()`
fn get_count<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    let count = this(call)?.count;
    call.ret1(count)
}

/// `get_wait()`
fn get_wait<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    let ctx = call.ctx;
    let semaphore = this(call)?;
    let waiting = semaphore.waiters.iter();
    let wanted: i64 = waiting
        .filter(|&&(ticket, _)| ctx.is_parked(ticket))
        .map(|&(_, wanted)| wanted)
        .fold(0, i64::saturating_add);
    let missing = wanted - semaphore.count;
    drop(semaphore);
    call.ret1(missing)
}

/// `destroy()`
fn destroy<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    let mut semaphore = this(call)?;
    semaphore.is_destroyed = true;
    while let Some((ticket, _)) = semaphore.waiters.pop_front() {
        call.ctx.ring(ticket);
    }
    call.ret1(true)
}
