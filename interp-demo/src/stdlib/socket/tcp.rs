//! TCP objects: `socket.tcp`, `socket.connect`, `socket.bind` and the methods of what they return.
//!
//! A method first does what can be done at once. Where it would have to wait it suspends to the host, which collects
//! and sleeps, and goes on when the socket is ready. The deadline is kept in [`Call::state`].

use std::cell::RefMut;
use std::io;
use std::net::{Shutdown, SocketAddr};
use std::os::fd::RawFd;
use std::time::Duration;

use sleepy_gc::idle::Interest;
use socket2::Type;

use super::address::{Family, Host};
use super::buffer::{Found, Pattern, without_returns};
use super::endpoint::{Endpoint, Role};
use super::limit::Deadline;
use super::{common, message, options, resolver};
use crate::stdlib::Functions;
use crate::vm::error::Error;
use crate::vm::native::{Call, NativeResult};
use crate::vm::state::Ctx;
use crate::vm::suspend::{Answer, Suspend};
use crate::vm::userdata::UserData;
use crate::vm::value::Value;

/// What stands behind a TCP object.
#[derive(Debug)]
pub struct Tcp(pub Endpoint);

const METHODS: Functions = &[
    ("accept", accept),
    ("bind", bind),
    ("close", close),
    ("connect", connect),
    ("dirty", dirty),
    ("getfd", getfd),
    ("getoption", getoption),
    ("getpeername", getpeername),
    ("getsockname", getsockname),
    ("getstats", getstats),
    ("gettimeout", gettimeout),
    ("listen", listen),
    ("receive", receive),
    ("send", send),
    ("setoption", setoption),
    ("setpeername", connect),
    ("setsockname", bind),
    ("setstats", setstats),
    ("settimeout", settimeout),
    ("shutdown", shutdown),
];

const METATABLE: &str = "socket.tcp";
const DEFAULT_BACKLOG: i64 = 32;

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

fn tostring<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    let role = this(call)?.0.role.name();
    common::ret_name(call, &format!("tcp{{{role}}}"))
}

pub(super) fn tcp<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    new(call, Family::Any)
}

pub(super) fn tcp4<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    new(call, Family::V4)
}

pub(super) fn tcp6<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    new(call, Family::V6)
}

fn new<'gc>(call: &mut Call<'gc>, family: Family) -> NativeResult<'gc> {
    let object = object(call.ctx, Endpoint::new(family));
    call.ret1(object)
}

/// Leaves until the socket of slot 0 is ready, or the deadline in `state` has come. `None`: it has come already.
fn wait_for<'gc>(
    call: &mut Call<'gc>,
    fd: Option<RawFd>,
    interest: Interest,
    then: crate::vm::native::NativeFn,
) -> Option<NativeResult<'gc>> {
    let timeout: Option<Duration> = Deadline::from_number(call.state).left()?;
    let fd = fd?;
    Some(call.suspend(Suspend::WaitFd { fd, interest, timeout }, then))
}

// ---- receiving ----

/// `receive([pattern [, prefix]])`
fn receive<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    call.state = this(call)?.0.limits.deadline().to_number();
    call.truncate(3);
    receive_more(call)
}

fn pattern<'gc>(call: &Call<'gc>, prefix_len: usize) -> Result<Pattern, Error<'gc>> {
    let invalid = || call.arg_error(1, "invalid receive pattern");
    match call.get(1) {
        Value::Nil => Ok(Pattern::Line),
        Value::Str(name) => match name.as_bytes() {
            [b'*', b'l', ..] | [b'l', ..] => Ok(Pattern::Line),
            [b'*', b'a', ..] | [b'a', ..] => Ok(Pattern::All),
            _ => Err(invalid()),
        },
        _ => {
            let wanted = call.check_number(1)?;
            if wanted.is_nan() || wanted < 0.0 {
                return Err(invalid());
            }
            Ok(Pattern::Bytes((wanted as usize).saturating_sub(prefix_len)))
        }
    }
}

