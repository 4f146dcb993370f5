//! Looking into running programs.

use super::{Functions, io, register};
use crate::proto::{Proto, chunk_id};
use crate::vm::closure::Closure;
use crate::vm::debug::Level;
use crate::vm::error::Error;
use crate::vm::hooks::HookMask;
use crate::vm::native::{Call, Native, NativeResult, Outcome};
use crate::vm::state::Ctx;
use crate::vm::table::Table;
use crate::vm::thread::Thread;
use crate::vm::value::Value;

const FUNCTIONS: Functions = &[
    ("debug", debug),
    ("gethook", gethook),
    ("getinfo", getinfo),
    ("getlocal", getlocal),
    ("getmetatable", getmetatable),
    ("getregistry", getregistry),
    ("getupvalue", getupvalue),
    ("getuservalue", getuservalue),
    ("setcstacklimit", setcstacklimit),
    ("sethook", sethook),
    ("setlocal", setlocal),
    ("setmetatable", setmetatable),
    ("setupvalue", setupvalue),
    ("setuservalue", setuservalue),
    ("traceback", traceback),
    ("upvalueid", upvalueid),
    ("upvaluejoin", upvaluejoin),
];

/// The limit that `setcstacklimit` reports: natives do not nest here at all.
const STACK_LIMIT: i64 = 200;

pub(super) fn open(ctx: Ctx<'_>) {
    register(ctx, "debug", FUNCTIONS);
}

/// The coroutine that an optional first argument names (else none), and the slot of the first argument after it.
fn thread_argument<'gc>(call: &Call<'gc>) -> (Option<Thread<'gc>>, usize) {
    match call.get(0) {
        Value::Thread(thread) if thread.ptr_eq(call.thread()) => (None, 1),
        Value::Thread(thread) => (Some(thread), 1),
        _ => (None, 0),
    }
}

/// A level of a coroutine; of the running one if none is given.
fn level_of<'gc>(call: &Call<'gc>, thread: Option<Thread<'gc>>, level: i64) -> Option<Level<'gc>> {
    let level = usize::try_from(level).ok()?;
    match thread {
        Some(thread) => thread.level(level),
        None => call.level(level),
    }
}

fn getinfo<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    let (thread, first) = thread_argument(call);
    let options = call
        .opt_str(first + 1)?
        .map_or(&b"flnSrtu"[..], |text| text.as_bytes());
    if options.first() == Some(&b'>') {
        return Err(call.arg_error(first + 1, "invalid option '>'"));
    }
    if !options.iter().all(|option| b"SlnrutLf".contains(option)) {
        return Err(call.arg_error(first + 1, "invalid option"));
    }
    let subject = call.get(first);
    let (function, level) = if subject.is_function() {
        (subject, None)
    } else {
        let level = call.check_int(first)?;
        let Some(level) = level_of(call, thread, level) else {
            return call.ret1(Value::Nil);
        };
        (level.function(), Some(level))
    };
    let info = Table::new(call.ctx);
    for option in options {
        write_info(call.ctx, info, *option, function, level.as_ref())?;
    }
    call.ret1(info)
}

fn write_info<'gc>(
    ctx: Ctx<'gc>,
    info: Table<'gc>,
    option: u8,
    function: Value<'gc>,
    level: Option<&Level<'gc>>,
) -> Result<(), Error<'gc>> {
    let proto: Option<&Proto> = match function {
        Value::Closure(closure) => Some(closure.proto()),
        _ => None,
    };
    match option {
        b'S' => write_source(ctx, info, proto),
        b'l' => {
            let line = level.and_then(Level::current_line).map_or(-1, i64::from);
            info.set_name(ctx, "currentline", line);
        }
        b'u' => {
            let upvalues = match function {
                Value::Closure(closure) => closure.upvalue_count(),
                Value::Native(native) => native.upvalue_count(),
                _ => 0,
            };
            info.set_name(ctx, "nups", upvalues as i64);
            info.set_name(
                ctx,
                "nparams",
                proto.map_or(0, |proto| i64::from(proto.num_params)),
            );
            info.set_name(ctx, "isvararg", proto.is_none_or(|proto| proto.is_vararg));
        }
        b'n' => match level.and_then(Level::name) {
            Some((kind, name)) => {
                info.set_name(ctx, "name", ctx.string(&name));
                info.set_name(ctx, "namewhat", ctx.string(kind.text().as_bytes()));
            }
            None => info.set_name(ctx, "namewhat", ctx.string(b"")),
        },
        b'r' => {
            let (first, count) = level.map_or((0, 0), Level::transfer);
            info.set_name(ctx, "ftransfer", i64::from(first));
            info.set_name(ctx, "ntransfer", i64::from(count));
        }
        b't' => info.set_name(ctx, "istailcall", level.is_some_and(Level::is_tail_call)),
        b'L' => {
            if let Some(proto) = proto {
                info.set_name(ctx, "activelines", active_lines(ctx, proto)?);
            }
        }
        _ => info.set_name(ctx, "func", function),
    }
    Ok(())
}

