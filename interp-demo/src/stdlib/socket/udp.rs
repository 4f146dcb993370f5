//! UDP objects.

use std::cell::RefMut;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use sleepy_gc::idle::Interest;
use socket2::Type;

use super::address::{Family, Host};
use super::common::Side;
use super::endpoint::{Endpoint, Role};
use super::limit::Deadline;
use super::{address, common, message, options};
use crate::stdlib::{Functions, descriptors};
use crate::vm::error::Error;
use crate::vm::native::{Call, NativeFn, NativeResult};
use crate::vm::suspend::{Answer, Suspend};
use crate::vm::value::Value;

/// What stands behind a UDP object.
#[derive(Debug)]
pub struct Udp(pub Endpoint);

const METHODS: Functions = &[
    ("close", close),
    ("dirty", dirty),
    ("getfamily", getfamily),
    ("getfd", getfd),
    ("getoption", getoption),
    ("getpeername", getpeername),
    ("getsockname", getsockname),
    ("gettimeout", gettimeout),
    ("receive", receive),
    ("receivefrom", receivefrom),
    ("send", send),
    ("sendto", sendto),
    ("setfd", setfd),
    ("setoption", setoption),
    ("setpeername", setpeername),
    ("setsockname", setsockname),
    ("settimeout", settimeout),
];

/// The longest datagram that `receive` takes when no size is given.
pub(super) const DATAGRAM_BYTES: i64 = 8192;
const MAX_DATAGRAM_BYTES: i64 = 65_536;

fn this<'gc>(call: &Call<'gc>) -> Result<RefMut<'gc, Udp>, Error<'gc>> {
    match call.get(0) {
        Value::UserData(data) => data.borrow::<Udp>(),
        _ => None,
    }
    .ok_or_else(|| call.type_error(0, "udp socket"))
}

/// The object in slot 0, which must have a peer, or must have none.
fn this_as<'gc>(call: &Call<'gc>, role: Role) -> Result<RefMut<'gc, Udp>, Error<'gc>> {
    let udp = this(call)?;
    if udp.0.role == role {
        return Ok(udp);
    }
    Err(call.arg_error(0, format!("{} expected", class_of(role))))
}

fn class_of(role: Role) -> &'static str {
    match role {
        Role::Client => "udp{connected}",
        Role::Master | Role::Server => "udp{unconnected}",
    }
}

fn tostring<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    let role = this(call)?.0.role;
    common::ret_name(call, class_of(role))
}

pub(super) fn udp<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    new(call, Family::Any, udp)
}

pub(super) fn udp4<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    new(call, Family::V4, udp4)
}

pub(super) fn udp6<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    new(call, Family::V6, udp6)
}

/// A new object, with a socket where the family is known; for want of descriptors, `again` is called after a collection.
fn new<'gc>(call: &mut Call<'gc>, family: Family, again: NativeFn) -> NativeResult<'gc> {
    let endpoint = match Endpoint::open(family, Type::DGRAM) {
        Ok(endpoint) => Udp(endpoint),
        Err(error) => return common::ret_not_open(call, &error, again),
    };
    let object = common::object(call.ctx, "socket.udp", METHODS, tostring, endpoint);
    call.ret1(object)
}

/// The address in slots `i` and `i + 1`, or in words why there is none.
fn address_at<'gc>(
    call: &mut Call<'gc>,
    i: usize,
    family: Family,
) -> Result<Result<SocketAddr, &'static str>, Error<'gc>> {
    let host = common::host(call, i)?;
    let Some(port) = common::port(call, i + 1)? else {
        return Ok(Err(message::UNKNOWN_SERVICE));
    };
    let found = match address::parse(&host, port, family) {
        Host::Known(addresses) => addresses,
        Host::Named(name) => address::resolve(&name, port).unwrap_or_default(),
    };
    let address = found.into_iter().find(|a| family.allows(a));
    Ok(address.ok_or(message::UNKNOWN_HOST))
}

/// Returns how it went; for want of descriptors, `again` is called after a collection.
fn ret_done<'gc>(call: &mut Call<'gc>, done: io::Result<()>, again: NativeFn) -> NativeResult<'gc> {
    match done {
        Ok(()) => call.ret1(Value::Int(1)),
        Err(error) => match descriptors::collect_once(call, &error, again) {
            Some(again) => again,
            None => common::ret_failure(call, &message::of(&error)),
        },
    }
}

fn setsockname<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    let mut udp = this_as(call, Role::Master)?;
    let address = match address_at(call, 1, udp.0.family)? {
        Ok(address) => address,
        Err(why) => return common::ret_failure(call, why),
    };
    let done = udp.0.bind_to(address, Type::DGRAM);
    ret_done(call, done, setsockname)
}

/// `setpeername(host, port)`, or `setpeername("*")` for none.
fn setpeername<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    let mut udp = this(call)?;
    if call.check_str(1)?.as_bytes() == b"*" {
        let done = match udp.0.fd() {
            Some(_) => udp.0.disconnect(),
            None => Ok(()),
        };
        if done.is_ok() {
            udp.0.role = Role::Master;
        }
        return ret_done(call, done, setpeername);
    }
    let address = match address_at(call, 1, udp.0.family)? {
        Ok(address) => address,
        Err(why) => return common::ret_failure(call, why),
    };
    let done = udp
        .0
        .open_for(&address, Type::DGRAM)
        .and_then(|socket| socket.connect(&address.into()));
    if done.is_ok() {
        udp.0.role = Role::Client;
    }
    ret_done(call, done, setpeername)
}

