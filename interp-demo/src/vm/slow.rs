//! What the interpreter's loop does out of line: metamethods, calls of unusual kinds, closures, varargs, loops.

use super::access::{Access, Compare, MAX_CHAIN};
use super::args::to_number;
use super::arith::as_int;
use super::call::{After, call_lua, precall, prepare_call_method};
use super::closure::{Closure, Function};
use super::describe;
use super::error::Error;
use super::finish::call_method;
use super::frame::{ALL_RESULTS, Flags};
use super::native::Role;
use super::number::{self, Number};
use super::state::Ctx;
use super::string::LuaStr;
use super::table::Table;
use super::thread::Thread;
use super::unwind;
use super::value::{Type, Value};
use super::window::{Cursor, Window};
use crate::opcode::{Event, Instruction};
use sleepy_gc::Gc;

/// The outcome of a comparison.
pub(super) enum Test {
    /// The answer.
    Known(bool),
    /// A metamethod was called; the instruction is finished, or will be.
    Called(After),
}

fn register(thread: Thread<'_>, reg: u8) -> u32 {
    // SAFETY: the frame on top, not kept beyond the expression.
    unsafe { (*thread.frame()).base + u32::from(reg) }
}

/// Two operands of a bitwise operation, of which at least one is no integer: as integers, if both have an integer's value.
#[inline(never)]
pub(super) fn integers(b: Value<'_>, c: Value<'_>) -> Option<(i64, i64)> {
    Some((as_int(b)?, as_int(c)?))
}

/// `R[dest] := object[key]`, where a table does not have the key itself, unless that is a long string.
#[inline(never)]
pub(super) fn read<'gc>(
    ctx: Ctx<'gc>,
    thread: Thread<'gc>,
    object: Value<'gc>,
    key: Value<'gc>,
    dest: u8,
) -> Result<After, Error<'gc>> {
    if let Value::Table(table) = object
        && let Some(metatable) = table.metatable()
        && !matches!(key, Value::Str(string) if !string.is_short())
        && let method @ Value::Closure(_) = ctx.event_field(metatable, Event::Index)
    {
        return call_method(ctx, thread, method, &[object, key]);
    }
    match ctx.index(object, key)? {
        Access::Value(value) => {
            thread.stack_set(register(thread, dest), value);
            Ok(After::Lua)
        }
        Access::Call { method, receiver } => call_method(ctx, thread, method, &[receiver, key]),
    }
}

/// `object[key] := value`.
#[inline(never)]
pub(super) fn write<'gc>(
    ctx: Ctx<'gc>,
    thread: Thread<'gc>,
    object: Value<'gc>,
    key: Value<'gc>,
    value: Value<'gc>,
) -> Result<After, Error<'gc>> {
    match ctx.set_index(object, key, value)? {
        None => Ok(After::Lua),
        Some((method, receiver)) => {
            // SAFETY: the frame on top, not kept beyond the expression.
            let at = unsafe { (*thread.frame()).top };
            thread.ensure_stack(ctx, at + 4)?;
            for (i, value) in [method, receiver, key, value].into_iter().enumerate() {
                thread.stack_set(at + i as u32, value);
            }
            thread.set_top(at + 4);
            match precall(ctx, thread, at, 0, Flags::NONE)? {
                After::Done => Ok(After::Lua),
                after => Ok(after),
            }
        }
    }
}

/// The table of a constructor, with the room that it asks for.
#[inline]
pub(super) fn new_table<'gc>(
    ctx: Ctx<'gc>,
    i: Instruction,
    extra: Instruction,
) -> Result<Table<'gc>, Error<'gc>> {
    let hash = match i.b() {
        0 => 0,
        bits => (1_u32 << (bits - 1)).saturating_sub(extra.unused_keys()),
    };
    let mut array = u32::from(i.c());
    if i.k() {
        array += extra.extra_items() << 8;
    }
    if array == 0 && hash == 0 {
        return Ok(Table::new(ctx));
    }
    Table::with_capacity(ctx, array, hash)
}

