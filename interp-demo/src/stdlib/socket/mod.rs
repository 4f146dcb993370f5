//! The `socket` library, in the shapes of LuaSocket: TCP and UDP, `select`, `sleep` and `gettime`.
//!
//! No function here blocks: what would have to wait suspends to the host, which collects garbage, lends the heap and
//! sleeps. Received bytes go into a buffer of the socket, which is used again and again, and are copied once, into the
//! Lua string.

mod address;
mod buffer;
mod common;
mod dns;
mod endpoint;
mod limit;
mod message;
mod options;
mod resolver;
mod select;
mod tcp;
mod trying;
mod udp;

pub(super) use select::{gettime, sleep};

use super::{Functions, fill, load};
use crate::vm::error::Error;
use crate::vm::native::{Call, NativeResult};
use crate::vm::state::Ctx;
use crate::vm::table::Table;
use crate::vm::value::Value;

const FUNCTIONS: Functions = &[
    ("bind", tcp::bind_new),
    ("connect", tcp::connect_new),
    ("connect4", tcp::connect_new4),
    ("connect6", tcp::connect_new6),
    ("gettime", select::gettime),
    ("newtry", trying::newtry),
    ("protect", trying::protect),
    ("select", select::select),
    ("skip", trying::skip),
    ("sleep", select::sleep),
    ("tcp", tcp::tcp),
    ("tcp4", tcp::tcp4),
    ("tcp6", tcp::tcp6),
    ("try", trying::attempt),
    ("udp", udp::udp),
    ("udp4", udp::udp4),
    ("udp6", udp::udp6),
];

/// What [`FUNCTIONS`] does not have of `socket`: sources and sinks.
const STREAMS: &[u8] = include_bytes!("streams.lua");

const CORE: &str = "socket.core";

/// Makes `require "socket"` work, and `require "socket.core"`, which LuaSocket's own `socket.lua` stands on. The library is made when
/// it is first required.
pub(super) fn open(ctx: Ctx<'_>) {
    super::package::preload(ctx, "socket", load_whole);
    super::package::preload(ctx, CORE, load_core);
}

/// The one table that both modules are.
fn core(ctx: Ctx<'_>) -> Table<'_> {
    if let Value::Table(library) = ctx.state.loaded().get_name(ctx, CORE) {
        return library;
    }
    let library = Table::new(ctx);
    fill(ctx, library, FUNCTIONS);
    let dns = Table::new(ctx);
    fill(ctx, dns, dns::FUNCTIONS);
    library.set_name(ctx, "dns", dns);
    library.set_name(ctx, "_VERSION", ctx.string(b"LuaSocket 3.0.0"));
    library.set_name(ctx, "_DATAGRAMSIZE", Value::Int(udp::DATAGRAM_BYTES));
    // As many as the system lets a process open: there is no set of descriptors that could overflow.
    library.set_name(ctx, "_SETSIZE", Value::Int(1 << 20));
    library.set_name(ctx, "_SOCKETINVALID", Value::Int(-1));
    ctx.state.loaded().set_name(ctx, CORE, library);
    library
}

fn load_core<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    let library = core(call.ctx);
    call.ret1(library)
}

fn load_whole<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    let ctx = call.ctx;
    let globals = ctx.state.globals().into();
    let streams = load::compile(ctx, STREAMS, b"=socket", globals).map_err(Error::new)?;
    call.truncate(0);
    call.push(streams.into());
    call.push(core(ctx).into());
    call.tail_call_top(1)
}
