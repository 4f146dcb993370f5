//! `socket.dns`.

use std::net::SocketAddr;

use super::address::{Family, Host};
use super::{address, common, message, resolver};
use crate::stdlib::Functions;
use crate::vm::native::{Call, NativeResult};
use crate::vm::table::Table;

pub(super) const FUNCTIONS: Functions = &[
    ("getaddrinfo", getaddrinfo),
    ("gethostname", gethostname),
    ("toip", toip),
];

fn gethostname<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    let name = rustix::system::uname();
    let name = call.ctx.string(name.nodename().to_bytes());
    call.ret1(name)
}

/// `toip(host)`: its first IPv4 address, and all that is known
fn toip<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    match known(call)? {
        Ok(addresses) => ret_ip(call, &addresses),
        Err(name) => resolver::resolve(call, name, 0, |call| match resolver::resolved(call) {
            Ok(addresses) => ret_ip(call, &addresses),
            Err(why) => common::ret_failure(call, &why),
        }),
    }
}

/// `getaddrinfo(host)`: a list of `{ family = , addr = }`
fn getaddrinfo<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    match known(call)? {
        Ok(addresses) => ret_list(call, &addresses),
        Err(name) => resolver::resolve(call, name, 0, |call| match resolver::resolved(call) {
            Ok(addresses) => ret_list(call, &addresses),
            Err(why) => common::ret_failure(call, &why),
        }),
    }
}

type Known = Result<Vec<SocketAddr>, String>;

/// The addresses of the host in slot 0, or its name when they have to be asked for.
fn known<'gc>(call: &mut Call<'gc>) -> Result<Known, crate::vm::error::Error<'gc>> {
    let host = common::host(call, 0)?;
    call.truncate(1);
    Ok(match address::parse(&host, 0, Family::Any) {
        Host::Known(addresses) => Ok(addresses),
        Host::Named(name) => Err(name),
    })
}

fn ret_ip<'gc>(call: &mut Call<'gc>, addresses: &[SocketAddr]) -> NativeResult<'gc> {
    let ctx = call.ctx;
    let ips = Table::new(ctx);
    for address in addresses.iter().filter(|address| address.is_ipv4()) {
        let ip = ctx.string(address.ip().to_string().as_bytes());
        ips.set_int(ctx, ips.len(ctx) + 1, ip)?;
    }
    if ips.is_empty(ctx) {
        return common::ret_failure(call, message::UNKNOWN_HOST);
    }
    let info = Table::new(ctx);
    info.set_name(ctx, "name", call.get(0));
    info.set_name(ctx, "alias", Table::new(ctx));
    info.set_name(ctx, "ip", ips);
    call.ret(&[ips.get_int(ctx, 1), info.into()])
}

fn ret_list<'gc>(call: &mut Call<'gc>, addresses: &[SocketAddr]) -> NativeResult<'gc> {
    let ctx = call.ctx;
    let list = Table::new(ctx);
    for address in addresses {
        let entry = Table::new(ctx);
        let family = ctx.string(Family::name_of(address).as_bytes());
        let ip = ctx.string(address.ip().to_string().as_bytes());
        entry.set_name(ctx, "family", family);
        entry.set_name(ctx, "addr", ip);
        list.set_int(ctx, list.len(ctx) + 1, entry.into())?;
    }
    call.ret1(list)
}
