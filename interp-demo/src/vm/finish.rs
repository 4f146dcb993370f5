//! What is left of an instruction when the metamethod it called has returned.

use super::call::{After, call_lua, precall};
use super::error::Error;
use super::frame::{Flags, Frame};
use super::patience::PIECE_BYTES;
use super::state::Ctx;
use super::thread::Thread;
use super::value::Value;
use crate::opcode::{Event, Instruction, Op};

/// Calls `method(args…)` above the registers of the Lua frame on top, whose `pc` is up to date. Afterwards the frame
/// finishes its instruction ([`finish_op`]).
#[inline]
pub(super) fn call_method<'gc>(
    ctx: Ctx<'gc>,
    thread: Thread<'gc>,
    method: Value<'gc>,
    args: &[Value<'gc>],
) -> Result<After, Error<'gc>> {
    // SAFETY: the frame on top, not kept beyond the expression.
    let at = unsafe { (*thread.frame()).top };
    thread.ensure_stack(ctx, at + 4)?;
    thread.stack_set(at, method);
    for (i, &arg) in args.iter().enumerate() {
        thread.stack_set(at + 1 + i as u32, arg);
    }
    thread.set_top(at + 1 + args.len() as u32);
    if let Value::Closure(callee) = method {
        call_lua(ctx, thread, callee, at, 1, Flags::FINISH)?;
        return Ok(After::Lua);
    }
    match precall(ctx, thread, at, 1, Flags::FINISH)? {
        After::Done => finish_op(ctx, thread),
        after => Ok(after),
    }
}

/// Finishes the instruction of the Lua frame on top; the metamethod's result stands above the registers.
pub(super) fn finish_op<'gc>(ctx: Ctx<'gc>, thread: Thread<'gc>) -> Result<After, Error<'gc>> {
    // SAFETY: the frame on top; nothing in this function pushes or pops a frame before its last use. Instructions
    // before `pc` exist: one has just been executed.
    unsafe {
        let frame = thread.frame();
        let (base, top) = ((*frame).base, (*frame).top);
        // The metamethod may have been at a safe point since this frame ran, and another one may be called before it does.
        thread.touch(ctx, (*frame).func);
        let i = *(*frame).pc.sub(1);
        let register = |reg: u8| base + u32::from(reg);
        match i.op() {
            Op::MmBin | Op::MmBinI | Op::MmBinK => {
                let arith = *(*frame).pc.sub(2);
                thread.stack_set(register(arith.a()), thread.stack_get(top));
            }
            Op::Unm
            | Op::BNot
            | Op::Len
            | Op::GetTabUp
            | Op::GetTable
            | Op::GetI
            | Op::GetField
            | Op::SelfOp => thread.stack_set(register(i.a()), thread.stack_get(top)),
            Op::Eq | Op::Lt | Op::Le | Op::LtI | Op::LeI | Op::GtI | Op::GeI => {
                // The jump that follows is skipped, or done as any instruction.
                let skipped = usize::from(thread.stack_get(top).is_truthy() != i.k());
                (*frame).pc = (*frame).pc.add(skipped);
            }
            Op::Concat => {
                let count = (*frame).aux2;
                let first = register(i.a());
                thread.stack_set(first + count - 2, thread.stack_get(top));
                return concat(ctx, thread, first, count - 1);
            }
            Op::Close => (*frame).pc = (*frame).pc.sub(1),
            Op::Return => {
                (*frame).pc = (*frame).pc.sub(1);
                thread.set_top(register(i.a()) + (*frame).aux2);
            }
            _ => {}
        }
    }
    Ok(After::Lua)
}

/// Concatenates `count` values that begin at stack index `first`, from the right; the result goes to `first`.
/// `Done` means that no metamethod had to be called. Where memory runs out, [`concat_again`] goes on.
pub(super) fn concat<'gc>(
    ctx: Ctx<'gc>,
    thread: Thread<'gc>,
    first: u32,
    mut count: u32,
) -> Result<After, Error<'gc>> {
    while count > 1 {
        let left = thread.stack_get(first + count - 2);
        let right = thread.stack_get(first + count - 1);
        let is_text = |v: Value<'gc>| matches!(v, Value::Str(_) | Value::Int(_) | Value::Float(_));
        if !is_text(left) || !is_text(right) {
            let method = ctx.binary_method(left, right, Event::Concat);
            if method.is_nil() {
                return Err(concat_error(ctx, thread, first + count - 2, left, right));
            }
            // SAFETY: the frame on top, not kept beyond the expression.
            unsafe { (*thread.frame()).aux2 = count };
            let called = call_method(ctx, thread, method, &[left, right]);
            return called.inspect_err(|&error| note_operands(ctx, thread, error, count));
        }
        let mut texts = 2;
        while texts < count && is_text(thread.stack_get(first + count - texts - 1)) {
            texts += 1;
        }
        let start = first + count - texts;
        // SAFETY: the frame on top, not kept beyond the expression.
        unsafe { (*thread.frame()).aux2 = count };
        let joined = join(ctx, thread, start, texts)
            .inspect_err(|&error| note_operands(ctx, thread, error, count))?;
        thread.stack_set(start, joined);
        count -= texts - 1;
    }
    Ok(After::Done)
}

