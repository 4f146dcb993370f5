//! The operating system.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;

use super::{Functions, children, descriptors, io, register};
use crate::text::date::Date;
use crate::text::number::{self, Number, float_to_int};
use crate::vm::access::Access;
use crate::vm::error::Error;
use crate::vm::native::{Call, NativeResult};
use crate::vm::state::Ctx;
use crate::vm::suspend::Suspend;
use crate::vm::table::Table;
use crate::vm::value::Value;

const FUNCTIONS: Functions = &[
    ("clock", clock),
    ("date", date),
    ("difftime", difftime),
    ("execute", execute),
    ("exit", exit),
    ("getenv", getenv),
    ("remove", remove),
    ("rename", rename),
    ("setlocale", setlocale),
    ("time", time),
    ("tmpname", tmpname),
];

pub(super) fn open(ctx: Ctx<'_>) {
    register(ctx, "os", FUNCTIONS);
}

fn now() -> i64 {
    rustix::time::clock_gettime(rustix::time::ClockId::Realtime).tv_sec
}

fn clock<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    let used = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    #[expect(
        clippy::cast_precision_loss,
        reason = "seconds of a process are far below 2^53"
    )]
    let seconds = used.tv_sec as f64 + used.tv_nsec as f64 * 1e-9;
    call.ret1(seconds)
}

fn difftime<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    let (to, from) = (call.check_int(0)?, call.check_int(1)?);
    #[expect(
        clippy::cast_precision_loss,
        reason = "the result is a float by definition"
    )]
    let seconds = to as f64 - from as f64;
    call.ret1(seconds)
}

fn date<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    let format = call.opt_str(0)?.map_or(&b"%c"[..], |text| text.as_bytes());
    let timestamp = call.opt_int(1, now())?;
    let (in_utc, format) = match format.strip_prefix(b"!") {
        Some(rest) => (true, rest),
        None => (false, format),
    };
    let date = if in_utc {
        Date::utc(timestamp)
    } else {
        Date::local(timestamp)
    };
    let Some(date) = date else {
        return Err(call.error("date result cannot be represented in this installation"));
    };
    if format == b"*t" {
        let table = Table::new(call.ctx);
        set_fields(call.ctx, table, &date);
        return call.ret1(table);
    }
    let mut text = Vec::new();
    date.format(&mut text, format)
        .map_err(|error| call.arg_error(0, error.to_string()))?;
    let text = call.ctx.string(&text);
    call.ret1(text)
}

fn set_fields<'gc>(ctx: Ctx<'gc>, table: Table<'gc>, date: &Date) {
    let fields = [
        ("year", i64::from(date.year()) + 1900),
        ("month", i64::from(date.month()) + 1),
        ("day", date.day().into()),
        ("hour", date.hour().into()),
        ("min", date.minute().into()),
        ("sec", date.second().into()),
        ("yday", i64::from(date.year_day()) + 1),
        ("wday", i64::from(date.weekday()) + 1),
    ];
    for (name, value) in fields {
        table.set_name(ctx, name, value);
    }
    if let Some(is_dst) = date.is_dst() {
        table.set_name(ctx, "isdst", is_dst);
    }
}

fn time<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    if call.is_none_or_nil(0) {
        return call.ret1(now());
    }
    let table = call.check_table(0)?;
    call.truncate(1);
    let year = field(call, table, "year", None, 1900)?;
    let month = field(call, table, "month", None, 1)?;
    let day = field(call, table, "day", None, 0)?;
    let hour = field(call, table, "hour", Some(12), 0)?;
    let minute = field(call, table, "min", Some(0), 0)?;
    let second = field(call, table, "sec", Some(0), 0)?;
    let is_dst = match get(call.ctx, table, "isdst")? {
        Value::Nil => None,
        value => Some(value.is_truthy()),
    };
    let mut date = Date::new(year, month, day, hour, minute, second, is_dst);
    let timestamp = date.timestamp();
    set_fields(call.ctx, table, &date);
    match timestamp {
        Some(timestamp) => call.ret1(timestamp),
        None => Err(call.error("time result cannot be represented in this installation")),
    }
}

/// A field of a date table. `__index` tables are followed, `__index` functions are not called.
fn get<'gc>(ctx: Ctx<'gc>, table: Table<'gc>, name: &str) -> Result<Value<'gc>, Error<'gc>> {
    match ctx.index(table.into(), ctx.string(name.as_bytes()))? {
        Access::Value(value) => Ok(value),
        Access::Call { .. } => Ok(Value::Nil),
    }
}