/// The method of an object with this short name; none where that is not known without calling something.
#[inline(always)]
pub(super) fn method<'gc>(
    ctx: Ctx<'gc>,
    object: Value<'gc>,
    name: LuaStr<'gc>,
) -> Option<Value<'gc>> {
    match object {
        Value::Table(table) => {
            let value = table.get_short(ctx, name);
            if value.is_nil() {
                return inherited(ctx, table, name);
            }
            Some(value)
        }
        Value::Str(_) => {
            let metatable = ctx.state.type_metatable(Type::String)?;
            let Value::Table(methods) = ctx.event_field(metatable, Event::Index) else {
                return None;
            };
            let value = methods.get_short(ctx, name);
            (!value.is_nil()).then_some(value)
        }
        _ => None,
    }
}

/// The value of a short name that `table` itself does not have, from the tables behind it; none where something else
/// than a table comes next.
#[inline(never)]
pub(super) fn inherited<'gc>(
    ctx: Ctx<'gc>,
    table: Table<'gc>,
    name: LuaStr<'gc>,
) -> Option<Value<'gc>> {
    let mut table = table;
    for _ in 0..MAX_CHAIN {
        let Some(metatable) = table.metatable() else {
            return Some(Value::Nil);
        };
        match ctx.event_field(metatable, Event::Index) {
            Value::Nil => return Some(Value::Nil),
            Value::Table(next) => table = next,
            _ => return None,
        }
        let value = table.get_short(ctx, name);
        if !value.is_nil() {
            return Some(value);
        }
    }
    None
}

/// The metamethod of a binary operation, by the number of its event.
#[inline(never)]
pub(super) fn binary<'gc>(
    ctx: Ctx<'gc>,
    thread: Thread<'gc>,
    event: u8,
    a: Value<'gc>,
    b: Value<'gc>,
) -> Result<After, Error<'gc>> {
    let event = Event::from_number(event).unwrap_or(Event::Add);
    let method = ctx.arith_method(event, a, b)?;
    call_method(ctx, thread, method, &[a, b])
}

/// The metamethod of a unary operation.
#[inline(never)]
pub(super) fn unary<'gc>(
    ctx: Ctx<'gc>,
    thread: Thread<'gc>,
    event: Event,
    a: Value<'gc>,
) -> Result<After, Error<'gc>> {
    let method = ctx.arith_method(event, a, a)?;
    call_method(ctx, thread, method, &[a, a])
}

/// `R[dest] := #value`.
#[inline(never)]
pub(super) fn length<'gc>(
    ctx: Ctx<'gc>,
    thread: Thread<'gc>,
    value: Value<'gc>,
    dest: u8,
) -> Result<After, Error<'gc>> {
    match ctx.length(value)? {
        Access::Value(value) => {
            thread.stack_set(register(thread, dest), value);
            Ok(After::Lua)
        }
        Access::Call { method, receiver } => {
            call_method(ctx, thread, method, &[receiver, receiver])
        }
    }
}

fn compared<'gc>(
    ctx: Ctx<'gc>,
    thread: Thread<'gc>,
    compare: Compare<'gc>,
    a: Value<'gc>,
    b: Value<'gc>,
) -> Result<Test, Error<'gc>> {
    match compare {
        Compare::Done(answer) => Ok(Test::Known(answer)),
        Compare::Call(method) => call_method(ctx, thread, method, &[a, b]).map(Test::Called),
    }
}

/// `a == b`.
#[inline(never)]
pub(super) fn equals<'gc>(
    ctx: Ctx<'gc>,
    thread: Thread<'gc>,
    a: Value<'gc>,
    b: Value<'gc>,
) -> Result<Test, Error<'gc>> {
    compared(ctx, thread, ctx.equals(a, b), a, b)
}

/// `a < b` of strings.
#[inline(never)]
pub(super) fn string_less<'gc>(a: LuaStr<'gc>, b: LuaStr<'gc>) -> bool {
    a.as_bytes() < b.as_bytes()
}

/// `a <= b` of strings.
#[inline(never)]
pub(super) fn string_less_equal<'gc>(a: LuaStr<'gc>, b: LuaStr<'gc>) -> bool {
    a.as_bytes() <= b.as_bytes()
}

