//! The interpreter's loop: runs the Lua frame on top of a coroutine, and whatever Lua frames it calls and returns to.
//!
//! The loop is left when something else has to go on: a native's continuation, another coroutine, the host. One instruction is one
//! arm of the `match`; what is rare is in `slow.rs`. The frame's `pc` is brought up to date before what may look at it: errors, calls.
//!
//! Safe points stand behind instructions that allocate, where one load and one compare tell whether the collector is owed work; loops
//! and calls also count down `fuel`, so that code that allocates in other ways, or not at all, comes to one as well.

use super::arith::{as_float, as_int};
use super::call::{After, call_lua, precall, put_results, return_from_top};
use super::error::Error;
use super::frame::{ALL_RESULTS, Flags};
use super::hooks;
use super::number;
use super::run::Leave;
use super::slow;
use super::state::Ctx;
use super::thread::Thread;
use super::unwind;
use super::value::Value;
use super::window::{Constants, Cursor, Window};
use crate::opcode::{Event, Op};

/// How many loops and calls pass between two safe points of code that does not allocate.
const FUEL: u32 = 4096;

/// Runs the Lua frame on top of `thread`. `HOOKED`: the coroutine has a debug hook.
#[expect(clippy::too_many_lines, reason = "one arm for each operation")]
#[expect(clippy::cognitive_complexity, reason = "one arm for each operation")]
pub(super) fn execute<'gc, const HOOKED: bool>(
    ctx: Ctx<'gc>,
    thread: Thread<'gc>,
) -> Result<Leave, Error<'gc>> {
    let mut fuel = FUEL;
    let mut thread = thread;
    'frame: loop {
        let mut frame = thread.frame();
        // SAFETY: the frame on top stays where it is until a frame is pushed or popped; each arm that does so goes on
        // with `continue 'frame`, or leaves.
        let (mut base_index, start, frame_func) =
            unsafe { ((*frame).base, (*frame).pc, (*frame).func) };
        thread.touch(ctx, frame_func);
        // SAFETY: the stack was made large enough when the frame was entered. Whatever may move it is followed by a reload.
        let mut regs = unsafe { Window::new(thread.stack().add(base_index as usize)) };
        let Value::Closure(mut closure) = regs.function() else {
            return Err(ctx.error("a Lua frame has lost its function"));
        };
        let mut function = closure.function();
        // SAFETY: constants and code of the running function, which the stack keeps alive.
        let (mut constants, mut pc) =
            unsafe { (Constants::new(function.constants()), Cursor::new(start)) };

        macro_rules! save {
            () => {
                // SAFETY: see where `frame` is set.
                unsafe { (*frame).pc = pc.pointer() }
            };
        }
        // The value of something that may fail.
        macro_rules! attempt {
            ($e:expr) => {{
                // Before, not after: what fails may have pushed the frame of a native.
                save!();
                match $e {
                    Ok(v) => v,
                    Err(error) => return Err(super::describe::locate(ctx, thread, error)),
                }
            }};
        }
        // Another frame is to go on, of this coroutine or another one. If that is in a Lua function, so does this loop.
        macro_rules! switch {
            () => {{
                let next = ctx.current();
                // SAFETY: the frame on top, not kept beyond the expression.
                let is_lua = unsafe { (*next.frame()).is_lua() };
                if HOOKED || !is_lua || next.is_hooked() {
                    return Ok(Leave::Switch);
                }
                fuel -= 1;
                let looks = fuel == 0 && ctx.state.needs_attention();
                if looks || ctx.mc.debt_due() {
                    next.set_live(ctx, unwind::stack_end(next));
                    return Ok(Leave::SafePoint);
                }
                if fuel == 0 {
                    fuel = FUEL;
                }
                thread = next;
                continue 'frame;
            }};
        }
        // After something that may have pushed or popped frames: `frame` is not to be used any more.
        macro_rules! go_on_after {
            ($after:expr) => {
                match $after {
                    After::Lua | After::Done => continue 'frame,
                    After::Switch => switch!(),
                    After::Leave => return Ok(Leave::Host),
                }
            };
        }
        macro_rules! go_on {
            ($e:expr) => {{
                let after = attempt!($e);
                go_on_after!(after)
            }};
        }
        macro_rules! safe_point {
            ($live:expr) => {
                if ctx.mc.debt_due() {
                    save!();
                    thread.set_live(ctx, base_index + $live);
                    return Ok(Leave::SafePoint);
                }
            };
        }
        macro_rules! all_live {
            () => {
                // SAFETY: see where `frame` is set.
                unsafe { (*frame).top }.max(thread.top()) - base_index
            };
        }
        macro_rules! burn {
            () => {
                fuel -= 1;
                if fuel == 0 {
                    fuel = FUEL;
                    if ctx.mc.debt_due() || ctx.state.needs_attention() {
                        save!();
                        thread.set_live(ctx, base_index + all_live!());
                        return Ok(Leave::SafePoint);
                    }
                }
            };
        }
        // After a frame was popped.
        macro_rules! returned {
            ($e:expr) => {
                match $e {
                    Ok(After::Lua | After::Done) => continue 'frame,
                    Ok(After::Switch) => switch!(),
                    Ok(After::Leave) => return Ok(Leave::Host),
                    Err(error) => return Err(super::describe::locate(ctx, thread, error)),
                }
            };
        }
        macro_rules! return_values {
            ($count:expr, $first:expr) => {{
                // SAFETY: see where `frame` is set.
                let popped = unsafe { *frame };
                if popped.flags.has(Flags::FINISH) {
                    returned!(return_from_top(ctx, thread, $first, $count));
                }
                thread.pop_frame();
                put_results(thread, $first, $count, popped.func, popped.results);
                // SAFETY: the frame on top, not kept beyond the expression.
                if unsafe { (*thread.frame()).is_lua() } {
                    continue 'frame;
                }
                return Ok(Leave::Switch);
            }};
        }
        macro_rules! return_hook {
            ($count:expr, $first:expr) => {
                if HOOKED
                    && let Some(after) = attempt!(hooks::before_return(ctx, thread, $first, $count))
                {
                    go_on_after!(after);
                }
            };
        }
        macro_rules! jump {
            ($distance:expr) => {{
                let distance: i32 = $distance;
                pc.jump(distance);
                if distance < 0 {
                    burn!();
                }
            }};
        }
        // The end of a test: the jump that follows is done, or skipped.
        macro_rules! test {
            ($condition:expr, $i:expr) => {
                if $condition == $i.k() {
                    let next = pc.fetch();
                    jump!(next.sj());
                } else {
                    pc.skip();
                }
            };
        }
        macro_rules! constant_string {
            ($index:expr) => {
                match constants.get($index as u32) {
                    Value::Str(key) => key,
                    _ => continue,
                }
            };
        }
        macro_rules! rk {
            ($i:expr) => {
                if $i.k() {
                    constants.get(u32::from($i.c()))
                } else {
                    regs.get($i.c())
                }
            };
        }
        macro_rules! read {
            ($i:expr, $object:expr, $key:expr) => {
                go_on!(slow::read(ctx, thread, $object, $key, $i.a()))
            };
        }
        macro_rules! write {
            ($object:expr, $key:expr, $value:expr) => {
                match $object {
                    Value::Table(table) if table.metatable().is_none() => {
                        attempt!(table.set(ctx, $key, $value));
                    }
                    object => go_on!(slow::write(ctx, thread, object, $key, $value)),
                }
            };
        }
        macro_rules! kc {
            ($i:expr) => {
                constants.at(u32::from($i.c()))
            };
        }
        macro_rules! arith {
            ($i:expr, $c:expr, $int:expr, $float:expr) => {{
                let int: fn(i64, i64) -> i64 = $int;
                let float: fn(f64, f64) -> f64 = $float;
                let value = match (regs.at($i.b()), $c) {
                    (Value::Int(b), Value::Int(c)) => Value::Int(int(*b, *c)),
                    (Value::Float(b), Value::Float(c)) => Value::Float(float(*b, *c)),
                    (Value::Float(b), Value::Int(c)) => Value::Float(float(*b, *c as f64)),
                    (Value::Int(b), Value::Float(c)) => Value::Float(float(*b as f64, *c)),
                    _ => continue,
                };
                regs.set($i.a(), value);
                pc.skip();
            }};
        }
        macro_rules! arith_float {
            ($i:expr, $b:expr, $c:expr, $float:expr) => {
                if let (Some(b), Some(c)) = (as_float(*$b), as_float(*$c)) {
                    let float: fn(f64, f64) -> f64 = $float;
                    regs.set($i.a(), Value::Float(float(b, c)));
                    pc.skip();
                }
            };
        }
        // Division of integers, where a zero is an error.
        macro_rules! divide {
            ($i:expr, $c:expr, $int:path, $error:ident, $float:expr) => {
                match (regs.at($i.b()), $c) {
                    (Value::Int(b), Value::Int(c)) => {
                        let value = attempt!($int(*b, *c).ok_or_else(|| ctx.$error()));
                        regs.set($i.a(), Value::Int(value));
                        pc.skip();
                    }
                    (b, c) => arith_float!($i, b, c, $float),
                }
            };
        }
        macro_rules! modulo {
            ($i:expr, $c:expr) => {
                divide!($i, $c, number::int_mod, modulo_by_zero, number::float_mod)
            };
        }
        macro_rules! floor_div {
            ($i:expr, $c:expr) => {
                divide!(
                    $i,
                    $c,
                    number::int_floor_div,
                    division_by_zero,
                    number::float_floor_div
                )
            };
        }
        macro_rules! bitwise {
            ($i:expr, $c:expr, $op:expr) => {{
                let op: fn(i64, i64) -> i64 = $op;
                match (regs.get($i.b()), $c) {
                    (Value::Int(b), Value::Int(c)) => regs.set($i.a(), Value::Int(op(b, c))),
                    (b, c) => match slow::integers(b, c) {
                        Some((b, c)) => regs.set($i.a(), Value::Int(op(b, c))),
                        None => continue,
                    },
                }
                pc.skip();
            }};
        }
        macro_rules! compare {
            ($i:expr, $int:expr, $float:expr, $strings:ident, $other:ident) => {{
                let (a, b) = (regs.at($i.a()), regs.at($i.b()));
                match (a, b) {
                    (Value::Int(a), Value::Int(b)) => {
                        let int: fn(&i64, &i64) -> bool = $int;
                        test!(int(a, b), $i);
                    }
                    (Value::Float(a), Value::Float(b)) => {
                        let float: fn(&f64, &f64) -> bool = $float;
                        test!(float(a, b), $i);
                    }
                    (Value::Str(a), Value::Str(b)) if !super::patience::is_long(*a) => {
                        test!(slow::$strings(*a, *b), $i);
                    }
                    (a, b) => {
                        let (a, b) = (*a, *b);
                        save!();
                        match attempt!(slow::$other(ctx, thread, a, b)) {
                            slow::Test::Known(answer) => test!(answer, $i),
                            slow::Test::Called(after) => go_on_after!(after),
                        }
                    }
                }
            }};
        }
        macro_rules! compare_immediate {
            ($i:expr, $int:expr, $float:expr, $event:expr, $swapped:expr) => {{
                let immediate = $i.sb();
                match regs.at($i.a()) {
                    Value::Int(a) => {
                        let int: fn(&i64, &i64) -> bool = $int;
                        test!(int(a, &i64::from(immediate)), $i);
                    }
                    Value::Float(a) => {
                        let float: fn(&f64, &f64) -> bool = $float;
                        test!(float(a, &f64::from(immediate)), $i);
                    }
                    a => go_on!(slow::compare_method(ctx, thread, *a, $i, $event, $swapped)),
                }
            }};
        }

        loop {
            if HOOKED {
                save!();
                if !thread.is_hooked() {
                    return Ok(Leave::Switch);
                }
                if let Some(after) = attempt!(hooks::before_instruction(ctx, thread)) {
                    go_on_after!(after);
                }
            }
            let i = pc.fetch();
            match i.op() {
                Op::Move => regs.set(i.a(), regs.get(i.b())),
                Op::LoadI => regs.set(i.a(), Value::Int(i64::from(i.sbx()))),
                Op::LoadF => regs.set(i.a(), Value::Float(f64::from(i.sbx()))),
                Op::LoadK => regs.set(i.a(), constants.get(i.bx())),
                Op::LoadKX => {
                    let extra = pc.fetch();
                    regs.set(i.a(), constants.get(extra.ax()));
                }
                Op::LoadFalse => regs.set(i.a(), Value::Bool(false)),
                Op::LFalseSkip => {
                    regs.set(i.a(), Value::Bool(false));
                    pc.skip();
                }
                Op::LoadTrue => regs.set(i.a(), Value::Bool(true)),
                Op::LoadNil => {
                    for n in 0..=u32::from(i.b()) {
                        regs.set_above(i.a(), n, Value::Nil);
                    }
                }
                Op::GetUpval => {
                    // SAFETY: the compiler's upvalue numbers lie within the closure.
                    let upvalue = unsafe { closure.upvalue_unchecked(i.b() as usize) };
                    regs.set(i.a(), upvalue.get());
                }
                Op::SetUpval => {
                    // SAFETY: as above.
                    let upvalue = unsafe { closure.upvalue_unchecked(i.b() as usize) };
                    upvalue.set(ctx, regs.get(i.a()));
                }
                Op::GetTabUp => {
                    // SAFETY: as above.
                    let object = unsafe { closure.upvalue_unchecked(i.b() as usize) }.get();
                    let key = constant_string!(i.c());
                    if let Value::Table(table) = object {
                        let value = table.get_short(ctx, key);
                        if !value.is_nil() {
                            regs.set(i.a(), value);
                            continue;
                        }
                    }
                    read!(i, object, key.into());
                }
                Op::GetTable => {
                    let (object, key) = (regs.at(i.b()), regs.at(i.c()));
                    if let Value::Table(table) = object {
                        let value = match key {
                            Value::Int(key) => table.get_int(ctx, *key),
                            Value::Str(key) => table.get_str(ctx, *key),
                            key => table.get(ctx, *key),
                        };
                        if !value.is_nil() || table.metatable().is_none() {
                            regs.set(i.a(), value);
                            continue;
                        }
                    }
                    read!(i, *object, *key);
                }
                Op::GetI => {
                    let key = i64::from(i.c());
                    let object = regs.at(i.b());
                    if let Value::Table(table) = object {
                        let value = table.get_int(ctx, key);
                        if !value.is_nil() || table.metatable().is_none() {
                            regs.set(i.a(), value);
                            continue;
                        }
                    }
                    read!(i, *object, Value::Int(key));
                }
                Op::GetField => {
                    let key = constant_string!(i.c());
                    let object = regs.at(i.b());
                    if let Value::Table(table) = object {
                        let value = table.get_short(ctx, key);
                        if !value.is_nil() || table.metatable().is_none() {
                            regs.set(i.a(), value);
                            continue;
                        }
                        if let Some(value) = slow::inherited(ctx, *table, key) {
                            regs.set(i.a(), value);
                            continue;
                        }
                    }
                    read!(i, *object, key.into());
                }
                Op::SetTabUp => {
                    // SAFETY: as above.
                    let object = unsafe { closure.upvalue_unchecked(i.a() as usize) }.get();
                    let key = constant_string!(i.b());
                    let value = rk!(i);
                    if let Value::Table(table) = object
                        && table.try_store_short(ctx, key, value)
                    {
                        continue;
                    }
                    write!(object, key.into(), value);
                }
                Op::SetTable => {
                    let (object, key) = (regs.at(i.a()), regs.at(i.b()));
                    let value = rk!(i);
                    if let Value::Table(table) = object {
                        let stored = match key {
                            Value::Int(key) => table.try_store_int(ctx, *key, value),
                            Value::Str(key) if key.is_short() => {
                                table.try_store_short(ctx, *key, value)
                            }
                            _ => false,
                        };
                        if stored {
                            continue;
                        }
                    }
                    write!(*object, *key, value);
                }
                Op::SetI => {
                    let object = regs.at(i.a());
                    let value = rk!(i);
                    let key = i64::from(i.b());
                    if let Value::Table(table) = object
                        && table.try_store_int(ctx, key, value)
                    {
                        continue;
                    }
                    write!(*object, Value::Int(key), value);
                }
                Op::SetField => {
                    let object = regs.at(i.a());
                    let key = constant_string!(i.b());
                    let value = rk!(i);
                    if let Value::Table(table) = object
                        && table.try_store_short(ctx, key, value)
                    {
                        continue;
                    }
                    write!(*object, key.into(), value);
                }
                Op::NewTable => {
                    let extra = pc.fetch();
                    let table = attempt!(slow::new_table(ctx, i, extra));
                    regs.set(i.a(), Value::Table(table));
                    safe_point!(u32::from(i.a()) + 1);
                }
                Op::SelfOp => {
                    let object = regs.get(i.b());
                    regs.set_above(i.a(), 1, object);
                    let key = rk!(i);
                    if let Value::Str(name) = key
                        && name.is_short()
                        && let Some(found) = slow::method(ctx, object, name)
                    {
                        regs.set(i.a(), found);
                        continue;
                    }
                    read!(i, object, key);
                }
                Op::AddI => match regs.at(i.b()) {
                    Value::Int(b) => {
                        regs.set(i.a(), Value::Int(b.wrapping_add(i64::from(i.sc()))));
                        pc.skip();
                    }
                    Value::Float(b) => {
                        regs.set(i.a(), Value::Float(b + f64::from(i.sc())));
                        pc.skip();
                    }
                    _ => {}
                },
                Op::AddK => arith!(i, kc!(i), i64::wrapping_add, |b, c| b + c),
                Op::SubK => arith!(i, kc!(i), i64::wrapping_sub, |b, c| b - c),
                Op::MulK => arith!(i, kc!(i), i64::wrapping_mul, |b, c| b * c),
                Op::ModK => modulo!(i, kc!(i)),
                Op::PowK => arith_float!(i, regs.at(i.b()), kc!(i), number::pow),
                Op::DivK => arith_float!(i, regs.at(i.b()), kc!(i), |b, c| b / c),
                Op::IDivK => floor_div!(i, kc!(i)),
                Op::BAndK => bitwise!(i, *kc!(i), |b, c| b & c),
                Op::BOrK => bitwise!(i, *kc!(i), |b, c| b | c),
                Op::BXorK => bitwise!(i, *kc!(i), |b, c| b ^ c),
                Op::ShrI => bitwise!(i, Value::Int(i64::from(i.sc())), number::shift_right),
                Op::ShlI => bitwise!(i, Value::Int(i64::from(i.sc())), |b, c| {
                    number::shift_left(c, b)
                }),
                Op::Add => arith!(i, regs.at(i.c()), i64::wrapping_add, |b, c| b + c),
                Op::Sub => arith!(i, regs.at(i.c()), i64::wrapping_sub, |b, c| b - c),
                Op::Mul => arith!(i, regs.at(i.c()), i64::wrapping_mul, |b, c| b * c),
                Op::Mod => modulo!(i, regs.at(i.c())),
                Op::Pow => arith_float!(i, regs.at(i.b()), regs.at(i.c()), number::pow),
                Op::Div => arith_float!(i, regs.at(i.b()), regs.at(i.c()), |b, c| b / c),
                Op::IDiv => floor_div!(i, regs.at(i.c())),
                Op::BAnd => bitwise!(i, regs.get(i.c()), |b, c| b & c),
                Op::BOr => bitwise!(i, regs.get(i.c()), |b, c| b | c),
                Op::BXor => bitwise!(i, regs.get(i.c()), |b, c| b ^ c),
                Op::Shl => bitwise!(i, regs.get(i.c()), number::shift_left),
                Op::Shr => bitwise!(i, regs.get(i.c()), number::shift_right),
                Op::MmBin => {
                    let (a, b) = (regs.get(i.a()), regs.get(i.b()));
                    go_on!(slow::binary(ctx, thread, i.c(), a, b));
                }
                Op::MmBinI => {
                    let (a, b) = (regs.get(i.a()), Value::Int(i64::from(i.sb())));
                    let (a, b) = if i.k() { (b, a) } else { (a, b) };
                    go_on!(slow::binary(ctx, thread, i.c(), a, b));
                }
                Op::MmBinK => {
                    let (a, b) = (regs.get(i.a()), constants.get(u32::from(i.b())));
                    let (a, b) = if i.k() { (b, a) } else { (a, b) };
                    go_on!(slow::binary(ctx, thread, i.c(), a, b));
                }
                Op::Unm => match regs.at(i.b()) {
                    Value::Int(b) => regs.set(i.a(), Value::Int(b.wrapping_neg())),
                    Value::Float(b) => regs.set(i.a(), Value::Float(-b)),
                    b => go_on!(slow::unary(ctx, thread, Event::Unm, *b)),
                },
                Op::BNot => {
                    let b = regs.get(i.b());
                    match as_int(b) {
                        Some(b) => regs.set(i.a(), Value::Int(!b)),
                        None => go_on!(slow::unary(ctx, thread, Event::BNot, b)),
                    }
                }
                Op::Not => regs.set(i.a(), Value::Bool(regs.get(i.b()).is_falsy())),
                Op::Len => match regs.at(i.b()) {
                    Value::Table(table) if table.metatable().is_none() => {
                        regs.set(i.a(), Value::Int(table.len(ctx)));
                    }
                    Value::Str(string) => regs.set(i.a(), Value::Int(string.len() as i64)),
                    b => go_on!(slow::length(ctx, thread, *b, i.a())),
                },
                Op::Concat => {
                    save!();
                    let first = base_index + u32::from(i.a());
                    match attempt!(super::finish::concat(ctx, thread, first, u32::from(i.b()))) {
                        After::Done => safe_point!(u32::from(i.a()) + 1),
                        after => go_on_after!(after),
                    }
                }
                Op::Close => {
                    let level = base_index + u32::from(i.a());
                    if let Some(value) = slow::close(ctx, thread, level) {
                        let at = base_index + all_live!();
                        go_on!(unwind::call_close(ctx, thread, value, at));
                    }
                }
                Op::Tbc => attempt!(slow::mark_to_close(ctx, thread, base_index, i.a(), pc)),
                Op::Jmp => jump!(i.sj()),
                Op::Eq => {
                    let (a, b) = (regs.get(i.a()), regs.get(i.b()));
                    if a.raw_equals(b) {
                        if matches!(a, Value::Str(text) if super::patience::is_long(text)) {
                            attempt!(ctx.look());
                        }
                        test!(true, i);
                    } else if let (Value::Table(_), Value::Table(_))
                    | (Value::UserData(_), Value::UserData(_)) = (a, b)
                    {
                        save!();
                        match attempt!(slow::equals(ctx, thread, a, b)) {
                            slow::Test::Known(answer) => test!(answer, i),
                            slow::Test::Called(after) => go_on_after!(after),
                        }
                    } else {
                        test!(false, i);
                    }
                }
                Op::Lt => compare!(i, i64::lt, f64::lt, string_less, less_than),
                Op::Le => compare!(i, i64::le, f64::le, string_less_equal, less_equal),
                Op::EqK => {
                    let equal = regs.get(i.a()).raw_equals(constants.get(u32::from(i.b())));
                    test!(equal, i);
                }
                Op::EqI => {
                    let equal = match regs.at(i.a()) {
                        Value::Int(a) => *a == i64::from(i.sb()),
                        Value::Float(a) => *a == f64::from(i.sb()),
                        _ => false,
                    };
                    test!(equal, i);
                }
                Op::LtI => compare_immediate!(i, i64::lt, f64::lt, Event::Lt, false),
                Op::LeI => compare_immediate!(i, i64::le, f64::le, Event::Le, false),
                Op::GtI => compare_immediate!(i, i64::gt, f64::gt, Event::Lt, true),
                Op::GeI => compare_immediate!(i, i64::ge, f64::ge, Event::Le, true),
                Op::Test => test!(regs.at(i.a()).is_truthy(), i),
                Op::TestSet => {
                    let b = regs.get(i.b());
                    if b.is_truthy() == i.k() {
                        regs.set(i.a(), b);
                        let next = pc.fetch();
                        jump!(next.sj());
                    } else {
                        pc.skip();
                    }
                }
                Op::Call => {
                    let func = base_index + u32::from(i.a());
                    if i.b() != 0 {
                        thread.set_top(func + u32::from(i.b()));
                    }
                    let results = i16::from(i.c()) - 1;
                    save!();
                    if let Value::Closure(callee) = regs.at(i.a()) {
                        let callee = *callee;
                        attempt!(call_lua(ctx, thread, callee, func, results, Flags::NONE));
                        fuel -= 1;
                        if fuel == 0 {
                            fuel = FUEL;
                            if ctx.mc.debt_due() || ctx.state.needs_attention() {
                                let top = unwind::stack_end(thread);
                                thread.set_live(ctx, top);
                                return Ok(Leave::SafePoint);
                            }
                        }
                        // What `'frame` reads back from the frame and the stack is known here.
                        frame = thread.frame();
                        base_index = func + 1;
                        closure = callee;
                        function = callee.function();
                        // SAFETY: as at the head of `'frame`, for the frame that was pushed.
                        unsafe {
                            regs = Window::new(thread.stack().add(base_index as usize));
                            constants = Constants::new(function.constants());
                            pc = Cursor::new(function.code());
                        }
                        continue;
                    }
                    match precall(ctx, thread, func, results, Flags::NONE) {
                        Ok(After::Done) => {
                            regs = Window::of(thread, base_index);
                            if results == ALL_RESULTS {
                                safe_point!(all_live!());
                            } else {
                                safe_point!(u32::from(i.a()) + results as u32);
                            }
                        }
                        Ok(after) => go_on_after!(after),
                        Err(error) => return Err(super::describe::locate(ctx, thread, error)),
                    }
                }
                Op::TailCall => {
                    let func = base_index + u32::from(i.a());
                    if i.b() != 0 {
                        thread.set_top(func + u32::from(i.b()));
                    }
                    if i.k() {
                        thread.close_upvalues(ctx, base_index);
                    }
                    save!();
                    // A native is called as usual: the return that follows hands its results on.
                    go_on!(slow::tail_call(ctx, thread, func, i.c()));
                }
                Op::Return => {
                    let first = base_index + u32::from(i.a());
                    let count = match i.b() {
                        0 => thread.top() - first,
                        b => u32::from(b) - 1,
                    };
                    if i.k() {
                        // SAFETY: see where `frame` is set.
                        unsafe { (*frame).aux2 = count };
                        if let Some(value) = slow::close(ctx, thread, base_index) {
                            let at = (first + count).max(base_index + function.max_stack());
                            go_on!(unwind::call_close(ctx, thread, value, at));
                        }
                    }
                    return_hook!(count, first);
                    if i.c() != 0 {
                        slow::leave_vararg(thread, i.c());
                    }
                    save!();
                    returned!(return_from_top(ctx, thread, first, count));
                }
                Op::Return0 => {
                    return_hook!(0, base_index);
                    return_values!(0, base_index);
                }
                Op::Return1 => {
                    return_hook!(1, base_index + u32::from(i.a()));
                    return_values!(1, base_index + u32::from(i.a()));
                }
                Op::ForLoop => {
                    if let Value::Int(step) = regs.get_above(i.a(), 2) {
                        if let (Value::Int(count), Value::Int(index)) =
                            (regs.get_above(i.a(), 1), regs.get(i.a()))
                            && count != 0
                        {
                            let index = index.wrapping_add(step);
                            regs.set_above(i.a(), 1, Value::Int(count.wrapping_sub(1)));
                            regs.set(i.a(), Value::Int(index));
                            regs.set_above(i.a(), 3, Value::Int(index));
                            jump!(-(i.bx() as i32));
                        }
                    } else if slow::float_loop(regs, i.a()) {
                        jump!(-(i.bx() as i32));
                    }
                }
                Op::ForPrep => {
                    if !attempt!(slow::prepare_loop(ctx, regs, i.a())) {
                        pc.jump(i.bx() as i32 + 1);
                    }
                }
                Op::TForPrep => {
                    attempt!(slow::mark_to_close(ctx, thread, base_index, i.a() + 3, pc));
                    pc.jump(i.bx() as i32);
                }
                Op::TForCall => {
                    if !HOOKED && slow::iterate(ctx, regs, i.a(), i.c()) {
                        continue;
                    }
                    let callee = base_index + u32::from(i.a()) + 4;
                    for n in 0..3 {
                        regs.set_above(i.a(), 4 + n, regs.get_above(i.a(), n));
                    }
                    thread.set_top(callee + 3);
                    save!();
                    match precall(ctx, thread, callee, i16::from(i.c()), Flags::NONE) {
                        Ok(After::Done) => regs = Window::of(thread, base_index),
                        Ok(after) => go_on_after!(after),
                        Err(error) => return Err(super::describe::locate(ctx, thread, error)),
                    }
                    safe_point!(all_live!());
                }
                Op::TForLoop => {
                    let control = regs.get_above(i.a(), 4);
                    if !control.is_nil() {
                        regs.set_above(i.a(), 2, control);
                        jump!(-(i.bx() as i32));
                    }
                }
                Op::SetList => {
                    let more = if i.k() { pc.fetch().ax() } else { 0 };
                    let first = i64::from(i.c()) + (i64::from(more) << 8);
                    attempt!(slow::set_list(ctx, thread, regs, i, base_index, first));
                }
                Op::Closure => {
                    let inner = function.inner(i.bx() as usize);
                    let fresh = slow::new_closure(ctx, thread, closure, inner, base_index);
                    regs.set(i.a(), fresh.into());
                    safe_point!(u32::from(i.a()) + 1);
                }
                Op::Vararg => {
                    attempt!(slow::varargs(ctx, thread, i.a(), i16::from(i.c()) - 1));
                    regs = Window::of(thread, base_index);
                }
                Op::VarargPrep => {
                    save!();
                    attempt!(slow::enter_vararg(ctx, thread, closure));
                    continue 'frame;
                }
                Op::ExtraArg => {}
            }
        }
    }
}