fn write_source<'gc>(ctx: Ctx<'gc>, info: Table<'gc>, proto: Option<&Proto>) {
    let (source, shown, what, lines) = match proto {
        Some(proto) => {
            let what = if proto.line_defined == 0 {
                "main"
            } else {
                "Lua"
            };
            let lines = (
                i64::from(proto.line_defined),
                i64::from(proto.last_line_defined),
            );
            (proto.source.to_vec(), chunk_id(&proto.source), what, lines)
        }
        None => (b"=[C]".to_vec(), b"[C]".to_vec(), "C", (-1, -1)),
    };
    info.set_name(ctx, "source", ctx.string(&source));
    info.set_name(ctx, "short_src", ctx.string(&shown));
    info.set_name(ctx, "what", ctx.string(what.as_bytes()));
    info.set_name(ctx, "linedefined", lines.0);
    info.set_name(ctx, "lastlinedefined", lines.1);
}

/// The lines that have code, as the keys of a table.
fn active_lines<'gc>(ctx: Ctx<'gc>, proto: &Proto) -> Result<Table<'gc>, Error<'gc>> {
    let lines = Table::new(ctx);
    // The instruction that adjusts varargs belongs to no line of the function.
    for line in proto.lines.iter().skip(usize::from(proto.is_vararg)) {
        lines.set_int(ctx, i64::from(*line), Value::Bool(true))?;
    }
    Ok(lines)
}

fn getlocal<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    let (thread, first) = thread_argument(call);
    let number = call.check_int(first + 1)?;
    let subject = call.get(first);
    if subject.is_function() {
        let name = match subject {
            Value::Closure(closure) => usize::try_from(number)
                .ok()
                .and_then(|number| closure.proto().local_name(number, 0)),
            _ => None,
        };
        let name = name.map(|name| call.ctx.string(name));
        return call.ret1(name);
    }
    let level = call.check_int(first)?;
    let Some(level) = level_of(call, thread, level) else {
        return Err(call.arg_error(first, "level out of range"));
    };
    match level.local(number) {
        Some((name, value)) => {
            let name = call.ctx.string(&name);
            call.ret(&[name, value])
        }
        None => call.ret1(Value::Nil),
    }
}

fn setlocal<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    let (thread, first) = thread_argument(call);
    let level = call.check_int(first)?;
    let number = call.check_int(first + 1)?;
    let value = call.check_any(first + 2)?;
    let Some(level) = level_of(call, thread, level) else {
        return Err(call.arg_error(first, "level out of range"));
    };
    let name = level
        .set_local(call.ctx, number, value)
        .map(|name| call.ctx.string(&name));
    call.ret1(name)
}

fn getmetatable<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    let value = call.check_any(0)?;
    let metatable = call.ctx.metatable(value);
    call.ret1(metatable)
}

fn setmetatable<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    let value = call.get(0);
    let metatable = match call.get(1) {
        Value::Nil if call.len() > 1 => None,
        Value::Table(metatable) => Some(metatable),
        _ => return Err(call.type_error(1, "nil or table")),
    };
    call.ctx.set_metatable(value, metatable)?;
    call.ret1(value)
}

fn getregistry<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    let registry = call.ctx.state.registry();
    call.ret1(registry)
}

