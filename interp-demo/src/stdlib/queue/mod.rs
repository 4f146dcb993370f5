//! The `queue` library: queues between threads, in the names of copas.
//!
//! `queue.new([{ limit =, name = }])` makes one; with a limit it is a sized queue, whose `push` waits while it is full.
//!
//! | method | what it does |
//! |---|---|
//! | `push(item [, seconds])` | appends an item, which may be nil: true; nil and "timeout", "stopping" or "destroyed" |
//! | `pop([seconds])` | takes the first item, and waits for one: the item; nil and "timeout" or "destroyed" |
//! | `stop()`, `close()` | takes no more items; when the last one is popped the queue is destroyed |
//! | `finish([seconds [, keep]])` | stops, and waits until it is empty: true; nil and "timeout", and it is destroyed unless `keep` |
//! | `destroy()` | drops all items and ends all waits |
//! | `get_size()`, `#queue`, `get_limit()`, `get_name()` | |
//! | `add_worker(f)`, `get_workers()` | a thread that calls `f` with each item that it pops; those that still run |
//!
//! Waits without `seconds` have no end. Items come out in the order in which they were pushed; who waits first is woken first.

mod worker;

use std::cell::RefMut;

use super::waiting::{self, Waiters, deadline_ns, is_over, park, ret_why, was_rung};
use super::{Functions, class, fill};
use crate::vm::error::Error;
use crate::vm::native::{Call, NativeResult};
use crate::vm::state::Ctx;
use crate::vm::table::Table;
use crate::vm::userdata::UserData;
use crate::vm::value::Value;

const METHODS: Functions = &[
    ("add_worker", worker::add),
    ("close", stop),
    ("destroy", destroy),
    ("finish", finish),
    ("get_limit", get_limit),
    ("get_name", get_name),
    ("get_size", get_size),
    ("get_workers", worker::list),
    ("pop", pop),
    ("push", push),
    ("stop", stop),
];

const METATABLE: &str = "queue";

/// What stands behind a queue. The items are in its user value, a table, from `first` on.
#[derive(Debug, Default)]
struct Queue {
    name: Vec<u8>,
    limit: Option<usize>,
    first: i64,
    size: usize,
    state: State,
    /// Who waits for an item, for room, for the end.
    poppers: Waiters,
    pushers: Waiters,
    finishers: Waiters,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    #[default]
    Open,
    Stopping,
    Destroyed,
}

/// Makes `require "queue"` work.
pub(super) fn open(ctx: Ctx<'_>) {
    super::package::preload(ctx, "queue", load);
}

fn load<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    let library = Table::new(call.ctx);
    fill(call.ctx, library, &[("new", new)]);
    call.ret1(library)
}

/// `new([options])`
fn new<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    let ctx = call.ctx;
    let mut queue = Queue {
        first: 1,
        ..Queue::default()
    };
    if !call.is_none_or_nil(0) {
        let options = call.check_table(0)?;
        queue.limit = match options.get_name(ctx, "limit") {
            Value::Nil => None,
            Value::Int(limit) if limit > 0 => Some(usize::try_from(limit).unwrap_or(usize::MAX)),
            Value::Float(f64::INFINITY) => None,
            _ => return Err(call.arg_error(0, "limit must be a positive integer")),
        };
        if let Value::Str(name) = options.get_name(ctx, "name") {
            queue.name = name.as_bytes().to_vec();
        }
    }
    let object = UserData::new(ctx, queue);
    object.set_user_value(ctx, Table::new(ctx).into());
    let events: Functions = &[("__len", get_size)];
    object.set_metatable(ctx, Some(class(ctx, METATABLE, METHODS, events)));
    call.ret1(object)
}

/// The queue in slot 0, and its items.
fn this<'gc>(call: &Call<'gc>) -> Result<(RefMut<'gc, Queue>, Table<'gc>), Error<'gc>> {
    if let Value::UserData(data) = call.get(0)
        && let Some(queue) = data.borrow::<Queue>()
        && let Value::Table(items) = data.user_value()
    {
        return Ok((queue, items));
    }
    Err(call.type_error(0, METATABLE))
}

