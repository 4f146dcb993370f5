//! The `timer` library: functions that are called later, in the names of copas.
//!
//! `timer.new{ delay =, callback =, recurring =, initial_delay =, params =, errorhandler =, name = }` makes one and arms it:
//! `callback(timer, params)` is called after `initial_delay` or `delay` seconds, and again `delay` seconds after it has returned if it
//! is `recurring`.
//!
//! | method | what it does |
//! |---|---|
//! | `arm([initial_delay])` | starts it again: the timer; nil and "already armed" |
//! | `cancel()` | stops it: the timer; nil and "not armed". A callback that runs goes on to its end |
//! | `is_armed()`, `get_name()` | |
//!
//! All callbacks are called on one thread, which lives while any timer is armed, in the order of their times: one that takes long
//! delays the others. An error in one is given to `errorhandler(message, timer)`, or else shown on standard error with a traceback.
//! As other threads, timers do not keep the program from ending.

use std::cell::RefMut;
use std::collections::BTreeSet;
use std::io::Write as _;

use super::waiting::{moment_ns, park, ret_why, was_rung};
use super::{Functions, class, fill, thread};
use crate::vm::error::Error;
use crate::vm::native::{Call, Native, NativeResult, Outcome};
use crate::vm::roster::Ticket;
use crate::vm::state::Ctx;
use crate::vm::table::Table;
use crate::vm::userdata::UserData;
use crate::vm::value::Value;

const METHODS: Functions = &[
    ("arm", arm),
    ("cancel", cancel),
    ("get_name", get_name),
    ("is_armed", is_armed),
];

const METATABLE: &str = "timer";

/// Where the one [`Schedule`] stands in the registry.
const SCHEDULE: &str = "timer.schedule";

/// Where the handle of the thread that calls them stands in the table of armed timers, until it has nothing to wait for.
const SERVICE: &str = "service";

/// When an armed timer is due; the number makes it the only one of its kind.
type Due = (i64, i64);

/// What stands behind a timer. Its user value is a table with the callback and the like.
#[derive(Debug)]
struct Timer {
    delay_s: f64,
    is_recurring: bool,
    due: Option<Due>,
    /// Whether it is being called, and to be armed again afterwards.
    is_to_recur: bool,
}

/// All armed timers. The user value is a table of them by number.
#[derive(Debug, Default)]
struct Schedule {
    due: BTreeSet<Due>,
    last_number: i64,
    /// That thread's, while it waits.
    ticket: Option<Ticket>,
}

/// Makes `require "timer"` work.
pub(super) fn open(ctx: Ctx<'_>) {
    super::package::preload(ctx, "timer", load);
}

fn load<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    let library = Table::new(call.ctx);
    fill(call.ctx, library, &[("new", new)]);
    call.ret1(library)
}

/// `new(options)`
fn new<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    let ctx = call.ctx;
    let options = call.check_table(0)?;
    let delay_s = delay(call, options.get_name(ctx, "delay"))?
        .ok_or_else(|| call.arg_error(0, "delay must be a number that is not negative"))?;
    let initial = options.get_name(ctx, "initial_delay");
    delay(call, initial)?;
    if !options.get_name(ctx, "callback").is_function() {
        return Err(call.arg_error(0, "callback must be a function"));
    }
    let object = UserData::new(
        ctx,
        Timer {
            delay_s,
            is_recurring: options.get_name(ctx, "recurring").is_truthy(),
            due: None,
            is_to_recur: false,
        },
    );
    let fields = Table::new(ctx);
    for name in ["callback", "params", "errorhandler", "name"] {
        fields.set_name(ctx, name, options.get_name(ctx, name));
    }
    object.set_user_value(ctx, fields.into());
    object.set_metatable(ctx, Some(class(ctx, METATABLE, METHODS, &[])));
    call.truncate(0);
    call.push(object.into());
    call.push(initial);
    arm(call)
}