fn getuservalue<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    call.opt_int(1, 1)?;
    // The userdata of the libraries have no values for programs.
    call.ret1(Value::Nil)
}

fn setuservalue<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    if !matches!(call.get(0), Value::UserData(_)) {
        return Err(call.type_error(0, "userdata"));
    }
    call.check_any(1)?;
    call.opt_int(2, 1)?;
    call.ret1(Value::Nil)
}

/// The name of upvalue `index` (from 0) of a function, if it has one.
fn upvalue_name<'gc>(function: Value<'gc>, index: usize) -> Option<&'gc [u8]> {
    match function {
        Value::Closure(closure) => {
            let upvalue = closure.proto().upvalues.get(index)?;
            Some(upvalue.name.as_deref().unwrap_or(b"(no name)"))
        }
        Value::Native(native) if index < native.upvalue_count() => Some(b""),
        _ => None,
    }
}

/// A function and the index (from 0) of an upvalue, both checked by type only.
fn upvalue_arguments<'gc>(
    call: &mut Call<'gc>,
    slot: usize,
) -> Result<(Value<'gc>, Option<usize>), Error<'gc>> {
    let number = call.check_int(slot + 1)?;
    let function = call.check_function(slot)?;
    let index = usize::try_from(number)
        .ok()
        .and_then(|number| number.checked_sub(1));
    Ok((
        function,
        index.filter(|&index| upvalue_name(function, index).is_some()),
    ))
}

fn getupvalue<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    let (function, index) = upvalue_arguments(call, 0)?;
    let Some(index) = index else {
        return call.ret0();
    };
    let value = match function {
        Value::Closure(closure) => closure.upvalue(index).get(),
        Value::Native(native) => native.upvalue(index),
        _ => Value::Nil,
    };
    let name = call
        .ctx
        .string(upvalue_name(function, index).unwrap_or_default());
    call.ret(&[name, value])
}

fn setupvalue<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    let value = call.check_any(2)?;
    let (function, index) = upvalue_arguments(call, 0)?;
    let Some(index) = index else {
        return call.ret0();
    };
    match function {
        Value::Closure(closure) => closure.upvalue(index).set(call.ctx, value),
        Value::Native(native) => native.set_upvalue(call.ctx, index, value),
        _ => {}
    }
    let name = call
        .ctx
        .string(upvalue_name(function, index).unwrap_or_default());
    call.ret1(name)
}

/// An integer that tells upvalues apart, since this interpreter has no light userdata.
fn upvalueid<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    let (function, index) = upvalue_arguments(call, 0)?;
    let Some(index) = index else {
        return call.ret1(Value::Nil);
    };
    let address = match function {
        Value::Closure(closure) => closure.upvalue(index).address().addr(),
        Value::Native(native) => native.address().addr() + 1 + index,
        _ => return call.ret1(Value::Nil),
    };
    call.ret1(Value::Light(address))
}

fn lua_upvalue<'gc>(
    call: &mut Call<'gc>,
    slot: usize,
) -> Result<(Closure<'gc>, usize), Error<'gc>> {
    let (function, index) = upvalue_arguments(call, slot)?;
    let Some(index) = index else {
        return Err(call.arg_error(slot + 1, "invalid upvalue index"));
    };
    match function {
        Value::Closure(closure) => Ok((closure, index)),
        _ => Err(call.arg_error(slot, "Lua function expected")),
    }
}

fn upvaluejoin<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    let (target, index) = lua_upvalue(call, 0)?;
    let (source, source_index) = lua_upvalue(call, 2)?;
    target.join(call.ctx, index, source.upvalue(source_index));
    call.ret0()
}

/// The events of a hook as `sethook` and `gethook` spell them; count events have a number of their own.
const HOOK_EVENTS: [(u8, HookMask); 3] = [
    (b'c', HookMask::CALL),
    (b'r', HookMask::RETURN),
    (b'l', HookMask::LINE),
];

fn sethook<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    if !call.thread().get_hook().1.is_empty() {
        change_hook(call)?;
        return call.ret0();
    }
    // A callback, even one that does nothing, makes the loop look again whether there is a hook.
    let nothing = Native::new(call.ctx, "?", |call| call.ret0());
    call.call(nothing.into(), &[], |call| {
        call.truncate(call.results());
        change_hook(call)?;
        call.ret0()
    })
}

