//! The `lock` library: mutual exclusion between threads, in the names of copas.
//!
//! `lock.new([seconds [, not_reentrant]])` makes one; `seconds` is how long `get` waits at most unless it is told otherwise, for ever
//! if there is none.
//!
//! | method | what it does |
//! |---|---|
//! | `get([seconds])` | takes the lock: the lock itself, and how many seconds it had to wait; nil, "timeout" or "destroyed", and so on |
//! | `release()` | gives it up: true; nil and why not. As often as it was got, by the coroutine that has got it |
//! | `destroy()` | ends all waits; it can't be got any more |
//!
//! A lock has a `__close` method, which releases it. Since `get` returns the lock, `local held <close> = l:get()` holds it for the
//! block. It belongs to a coroutine, and is handed to those who wait in their order. One whose owner has ended is free: it is handed
//! on as if that had released it.

use std::cell::RefMut;
use std::collections::VecDeque;

use super::waiting::{deadline_ns, is_over, now_ns, park, ret_why, timeout_s, was_rung};
use super::{Functions, class, fill};
use crate::vm::error::Error;
use crate::vm::native::{Call, NativeResult};
use crate::vm::roster::Ticket;
use crate::vm::state::Ctx;
use crate::vm::table::Table;
use crate::vm::thread::{Status, Thread};
use crate::vm::userdata::UserData;
use crate::vm::value::Value;

const METHODS: Functions = &[("destroy", destroy), ("get", get), ("release", release)];

const METATABLE: &str = "lock";

/// Where a table of the locks that somebody waits for stands in the registry: the locks are its keys.
const WAITED_FOR: &str = "lock.waited_for";

/// Where the owner stands in the table that is the user value. Coroutines that wait stand at the numbers of their tickets, which
/// are larger.
const OWNER: i64 = 0;

/// What stands behind a lock.
#[derive(Debug)]
struct Lock {
    timeout_s: f64,
    is_reentrant: bool,
    /// How often its owner has got it; 0: it is free.
    count: u64,
    waiters: VecDeque<Ticket>,
    is_destroyed: bool,
}

/// Makes `require "lock"` work.
pub(super) fn open(ctx: Ctx<'_>) {
    super::package::preload(ctx, "lock", load);
}

fn load<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    let library = Table::new(call.ctx);
    fill(call.ctx, library, &[("new", new)]);
    call.ret1(library)
}

/// `new([seconds [, not_reentrant]])`
fn new<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    let ctx = call.ctx;
    let timeout_s = timeout_s(call, 0)?;
    let object = UserData::new(
        ctx,
        Lock {
            timeout_s,
            is_reentrant: !call.get(1).is_truthy(),
            count: 0,
            waiters: VecDeque::new(),
            is_destroyed: false,
        },
    );
    object.set_user_value(ctx, Table::new(ctx).into());
    let events: Functions = &[("__close", close)];
    object.set_metatable(ctx, Some(class(ctx, METATABLE, METHODS, events)));
    call.ret1(object)
}

/// The lock in slot 0, and the coroutines that it knows.
fn this<'gc>(call: &Call<'gc>) -> Result<(RefMut<'gc, Lock>, Table<'gc>), Error<'gc>> {
    if let Value::UserData(data) = call.get(0)
        && let Some(lock) = data.borrow::<Lock>()
        && let Value::Table(coroutines) = data.user_value()
    {
        return Ok((lock, coroutines));
    }
    Err(call.type_error(0, METATABLE))
}

/// Whether the running coroutine is the owner.
fn is_owner<'gc>(call: &Call<'gc>, coroutines: Table<'gc>) -> bool {
    matches!(coroutines.get_int(call.ctx, OWNER), Value::Thread(owner) if owner.ptr_eq(call.thread()))
}

/// `get([seconds])`
fn get<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    let ctx = call.ctx;
    let timeout_s = this(call)?.0.timeout_s;
    let deadline_ns = deadline_ns(call, 1, timeout_s)?;
    call.truncate(1);
    let (mut lock, coroutines) = this(call)?;
    if lock.is_destroyed {
        return ret_waited(call, Err("destroyed"), 0);
    }
    let is_mine = lock.count > 0 && is_owner(call, coroutines);
    let owner = owner(ctx, coroutines);
    let is_forsaken = owner.is_some_and(|owner| owner.status() == Status::Dead);
    if is_mine && lock.is_reentrant {
        lock.count += 1;
        return ret_waited(call, Ok(()), 0);
    }
    if lock.count == 0 || is_forsaken {
        coroutines.set_int(ctx, OWNER, call.thread().into())?;
        lock.count = 1;
        return ret_waited(call, Ok(()), 0);
    }
    if is_over(deadline_ns) {
        return ret_waited(call, Err("timeout"), 0);
    }
    waited_for(ctx).set(ctx, call.get(0), true.into())?;
    if let Some(owner) = owner {
        owner.tell_end();
    }
    let ticket = ctx.ticket();
    coroutines.set_int(ctx, ticket.number() as i64, call.thread().into())?;
    lock.waiters.push_back(ticket);
    drop(lock);
    call.state = now_ns();
    park(call, ticket, deadline_ns, |call| {
        let ctx = call.ctx;
        let was_rung = was_rung(call);
        let waited_ns = now_ns() - call.state;
        let (mut lock, coroutines) = this(call)?;
        if !was_rung {
            forget_gone(ctx, &mut lock, coroutines)?;
            note_whether_waited_for(ctx, call.get(0), &lock);
            return ret_waited(call, Err("timeout"), waited_ns);
        }
        match lock.is_destroyed {
            true => ret_waited(call, Err("destroyed"), waited_ns),
            // Whoever has released it has made this coroutine the owner.
            false => ret_waited(call, Ok(()), waited_ns),
        }
    })
}

