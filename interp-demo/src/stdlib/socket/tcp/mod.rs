//! TCP objects: `socket.tcp`, `socket.connect`, `socket.bind` and the methods of what they return.
//!
//! A method first does what can be done at once. Where it would have to wait it suspends to the host, which collects
//! and sleeps, and goes on when the socket is ready. The deadline is kept in [`Call::state`].

mod connect;
mod listen;
mod receive;
mod send;

pub(super) use connect::{connect_new, connect_new4, connect_new6};
pub(super) use listen::bind_new;

use std::cell::RefMut;
use std::net::Shutdown;
use std::os::fd::RawFd;
use std::time::Duration;

use sleepy_gc::idle::Interest;
use socket2::Type;

use super::address::Family;
use super::common::Side;
use super::endpoint::{Endpoint, Role};
use super::limit::Deadline;
use super::{common, message, options};
use crate::stdlib::Functions;
use crate::vm::error::Error;
use crate::vm::native::{Call, NativeFn, NativeResult};
use crate::vm::state::Ctx;
use crate::vm::suspend::Suspend;
use crate::vm::userdata::UserData;
use crate::vm::value::Value;

/// What stands behind a TCP object.
#[derive(Debug)]
pub struct Tcp(pub Endpoint);

const METHODS: Functions = &[
    ("accept", listen::accept),
    ("bind", listen::bind),
    ("close", close),
    ("connect", connect::connect),
    ("dirty", dirty),
    ("getfamily", getfamily),
    ("getfd", getfd),
    ("getoption", getoption),
    ("getpeername", getpeername),
    ("getsockname", getsockname),
    ("getstats", getstats),
    ("gettimeout", gettimeout),
    ("listen", listen::listen),
    ("receive", receive::receive),
    ("send", send::send),
    ("setfd", setfd),
    ("setoption", setoption),
    ("setpeername", connect::connect),
    ("setsockname", listen::bind),
    ("setstats", setstats),
    ("settimeout", settimeout),
    ("shutdown", shutdown),
];

const METATABLE: &str = "socket.tcp";

/// A new TCP object for `endpoint`.
pub(super) fn object<'gc>(ctx: Ctx<'gc>, endpoint: Endpoint) -> UserData<'gc> {
    common::object(ctx, METATABLE, METHODS, tostring, Tcp(endpoint))
}

/// The endpoint in slot 0.
fn this<'gc>(call: &Call<'gc>) -> Result<RefMut<'gc, Tcp>, Error<'gc>> {
    match call.get(0) {
        Value::UserData(data) => data.borrow::<Tcp>(),
        _ => None,
    }
    .ok_or_else(|| call.type_error(0, "tcp socket"))
}

/// The endpoint in slot 0, which must be in the role that a method is for.
fn this_as<'gc>(call: &Call<'gc>, role: Role) -> Result<RefMut<'gc, Tcp>, Error<'gc>> {
    let tcp = this(call)?;
    if tcp.0.role == role {
        return Ok(tcp);
    }
    Err(call.arg_error(0, format!("tcp{{{}}} expected", role.name())))
}

fn tostring<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    let role = this(call)?.0.role.name();
    common::ret_name(call, &format!("tcp{{{role}}}"))
}

pub(super) fn tcp<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    new(call, Family::Any, tcp)
}

pub(super) fn tcp4<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    new(call, Family::V4, tcp4)
}

pub(super) fn tcp6<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    new(call, Family::V6, tcp6)
}

/// A new object, with a socket where the family is known; for want of descriptors, `again` is called after a collection.
fn new<'gc>(call: &mut Call<'gc>, family: Family, again: NativeFn) -> NativeResult<'gc> {
    let endpoint = match Endpoint::open(family, Type::STREAM) {
        Ok(endpoint) => endpoint,
        Err(error) => return common::ret_not_open(call, &error, again),
    };
    let object = object(call.ctx, endpoint);
    call.ret1(object)
}

/// Leaves until the socket of slot 0 is ready, or the deadline in `state` has come. `None`: it has come already.
fn wait_for<'gc>(
    call: &mut Call<'gc>,
    fd: Option<RawFd>,
    interest: Interest,
    then: NativeFn,
) -> Option<NativeResult<'gc>> {
    let timeout: Option<Duration> = Deadline::from_number(call.state).left()?;
    let fd = fd?;
    Some(call.suspend(
        Suspend::WaitFd {
            fd,
            interest,
            timeout,
        },
        then,
    ))
}

/// `shutdown([mode])`
fn shutdown<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    this_as(call, Role::Client)?;
    let how = match call.get(1) {
        Value::Nil => Shutdown::Both,
        _ => match call.check_str(1)?.as_bytes() {
            b"both" => Shutdown::Both,
            b"send" => Shutdown::Write,
            b"receive" => Shutdown::Read,
            _ => return Err(call.arg_error(1, "invalid option")),
        },
    };
    match this(call)?.0.shutdown(how) {
        Ok(()) => call.ret1(Value::Int(1)),
        Err(error) => common::ret_failure(call, &message::of(&error)),
    }
}

fn close<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    common::close(call.ctx, &mut this(call)?.0);
    call.ret1(Value::Int(1))
}

fn dirty<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    let dirty = !this(call)?.0.buffer.is_empty();
    call.ret1(dirty)
}

fn getfd<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    let fd = this(call)?.0.fd().unwrap_or(-1);
    call.ret1(i64::from(fd))
}

fn getfamily<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    let family = this(call)?.0.family;
    common::ret_family(call, family)
}

fn setfd<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    let mut tcp = this(call)?;
    common::set_fd(call, &mut tcp.0)
}

fn getoption<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    let tcp = this(call)?;
    options::get(call, &tcp.0)
}

fn setoption<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    let tcp = this(call)?;
    options::set(call, &tcp.0)
}

fn getpeername<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    let peer = this(call)?.0.peer();
    common::ret_address(call, peer, Side::Peer)
}

fn getsockname<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    let local = this(call)?.0.local();
    common::ret_address(call, local, Side::Own)
}

fn getstats<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    let tcp = this(call)?;
    let values = [
        Value::Int(tcp.0.received_bytes as i64),
        Value::Int(tcp.0.sent_bytes as i64),
        Value::Float(tcp.0.age_s()),
    ];
    call.ret(&values)
}

fn setstats<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    let mut tcp = this(call)?;
    tcp.0.received_bytes = call.opt_int(1, tcp.0.received_bytes as i64)?.max(0) as u64;
    tcp.0.sent_bytes = call.opt_int(2, tcp.0.sent_bytes as i64)?.max(0) as u64;
    call.ret1(Value::Int(1))
}

fn settimeout<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    let mut tcp = this(call)?;
    common::set_timeout(call, &mut tcp.0.limits)
}

fn gettimeout<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    let (block_s, total_s) = this(call)?.0.limits.get();
    call.ret(&[Value::Float(block_s), Value::Float(total_s)])
}
