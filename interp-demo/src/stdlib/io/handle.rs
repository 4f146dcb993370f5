//! File handles: userdata around shared streams, and what they can do besides reading and writing.

use std::io::SeekFrom;

use super::stream::{Buffering, Shared, Stream};
use super::{DEFAULT_OUTPUT, child, lines, read, write};
use crate::stdlib::{Functions, fill};
use crate::vm::error::Error;
use crate::vm::native::{Call, NativeFn, NativeResult};
use crate::vm::state::Ctx;
use crate::vm::table::Table;
use crate::vm::userdata::UserData;
use crate::vm::value::Value;

/// The type's name, and the key of its metatable in the registry.
const TYPE_NAME: &str = "FILE*";

const METHODS: Functions = &[
    ("close", close),
    ("flush", write::flush),
    ("lines", lines::lines),
    ("read", read::read),
    ("seek", seek),
    ("setvbuf", setvbuf),
    ("write", write::write),
];

const METAMETHODS: Functions = &[
    ("__close", finalize),
    ("__gc", finalize),
    ("__tostring", tostring),
];

/// What the userdata holds.
struct Handle(Shared);

pub(super) fn open(ctx: Ctx<'_>) {
    let methods = Table::new(ctx);
    fill(ctx, methods, METHODS);
    let metatable = Table::new(ctx);
    fill(ctx, metatable, METAMETHODS);
    metatable.set_name(ctx, "__index", methods);
    metatable.set_name(ctx, "__name", ctx.string(TYPE_NAME.as_bytes()));
    ctx.state.registry().set_name(ctx, TYPE_NAME, metatable);
}

/// A new file handle.
pub(in crate::stdlib) fn handle<'gc>(ctx: Ctx<'gc>, stream: Stream) -> Value<'gc> {
    shared_handle(ctx, stream.share())
}

pub(super) fn shared_handle<'gc>(ctx: Ctx<'gc>, stream: Shared) -> Value<'gc> {
    let value = Value::UserData(UserData::new(ctx, Handle(stream)));
    if let Value::Table(metatable) = ctx.state.registry().get_name(ctx, TYPE_NAME) {
        // Only a table that becomes weak can fail for want of memory.
        let _ = ctx.set_metatable(value, Some(metatable));
    }
    value
}

/// The stream of a handle; `None` for other values.
pub(super) fn stream_of(value: Value<'_>) -> Option<Shared> {
    match value {
        Value::UserData(data) => data
            .borrow::<Handle>()
            .map(|handle| Shared::clone(&handle.0)),
        _ => None,
    }
}

fn check_any_state<'gc>(call: &mut Call<'gc>, slot: usize) -> Result<Shared, Error<'gc>> {
    stream_of(call.get(slot)).ok_or_else(|| call.type_error(slot, TYPE_NAME))
}

/// The stream of the handle in a slot, which must be open.
pub(in crate::stdlib) fn check<'gc>(
    call: &mut Call<'gc>,
    slot: usize,
) -> Result<Shared, Error<'gc>> {
    let stream = check_any_state(call, slot)?;
    if stream.lock().is_closed() {
        return Err(call.error("attempt to use a closed file"));
    }
    Ok(stream)
}

/// A default file, which must be open.
pub(super) fn default<'gc>(
    call: &mut Call<'gc>,
    key: &str,
) -> Result<(Value<'gc>, Shared), Error<'gc>> {
    let value = call.ctx.state.registry().get_name(call.ctx, key);
    match stream_of(value) {
        Some(stream) if !stream.lock().is_closed() => Ok((value, stream)),
        _ => {
            let name = key.trim_start_matches("_IO_");
            Err(call.error(format!("default {name} file is closed")))
        }
    }
}

pub(super) fn type_of<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    let value = call.check_any(0)?;
    let Some(stream) = stream_of(value) else {
        return call.ret1(Value::Nil);
    };
    let name: &[u8] = if stream.lock().is_closed() {
        b"closed file"
    } else {
        b"file"
    };
    let name = call.ctx.string(name);
    call.ret1(name)
}