fn receive_more<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    let answer = call.answer();
    let prefix = match call.get(2) {
        Value::Nil => &b""[..],
        _ => call.check_str(2)?.as_bytes(),
    };
    let pattern = pattern(call, prefix.len())?;
    let mut tcp = this(call)?;
    let endpoint = &mut tcp.0;
    if let Answer::Failed(error) = answer {
        return received_part(call, tcp, pattern, prefix, &message::of(&error));
    }
    loop {
        let missing = match endpoint.buffer.find(pattern) {
            Found::Whole { take, skip } => {
                return received(call, tcp, pattern, prefix, take, skip);
            }
            Found::Needs(bytes) => bytes,
        };
        match endpoint.read_some(missing) {
            Ok(0) if pattern == Pattern::All && !endpoint.buffer.is_empty() => {
                let take = endpoint.buffer.bytes().len();
                return received(call, tcp, pattern, prefix, take, 0);
            }
            Ok(0) => return received_part(call, tcp, pattern, prefix, message::CLOSED),
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                let fd = endpoint.fd();
                return match wait_for(call, fd, Interest::Readable, receive_more) {
                    Some(waiting) => waiting,
                    None => received_part(call, tcp, pattern, prefix, message::TIMEOUT),
                };
            }
            Err(error) => return received_part(call, tcp, pattern, prefix, &message::of(&error)),
        }
    }
}

/// The first `take` bytes behind `prefix`, as one new string.
fn text_of<'gc>(
    ctx: Ctx<'gc>,
    endpoint: &Endpoint,
    pattern: Pattern,
    prefix: &[u8],
    take: usize,
) -> Result<Value<'gc>, Error<'gc>> {
    let bytes = &endpoint.buffer.bytes()[..take];
    let line;
    let bytes = match pattern {
        Pattern::Line => {
            line = without_returns(bytes);
            &*line
        }
        Pattern::All | Pattern::Bytes(_) => bytes,
    };
    match prefix {
        [] => ctx.try_string(bytes),
        _ => ctx.try_string(&[prefix, bytes].concat()),
    }
}

fn received<'gc>(
    call: &mut Call<'gc>,
    mut tcp: RefMut<'gc, Tcp>,
    pattern: Pattern,
    prefix: &[u8],
    take: usize,
    skip: usize,
) -> NativeResult<'gc> {
    // Nothing is taken if there is no memory for the string: the program may try again.
    let text = text_of(call.ctx, &tcp.0, pattern, prefix, take)?;
    tcp.0.buffer.consume(take + skip);
    call.ret(&[text, Value::Nil, Value::Nil])
}

fn received_part<'gc>(
    call: &mut Call<'gc>,
    mut tcp: RefMut<'gc, Tcp>,
    pattern: Pattern,
    prefix: &[u8],
    why: &str,
) -> NativeResult<'gc> {
    let take = tcp.0.buffer.partial(pattern);
    let part = text_of(call.ctx, &tcp.0, pattern, prefix, take)?;
    tcp.0.buffer.consume(take);
    let why = call.ctx.string(why.as_bytes());
    call.ret(&[Value::Nil, why, part])
}

// ---- sending ----

/// `send(data [, i [, j]])`. Slots: the object, the data, the next offset, the end; both count from 0.
fn send<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    call.state = this(call)?.0.limits.deadline().to_number();
    let data = call.check_str(1)?;
    let len = data.len() as i64;
    let from_end = |index: i64| if index < 0 { len.saturating_add(index) + 1 } else { index };
    let first = from_end(call.opt_int(2, 1)?).max(1);
    let last = from_end(call.opt_int(3, -1)?).min(len);
    call.set(1, data.into());
    call.set(2, Value::Int(first - 1));
    call.set(3, Value::Int(last));
    call.truncate(4);
    send_more(call)
}

fn send_more<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    let answer = call.answer();
    let (Value::Str(data), Value::Int(mut next), Value::Int(end)) =
        (call.get(1), call.get(2), call.get(3))
    else {
        return Err(call.error("send has lost its data"));
    };
    let mut tcp = this(call)?;
    let mut failed = match answer {
        Answer::Failed(error) => Some(message::of(&error)),
        _ => None,
    };
    while next < end && failed.is_none() {
        match tcp.0.write_some(&data.as_bytes()[next as usize..end as usize]) {
            Ok(count) => next += count as i64,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                call.set(2, Value::Int(next));
                let fd = tcp.0.fd();
                match wait_for(call, fd, Interest::Writable, send_more) {
                    Some(waiting) => return waiting,
                    None => failed = Some(message::TIMEOUT.into()),
                }
            }
            Err(error) => failed = Some(message::of(&error)),
        }
    }
    match failed {
        None => call.ret(&[Value::Int(next), Value::Nil, Value::Nil]),
        Some(why) => {
            let why = call.ctx.string(why.as_bytes());
            call.ret(&[Value::Nil, why, Value::Int(next)])
        }
    }
}

