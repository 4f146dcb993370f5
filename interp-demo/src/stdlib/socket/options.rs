//! `setoption` and `getoption`.

use std::io;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::time::Duration;

use socket2::{Socket, TcpKeepalive};

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
        b"tcp-keepidle" => socket.set_tcp_keepalive(&TcpKeepalive::new().with_time(seconds(call)?)),
        b"tcp-keepintvl" => {
            socket.set_tcp_keepalive(&TcpKeepalive::new().with_interval(seconds(call)?))
        }
        b"tcp-keepcnt" => {
            let count = number(call)?;
            socket.set_tcp_keepalive(&TcpKeepalive::new().with_retries(count))
        }
        b"ip-multicast-interface" => socket.set_multicast_if_v4(&address(call)?),
        b"ip-multicast-ttl" => socket.set_multicast_ttl_v4(number(call)?),
        b"ip-multicast-loop" => socket.set_multicast_loop_v4(flag(call)?),
        b"ip-add-membership" => {
            let (group, own) = membership(call)?;
            socket.join_multicast_v4(&group, &own)
        }
        b"ip-drop-membership" => {
            let (group, own) = membership(call)?;
            socket.leave_multicast_v4(&group, &own)
        }
        b"ipv6-unicast-hops" => socket.set_unicast_hops_v6(number(call)?),
        b"ipv6-multicast-hops" => socket.set_multicast_hops_v6(number(call)?),
        b"ipv6-multicast-loop" => socket.set_multicast_loop_v6(flag(call)?),
        b"ipv6-add-membership" => {
            let (group, interface) = membership_v6(call)?;
            socket.join_multicast_v6(&group, interface)
        }
        b"ipv6-drop-membership" => {
            let (group, interface) = membership_v6(call)?;
            socket.leave_multicast_v6(&group, interface)
        }
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
    let count = |count: io::Result<u32>| count.map(|count| Value::Int(count.into()));
    let time = |time: io::Result<Duration>| time.map(|time| Value::Int(time.as_secs() as i64));
    Some(match name {
        b"keepalive" => socket.keepalive().map(Value::Bool),
        b"reuseaddr" => socket.reuse_address().map(Value::Bool),
        b"reuseport" => socket.reuse_port().map(Value::Bool),
        b"tcp-nodelay" => socket.tcp_nodelay().map(Value::Bool),
        b"ipv6-v6only" => socket.only_v6().map(Value::Bool),
        b"broadcast" => socket.broadcast().map(Value::Bool),
        b"recv-buffer-size" => number(socket.recv_buffer_size()),
        b"send-buffer-size" => number(socket.send_buffer_size()),
        b"tcp-keepidle" => time(socket.tcp_keepalive_time()),
        b"tcp-keepintvl" => time(socket.tcp_keepalive_interval()),
        b"tcp-keepcnt" => count(socket.tcp_keepalive_retries()),
        b"ip-multicast-interface" | b"ip-multicast-if" => socket
            .multicast_if_v4()
            .map(|address| call.ctx.string(address.to_string().as_bytes())),
        b"ip-multicast-ttl" => count(socket.multicast_ttl_v4()),
        b"ip-multicast-loop" => socket.multicast_loop_v4().map(Value::Bool),
        b"ipv6-unicast-hops" => count(socket.unicast_hops_v6()),
        b"ipv6-multicast-hops" => count(socket.multicast_hops_v6()),
        b"ipv6-multicast-loop" => socket.multicast_loop_v6().map(Value::Bool),
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

fn number<'gc>(call: &Call<'gc>) -> Result<u32, Error<'gc>> {
    let number = call.check_int(2)?;
    u32::try_from(number).map_err(|_| call.arg_error(2, "number out of range"))
}

fn seconds<'gc>(call: &Call<'gc>) -> Result<Duration, Error<'gc>> {
    Ok(Duration::from_secs(number(call)?.into()))
}

/// An IPv4 address; `*` is any.
fn address<'gc>(call: &mut Call<'gc>) -> Result<Ipv4Addr, Error<'gc>> {
    let text = call.check_str(2)?.to_text();
    parsed(call, &text, "ip expected")
}

fn parsed<'gc, T: std::str::FromStr>(
    call: &Call<'gc>,
    text: &str,
    why: &str,
) -> Result<T, Error<'gc>> {
    let text = if text == "*" { "0.0.0.0" } else { text };
    text.parse().map_err(|_| call.arg_error(2, why))
}

/// A field of the table in slot 2 that is text.
fn field<'gc>(call: &Call<'gc>, name: &str) -> Result<String, Error<'gc>> {
    let Value::Table(table) = call.get(2) else {
        return Err(call.type_error(2, "table"));
    };
    match table.get_name(call.ctx, name) {
        Value::Str(text) => Ok(text.to_text().into_owned()),
        _ => Err(call.arg_error(2, format!("string '{name}' field expected"))),
    }
}

/// `{ multiaddr = address, interface = address }`
fn membership<'gc>(call: &Call<'gc>) -> Result<(Ipv4Addr, Ipv4Addr), Error<'gc>> {
    let group = parsed(
        call,
        &field(call, "multiaddr")?,
        "invalid 'multiaddr' ip address",
    )?;
    let own = parsed(
        call,
        &field(call, "interface")?,
        "invalid 'interface' ip address",
    )?;
    Ok((group, own))
}

/// `{ multiaddr = address [, interface = number] }`
fn membership_v6<'gc>(call: &Call<'gc>) -> Result<(Ipv6Addr, u32), Error<'gc>> {
    let group = parsed(
        call,
        &field(call, "multiaddr")?,
        "invalid 'multiaddr' ip address",
    )?;
    let interface = match call.get(2) {
        Value::Table(table) => table.get_name(call.ctx, "interface"),
        _ => Value::Nil,
    };
    match interface {
        Value::Nil => Ok((group, 0)),
        Value::Int(number) => match u32::try_from(number) {
            Ok(number) => Ok((group, number)),
            Err(_) => Err(call.arg_error(2, "number 'interface' field out of range")),
        },
        _ => Err(call.arg_error(2, "number 'interface' field expected")),
    }
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