fn change_hook<'gc>(call: &mut Call<'gc>) -> Result<(), Error<'gc>> {
    let (thread, first) = thread_argument(call);
    let thread = thread.unwrap_or(call.thread());
    let mut mask = HookMask::default();
    let mut period = 0;
    let mut function = Value::Nil;
    if !call.is_none_or_nil(first) {
        let letters = call.check_str(first + 1)?;
        function = call.check_function(first)?;
        period = u32::try_from(call.opt_int(first + 2, 0)?).unwrap_or(0);
        for (letter, event) in HOOK_EVENTS {
            if letters.as_bytes().contains(&letter) {
                mask = mask.with(event);
            }
        }
        if period > 0 {
            mask = mask.with(HookMask::COUNT);
        }
    }
    if mask.is_empty() {
        function = Value::Nil;
    }
    note_hook(call.ctx, thread, function)?;
    thread.set_hook(call.ctx, function, mask, period);
    Ok(())
}

/// Programs may find the hooks in the registry, as in C Lua: by coroutine, in a table with weak keys.
fn note_hook<'gc>(
    ctx: Ctx<'gc>,
    thread: Thread<'gc>,
    function: Value<'gc>,
) -> Result<(), Error<'gc>> {
    const KEY: &str = "_HOOKKEY";
    let registry = ctx.state.registry();
    let hooks = match registry.get_name(ctx, KEY) {
        Value::Table(hooks) => hooks,
        _ => {
            let hooks = Table::new(ctx);
            let metatable = Table::new(ctx);
            metatable.set_name(ctx, "__mode", ctx.string(b"k"));
            ctx.set_metatable(hooks.into(), Some(metatable))?;
            registry.set_name(ctx, KEY, hooks);
            hooks
        }
    };
    hooks.set(ctx, thread.into(), function)
}

fn gethook<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    let thread = thread_argument(call).0.unwrap_or(call.thread());
    let (function, mask, period) = thread.get_hook();
    if mask.is_empty() {
        return call.ret1(Value::Nil);
    }
    let letters = HOOK_EVENTS.iter().filter(|(_, event)| mask.has(*event));
    let letters: Vec<u8> = letters.map(|(letter, _)| *letter).collect();
    let letters = call.ctx.string(&letters);
    call.ret(&[function, letters, Value::Int(period.into())])
}

fn setcstacklimit<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    call.check_int(0)?;
    call.ret1(STACK_LIMIT)
}

fn traceback<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    let (thread, first) = thread_argument(call);
    let message = match call.get(first) {
        Value::Nil => None,
        Value::Str(_) | Value::Int(_) | Value::Float(_) => Some(call.check_str(first)?.as_bytes()),
        other => return call.ret1(other),
    };
    let level = call.opt_int(first + 1, i64::from(thread.is_none()))?;
    let level = usize::try_from(level).unwrap_or(0);
    let text = match thread {
        Some(thread) => call.ctx.traceback(thread, message, level),
        None => call.traceback(message, level),
    };
    let text = call.ctx.try_string(&text)?;
    call.ret1(text)
}

/// Reads and runs lines from standard input until one is `cont`.
fn debug<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    call.truncate(0);
    loop {
        io::complain(b"lua_debug> ");
        let Some(line) = io::read_stdin_line() else {
            return call.ret0();
        };
        if line == b"cont" {
            return call.ret0();
        }
        let globals = call.ctx.state.globals().into();
        match call.ctx.load(&line, b"=(debug command)", globals) {
            Ok(function) => {
                call.push(function.into());
                return call.pcall_top(0, |call| {
                    if call.outcome() == Outcome::Failed {
                        complain_about(call.ctx, call.result(0));
                    }
                    debug(call)
                });
            }
            Err(message) => complain_about(call.ctx, message),
        }
    }
}

fn complain_about<'gc>(ctx: Ctx<'gc>, error: Value<'gc>) {
    let mut text = Vec::new();
    super::text_of::write_text(ctx, error, &mut text);
    text.push(b'\n');
    io::complain(&text);
}
