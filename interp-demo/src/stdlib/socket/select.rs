//! `socket.select`, `socket.sleep` and `socket.gettime`.

use std::os::fd::RawFd;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use sleepy_gc::idle::Interest;

use super::limit::Deadline;
use super::message;
use super::tcp::Tcp;
use super::udp::Udp;
use crate::vm::error::Error;
use crate::vm::native::{Call, NativeResult};
use crate::vm::suspend::{Answer, Suspend};
use crate::vm::table::Table;
use crate::vm::value::Value;

/// `gettime()`: seconds since 1970
pub(in crate::stdlib) fn gettime<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    call.ret1(since.map_or(0.0, |time| time.as_secs_f64()))
}

/// `sleep(seconds)`
pub(in crate::stdlib) fn sleep<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    let seconds = call.check_float(0)?;
    let time = duration(seconds);
    if time.is_zero() {
        return call.ret0();
    }
    call.suspend(Suspend::Sleep(time), |call| match call.answer() {
        Answer::Failed(error) => Err(call.error(message::of(&error).as_ref())),
        _ => call.ret0(),
    })
}

/// Seconds of a program as a time: negative ones and those that are no number are none.
fn duration(seconds: f64) -> Duration {
    Duration::try_from_secs_f64(seconds).unwrap_or(match seconds > 0.0 {
        true => Duration::MAX,
        false => Duration::ZERO,
    })
}

/// What `select` can wait for: a descriptor, and whether something can be read already.
struct Ready {
    fd: RawFd,
    buffered: bool,
}

fn state_of(value: Value<'_>) -> Option<Ready> {
    let Value::UserData(data) = value else {
        return None;
    };
    if let Some(tcp) = data.borrow::<Tcp>() {
        return Some(Ready {
            fd: tcp.0.fd()?,
            buffered: !tcp.0.buffer.is_empty(),
        });
    }
    let udp = data.borrow::<Udp>()?;
    Some(Ready {
        fd: udp.0.fd()?,
        buffered: false,
    })
}

/// `select(receive list, send list [, seconds])`: those that can be received from, those that can be sent to, and
/// "timeout" if there are none.
///
/// Slots: the two lists, the seconds; then the objects waited for, in the order of the request. `state`: how many of
/// those are for receiving.
pub(super) fn select<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    let seconds = match call.is_none_or_nil(2) {
        true => -1.0,
        false => call.check_float(2)?,
    };
    call.truncate(3);
    let waited_for = Table::new(call.ctx);
    call.push(waited_for.into());
    let mut fds = Vec::new();
    let mut any_buffered = false;
    for (slot, interest) in [(0, Interest::Readable), (1, Interest::Writable)] {
        for object in list(call, slot)? {
            let Some(state) = state_of(object) else {
                if !matches!(object, Value::UserData(_) | Value::Table(_) | Value::Str(_)) {
                    let kind = String::from_utf8_lossy(&call.ctx.type_name(object)).into_owned();
                    return Err(call.error(format!("attempt to index a {kind} value")));
                }
                // It has no descriptor.
                continue;
            };
            any_buffered |= state.buffered && interest == Interest::Readable;
            fds.push((state.fd, interest));
            waited_for.set_int(call.ctx, fds.len() as i64, object)?;
        }
        if slot == 0 {
            call.state = fds.len() as i64;
        }
    }
    let timeout = match any_buffered {
        true => Some(Duration::ZERO),
        false => Deadline::after(seconds)
            .left()
            .unwrap_or(Some(Duration::ZERO)),
    };
    call.suspend(Suspend::Poll { fds, timeout }, selected)
}

/// The elements of the list in a slot.
fn list<'gc>(call: &Call<'gc>, slot: usize) -> Result<Vec<Value<'gc>>, Error<'gc>> {
    match call.get(slot) {
        Value::Nil => Ok(Vec::new()),
        Value::Table(table) => Ok((1..=table.len(call.ctx))
            .map(|i| table.get_int(call.ctx, i))
            .collect()),
        _ => Err(call.type_error(slot, "table")),
    }
}

fn selected<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    let mut ready = match call.answer() {
        Answer::ReadyFds(ready) => ready,
        Answer::Failed(error) => return Err(call.error(message::of(&error).as_ref())),
        _ => Vec::new(),
    };
    let Value::Table(waited_for) = call.get(3) else {
        return Err(call.error("select has lost its sockets"));
    };
    let receivers = call.state as usize;
    for i in 0..receivers {
        let object = waited_for.get_int(call.ctx, i as i64 + 1);
        let buffered = state_of(object).is_some_and(|state| state.buffered);
        if buffered && !ready.iter().any(|&(index, _)| index == i) {
            ready.push((i, Interest::Readable));
        }
    }
    ready.sort_by_key(|&(index, _)| index);
    let (to_receive, to_send) = (Table::new(call.ctx), Table::new(call.ctx));
    call.push(to_receive.into());
    call.push(to_send.into());
    for &(index, _) in &ready {
        let object = waited_for.get_int(call.ctx, index as i64 + 1);
        let table = if index < receivers {
            to_receive
        } else {
            to_send
        };
        let place = table.len(call.ctx) + 1;
        table.set_int(call.ctx, place, object)?;
        table.set(call.ctx, object, Value::Int(place))?;
    }
    if ready.is_empty() {
        let timeout = call.ctx.string(message::TIMEOUT.as_bytes());
        call.push(timeout);
    } else {
        call.push(Value::Nil);
    }
    call.ret_top(3)
}