/// A delay in seconds, if there is one.
fn delay<'gc>(call: &Call<'gc>, value: Value<'gc>) -> Result<Option<f64>, Error<'gc>> {
    let seconds = match value {
        Value::Nil => return Ok(None),
        Value::Int(seconds) => seconds as f64,
        Value::Float(seconds) => seconds,
        _ => f64::NAN,
    };
    match seconds >= 0.0 {
        true => Ok(Some(seconds)),
        false => Err(call.arg_error(0, "delay must be a number that is not negative")),
    }
}

/// The timer in slot 0, and its fields.
fn this<'gc>(
    call: &Call<'gc>,
) -> Result<(UserData<'gc>, RefMut<'gc, Timer>, Table<'gc>), Error<'gc>> {
    if let Value::UserData(data) = call.get(0)
        && let Some(timer) = data.borrow::<Timer>()
        && let Value::Table(fields) = data.user_value()
    {
        return Ok((data, timer, fields));
    }
    Err(call.type_error(0, METATABLE))
}

/// The schedule, and the armed timers by number.
fn schedule<'gc>(ctx: Ctx<'gc>) -> (RefMut<'gc, Schedule>, Table<'gc>) {
    let registry = ctx.state.registry();
    loop {
        if let Value::UserData(data) = registry.get_name(ctx, SCHEDULE)
            && let Some(schedule) = data.borrow::<Schedule>()
            && let Value::Table(timers) = data.user_value()
        {
            return (schedule, timers);
        }
        let data = UserData::new(ctx, Schedule::default());
        data.set_user_value(ctx, Table::new(ctx).into());
        registry.set_name(ctx, SCHEDULE, Value::UserData(data));
    }
}

/// Puts a timer on the schedule, and tells the thread if that is the next one.
fn put<'gc>(
    ctx: Ctx<'gc>,
    object: UserData<'gc>,
    timer: &mut Timer,
    delay_s: f64,
) -> Result<(), Error<'gc>> {
    let (mut schedule, timers) = schedule(ctx);
    let number = schedule.last_number + 1;
    timers.set_int(ctx, number, object.into())?;
    schedule.last_number = number;
    let due = (moment_ns(delay_s), number);
    schedule.due.insert(due);
    timer.due = Some(due);
    if schedule.due.first() == Some(&due)
        && let Some(ticket) = schedule.ticket.take()
    {
        ctx.ring(ticket);
    }
    Ok(())
}

/// Takes a timer off the schedule; false if it was not on it.
fn remove<'gc>(ctx: Ctx<'gc>, timer: &mut Timer) -> Result<bool, Error<'gc>> {
    let Some(due) = timer.due.take() else {
        return Ok(false);
    };
    let (mut schedule, timers) = schedule(ctx);
    schedule.due.remove(&due);
    timers.set_int(ctx, due.1, Value::Nil)?;
    // With nothing left to wait for the thread ends.
    if schedule.due.is_empty()
        && let Some(ticket) = schedule.ticket.take()
    {
        ctx.ring(ticket);
    }
    Ok(true)
}

/// `arm([initial_delay])`
fn arm<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    let ctx = call.ctx;
    let initial = delay(call, call.get(1))?;
    call.truncate(1);
    let (object, mut timer, _) = this(call)?;
    if timer.due.is_some() || timer.is_to_recur {
        return ret_why(call, "already armed");
    }
    let delay_s = initial.unwrap_or(timer.delay_s);
    put(ctx, object, &mut timer, delay_s)?;
    drop(timer);
    let timers = schedule(ctx).1;
    // It may have ended with an error.
    if thread::is_alive(timers.get_name(ctx, SERVICE)) {
        return call.ret1(object);
    }
    let service = Native::new(ctx, "timers", serve);
    let note = |ctx, handle| timers.set_name(ctx, SERVICE, Value::UserData(handle));
    let started = thread::start_noted(call, &[service.into()], note, |call| {
        let timer = call.get(1);
        if call.get(0).is_nil() {
            disarm(call.ctx, timer)?;
            return call.ret_top(3);
        }
        call.ret1(timer)
    });
    if started.is_err() {
        disarm(ctx, object.into())?;
    }
    started
}

