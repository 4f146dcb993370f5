//! `socket.dns`.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use super::address::{Family, Host};
use super::{address, common, message, resolver};
use crate::stdlib::Functions;
use crate::vm::native::{Call, NativeResult};
use crate::vm::state::Ctx;
use crate::vm::table::Table;
use crate::vm::value::Value;

pub(super) const FUNCTIONS: Functions = &[
    ("getaddrinfo", getaddrinfo),
    ("gethostname", gethostname),
    ("getnameinfo", getnameinfo),
    ("tohostname", tohostname),
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

/// `tohostname(host)`: its name, and all that is known
fn tohostname<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    let host = common::host(call, 0)?;
    call.truncate(1);
    let question = move || {
        let ip = match host.parse::<IpAddr>() {
            Ok(ip) => ip,
            Err(_) => {
                let addresses = address::resolve(&host, 0)?;
                let address = addresses.iter().find(|address| address.is_ipv4());
                return Ok((host, address.map(SocketAddr::ip)));
            }
        };
        address::name_of(ip).map(|name| (name, Some(ip)))
    };
    resolver::ask(call, question, |call| {
        let (name, ip) = match resolver::answered::<(String, Option<IpAddr>)>(call) {
            Ok(known) => known,
            Err(why) => return common::ret_failure(call, &why),
        };
        let ctx = call.ctx;
        let ips = Table::new(ctx);
        if let Some(ip) = ip {
            ips.set_int(ctx, 1, ctx.string(ip.to_string().as_bytes()))?;
        }
        let name = ctx.string(name.as_bytes());
        let info = info(ctx, name, ips);
        call.ret(&[name, info.into()])
    })
}

/// `getnameinfo(host [, port])`: a list of names, one for each address of the host, and the name of the service
fn getnameinfo<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    let host = match call.is_none_or_nil(0) {
        true => None,
        false => Some(common::host(call, 0)?),
    };
    let has_service = !call.is_none_or_nil(1);
    if host.is_none() && !has_service {
        return Err(call.error("host and serv cannot be both nil"));
    }
    let Some(port) = common::opt_port(call, 1)? else {
        return common::ret_failure(call, message::UNKNOWN_SERVICE);
    };
    call.truncate(0);
    let question = move || {
        let addresses = match &host {
            None => vec![SocketAddr::new(Ipv4Addr::UNSPECIFIED.into(), port)],
            Some(host) => match address::parse(host, port, Family::Any) {
                Host::Known(addresses) => addresses,
                Host::Named(name) => address::resolve(&name, port)?,
            },
        };
        let mut names = Vec::new();
        let mut service = None;
        for address in addresses {
            let (name, service_name) = address::names_of(address)?;
            if host.is_some() && !names.contains(&name) {
                names.push(name);
            }
            service.get_or_insert(service_name);
        }
        Ok((names, service.filter(|_| has_service)))
    };
    resolver::ask(call, question, |call| {
        let (names, service) = match resolver::answered::<(Vec<String>, Option<String>)>(call) {
            Ok(known) => known,
            Err(why) => return common::ret_failure(call, &why),
        };
        let ctx = call.ctx;
        let list = Table::new(ctx);
        for (i, name) in names.iter().enumerate() {
            list.set_int(ctx, i as i64 + 1, ctx.string(name.as_bytes()))?;
        }
        let list = match names.is_empty() {
            true => Value::Nil,
            false => list.into(),
        };
        let service = service.map(|service| ctx.string(service.as_bytes()));
        call.ret(&[list, service.into()])
    })
}

/// What is known of a host.
fn info<'gc>(ctx: Ctx<'gc>, name: Value<'gc>, ips: Table<'gc>) -> Table<'gc> {
    let info = Table::new(ctx);
    info.set_name(ctx, "name", name);
    info.set_name(ctx, "alias", Table::new(ctx));
    info.set_name(ctx, "ip", ips);
    info
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
    let info = info(ctx, call.get(0), ips);
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