/// Returns the lock, or nil and why not; and how long that took.
fn ret_waited<'gc>(
    call: &mut Call<'gc>,
    outcome: Result<(), &str>,
    waited_ns: i64,
) -> NativeResult<'gc> {
    let waited_s = Value::Float(waited_ns as f64 / 1e9);
    match outcome {
        Ok(()) => {
            let lock = call.get(0);
            call.ret(&[lock, waited_s])
        }
        Err(why) => {
            let why = call.ctx.string(why.as_bytes());
            call.ret(&[Value::Nil, why, waited_s])
        }
    }
}

/// Forgets waiters that wait no longer.
fn forget_gone<'gc>(
    ctx: Ctx<'gc>,
    lock: &mut Lock,
    coroutines: Table<'gc>,
) -> Result<(), Error<'gc>> {
    let (parked, gone) = lock
        .waiters
        .drain(..)
        .partition(|&ticket| ctx.is_parked(ticket));
    lock.waiters = parked;
    let gone: VecDeque<Ticket> = gone;
    for ticket in gone {
        coroutines.set_int(ctx, ticket.number() as i64, Value::Nil)?;
    }
    Ok(())
}

/// Takes the lock from its owner, and hands it to the first who waits.
fn hand_over<'gc>(
    ctx: Ctx<'gc>,
    object: Value<'gc>,
    lock: &mut Lock,
    coroutines: Table<'gc>,
) -> Result<(), Error<'gc>> {
    lock.count = 0;
    if lock.waiters.is_empty() {
        return coroutines.set_int(ctx, OWNER, Value::Nil);
    }
    let mut owner = Value::Nil;
    while let Some(ticket) = lock.waiters.pop_front() {
        let at = ticket.number() as i64;
        let coroutine = coroutines.get_int(ctx, at);
        coroutines.set_int(ctx, at, Value::Nil)?;
        if ctx.ring(ticket) {
            owner = coroutine;
            lock.count = 1;
            break;
        }
    }
    if let Value::Thread(owner) = owner
        && !lock.waiters.is_empty()
    {
        owner.tell_end();
    }
    note_whether_waited_for(ctx, object, lock);
    coroutines.set_int(ctx, OWNER, owner)
}

/// Coroutines have ended that owned locks which others wait for: those get them.
pub(crate) fn hand_on(ctx: Ctx<'_>) {
    let locks = waited_for(ctx);
    let mut key = Value::Nil;
    while let Ok(Some((object, _))) = locks.next(ctx, key) {
        key = object;
        let Value::UserData(data) = object else {
            continue;
        };
        let Value::Table(coroutines) = data.user_value() else {
            continue;
        };
        let Some(mut lock) = data.borrow::<Lock>() else {
            continue;
        };
        if owner(ctx, coroutines).is_some_and(|owner| owner.status() == Status::Dead) {
            // It stores to places that are there already, for which no memory is needed.
            let _ = hand_over(ctx, object, &mut lock, coroutines);
        }
    }
}

/// Takes the lock off the list of those that somebody waits for, if nobody does.
fn note_whether_waited_for<'gc>(ctx: Ctx<'gc>, object: Value<'gc>, lock: &Lock) {
    if lock.waiters.is_empty() {
        // It needs no memory.
        let _ = waited_for(ctx).set(ctx, object, Value::Nil);
    }
}

/// The locks that somebody waits for.
fn waited_for<'gc>(ctx: Ctx<'gc>) -> Table<'gc> {
    let registry = ctx.state.registry();
    if let Value::Table(locks) = registry.get_name(ctx, WAITED_FOR) {
        return locks;
    }
    let locks = Table::new(ctx);
    registry.set_name(ctx, WAITED_FOR, locks);
    locks
}

/// Whose the lock is.
fn owner<'gc>(ctx: Ctx<'gc>, coroutines: Table<'gc>) -> Option<Thread<'gc>> {
    match coroutines.get_int(ctx, OWNER) {
        Value::Thread(owner) => Some(owner),
        _ => None,
    }
}

/// `release()`
fn release<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    let (mut lock, coroutines) = this(call)?;
    if lock.is_destroyed {
        return ret_why(call, "destroyed");
    }
    if lock.count == 0 || !is_owner(call, coroutines) {
        return ret_why(call, "cannot release a lock not owned");
    }
    match lock.count {
        1 => hand_over(call.ctx, call.get(0), &mut lock, coroutines)?,
        _ => lock.count -= 1,
    }
    call.ret1(true)
}

/// `__close`: as `release`, of a lock that may have been released before.
fn close<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    call.truncate(1);
    let _ = release(call)?;
    call.ret0()
}

/// `destroy()`
fn destroy<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    let ctx = call.ctx;
    let (mut lock, coroutines) = this(call)?;
    lock.is_destroyed = true;
    lock.count = 0;
    coroutines.set_int(ctx, OWNER, Value::Nil)?;
    while let Some(ticket) = lock.waiters.pop_front() {
        coroutines.set_int(ctx, ticket.number() as i64, Value::Nil)?;
        ctx.ring(ticket);
    }
    note_whether_waited_for(ctx, call.get(0), &lock);
    drop(lock);
    call.ret1(true)
}