impl Queue {
    /// Takes the first item; none if there is none. The queue ends with its last item if it is to stop.
    fn take<'gc>(
        &mut self,
        ctx: Ctx<'gc>,
        items: Table<'gc>,
    ) -> Result<Option<Value<'gc>>, Error<'gc>> {
        if self.size == 0 {
            return Ok(None);
        }
        let item = items.get_int(ctx, self.first);
        items.set_int(ctx, self.first, Value::Nil)?;
        self.first += 1;
        self.size -= 1;
        if self.size == 0 {
            // The table's array part is used from its start again.
            self.first = 1;
            if self.state == State::Stopping {
                self.end(ctx);
            }
        } else {
            // The one that was rung for an item may not have come for it.
            self.poppers.ring_one(ctx);
        }
        self.pushers.ring_one(ctx);
        Ok(Some(item))
    }

    fn is_full(&self) -> bool {
        self.limit.is_some_and(|limit| self.size >= limit)
    }

    /// There is nothing in it any more, and nothing will be.
    fn end(&mut self, ctx: Ctx<'_>) {
        self.state = State::Destroyed;
        self.size = 0;
        self.poppers.ring_all(ctx);
        self.pushers.ring_all(ctx);
        self.finishers.ring_all(ctx);
    }

    fn stop(&mut self, ctx: Ctx<'_>) {
        if self.state == State::Open {
            self.state = State::Stopping;
            self.pushers.ring_all(ctx);
            if self.size == 0 {
                self.end(ctx);
            }
        }
    }
}

/// `push(item [, seconds])`
fn push<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    this(call)?;
    call.state = deadline_ns(call, 2, f64::INFINITY)?;
    call.truncate(2);
    push_now(call, false)
}

fn push_now<'gc>(call: &mut Call<'gc>, again: bool) -> NativeResult<'gc> {
    let ctx = call.ctx;
    let (mut queue, items) = this(call)?;
    match queue.state {
        State::Open if queue.is_full() => {
            if is_over(call.state) {
                queue.pushers.forget_gone(ctx);
                return ret_why(call, "timeout");
            }
            let ticket = queue.pushers.join(ctx, again);
            drop(queue);
            park(call, ticket, call.state, |call| {
                let again = was_rung(call);
                push_now(call, again)
            })
        }
        State::Open => {
            let place = queue.first + queue.size as i64;
            if let Err(error) = items.set_int(ctx, place, call.get(1)) {
                drop(queue);
                return call.or_again(Err(error), 2, |call| push_now(call, false));
            }
            queue.size += 1;
            queue.poppers.ring_one(ctx);
            call.ret1(true)
        }
        State::Stopping => ret_why(call, "stopping"),
        State::Destroyed => ret_why(call, "destroyed"),
    }
}

/// `pop([seconds])`
fn pop<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    this(call)?;
    call.state = deadline_ns(call, 1, f64::INFINITY)?;
    call.truncate(1);
    pop_now(call, false)
}

fn pop_now<'gc>(call: &mut Call<'gc>, again: bool) -> NativeResult<'gc> {
    let ctx = call.ctx;
    let (mut queue, items) = this(call)?;
    if let Some(item) = queue.take(ctx, items)? {
        return call.ret1(item);
    }
    if queue.state == State::Destroyed {
        return ret_why(call, "destroyed");
    }
    if is_over(call.state) {
        queue.poppers.forget_gone(ctx);
        return ret_why(call, "timeout");
    }
    let ticket = queue.poppers.join(ctx, again);
    drop(queue);
    park(call, ticket, call.state, |call| {
        let again = was_rung(call);
        pop_now(call, again)
    })
}

/// `stop()`
fn stop<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    this(call)?.0.stop(call.ctx);
    call.ret1(true)
}

/// `finish([seconds [, keep]])`
fn finish<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    call.state = deadline_ns(call, 1, f64::INFINITY)?;
    this(call)?.0.stop(call.ctx);
    call.truncate(3);
    finish_more(call)
}

fn finish_more<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    let ctx = call.ctx;
    let (mut queue, items) = this(call)?;
    if queue.state == State::Destroyed {
        return call.ret1(true);
    }
    if is_over(call.state) {
        queue.finishers.forget_gone(ctx);
        if !call.get(2).is_truthy() {
            clear(ctx, &mut queue, items)?;
        }
        return ret_why(call, "timeout");
    }
    let ticket = queue.finishers.join(ctx, false);
    drop(queue);
    park(call, ticket, call.state, |call| {
        was_rung(call);
        finish_more(call)
    })
}

/// `destroy()`
fn destroy<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    let (mut queue, items) = this(call)?;
    clear(call.ctx, &mut queue, items)?;
    call.ret1(true)
}

fn clear<'gc>(ctx: Ctx<'gc>, queue: &mut Queue, items: Table<'gc>) -> Result<(), Error<'gc>> {
    for at in 0..queue.size {
        items.set_int(ctx, queue.first + at as i64, Value::Nil)?;
    }
    queue.end(ctx);
    Ok(())
}

/// `get_size()`
fn get_size<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    let size = this(call)?.0.size;
    call.ret1(size as i64)
}

/// `get_limit()`
fn get_limit<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    let limit = this(call)?.0.limit;
    call.ret1(limit.map_or(Value::Nil, |limit| Value::Int(limit as i64)))
}

/// `get_name()`
fn get_name<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    let name = call.ctx.string(&this(call)?.0.name);
    call.ret1(name)
}