// ---- connecting ----

/// `connect(host, port)`
fn connect<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    call.truncate(3);
    call.push(Value::Bool(false));
    connect_first(call)
}

/// `socket.connect(host, port [, local host, local port])`
pub(super) fn connect_new<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    connect_family(call, Family::Any)
}

pub(super) fn connect_new4<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    connect_family(call, Family::V4)
}

pub(super) fn connect_new6<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    connect_family(call, Family::V6)
}

fn connect_family<'gc>(call: &mut Call<'gc>, family: Family) -> NativeResult<'gc> {
    let mut endpoint = Endpoint::new(family);
    if !call.is_none_or_nil(2) {
        let host = common::host(call, 2)?;
        let port = common::opt_port(call, 3)?;
        if let Host::Known(addresses) = super::address::parse(&host, port, family)
            && let Err(error) = bind_to(&mut endpoint, &addresses)
        {
            return common::ret_failure(call, &message::of(&error));
        }
    }
    let object = object(call.ctx, endpoint);
    call.truncate(2);
    call.insert(0, object.into());
    call.push(Value::Bool(true));
    connect_first(call)
}

/// Slots: the object, the host, the port, whether to return the object.
fn connect_first<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    let (family, deadline) = {
        let tcp = this(call)?;
        (tcp.0.family, tcp.0.limits.deadline())
    };
    call.state = deadline.to_number();
    let host = common::host(call, 1)?;
    let port = common::port(call, 2)?;
    match super::address::parse(&host, port, family) {
        Host::Known(addresses) => connect_to(call, addresses),
        Host::Named(name) => resolver::resolve(call, name, port, |call| {
            match resolver::resolved(call) {
                Ok(addresses) => connect_to(call, addresses),
                Err(why) => common::ret_failure(call, &why),
            }
        }),
    }
}

fn connect_to<'gc>(call: &mut Call<'gc>, addresses: Vec<SocketAddr>) -> NativeResult<'gc> {
    let mut tcp = this(call)?;
    let family = tcp.0.family;
    let mut untried: Vec<_> = addresses.into_iter().filter(|a| family.allows(a)).collect();
    if untried.is_empty() {
        return common::ret_failure(call, message::UNKNOWN_HOST);
    }
    untried.reverse();
    tcp.0.untried = untried;
    connect_next(call, tcp)
}

fn connect_next<'gc>(call: &mut Call<'gc>, mut tcp: RefMut<'gc, Tcp>) -> NativeResult<'gc> {
    match tcp.0.connect_next() {
        Ok(true) => connected(call, tcp),
        Ok(false) => {
            let fd = tcp.0.fd();
            match wait_for(call, fd, Interest::Writable, connect_more) {
                Some(waiting) => waiting,
                None => common::ret_failure(call, message::TIMEOUT),
            }
        }
        Err(error) => common::ret_failure(call, &message::of(&error)),
    }
}

fn connect_more<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    let answer = call.answer();
    let tcp = this(call)?;
    let result = match answer {
        Answer::Failed(error) => Err(error),
        Answer::Ready(false) => {
            let fd = tcp.0.fd();
            return match wait_for(call, fd, Interest::Writable, connect_more) {
                Some(waiting) => waiting,
                None => common::ret_failure(call, message::TIMEOUT),
            };
        }
        _ => tcp.0.connect_result(),
    };
    match result {
        Ok(()) => connected(call, tcp),
        Err(_) if !tcp.0.untried.is_empty() => connect_next(call, tcp),
        Err(error) => common::ret_failure(call, &message::of(&error)),
    }
}

fn connected<'gc>(call: &mut Call<'gc>, mut tcp: RefMut<'gc, Tcp>) -> NativeResult<'gc> {
    tcp.0.role = Role::Client;
    tcp.0.untried = Vec::new();
    match call.get(3) {
        Value::Bool(true) => call.ret1(call.get(0)),
        _ => call.ret1(Value::Int(1)),
    }
}