/// Takes a timer that nobody would call off the schedule.
fn disarm<'gc>(ctx: Ctx<'gc>, timer: Value<'gc>) -> Result<(), Error<'gc>> {
    if let Value::UserData(timer) = timer
        && let Some(mut timer) = timer.borrow::<Timer>()
    {
        remove(ctx, &mut timer)?;
    }
    Ok(())
}

/// `cancel()`
fn cancel<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    let (object, mut timer, _) = this(call)?;
    let was_on = remove(call.ctx, &mut timer)?;
    let would_recur = std::mem::take(&mut timer.is_to_recur);
    drop(timer);
    match was_on || would_recur {
        true => call.ret1(object),
        false => ret_why(call, "not armed"),
    }
}

/// `is_armed()`
fn is_armed<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    let timer = this(call)?.1;
    let is_armed = timer.due.is_some() || timer.is_to_recur;
    call.ret1(is_armed)
}

/// `get_name()`
fn get_name<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    let fields = this(call)?.2;
    let name = fields.get_name(call.ctx, "name");
    call.ret1(name)
}

/// The thread's body: waits for the next timer, calls it, and so on until there is none.
fn serve<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    call.truncate(0);
    let ctx = call.ctx;
    let (mut schedule, timers) = schedule(ctx);
    let Some(&due) = schedule.due.first() else {
        timers.set_name(ctx, SERVICE, Value::Nil);
        return call.ret0();
    };
    if due.0 > super::waiting::now_ns() {
        let ticket = ctx.ticket();
        schedule.ticket = Some(ticket);
        drop(schedule);
        return park(call, ticket, due.0, |call| {
            was_rung(call);
            serve(call)
        });
    }
    schedule.due.remove(&due);
    drop(schedule);
    let object = timers.get_int(ctx, due.1);
    timers.set_int(ctx, due.1, Value::Nil)?;
    call.push(object);
    let (_, mut timer, fields) = this(call)?;
    timer.due = None;
    timer.is_to_recur = timer.is_recurring;
    drop(timer);
    let handler = Native::new(ctx, "?", with_traceback);
    call.push(handler.into());
    call.push(fields.get_name(ctx, "callback"));
    call.push(object);
    call.push(fields.get_name(ctx, "params"));
    match fields.get_name(ctx, "errorhandler").is_function() {
        true => call.pcall_top(2, called),
        false => call.xpcall_top(2, 1, called),
    }
}

/// The callback has returned, or failed.
fn called<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    let ctx = call.ctx;
    let (object, mut timer, fields) = this(call)?;
    if std::mem::take(&mut timer.is_to_recur) {
        let delay_s = timer.delay_s;
        // Without memory it is not armed again; the others are called all the same.
        if let Err(error) = put(ctx, object, &mut timer, delay_s) {
            show(&crate::runtime::error_message(ctx, error.value()));
        }
    }
    drop(timer);
    if call.outcome() == Outcome::Done {
        return serve(call);
    }
    let message = call.result(0);
    let handler = fields.get_name(ctx, "errorhandler");
    if handler.is_function() {
        call.truncate(1);
        call.push(handler);
        call.push(message);
        call.push(object.into());
        return call.pcall_top(2, |call| {
            if call.outcome() == Outcome::Failed {
                show(&crate::runtime::error_message(call.ctx, call.result(0)));
            }
            serve(call)
        });
    }
    show(&crate::runtime::error_message(ctx, message));
    serve(call)
}

/// The message handler: what is shown of an error.
fn with_traceback<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    let message = crate::runtime::error_message(call.ctx, call.get(0));
    let text = call.traceback(Some(&message), 1);
    let text = call.ctx.string(&text);
    call.ret1(text)
}

fn show(message: &[u8]) {
    super::io::flush_stdout();
    // There is nobody to tell that standard error can't be written.
    let _ = std::io::stderr().write_all(&[b"error in a timer: ", message, b"\n"].concat());
}