fn tostring<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    let stream = check_any_state(call, 0)?;
    let text = if stream.lock().is_closed() {
        "file (closed)".to_owned()
    } else {
        let address = call.get(0).address().map_or(0, <*const ()>::addr);
        format!("file ({address:#x})")
    };
    let text = call.ctx.string(text.as_bytes());
    call.ret1(text)
}

fn close<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    let stream = check(call, 0)?;
    close_stream(call, &stream)
}

pub(super) fn close_default<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    if !call.is_empty() {
        return close(call);
    }
    let output = call.ctx.state.registry().get_name(call.ctx, DEFAULT_OUTPUT);
    call.push(output);
    close(call)
}

/// Waits until the descriptor takes more, and closes the file in slot 0 by `then`.
fn wait_to_close<'gc>(call: &mut Call<'gc>, stream: &Shared, then: NativeFn) -> NativeResult<'gc> {
    call.truncate(1);
    write::wait(call, stream, then)
}

fn close_stream<'gc>(call: &mut Call<'gc>, shared: &Shared) -> NativeResult<'gc> {
    let mut stream = shared.lock();
    if stream.is_kept_open() {
        let message = call.ctx.string(b"cannot close standard file");
        return call.ret(&[Value::Nil, message]);
    }
    let given = stream.give_out();
    if let Ok(false) = given {
        drop(stream);
        return wait_to_close(call, shared, close);
    }
    if let Some(fd) = stream.fd() {
        call.ctx.rouse_waiters_of(fd);
    }
    let (outcome, child) = stream.close();
    drop(stream);
    let outcome = given.and(outcome);
    match (child, outcome) {
        // The end of the process tells more than the pipe does.
        (Some(process), _) => child::wait_for(call, process),
        (None, Ok(())) => call.ret1(true),
        (None, Err(error)) => call.ret_io_error(&error, None),
    }
}

/// `__gc` and `__close`: closes what is still open, and says nothing about failures.
fn finalize<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    let shared = check_any_state(call, 0)?;
    let mut stream = shared.lock();
    if stream.is_closed() || stream.is_kept_open() {
        return call.ret0();
    }
    if let Ok(false) = stream.give_out() {
        drop(stream);
        return wait_to_close(call, &shared, finalize);
    }
    if let Some(fd) = stream.fd() {
        call.ctx.rouse_waiters_of(fd);
    }
    let (_, child) = stream.close();
    drop(stream);
    match child {
        Some(process) => child::wait_for(call, process),
        None => call.ret0(),
    }
}

fn seek<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    let stream = check(call, 0)?;
    let whence = call.opt_str(1)?.map_or(&b"cur"[..], |text| text.as_bytes());
    let offset = call.opt_int(2, 0)?;
    let to = match whence {
        b"set" => match u64::try_from(offset) {
            Ok(offset) => SeekFrom::Start(offset),
            Err(_) => return call.ret_io_error(&rustix::io::Errno::INVAL.into(), None),
        },
        b"cur" => SeekFrom::Current(offset),
        b"end" => SeekFrom::End(offset),
        _ => return Err(call.arg_error(1, format!("invalid option '{}'", super::shown(whence)))),
    };
    let outcome = stream.lock().seek(to);
    match outcome {
        Ok(position) => call.ret1(position.cast_signed()),
        Err(error) => call.ret_io_error(&error, None),
    }
}

fn setvbuf<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    let stream = check(call, 0)?;
    let mode = call.check_str(1)?.as_bytes();
    let bytes = if call.is_none_or_nil(2) {
        None
    } else {
        usize::try_from(call.check_int(2)?).ok()
    };
    let buffering = match mode {
        b"no" => Buffering::No,
        b"line" => Buffering::Line,
        b"full" => Buffering::Full,
        _ => return Err(call.arg_error(1, format!("invalid option '{}'", super::shown(mode)))),
    };
    stream.lock().set_buffering(buffering, bytes);
    call.ret1(true)
}
