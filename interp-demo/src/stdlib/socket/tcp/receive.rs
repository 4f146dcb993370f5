//! `tcp:receive`.

use std::cell::RefMut;
use std::io;

use sleepy_gc::idle::Interest;

use super::super::buffer::{Found, Pattern, without_returns};
use super::super::endpoint::{Endpoint, Role};
use super::super::message;
use super::{Tcp, this, this_as, wait_for};
use crate::vm::buffer::{Buffer, counted};
use crate::vm::error::Error;
use crate::vm::native::{Call, NativeResult};
use crate::vm::state::Ctx;
use crate::vm::suspend::Answer;
use crate::vm::value::Value;

/// The object, the pattern and the prefix.
const SLOTS: usize = 3;

/// `receive([pattern [, prefix]])`
pub(super) fn receive<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    call.state = this_as(call, Role::Client)?.0.limits.deadline().to_number();
    call.truncate(SLOTS);
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
            let wanted = call.check_float(1)?;
            if wanted.is_nan() || wanted < 0.0 {
                return Err(invalid());
            }
            Ok(Pattern::Bytes((wanted as usize).saturating_sub(prefix_len)))
        }
    }
}

fn receive_more<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    let result = receive_now(call);
    call.or_again(result, SLOTS, receive_more)
}

fn receive_now<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    let answer = call.answer();
    let prefix = match call.get(2) {
        Value::Nil => &b""[..],
        _ => call.check_str(2)?.as_bytes(),
    };
    let pattern = pattern(call, prefix.len())?;
    let ctx = call.ctx;
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
        match endpoint.read_some(missing, &mut counted(ctx)) {
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
            Err(error) if error.kind() == io::ErrorKind::OutOfMemory => {
                return Err(ctx.out_of_memory());
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
        _ => {
            let mut whole = Buffer::new();
            whole.make_room(ctx, prefix.len() + bytes.len())?;
            whole.extend_from_slice(prefix);
            whole.extend_from_slice(bytes);
            ctx.try_string(&whole)
        }
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