// ---- listening ----

fn bind_to(endpoint: &mut Endpoint, addresses: &[SocketAddr]) -> io::Result<()> {
    let family = endpoint.family;
    let mut last = io::Error::from_raw_os_error(libc::EADDRNOTAVAIL);
    for address in addresses.iter().filter(|a| family.allows(a)) {
        match endpoint
            .open_for(address, Type::STREAM)
            .and_then(|socket| socket.bind(&(*address).into()))
        {
            Ok(()) => return Ok(()),
            Err(error) => last = error,
        }
    }
    Err(last)
}

/// `bind(host, port)`
fn bind<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    with_addresses(call, |call, addresses| {
        match bind_to(&mut this(call)?.0, &addresses) {
            Ok(()) => call.ret1(Value::Int(1)),
            Err(error) => common::ret_failure(call, &message::of(&error)),
        }
    })
}

/// `socket.bind(host, port [, backlog])`: a listening server.
pub(super) fn bind_new<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    call.opt_int(2, DEFAULT_BACKLOG)?;
    let object = object(call.ctx, Endpoint::new(Family::Any));
    call.insert(0, object.into());
    with_addresses(call, |call, addresses| {
        let backlog = call.opt_int(3, DEFAULT_BACKLOG)?;
        match serve(&mut this(call)?.0, &addresses, backlog) {
            Ok(()) => call.ret1(call.get(0)),
            Err(error) => common::ret_failure(call, &message::of(&error)),
        }
    })
}

fn serve(endpoint: &mut Endpoint, addresses: &[SocketAddr], backlog: i64) -> io::Result<()> {
    if let Some(address) = addresses.first() {
        endpoint
            .open_for(address, Type::STREAM)?
            .set_reuse_address(true)?;
    }
    bind_to(endpoint, addresses)?;
    listen_with(endpoint, backlog)
}

fn listen_with(endpoint: &mut Endpoint, backlog: i64) -> io::Result<()> {
    let backlog = backlog.clamp(0, i64::from(i32::MAX)) as i32;
    endpoint.socket()?.listen(backlog)?;
    endpoint.role = Role::Server;
    Ok(())
}

/// Goes on with the addresses of the host and port in slots 1 and 2.
fn with_addresses<'gc>(
    call: &mut Call<'gc>,
    then: fn(&mut Call<'gc>, Vec<SocketAddr>) -> NativeResult<'gc>,
) -> NativeResult<'gc> {
    let family = this(call)?.0.family;
    let host = common::host(call, 1)?;
    let port = common::port(call, 2)?;
    match super::address::parse(&host, port, family) {
        Host::Known(addresses) => then(call, addresses),
        // A name that is bound to is a name of this machine: it is known without asking a network.
        Host::Named(name) => match super::address::resolve(&name, port) {
            Ok(addresses) => then(call, addresses),
            Err(why) => common::ret_failure(call, &why),
        },
    }
}

/// `listen([backlog])`
fn listen<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    let backlog = call.opt_int(1, DEFAULT_BACKLOG)?;
    match listen_with(&mut this(call)?.0, backlog) {
        Ok(()) => call.ret1(Value::Int(1)),
        Err(error) => common::ret_failure(call, &message::of(&error)),
    }
}

/// `accept()`
fn accept<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    call.state = this(call)?.0.limits.deadline().to_number();
    call.truncate(1);
    accept_more(call)
}

fn accept_more<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    if let Answer::Failed(error) = call.answer() {
        return common::ret_failure(call, &message::of(&error));
    }
    let (accepted, fd) = {
        let tcp = this(call)?;
        (tcp.0.accept_one(), tcp.0.fd())
    };
    match accepted {
        Ok(endpoint) => {
            let client = object(call.ctx, endpoint);
            call.ret1(client)
        }
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
            match wait_for(call, fd, Interest::Readable, accept_more) {
                Some(waiting) => waiting,
                None => common::ret_failure(call, message::TIMEOUT),
            }
        }
        Err(error) => common::ret_failure(call, &message::of(&error)),
    }
}

// ---- the rest ----

/// `shutdown([mode])`
fn shutdown<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
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
    this(call)?.0.close();
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
    common::ret_address(call, peer)
}

fn getsockname<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    let local = this(call)?.0.local();
    common::ret_address(call, local)
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
