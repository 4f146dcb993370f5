//! `tcp:bind`, `tcp:listen`, `tcp:accept` and `socket.bind`.

use std::io;
use std::net::SocketAddr;

use sleepy_gc::idle::Interest;
use socket2::Type;

use super::super::address::{self, Family, Host};
use super::super::endpoint::{Endpoint, Role};
use super::super::{common, message};
use super::{object, this, this_as, wait_for};
use crate::stdlib::descriptors;
use crate::vm::native::{Call, NativeFn, NativeResult};
use crate::vm::suspend::Answer;
use crate::vm::value::Value;

const DEFAULT_BACKLOG: i64 = 32;

pub(super) fn bind_to(endpoint: &mut Endpoint, addresses: &[SocketAddr]) -> io::Result<()> {
    let family = endpoint.family;
    let mut last = io::Error::from_raw_os_error(libc::EADDRNOTAVAIL);
    for &address in addresses.iter().filter(|a| family.allows(a)) {
        match endpoint.bind_to(address, Type::STREAM) {
            Ok(()) => return Ok(()),
            Err(error) => last = error,
        }
    }
    Err(last)
}

/// `bind(host, port)`
pub(super) fn bind<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    this_as(call, Role::Master)?;
    with_addresses(call, |call, addresses| {
        let bound = bind_to(&mut this(call)?.0, &addresses);
        ret_bound(call, bound, Value::Int(1), bind)
    })
}

/// Returns `value` if all went well; for want of descriptors, `again` is called after a collection.
fn ret_bound<'gc>(
    call: &mut Call<'gc>,
    bound: io::Result<()>,
    value: Value<'gc>,
    again: NativeFn,
) -> NativeResult<'gc> {
    match bound {
        Ok(()) => call.ret1(value),
        Err(error) => match descriptors::collect_once(call, &error, again) {
            Some(again) => again,
            None => common::ret_failure(call, &message::of(&error)),
        },
    }
}

/// `socket.bind(host, port [, backlog])`: a listening server.
pub(in crate::stdlib::socket) fn bind_new<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    common::check_address(call)?;
    call.opt_int(2, DEFAULT_BACKLOG)?;
    let object = object(call.ctx, Endpoint::new(Family::Any));
    call.insert(0, object.into());
    bind_and_listen(call)
}

/// Slots: the object, the host, the port, the backlog.
fn bind_and_listen<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    with_addresses(call, |call, addresses| {
        let backlog = call.opt_int(3, DEFAULT_BACKLOG)?;
        let bound = serve(&mut this(call)?.0, &addresses, backlog);
        ret_bound(call, bound, call.get(0), bind_and_listen)
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
    let Some(port) = common::port(call, 2)? else {
        return common::ret_failure(call, message::UNKNOWN_SERVICE);
    };
    match address::parse(&host, port, family) {
        Host::Known(addresses) => then(call, addresses),
        // A name that is bound to is a name of this machine: it is known without asking a network.
        Host::Named(name) => match address::resolve(&name, port) {
            Ok(addresses) => then(call, addresses),
            Err(why) => common::ret_failure(call, &why),
        },
    }
}

/// `listen([backlog])`
pub(super) fn listen<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    let backlog = call.opt_int(1, DEFAULT_BACKLOG)?;
    match listen_with(&mut this_as(call, Role::Master)?.0, backlog) {
        Ok(()) => call.ret1(Value::Int(1)),
        Err(error) => common::ret_failure(call, &message::of(&error)),
    }
}

/// `accept()`
pub(super) fn accept<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    call.state = this_as(call, Role::Server)?.0.limits.deadline().to_number();
    call.truncate(1);
    accept_more(call)
}

fn accept_more<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    accept_with(call, descriptors::are_used_up)
}

/// As `accept_more`, after a collection for want of descriptors.
fn accept_again<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    accept_with(call, |_| false)
}

fn accept_with<'gc>(
    call: &mut Call<'gc>,
    calls_for_collection: fn(&io::Error) -> bool,
) -> NativeResult<'gc> {
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
        Err(error) if calls_for_collection(&error) => descriptors::collect(call, accept_again),
        Err(error) => common::ret_failure(call, &message::of(&error)),
    }
}