/// `a < b`.
#[inline(never)]
pub(super) fn less_than<'gc>(
    ctx: Ctx<'gc>,
    thread: Thread<'gc>,
    a: Value<'gc>,
    b: Value<'gc>,
) -> Result<Test, Error<'gc>> {
    compared(ctx, thread, ctx.less_than(a, b)?, a, b)
}

/// `a <= b`.
#[inline(never)]
pub(super) fn less_equal<'gc>(
    ctx: Ctx<'gc>,
    thread: Thread<'gc>,
    a: Value<'gc>,
    b: Value<'gc>,
) -> Result<Test, Error<'gc>> {
    compared(ctx, thread, ctx.less_equal(a, b)?, a, b)
}

/// The metamethod of a comparison with an immediate operand, which is no number on the left.
#[inline(never)]
pub(super) fn compare_method<'gc>(
    ctx: Ctx<'gc>,
    thread: Thread<'gc>,
    a: Value<'gc>,
    i: Instruction,
    event: Event,
    swapped: bool,
) -> Result<After, Error<'gc>> {
    let immediate = if i.c() != 0 {
        Value::Float(f64::from(i.sb()))
    } else {
        Value::Int(i64::from(i.sb()))
    };
    let (a, b) = if swapped {
        (immediate, a)
    } else {
        (a, immediate)
    };
    let compare = if event == Event::Lt {
        ctx.less_than(a, b)?
    } else {
        ctx.less_equal(a, b)?
    };
    match compare {
        Compare::Call(method) => call_method(ctx, thread, method, &[a, b]),
        // Only a number compares with a number, and that was looked at before.
        Compare::Done(_) => Ok(After::Lua),
    }
}

/// Closes the upvalues of registers from `level` on; the value of the innermost to-be-closed variable there, if there
/// is one.
#[inline]
pub(super) fn close<'gc>(ctx: Ctx<'gc>, thread: Thread<'gc>, level: u32) -> Option<Value<'gc>> {
    thread.close_upvalues(ctx, level);
    unwind::next_to_close(thread, level)
}

/// Does a step of a generic loop whose iterator is `next` or that of `ipairs`. False: it has to be called as any.
#[inline(always)]
pub(super) fn iterate<'gc>(ctx: Ctx<'gc>, regs: Window<'gc>, reg: u8, wanted: u8) -> bool {
    let (Value::Native(iterator), Value::Table(table)) = (regs.get(reg), regs.get_above(reg, 1))
    else {
        return false;
    };
    let control = regs.get_above(reg, 2);
    let entry = match (iterator.role(), control) {
        (Role::Next, _) => match table.next_of_program(ctx, control) {
            Ok(None) => {
                table.end_traversal();
                None
            }
            Ok(entry) => entry,
            // The native raises the error, with its own name.
            Err(_) => return false,
        },
        (Role::NextIndex, Value::Int(index)) => {
            let index = index.wrapping_add(1);
            let value = table.get_int(ctx, index);
            if value.is_nil() && table.metatable().is_some() {
                return false;
            }
            (!value.is_nil()).then_some((Value::Int(index), value))
        }
        _ => return false,
    };
    let (key, value) = entry.unwrap_or_default();
    regs.set_above(reg, 4, key);
    if wanted > 1 {
        regs.set_above(reg, 5, value);
    }
    for n in 2..u32::from(wanted) {
        regs.set_above(reg, 4 + n, Value::Nil);
    }
    true
}

/// Notes that a register is to be closed.
#[inline(never)]
pub(super) fn mark_to_close<'gc>(
    ctx: Ctx<'gc>,
    thread: Thread<'gc>,
    base: u32,
    reg: u8,
    pc: Cursor,
) -> Result<(), Error<'gc>> {
    let at = base + u32::from(reg);
    let value = thread.stack_get(at);
    if value.is_falsy() {
        return Ok(());
    }
    if ctx.metamethod(value, Event::Close).is_nil() {
        // SAFETY: the frame on top, not kept beyond the statement.
        unsafe { (*thread.frame()).pc = pc.pointer() };
        let mut message = b"variable '".to_vec();
        let name = thread
            .frames()
            .last()
            .and_then(|frame| describe::position(thread, frame))
            .and_then(|(proto, pc)| proto.local_name(usize::from(reg) + 1, pc));
        message.extend_from_slice(name.map_or(&b"?"[..], |name| name));
        message.extend_from_slice(b"' got a non-closable value");
        return Err(ctx.error(message));
    }
    thread.to_close().push(at);
    Ok(())
}

