//! The `thread` library: OS threads that share the Lua state.
//!
//! | function or method | what it does |
//! |---|---|
//! | `thread.spawn(f, ...)` | runs `f(...)` on a thread of its own; its handle, or nil and why there is none |
//! | `t:join([seconds])` | waits for its end: true and what `f` returned; false and its error; false and "timeout" |
//! | `t:status()` | "running", "waiting", "done" or "failed" |
//! | `thread.self()` | the handle of the running thread |
//! | `thread.yield()` | lets others run that want to |
//! | `thread.sleep(seconds)` | |
//!
//! One thread runs at a time, and gives way where it waits, and now and then at a safe point. An error that `f` does not catch ends
//! its thread alone; it is shown on standard error, with a traceback, unless somebody is waiting for the thread: that one gets it.
//! When the main program ends, the other threads end where they are, as they do in Ruby; a finalizer that joins one gets false and
//! "the program ends".

mod body;

use std::cell::RefMut;

use super::waiting::{self, Waiters, deadline_ns, is_over};
use super::{Functions, class, descriptors, fill};
use crate::vm::error::Error;
use crate::vm::native::{Call, Native, NativeFn, NativeResult};
use crate::vm::roster::{MAIN, ThreadId};
use crate::vm::state::Ctx;
use crate::vm::suspend::{Answer, Suspend};
use crate::vm::table::Table;
use crate::vm::userdata::UserData;
use crate::vm::value::Value;

pub(crate) use self::body::{begin, end, refused};

const FUNCTIONS: Functions = &[
    ("join", join),
    ("self", self_),
    ("sleep", sleep),
    ("spawn", spawn),
    ("status", status),
    ("yield", yield_),
];

const METHODS: Functions = &[("join", join), ("status", status)];

const METATABLE: &str = "thread handle";

/// What stands behind a handle. Its user value is a table: the function and its arguments at first, the results in the end.
#[derive(Debug)]
pub(super) struct Handle {
    id: ThreadId,
    state: State,
    /// What it will be; `Running` until its function has come to an end.
    outcome: State,
    /// How many values are in the table.
    count: usize,
    joiners: Waiters,
    /// Of the error that the thread has failed with.
    traceback: Vec<u8>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Running,
    Done,
    Failed,
}

/// Makes `require "thread"` work.
pub(super) fn open(ctx: Ctx<'_>) {
    super::package::preload(ctx, "thread", load);
}

fn load<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    let library = Table::new(call.ctx);
    fill(call.ctx, library, FUNCTIONS);
    call.ret1(library)
}

fn new_handle<'gc>(
    ctx: Ctx<'gc>,
    id: ThreadId,
    values: &[Value<'gc>],
) -> Result<UserData<'gc>, Error<'gc>> {
    let handle = UserData::new(
        ctx,
        Handle {
            id,
            state: State::Running,
            outcome: State::Running,
            count: 0,
            joiners: Waiters::default(),
            traceback: Vec::new(),
        },
    );
    handle.set_metatable(ctx, Some(class(ctx, METATABLE, METHODS, &[])));
    body::set_values(ctx, handle, values)?;
    Ok(handle)
}

/// The handle in slot 0.
fn this<'gc>(call: &Call<'gc>) -> Result<(UserData<'gc>, RefMut<'gc, Handle>), Error<'gc>> {
    if let Value::UserData(data) = call.get(0)
        && let Some(handle) = data.borrow::<Handle>()
    {
        return Ok((data, handle));
    }
    Err(call.type_error(0, METATABLE))
}

/// Whether a value is the handle of a thread that has not ended.
pub(super) fn is_alive(value: Value<'_>) -> bool {
    match value {
        Value::UserData(data) => data
            .borrow::<Handle>()
            .is_some_and(|handle| handle.state == State::Running),
        _ => false,
    }
}

/// `spawn(f, ...)`
fn spawn<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    call.check_function(0)?;
    let values: Vec<_> = (0..call.len()).map(|i| call.get(i)).collect();
    call.truncate(0);
    start(call, &values, |call| match call.get(0) {
        Value::Nil => call.ret_top(3),
        handle => call.ret1(handle),
    })
}

/// Starts a thread that calls the first of `values` with the others. `then` goes on with its handle in slot 0, before what stood
/// there; where there is no thread to be had, with nil in slot 0, and a further nil, a message and a number behind the others.
pub(super) fn start<'gc>(
    call: &mut Call<'gc>,
    values: &[Value<'gc>],
    then: NativeFn,
) -> NativeResult<'gc> {
    start_noted(call, values, |_, _| (), then)
}

