//! What the kinds of socket objects have in common.

use std::any::Any;
use std::io;
use std::net::SocketAddr;

use super::address::{self, Family};
use super::endpoint::Endpoint;
use super::limit::Limits;
use super::message;
use crate::stdlib::{Functions, descriptors, fill};
use crate::vm::error::Error;
use crate::vm::native::{Call, Native, NativeFn, NativeResult};
use crate::vm::state::Ctx;
use crate::vm::table::Table;
use crate::vm::userdata::UserData;
use crate::vm::value::Value;

/// A new object with the metatable of that name, which is made when it is first needed.
pub(super) fn object<'gc, T: Any + Send>(
    ctx: Ctx<'gc>,
    metatable: &'static str,
    methods: Functions,
    tostring: NativeFn,
    data: T,
) -> UserData<'gc> {
    let registry = ctx.state.registry();
    let class = match registry.get_name(ctx, metatable) {
        Value::Table(class) => class,
        _ => {
            let index = Table::new(ctx);
            fill(ctx, index, methods);
            let class = Table::new(ctx);
            index.set_name(ctx, "class", ctx.string(metatable.as_bytes()));
            class.set_name(ctx, "__index", index);
            class.set_name(ctx, "__name", ctx.string(metatable.as_bytes()));
            class.set_name(ctx, "__close", index.get_name(ctx, "close"));
            class.set_name(ctx, "__tostring", Native::new(ctx, "tostring", tostring));
            registry.set_name(ctx, metatable, class);
            class
        }
    };
    let object = UserData::new(ctx, data);
    object.set_metatable(ctx, Some(class));
    object
}

/// Closes a socket. Threads that wait for it find it closed.
pub(super) fn close(ctx: Ctx<'_>, endpoint: &mut Endpoint) {
    if let Some(fd) = endpoint.fd() {
        ctx.rouse_waiters_of(fd);
    }
    endpoint.close();
}

/// `setfd(descriptor)`: goes on with the socket of that descriptor, or with none if it is negative.
///
/// The descriptor is duplicated: no two objects have the same one, so none can close another's.
pub(super) fn set_fd<'gc>(call: &mut Call<'gc>, endpoint: &mut Endpoint) -> NativeResult<'gc> {
    let fd = call.check_int(1)?;
    if fd < 0 {
        close(call.ctx, endpoint);
        return call.ret0();
    }
    let fd = i32::try_from(fd).map_err(|_| call.arg_error(1, "no descriptor"))?;
    match endpoint.adopt(fd) {
        Ok(()) => call.ret0(),
        Err(error) => ret_failure(call, &message::of(&error)),
    }
}

/// Returns the family of a socket, as LuaSocket names it.
pub(super) fn ret_family<'gc>(call: &mut Call<'gc>, family: Family) -> NativeResult<'gc> {
    let name = match family {
        Family::V4 => "inet4",
        Family::Any | Family::V6 => family.name(),
    };
    let name = call.ctx.string(name.as_bytes());
    call.ret1(name)
}

/// Returns `nil, message`.
pub(super) fn ret_failure<'gc>(call: &mut Call<'gc>, why: &str) -> NativeResult<'gc> {
    let why = call.ctx.string(why.as_bytes());
    call.ret(&[Value::Nil, why])
}

/// Returns why there is no socket; for want of descriptors, `again` is called after a collection.
pub(super) fn ret_not_open<'gc>(
    call: &mut Call<'gc>,
    error: &io::Error,
    again: NativeFn,
) -> NativeResult<'gc> {
    match descriptors::collect_once(call, error, again) {
        Some(again) => again,
        None => ret_failure(call, &message::of(error)),
    }
}

/// Which side of a socket.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    /// This one: its port is told as text.
    Own,
    /// The other one: its port is told as a number.
    Peer,
}

/// Returns the address, port and family of one side of a socket, in the types of LuaSocket.
pub(super) fn ret_address<'gc>(
    call: &mut Call<'gc>,
    address: io::Result<Option<SocketAddr>>,
    side: Side,
) -> NativeResult<'gc> {
    match address {
        Ok(Some(address)) => {
            let ip = call.ctx.string(address.ip().to_string().as_bytes());
            let port = match side {
                Side::Own => call.ctx.string(address.port().to_string().as_bytes()),
                Side::Peer => Value::Int(i64::from(address.port())),
            };
            let family = call.ctx.string(Family::name_of(&address).as_bytes());
            call.ret(&[ip, port, family])
        }
        Ok(None) => ret_failure(call, "not an internet address"),
        Err(error) => ret_failure(call, &message::of(&error)),
    }
}

/// Returns `name: 0x…`, with the address of the object in slot 0.
pub(super) fn ret_name<'gc>(call: &mut Call<'gc>, name: &str) -> NativeResult<'gc> {
    let address = call.get(0).address().map_or(0, <*const ()>::addr);
    let text = call.ctx.string(format!("{name}: {address:#x}").as_bytes());
    call.ret1(text)
}

/// The host name in slot `i`.
pub(super) fn host<'gc>(call: &mut Call<'gc>, i: usize) -> Result<String, Error<'gc>> {
    match std::str::from_utf8(call.check_str(i)?.as_bytes()) {
        Ok(name) => Ok(name.to_owned()),
        Err(_) => Err(call.arg_error(i, "invalid host name")),
    }
}

/// The port in slot `i`: a number, its digits, or the name of a service; `None` if it is another number or text.
pub(super) fn port<'gc>(call: &Call<'gc>, i: usize) -> Result<Option<u16>, Error<'gc>> {
    match call.get(i) {
        Value::Int(_) | Value::Float(_) => Ok(call
            .check_int(i)
            .ok()
            .and_then(|port| u16::try_from(port).ok())),
        Value::Str(digits) => Ok(match digits.as_bytes() {
            b"" => Some(0),
            text => std::str::from_utf8(text)
                .ok()
                .and_then(|text| text.parse().ok().or_else(|| address::port_of(text))),
        }),
        _ => Err(call.type_error(i, "string")),
    }
}

/// Refuses what is no host and port, in slots 0 and 1, while the arguments still have their numbers.
pub(super) fn check_address<'gc>(call: &mut Call<'gc>) -> Result<(), Error<'gc>> {
    call.check_str(0)?;
    port(call, 1)?;
    Ok(())
}

/// The port in slot `i`; any if there is none.
pub(super) fn opt_port<'gc>(call: &Call<'gc>, i: usize) -> Result<Option<u16>, Error<'gc>> {
    match call.is_none_or_nil(i) {
        true => Ok(Some(0)),
        false => port(call, i),
    }
}

/// `settimeout(seconds [, mode])`
pub(super) fn set_timeout<'gc>(call: &mut Call<'gc>, limits: &mut Limits) -> NativeResult<'gc> {
    let seconds = match call.is_none_or_nil(1) {
        true => -1.0,
        false => call.check_float(1)?,
    };
    let mode = match call.is_none_or_nil(2) {
        true => &b"b"[..],
        false => call.check_str(2)?.as_bytes(),
    };
    match mode.first() {
        Some(b'b') => limits.set_block(seconds),
        Some(b't' | b'r') => limits.set_total(seconds),
        _ => return Err(call.arg_error(2, "invalid timeout mode")),
    }
    call.ret1(Value::Int(1))
}