/// A tail call of the function at `func`. `vararg` is operand C: one more than the number of fixed parameters of a vararg
/// function, else 0.
#[inline(never)]
pub(super) fn tail_call<'gc>(
    ctx: Ctx<'gc>,
    thread: Thread<'gc>,
    func: u32,
    vararg: u8,
) -> Result<After, Error<'gc>> {
    loop {
        match thread.stack_get(func) {
            Value::Closure(callee) => {
                // SAFETY: the frame on top, copied.
                let frame = unsafe { *thread.frame() };
                let shift = match vararg {
                    0 => 0,
                    vararg => frame.aux + u32::from(vararg),
                };
                let target = frame.func - shift;
                let count = thread.top() - func;
                ctx.look_for(count)?;
                thread.pop_frame();
                thread.touch(ctx, target);
                thread.stack_move(func, target, count);
                thread.set_top(target + count);
                let kept = Flags::FINISH.with(Flags::FINALIZER);
                let flags = frame.flags.only(kept).with(Flags::TAIL);
                call_lua(ctx, thread, callee, target, frame.results, flags)?;
                // Not `After::Lua`: a loop of such calls comes to safe points as any other.
                return Ok(After::Switch);
            }
            Value::Native(_) => return precall(ctx, thread, func, ALL_RESULTS, Flags::NONE),
            callee => prepare_call_method(ctx, thread, func, callee)?,
        }
    }
}

/// Moves the frame of a vararg function, which has just been entered, above its arguments.
#[inline(never)]
pub(super) fn enter_vararg<'gc>(
    ctx: Ctx<'gc>,
    thread: Thread<'gc>,
    closure: Closure<'gc>,
) -> Result<(), Error<'gc>> {
    let function = closure.function();
    let params = function.num_params();
    // SAFETY: the frame on top, copied.
    let (func, base) = unsafe { ((*thread.frame()).func, (*thread.frame()).base) };
    let actual = thread.top().saturating_sub(base).max(params);
    ctx.look_for(actual)?;
    let new_func = base + actual;
    let top = new_func + 1 + function.max_stack();
    thread.ensure_stack(ctx, top)?;
    thread.stack_set(new_func, thread.stack_get(func));
    for i in 0..params {
        thread.stack_set(new_func + 1 + i, thread.stack_get(base + i));
        // The copy below is not to keep anything alive.
        thread.stack_set(base + i, Value::Nil);
    }
    // SAFETY: the frame on top; nothing has pushed or popped one.
    unsafe {
        let frame = thread.frame();
        (*frame).func = new_func;
        (*frame).base = new_func + 1;
        (*frame).top = top;
        (*frame).aux = actual - params;
    }
    Ok(())
}

/// Moves the place where results go back below the arguments of a vararg function that returns.
pub(super) fn leave_vararg(thread: Thread<'_>, vararg: u8) {
    // SAFETY: the frame on top, not kept beyond the block.
    unsafe {
        let frame = thread.frame();
        (*frame).func -= (*frame).aux + u32::from(vararg);
    }
}

/// Copies the variable arguments to the registers from `reg` on.
#[inline(never)]
pub(super) fn varargs<'gc>(
    ctx: Ctx<'gc>,
    thread: Thread<'gc>,
    reg: u8,
    wanted: i16,
) -> Result<(), Error<'gc>> {
    // SAFETY: the frame on top, copied.
    let (func, base, extra) = unsafe {
        let frame = thread.frame();
        ((*frame).func, (*frame).base, (*frame).aux)
    };
    let at = base + u32::from(reg);
    ctx.look_for(extra)?;
    let wanted = if wanted == ALL_RESULTS {
        thread.ensure_stack(ctx, at + extra)?;
        thread.set_top(at + extra);
        extra
    } else {
        wanted as u32
    };
    let copied = wanted.min(extra);
    thread.stack_move(func - extra, at, copied);
    thread.stack_clear(at + copied, at + wanted);
    Ok(())
}