/// Marks the number of operands that is noted in a frame for [`concat_again`].
const UNFINISHED: u32 = 1 << 31;

/// Notes in the Lua frame on top how many operands are left of a concatenation for which there was no memory, unless that was done
/// where it has failed.
#[cold]
fn note_operands<'gc>(ctx: Ctx<'gc>, thread: Thread<'gc>, error: Error<'gc>, count: u32) {
    // SAFETY: the frame on top, which nothing changes while the reference is in use.
    let frame = unsafe { &mut *thread.frame() };
    // It may be a native that the metamethod is.
    if ctx.is_out_of_memory(error) && frame.is_lua() && frame.aux2 & UNFINISHED == 0 {
        frame.aux2 = (count + 1) | UNFINISHED;
    }
}

/// Has the Lua frame on top go on with its concatenation, for which there was no memory, as if a metamethod had just returned the last
/// operand that is left. Operands may have been joined already, so the instruction can't begin anew.
pub(super) fn concat_again<'gc>(thread: Thread<'gc>, instruction: Instruction) {
    // SAFETY: the frame on top, copied.
    let frame = unsafe {
        (*thread.frame()).aux2 &= !UNFINISHED;
        *thread.frame()
    };
    let last = frame.base + u32::from(instruction.a()) + frame.aux2 - 2;
    // There are free slots above the registers of every frame.
    thread.stack_set(frame.top, Value::Nil);
    thread.stack_set(frame.top + 1, thread.stack_get(last));
    let mut returning = Frame::native(
        frame.top,
        frame.top + 1,
        1,
        Flags::FINISH.with(Flags::HIDDEN),
    );
    returning.then = Some(|call| call.ret_top(1));
    thread.frames().push(returning);
    thread.set_top(frame.top + 2);
}

fn join<'gc>(
    ctx: Ctx<'gc>,
    thread: Thread<'gc>,
    start: u32,
    count: u32,
) -> Result<Value<'gc>, Error<'gc>> {
    // An empty string beside another leaves that as it is.
    if count == 2
        && let (Value::Str(left), Value::Str(right)) =
            (thread.stack_get(start), thread.stack_get(start + 1))
    {
        if right.is_empty() {
            return Ok(left.into());
        }
        if left.is_empty() {
            return Ok(right.into());
        }
    }
    let mut scratch = ctx.state.scratch.borrow_mut();
    scratch.clear();
    let mut total = 0_usize;
    for i in 0..count {
        if let Value::Str(text) = thread.stack_get(start + i) {
            total += text.len();
        }
    }
    if total >= PIECE_BYTES {
        ctx.look()?;
    }
    scratch.make_room(ctx, total + 32)?;
    for i in 0..count {
        match thread.stack_get(start + i) {
            Value::Str(text) => scratch.extend_from_slice(text.as_bytes()),
            number => super::access::write_number(&mut scratch, number),
        }
    }
    let joined = ctx.try_string(&scratch);
    if scratch.capacity() > MAX_SCRATCH_BYTES {
        scratch.free();
    }
    joined
}

/// The largest buffer that is kept for the next concatenation.
const MAX_SCRATCH_BYTES: usize = 64 * 1024;

#[cold]
fn concat_error<'gc>(
    ctx: Ctx<'gc>,
    thread: Thread<'gc>,
    at: u32,
    left: Value<'gc>,
    right: Value<'gc>,
) -> Error<'gc> {
    // SAFETY: the frame on top, not kept beyond the expression.
    let base = unsafe { (*thread.frame()).base };
    let reg = (at - base) as u8;
    match left {
        Value::Str(_) | Value::Int(_) | Value::Float(_) => {
            ctx.type_error_of("concatenate", right, reg + 1)
        }
        _ => ctx.type_error_of("concatenate", left, reg),
    }
}
