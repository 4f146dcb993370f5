//! `tcp:connect` and `socket.connect`.

use std::cell::RefMut;
use std::net::SocketAddr;

use sleepy_gc::idle::Interest;

use super::super::address::{self, Family, Host};
use super::super::endpoint::{Endpoint, Role};
use super::super::{common, message, resolver};
use super::listen::bind_to;
use super::{Tcp, object, this, wait_for};
use crate::stdlib::descriptors;
use crate::vm::native::{Call, NativeResult};
use crate::vm::suspend::Answer;
use crate::vm::value::Value;

/// The slots of `connect_first` at its first try.
const FIRST_TRY_SLOTS: usize = 4;

/// `connect(host, port)`
pub(super) fn connect<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    call.truncate(3);
    call.push(Value::Bool(false));
    connect_first(call)
}

/// `socket.connect(host, port [, local host, local port [, family]])`
pub(in crate::stdlib::socket) fn connect_new<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    let families = [Family::Any, Family::V4, Family::V6];
    let names = families.map(Family::name);
    let family = families[call.check_option(4, Some(names[0]), &names)?];
    connect_family(call, family)
}

pub(in crate::stdlib::socket) fn connect_new4<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    connect_family(call, Family::V4)
}

pub(in crate::stdlib::socket) fn connect_new6<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    connect_family(call, Family::V6)
}

fn connect_family<'gc>(call: &mut Call<'gc>, family: Family) -> NativeResult<'gc> {
    common::check_address(call)?;
    let mut endpoint = Endpoint::new(family);
    if !call.is_none_or_nil(2) {
        let host = common::host(call, 2)?;
        let Some(port) = common::opt_port(call, 3)? else {
            return common::ret_failure(call, message::UNKNOWN_SERVICE);
        };
        if let Host::Known(addresses) = address::parse(&host, port, family)
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

/// Slots: the object, the host, the port, whether to return the object; one more after a collection for want of
/// descriptors.
fn connect_first<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    let (family, deadline) = {
        let tcp = this(call)?;
        (tcp.0.family, tcp.0.limits.deadline())
    };
    call.state = deadline.to_number();
    let host = common::host(call, 1)?;
    let Some(port) = common::port(call, 2)? else {
        return common::ret_failure(call, message::UNKNOWN_SERVICE);
    };
    match address::parse(&host, port, family) {
        Host::Known(addresses) => connect_to(call, addresses),
        Host::Named(name) => {
            resolver::resolve(call, name, port, |call| match resolver::resolved(call) {
                Ok(addresses) => connect_to(call, addresses),
                Err(why) => common::ret_failure(call, &why),
            })
        }
    }
}

fn connect_to<'gc>(call: &mut Call<'gc>, addresses: Vec<SocketAddr>) -> NativeResult<'gc> {
    let mut tcp = this(call)?;
    if std::mem::take(&mut tcp.0.pending) {
        return go_on(call, tcp);
    }
    if tcp.0.role == Role::Server || tcp.0.peer().is_ok() {
        return common::ret_failure(call, "already connected");
    }
    let family = tcp.0.family;
    let mut untried: Vec<_> = addresses.into_iter().filter(|a| family.allows(a)).collect();
    if untried.is_empty() {
        return common::ret_failure(call, message::UNKNOWN_HOST);
    }
    untried.reverse();
    tcp.0.untried = untried;
    // It is a client even if it is not connected yet: the program may look for that by itself.
    tcp.0.role = Role::Client;
    connect_next(call, tcp)
}

/// The outcome of the attempt that an earlier call has begun.
fn go_on<'gc>(call: &mut Call<'gc>, mut tcp: RefMut<'gc, Tcp>) -> NativeResult<'gc> {
    match tcp.0.connect_result() {
        Ok(()) if tcp.0.peer().is_ok() => connected(call, tcp),
        Ok(()) => {
            tcp.0.pending = true;
            let error = std::io::Error::from_raw_os_error(libc::EALREADY);
            common::ret_failure(call, &message::of(&error))
        }
        Err(error) => common::ret_failure(call, &message::of(&error)),
    }
}

/// Returns "timeout"; a later call may go on.
fn ret_pending<'gc>(call: &mut Call<'gc>, mut tcp: RefMut<'gc, Tcp>) -> NativeResult<'gc> {
    tcp.0.pending = true;
    common::ret_failure(call, message::TIMEOUT)
}

fn connect_next<'gc>(call: &mut Call<'gc>, mut tcp: RefMut<'gc, Tcp>) -> NativeResult<'gc> {
    match tcp.0.connect_next() {
        Ok(true) => connected(call, tcp),
        Ok(false) => {
            let fd = tcp.0.fd();
            match wait_for(call, fd, Interest::Writable, connect_more) {
                Some(waiting) => waiting,
                None => ret_pending(call, tcp),
            }
        }
        Err(error) if descriptors::are_used_up(&error) && call.len() == FIRST_TRY_SLOTS => {
            call.push(Value::Nil);
            descriptors::collect(call, connect_first)
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
                None => ret_pending(call, tcp),
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
    tcp.0.untried = Vec::new();
    match call.get(3) {
        Value::Bool(true) => call.ret1(call.get(0)),
        _ => call.ret1(Value::Int(1)),
    }
}