/// As [`start`]; `note` is told the handle before the thread can run, or the running one can be interrupted.
pub(super) fn start_noted<'gc>(
    call: &mut Call<'gc>,
    values: &[Value<'gc>],
    note: impl FnOnce(Ctx<'gc>, UserData<'gc>),
    then: NativeFn,
) -> NativeResult<'gc> {
    let ctx = call.ctx;
    let handle = new_handle(ctx, MAIN, values)?;
    // Each thread that waits needs two descriptors of its own.
    let enlisted = match ctx.enlist(handle)? {
        Err(error) if descriptors::are_used_up(&error) && descriptors::raise_limit() => {
            ctx.enlist(handle)?
        }
        enlisted => enlisted,
    };
    let id = match enlisted {
        Ok(id) => id,
        Err(error) => {
            call.insert(0, Value::Nil);
            let _ = call.ret_io_error(&error, Some(b"cannot start a thread"))?;
            return then(call);
        }
    };
    if let Some(mut handle) = handle.borrow::<Handle>() {
        handle.id = id;
    }
    note(ctx, handle);
    call.insert(0, handle.into());
    // `then` is kept as an upvalue would be: by the one native that is called with the handle.
    let next = Native::new(ctx, "?", then);
    call.insert(1, next.into());
    call.suspend(Suspend::StartThread(id), started)
}

fn started<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    let answer = call.answer();
    let next = call.get(1);
    if let Answer::Failed(error) = answer {
        call.set(0, Value::Nil);
        let _ = call.ret_io_error(&error, Some(b"cannot start a thread"))?;
    }
    let values: Vec<_> = (0..call.len())
        .filter(|&i| i != 1)
        .map(|i| call.get(i))
        .collect();
    call.truncate(0);
    call.push(next);
    for &value in &values {
        call.push(value);
    }
    call.tail_call_top(values.len())
}

/// `join([seconds])`
fn join<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    this(call)?;
    call.state = deadline_ns(call, 1, f64::INFINITY)?;
    call.truncate(1);
    join_more(call)
}

fn join_more<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    let ctx = call.ctx;
    let (object, mut handle) = this(call)?;
    match handle.state {
        State::Running if handle.id == ctx.os_thread() => {
            drop(handle);
            Err(call.error("a thread can't wait for its own end"))
        }
        State::Running if is_over(call.state) => {
            handle.joiners.forget_gone(ctx);
            drop(handle);
            let why = ctx.string(b"timeout");
            call.ret(&[Value::Bool(false), why])
        }
        State::Running => {
            let ticket = handle.joiners.join(ctx, false);
            drop(handle);
            waiting::park(call, ticket, call.state, |call| {
                waiting::was_rung(call);
                join_more(call)
            })
        }
        ended => {
            let count = handle.count;
            drop(handle);
            call.push(Value::Bool(ended == State::Done));
            if let Value::Table(values) = object.user_value() {
                for i in 1..=count {
                    call.push(values.get_int(ctx, i as i64));
                }
            }
            call.ret_top(count + 1)
        }
    }
}

/// `status()`
fn status<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    let (state, id) = {
        let handle = this(call)?.1;
        (handle.state, handle.id)
    };
    let status: &[u8] = match state {
        State::Done => b"done",
        State::Failed => b"failed",
        State::Running if call.ctx.os_thread() == id || call.ctx.is_awake(id) => b"running",
        State::Running => b"waiting",
    };
    let status = call.ctx.string(status);
    call.ret1(status)
}

/// `self()`
fn self_<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    let ctx = call.ctx;
    let handle = match ctx.thread_handle() {
        Some(handle) => handle,
        None => {
            let handle = new_handle(ctx, MAIN, &[])?;
            ctx.set_thread_handle(handle);
            handle
        }
    };
    call.ret1(handle)
}

/// `sleep(seconds)`
fn sleep<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    let seconds = call.check_float(0)?;
    let time = std::time::Duration::try_from_secs_f64(seconds.max(0.0))
        .unwrap_or(std::time::Duration::MAX);
    call.suspend(Suspend::Sleep(time), |call| call.ret0())
}

/// `yield()`
fn yield_<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    call.suspend(Suspend::GiveWay, |call| call.ret0())
}
