//! What an error says beyond its bare text: where it arose, and the name of the variable it is about.

use super::error::Error;
use super::frame::Frame;
use super::state::Ctx;
use super::thread::Thread;
use super::value::Value;
use crate::debug_names::{ValueName, call_name, register_name, upvalue_name};
use crate::opcode::Op;
use crate::proto::{Proto, chunk_id};

/// The prototype of a Lua frame and the number of the instruction it executes.
pub(super) fn position<'gc>(thread: Thread<'gc>, frame: &Frame) -> Option<(&'gc Proto, usize)> {
    if !frame.is_lua() {
        return None;
    }
    let Value::Closure(closure) = thread.stack_get(frame.base - 1) else {
        return None;
    };
    let proto: &'gc Proto = closure.proto();
    let next = (frame.pc.addr() - proto.code.as_ptr().addr()) / size_of_val(&proto.code[0]);
    Some((proto, next.saturating_sub(1)))
}

/// As [`position_text`], and empty where no line is known either: so natives tell where they were called.
pub(super) fn known_position_text(thread: Thread<'_>, frame: &Frame) -> Vec<u8> {
    match position(thread, frame) {
        Some((proto, pc)) if proto.line(pc).is_some() => position_text(thread, frame),
        _ => Vec::new(),
    }
}

/// `file:line: ` for a Lua frame; empty for others.
pub(super) fn position_text(thread: Thread<'_>, frame: &Frame) -> Vec<u8> {
    let Some((proto, pc)) = position(thread, frame) else {
        return Vec::new();
    };
    let mut text = chunk_id(&proto.source);
    match proto.line(pc) {
        Some(line) => text.extend_from_slice(format!(":{line}: ").as_bytes()),
        None => text.extend_from_slice(b":-1: "),
    }
    text
}

/// Completes an error that arose in an instruction of the Lua frame on top, whose `pc` is up to date.
#[cold]
#[inline(never)]
pub(super) fn locate<'gc>(ctx: Ctx<'gc>, thread: Thread<'gc>, error: Error<'gc>) -> Error<'gc> {
    if !error.lacks_position() {
        return error;
    }
    let (Value::Str(message), Some(&frame)) = (error.value(), thread.frames().last()) else {
        return error.placed();
    };
    let mut text = position_text(thread, &frame);
    let message = message.as_bytes();
    let mut remark = Vec::new();
    if let Some(number) = error.about_operand()
        && let Some((proto, pc)) = position(thread, &frame)
        && let Some(name) = operand_name(proto, pc, number)
    {
        name.write_remark(&mut remark);
    }
    // "number has no integer representation" is the one message with its remark inside.
    let split = if message.starts_with(b"number has") {
        6
    } else {
        message.len()
    };
    text.extend_from_slice(&message[..split]);
    text.extend_from_slice(&remark);
    text.extend_from_slice(&message[split..]);
    Error::new(ctx.string(&text))
}

/// The name of operand `number` of the instruction at `pc`.
fn operand_name(proto: &Proto, pc: usize, number: u8) -> Option<ValueName<'_>> {
    let i = *proto.code.get(pc)?;
    let reg = match i.op() {
        Op::GetTabUp => return Some(upvalue_name(proto, i.b())),
        Op::SetTabUp => return Some(upvalue_name(proto, i.a())),
        Op::GetTable | Op::GetI | Op::GetField | Op::SelfOp => i.b(),
        Op::SetTable | Op::SetI | Op::SetField => i.a(),
        Op::MmBin if number == 1 => i.b(),
        Op::MmBin | Op::MmBinI | Op::MmBinK => i.a(),
        Op::Unm | Op::BNot | Op::Len => i.b(),
        Op::Concat => number,
        _ => return None,
    };
    register_name(proto, pc, reg)
}

/// The error of calling something that can't be called.
#[cold]
pub(super) fn call_error<'gc>(
    ctx: Ctx<'gc>,
    thread: Thread<'gc>,
    callee: Value<'gc>,
) -> Error<'gc> {
    let mut message = b"attempt to call a ".to_vec();
    message.extend_from_slice(&ctx.type_name(callee));
    message.extend_from_slice(b" value");
    if let Some(frame) = thread.frames().last()
        && let Some((proto, pc)) = position(thread, frame)
        && let Some(name) = call_name(proto, pc)
    {
        name.write_remark(&mut message);
    }
    ctx.error(message)
}