fn wait_for<'gc>(
    call: &mut Call<'gc>,
    udp: &Udp,
    interest: Interest,
    then: NativeFn,
) -> NativeResult<'gc> {
    match (Deadline::from_number(call.state).left(), udp.0.fd()) {
        (Some(timeout), Some(fd)) => call.suspend(
            Suspend::WaitFd {
                fd,
                interest,
                timeout,
            },
            then,
        ),
        _ => common::ret_failure(call, message::TIMEOUT),
    }
}

/// `send(datagram)`, to the peer
fn send<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    this_as(call, Role::Client)?;
    call.truncate(2);
    start_send(call)
}

/// `sendto(datagram, ip, port)`
fn sendto<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    let mut udp = this_as(call, Role::Master)?;
    let address = match address_at(call, 2, udp.0.family)? {
        Ok(address) => address,
        Err(why) => return common::ret_failure(call, why),
    };
    if let Err(error) = udp.0.open_for(&address, Type::DGRAM) {
        return ret_done(call, Err(error), sendto);
    }
    drop(udp);
    call.truncate(4);
    start_send(call)
}

fn start_send<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    call.state = this(call)?.0.limits.deadline().to_number();
    send_more(call)
}

fn send_more<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    if let Answer::Failed(error) = call.answer() {
        return common::ret_failure(call, &message::of(&error));
    }
    let data = call.check_str(1)?;
    let mut udp = this(call)?;
    let to = match call.len() {
        2 => None,
        _ => address_at(call, 2, udp.0.family)?.ok(),
    };
    match udp.0.send_datagram(data.as_bytes(), to) {
        Ok(count) => call.ret1(Value::Int(count as i64)),
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
            wait_for(call, &udp, Interest::Writable, send_more)
        }
        Err(error) => common::ret_failure(call, &message::of(&error)),
    }
}

/// `receive([size])`
fn receive<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    start_receive(call, false)
}

/// `receivefrom([size])`: the datagram, and the address and port that it came from
fn receivefrom<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    this_as(call, Role::Master)?;
    start_receive(call, true)
}

/// Slots: the object, the size, whether the sender's address is wanted.
fn start_receive<'gc>(call: &mut Call<'gc>, with_sender: bool) -> NativeResult<'gc> {
    let size = call
        .opt_int(1, DATAGRAM_BYTES)?
        .clamp(0, MAX_DATAGRAM_BYTES);
    let mut udp = this(call)?;
    if udp.0.fd().is_none() {
        let any = SocketAddr::new(IpAddr::V4(Ipv4Addr::UNSPECIFIED), 0);
        if let Err(error) = udp.0.open_for(&any, Type::DGRAM) {
            return ret_done(
                call,
                Err(error),
                if with_sender { receivefrom } else { receive },
            );
        }
    }
    call.state = udp.0.limits.deadline().to_number();
    drop(udp);
    call.truncate(1);
    call.push(Value::Int(size));
    call.push(Value::Bool(with_sender));
    receive_more(call)
}

fn receive_more<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    if let Answer::Failed(error) = call.answer() {
        return common::ret_failure(call, &message::of(&error));
    }
    let mut udp = this(call)?;
    let size = call.check_int(1)? as usize;
    let (bytes, from) = match udp.0.receive_datagram(size) {
        Ok(received) => received,
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
            return wait_for(call, &udp, Interest::Readable, receive_more);
        }
        Err(error) => return common::ret_failure(call, &message::of(&error)),
    };
    let text = call.ctx.string(&bytes);
    match (call.get(2), from) {
        (Value::Bool(true), Some(from)) => {
            let ip = call.ctx.string(from.ip().to_string().as_bytes());
            call.ret(&[text, ip, Value::Int(i64::from(from.port()))])
        }
        _ => call.ret1(text),
    }
}

fn close<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    common::close(call.ctx, &mut this(call)?.0);
    call.ret1(Value::Int(1))
}

fn getfd<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    let fd = this(call)?.0.fd().unwrap_or(-1);
    call.ret1(i64::from(fd))
}

/// `dirty()`: datagrams are not kept here
fn dirty<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    this(call)?;
    call.ret1(false)
}

fn getfamily<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    let family = this(call)?.0.family;
    common::ret_family(call, family)
}

fn setfd<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    let mut udp = this(call)?;
    common::set_fd(call, &mut udp.0)
}

fn getoption<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    let udp = this(call)?;
    options::get(call, &udp.0)
}

fn setoption<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    let udp = this(call)?;
    options::set(call, &udp.0)
}

fn getpeername<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    let peer = this_as(call, Role::Client)?.0.peer();
    common::ret_address(call, peer, Side::Peer)
}

fn getsockname<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    let local = this(call)?.0.local();
    common::ret_address(call, local, Side::Own)
}

fn settimeout<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    let mut udp = this(call)?;
    common::set_timeout(call, &mut udp.0.limits)
}

fn gettimeout<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    let (block_s, total_s) = this(call)?.0.limits.get();
    call.ret(&[Value::Float(block_s), Value::Float(total_s)])
}