/// Stores the items of a constructor, which stand above its table, at the keys behind `before`.
#[inline(never)]
pub(super) fn set_list<'gc>(
    ctx: Ctx<'gc>,
    thread: Thread<'gc>,
    regs: Window<'gc>,
    i: Instruction,
    base: u32,
    before: i64,
) -> Result<(), Error<'gc>> {
    let count = match i.b() {
        0 => thread.top() - base - u32::from(i.a()) - 1,
        b => u32::from(b),
    };
    match regs.get(i.a()) {
        Value::Table(table) => {
            table.set_list(ctx, before + 1, count, |n| regs.get_above(i.a(), n + 1))
        }
        _ => Ok(()),
    }
}

/// A closure made by the running function.
#[inline(never)]
pub(super) fn new_closure<'gc>(
    ctx: Ctx<'gc>,
    thread: Thread<'gc>,
    running: Closure<'gc>,
    function: Gc<'gc, Function<'gc>>,
    base: u32,
) -> Closure<'gc> {
    let descriptions = &Gc::as_ref(function).proto().upvalues;
    Closure::new(ctx, function, |i| {
        let description = &descriptions[i];
        if description.in_stack {
            thread.find_upvalue(ctx, base + u32::from(description.index))
        } else {
            running.upvalue(usize::from(description.index))
        }
    })
}

/// The step of a loop over floats; whether it goes on.
#[inline]
pub(super) fn float_loop(regs: Window<'_>, reg: u8) -> bool {
    let (Value::Float(index), Value::Float(limit), Value::Float(step)) = (
        regs.get(reg),
        regs.get_above(reg, 1),
        regs.get_above(reg, 2),
    ) else {
        return false;
    };
    let index = index + step;
    let goes_on = if step > 0.0 {
        index <= limit
    } else {
        limit <= index
    };
    if goes_on {
        regs.set(reg, Value::Float(index));
        regs.set_above(reg, 3, Value::Float(index));
    }
    goes_on
}

/// Prepares a numeric loop; whether it runs at all.
#[inline(never)]
pub(super) fn prepare_loop<'gc>(
    ctx: Ctx<'gc>,
    regs: Window<'gc>,
    reg: u8,
) -> Result<bool, Error<'gc>> {
    let (start, limit, step) = (
        regs.get(reg),
        regs.get_above(reg, 1),
        regs.get_above(reg, 2),
    );
    if let (Value::Int(start), Value::Int(step)) = (start, step) {
        if step == 0 {
            return Err(ctx.error("'for' step is zero"));
        }
        let limit = match to_number(limit) {
            Some(limit) => limit,
            None => return Err(loop_error(ctx, "limit", limit)),
        };
        let Some(limit) = number::for_limit(start, limit, step) else {
            return Ok(false);
        };
        let count = number::for_count(start, limit, step);
        regs.set_above(reg, 1, Value::Int(count as i64));
        regs.set_above(reg, 3, Value::Int(start));
        return Ok(true);
    }
    let Some(limit) = to_number(limit).map(Number::to_float) else {
        return Err(loop_error(ctx, "limit", limit));
    };
    let Some(step) = to_number(step).map(Number::to_float) else {
        return Err(loop_error(ctx, "step", step));
    };
    let Some(start) = to_number(start).map(Number::to_float) else {
        return Err(loop_error(ctx, "initial value", start));
    };
    if step == 0.0 {
        return Err(ctx.error("'for' step is zero"));
    }
    // With a NaN the first turn is made.
    let skipped = if step > 0.0 {
        limit < start
    } else {
        start < limit
    };
    if !skipped {
        regs.set(reg, Value::Float(start));
        regs.set_above(reg, 1, Value::Float(limit));
        regs.set_above(reg, 2, Value::Float(step));
        regs.set_above(reg, 3, Value::Float(start));
    }
    Ok(!skipped)
}

#[cold]
fn loop_error<'gc>(ctx: Ctx<'gc>, what: &str, value: Value<'gc>) -> Error<'gc> {
    {
        let mut message = format!("bad 'for' {what} (number expected, got ").into_bytes();
        message.extend_from_slice(&ctx.type_name(value));
        message.push(b')');
        ctx.error(message)
    }
}
