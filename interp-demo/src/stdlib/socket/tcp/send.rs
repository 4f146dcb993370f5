//! `tcp:send`.

use std::io;

use sleepy_gc::idle::Interest;

use super::super::endpoint::Role;
use super::super::message;
use super::{this, this_as, wait_for};
use crate::vm::native::{Call, NativeResult};
use crate::vm::suspend::Answer;
use crate::vm::value::Value;

/// `send(data [, i [, j]])`. Slots: the object, the data, the next offset, the end; both count from 0.
pub(super) fn send<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    call.state = this_as(call, Role::Client)?.0.limits.deadline().to_number();
    let data = call.check_str(1)?;
    let len = data.len() as i64;
    let from_end = |index: i64| {
        if index < 0 {
            len.saturating_add(index) + 1
        } else {
            index
        }
    };
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
        match tcp
            .0
            .write_some(&data.as_bytes()[next as usize..end as usize])
        {
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
