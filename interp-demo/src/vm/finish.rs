//! What is left of an instruction when the metamethod it called has returned.

use super::call::{After, call_lua, precall};
use super::error::Error;
use super::frame::Flags;
use super::state::Ctx;
use super::thread::Thread;
use super::value::Value;
use crate::opcode::{Event, Op};

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
                return concat(ctx, thread, first, count - 1).inspect_err(|_| {
                    // It can't begin anew: the method's result is in the place of its operands.
                    ctx.state.retrying.set(true);
                });
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
/// `Done` means that no metamethod had to be called.
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
            return call_method(ctx, thread, method, &[left, right]);
        }
        let mut texts = 2;
        while texts < count && is_text(thread.stack_get(first + count - texts - 1)) {
            texts += 1;
        }
        let start = first + count - texts;
        let joined = join(ctx, thread, start, texts)?;
        thread.stack_set(start, joined);
        count -= texts - 1;
    }
    Ok(After::Done)
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
    if scratch.try_reserve(total + 32).is_err() {
        return Err(ctx.out_of_memory());
    }
    for i in 0..count {
        match thread.stack_get(start + i) {
            Value::Str(text) => scratch.extend_from_slice(text.as_bytes()),
            number => super::access::write_number(&mut scratch, number),
        }
    }
    let joined = ctx.try_string(&scratch);
    if scratch.capacity() > MAX_SCRATCH_BYTES {
        *scratch = Vec::new();
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