fn field<'gc>(
    call: &mut Call<'gc>,
    table: Table<'gc>,
    name: &str,
    default: Option<i32>,
    offset: i64,
) -> Result<i32, Error<'gc>> {
    let value = get(call.ctx, table, name)?;
    let int = match value {
        Value::Int(int) => Some(int),
        Value::Float(float) => float_to_int(float),
        Value::Str(text) => match number::parse(text.as_bytes()) {
            Some(Number::Int(int)) => Some(int),
            Some(Number::Float(float)) => float_to_int(float),
            None => None,
        },
        _ => None,
    };
    let problem = match (int, default) {
        (Some(int), _) => match int
            .checked_sub(offset)
            .and_then(|int| i32::try_from(int).ok())
        {
            Some(int) => return Ok(int),
            None => format!("field '{name}' is out-of-bound"),
        },
        (None, _) if !value.is_nil() => format!("field '{name}' is not an integer"),
        (None, Some(default)) => return Ok(default),
        (None, None) => format!("field '{name}' missing in date table"),
    };
    Err(call.error(problem))
}

fn getenv<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    let name = call.check_str(0)?.as_bytes();
    // The system would not find names with these characters, and the library does not take them.
    let is_name = !name.is_empty() && !name.contains(&0) && !name.contains(&b'=');
    let value = if is_name {
        std::env::var_os(OsStr::from_bytes(name))
    } else {
        None
    };
    let value = value.map(|value| call.ctx.string(value.as_bytes()));
    call.ret1(value)
}

fn remove<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    let name = call.check_str(0)?.as_bytes();
    let path = io::path(name);
    let outcome = match std::fs::remove_file(path) {
        Err(error) if path.is_dir() && !path.is_symlink() => {
            std::fs::remove_dir(path).map_err(|other| {
                if other.kind() == std::io::ErrorKind::NotADirectory {
                    error
                } else {
                    other
                }
            })
        }
        outcome => outcome,
    };
    match outcome {
        Ok(()) => call.ret1(true),
        Err(error) => call.ret_io_error(&error, Some(name)),
    }
}

fn rename<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    let (from, to) = (call.check_str(0)?.as_bytes(), call.check_str(1)?.as_bytes());
    match std::fs::rename(io::path(from), io::path(to)) {
        Ok(()) => call.ret1(true),
        Err(error) => call.ret_io_error(&error, None),
    }
}

fn tmpname<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    match temporary_file() {
        Ok(path) => {
            let name = call.ctx.string(path.as_os_str().as_bytes());
            call.ret1(name)
        }
        Err(_) => Err(call.error("unable to generate a unique filename")),
    }
}

/// Makes an empty file that stays.
fn temporary_file() -> std::io::Result<PathBuf> {
    let file = tempfile::Builder::new().prefix("lua_").tempfile()?;
    Ok(file.into_temp_path().keep()?)
}

fn setlocale<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    let locale = call.opt_str(0)?.map(|text| text.as_bytes());
    let category = call.opt_str(1)?.map_or(&b"all"[..], |text| text.as_bytes());
    if !matches!(
        category,
        b"all" | b"collate" | b"ctype" | b"monetary" | b"numeric" | b"time"
    ) {
        let shown = String::from_utf8_lossy(category);
        return Err(call.arg_error(1, format!("invalid option '{shown}'")));
    }
    match locale {
        None | Some(b"" | b"C" | b"POSIX") => {
            let name = call.ctx.string(b"C");
            call.ret1(name)
        }
        Some(_) => call.ret1(Value::Nil),
    }
}

fn execute<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    if call.is_none_or_nil(0) {
        return call.ret1(io::path(b"/bin/sh").exists());
    }
    let command = call.check_str(0)?.as_bytes();
    // What the program has written so far comes before what the command writes.
    io::flush_all();
    match children::spawn(&mut io::shell(command)) {
        Ok(child) => io::wait_for(call, child),
        Err(error) => match descriptors::collect_once(call, &error, execute) {
            Some(again) => again,
            None => call.ret_io_error(&error, None),
        },
    }
}

fn exit<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    let code = match call.get(0) {
        Value::Nil | Value::Bool(true) => 0,
        Value::Bool(false) => 1,
        _ => call.check_int(0)? as i32,
    };
    let close = call.get(1).is_truthy();
    call.suspend(Suspend::Exit { code, close }, |call| call.ret0())
}
