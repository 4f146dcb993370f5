//! `setoption` and `getoption`.

use std::io;
use std::time::Duration;

use socket2::Socket;

use super::common::ret_failure;
use super::endpoint::Endpoint;
use super::message;
use crate::vm::error::Error;
use crate::vm::native::{Call, NativeResult};
use crate::vm::table::Table;
use crate::vm::value::Value;

/// `setoption(name [, value])`
pub(super) fn set<'gc>(call: &mut Call<'gc>, endpoint: &Endpoint) -> NativeResult<'gc> {
    let name = call.check_str(1)?.as_bytes();
    let socket = match endpoint.socket() {
        Ok(socket) => socket,
        Err(error) => return ret_failure(call, &message::of(&error)),
    };
    let done = match name {
        b"keepalive" => socket.set_keepalive(flag(call)?),
        b"reuseaddr" => socket.set_reuse_address(flag(call)?),
        b"reuseport" => socket.set_reuse_port(flag(call)?),
        b"tcp-nodelay" => socket.set_tcp_nodelay(flag(call)?),
        b"ipv6-v6only" => socket.set_only_v6(flag(call)?),
        b"broadcast" => socket.set_broadcast(flag(call)?),
        b"linger" => socket.set_linger(linger(call)?),
        b"recv-buffer-size" => socket.set_recv_buffer_size(size(call)?),
        b"send-buffer-size" => socket.set_send_buffer_size(size(call)?),
        _ => return Err(unsupported(call, name)),
    };
    match done {
        Ok(()) => call.ret1(Value::Int(1)),
        Err(error) => ret_failure(call, &message::of(&error)),
    }
}

/// `getoption(name)`
pub(super) fn get<'gc>(call: &mut Call<'gc>, endpoint: &Endpoint) -> NativeResult<'gc> {
    let name = call.check_str(1)?.as_bytes();
    let value = match endpoint.socket() {
        Ok(socket) => match read(call, socket, name) {
            Some(value) => value,
            None => return Err(unsupported(call, name)),
        },
        Err(error) => Err(error),
    };
    match value {
        Ok(value) => call.ret1(value),
        Err(error) => ret_failure(call, &message::of(&error)),
    }
}

fn read<'gc>(call: &Call<'gc>, socket: &Socket, name: &[u8]) -> Option<io::Result<Value<'gc>>> {
    let number = |size: io::Result<usize>| size.map(|size| Value::Int(size as i64));
    Some(match name {
        b"keepalive" => socket.keepalive().map(Value::Bool),
        b"reuseaddr" => socket.reuse_address().map(Value::Bool),
        b"reuseport" => socket.reuse_port().map(Value::Bool),
        b"tcp-nodelay" => socket.tcp_nodelay().map(Value::Bool),
        b"ipv6-v6only" => socket.only_v6().map(Value::Bool),
        b"broadcast" => socket.broadcast().map(Value::Bool),
        b"recv-buffer-size" => number(socket.recv_buffer_size()),
        b"send-buffer-size" => number(socket.send_buffer_size()),
        b"linger" => socket.linger().map(|linger| {
            let table = Table::new(call.ctx);
            let seconds = linger.map_or(0, |time| time.as_secs() as i64);
            table.set_name(call.ctx, "on", linger.is_some());
            table.set_name(call.ctx, "timeout", seconds);
            table.into()
        }),
        b"error" => socket.take_error().map(|error| match error {
            None => Value::Nil,
            Some(error) => call.ctx.string(message::of(&error).as_bytes()),
        }),
        _ => return None,
    })
}

fn unsupported<'gc>(call: &Call<'gc>, name: &[u8]) -> Error<'gc> {
    let name = String::from_utf8_lossy(name);
    call.arg_error(1, format!("unsupported option `{name}'"))
}

fn flag<'gc>(call: &Call<'gc>) -> Result<bool, Error<'gc>> {
    match call.get(2) {
        Value::Bool(flag) => Ok(flag),
        _ => Err(call.type_error(2, "boolean")),
    }
}

fn size<'gc>(call: &Call<'gc>) -> Result<usize, Error<'gc>> {
    let size = call.check_int(2)?;
    usize::try_from(size).map_err(|_| call.arg_error(2, "size out of range"))
}

/// `{ on = boolean, timeout = seconds }`
fn linger<'gc>(call: &Call<'gc>) -> Result<Option<Duration>, Error<'gc>> {
    let Value::Table(table) = call.get(2) else {
        return Err(call.type_error(2, "table"));
    };
    let on = table.get_name(call.ctx, "on");
    let seconds = match table.get_name(call.ctx, "timeout") {
        Value::Int(seconds) => u64::try_from(seconds).ok(),
        Value::Float(seconds) if seconds >= 0.0 => Some(seconds as u64),
        _ => None,
    };
    match (on, seconds) {
        (Value::Bool(on), Some(seconds)) => Ok(on.then(|| Duration::from_secs(seconds))),
        (Value::Bool(_), None) => Err(call.arg_error(2, "number 'timeout' field expected")),
        _ => Err(call.arg_error(2, "boolean 'on' field expected")),
    }
}
