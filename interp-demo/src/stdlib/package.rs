//! `require` and `package`, for modules written in Lua.

use std::os::unix::ffi::OsStringExt;

use super::load::{Unread, compile, read_source};
use super::{Functions, fill, io};
use crate::vm::error::Error;
use crate::vm::native::{Call, Native, NativeFn, NativeResult};
use crate::vm::state::Ctx;
use crate::vm::string::LuaStr;
use crate::vm::table::Table;
use crate::vm::userdata::UserData;
use crate::vm::value::Value;

const FUNCTIONS: Functions = &[("loadlib", loadlib), ("searchpath", searchpath)];

/// What there is to say about modules written in C.
const NO_LIBRARIES: &[u8] = b"dynamic libraries not enabled; check your Lua installation";

/// Separators of directories, of templates; the mark for the name; two that only loaders for C would use.
const CONFIG: &[u8] = b"/\n;\n?\n!\n-\n";

/// Where modules are looked for unless the environment says otherwise.
const DEFAULT_PATH: &str = "/usr/local/share/lua/5.4/?.lua;/usr/local/share/lua/5.4/?/init.lua;\
    /usr/local/lib/lua/5.4/?.lua;/usr/local/lib/lua/5.4/?/init.lua;\
    /usr/share/lua/5.4/?.lua;/usr/share/lua/5.4/?/init.lua;./?.lua;./?/init.lua";

/// Key of the registry that says that the environment is to be ignored.
const NO_ENVIRONMENT: &str = "LUA_NOENV";

pub(super) fn open(ctx: Ctx<'_>) {
    let package = Table::new(ctx);
    fill(ctx, package, FUNCTIONS);
    let loaded = ctx.state.loaded();
    let preload = Table::new(ctx);
    let searchers = Table::new(ctx);
    let upvalues = [Value::Table(package), Value::Table(preload)];
    for (index, (name, function)) in SEARCHERS.iter().enumerate() {
        let searcher = Native::with_upvalues(ctx, name, *function, &upvalues);
        // A fresh table takes two entries, or there is no memory for an interpreter at all.
        let _ = searchers.set_int(ctx, index as i64 + 1, searcher.into());
    }
    package.set_name(ctx, "config", ctx.string(CONFIG));
    let cpath = initial_path(ctx, ["LUA_CPATH_5_4", "LUA_CPATH"], b"");
    package.set_name(ctx, "cpath", ctx.string(&cpath));
    package.set_name(ctx, "loaded", loaded);
    let path = initial_path(ctx, ["LUA_PATH_5_4", "LUA_PATH"], DEFAULT_PATH.as_bytes());
    package.set_name(ctx, "path", ctx.string(&path));
    package.set_name(ctx, "preload", preload);
    package.set_name(ctx, "searchers", searchers);
    loaded.set_name(ctx, "package", package);
    let globals = ctx.state.globals();
    globals.set_name(ctx, "package", package);
    globals.set_name(
        ctx,
        "require",
        Native::with_upvalues(ctx, "require", require, &upvalues),
    );
    ctx.state.registry().set_name(ctx, "_PRELOAD", preload);
}

/// Has a library made when it is first required. `loader` returns its table.
pub(super) fn preload<'gc>(ctx: Ctx<'gc>, name: &'static str, loader: NativeFn) {
    if let Value::Table(preload) = ctx.state.registry().get_name(ctx, "_PRELOAD") {
        preload.set_name(ctx, name, Native::new(ctx, name, loader));
    }
}

/// The first of these variables that is set, with its first `;;` standing for the default path; else that.
fn initial_path(ctx: Ctx<'_>, variables: [&str; 2], default: &[u8]) -> Vec<u8> {
    let registry = ctx.state.registry();
    if registry.get_name(ctx, NO_ENVIRONMENT).is_truthy() {
        return default.to_vec();
    }
    let Some(path) = variables.iter().find_map(std::env::var_os) else {
        return default.to_vec();
    };
    let path = path.into_vec();
    let Some(at) = memchr::memmem::find(&path, b";;") else {
        return path;
    };
    let parts = [&path[..at], default, &path[at + 2..]];
    let parts: Vec<_> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    parts.join(&b';')
}

fn loadlib<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    call.check_str(0)?;
    call.check_str(1)?;
    let message = call.ctx.string(NO_LIBRARIES);
    let kind = call.ctx.string(b"absent");
    call.ret(&[Value::Nil, message, kind])
}

/// The first readable file that a path has for a name; else what to say about it.
fn search(
    name: &[u8],
    path: &[u8],
    separator: &[u8],
    replacement: &[u8],
) -> Result<Vec<u8>, Vec<u8>> {
    let name = if separator.is_empty() {
        name.to_vec()
    } else {
        replace(name, separator, replacement)
    };
    let mut tried = Vec::new();
    if path.is_empty() {
        return Err(tried);
    }
    for template in path.split(|&byte| byte == b';') {
        let candidate = replace(template, b"?", &name);
        if std::fs::File::open(io::path(&candidate)).is_ok() {
            return Ok(candidate);
        }
        tried.extend_from_slice(if tried.is_empty() {
            b"no file '"
        } else {
            b"\n\tno file '"
        });
        tried.extend_from_slice(&candidate);
        tried.push(b'\'');
    }
    Err(tried)
}

fn replace(text: &[u8], from: &[u8], to: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut rest = text;
    while let Some(at) = memchr::memmem::find(rest, from) {
        out.extend_from_slice(&rest[..at]);
        out.extend_from_slice(to);
        rest = &rest[at + from.len()..];
    }
    out.extend_from_slice(rest);
    out
}

fn searchpath<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    let name = call.check_str(0)?.as_bytes();
    let path = call.check_str(1)?.as_bytes();
    let separator = call.opt_str(2)?.map_or(&b"."[..], LuaStr::as_bytes);
    let replacement = call.opt_str(3)?.map_or(&b"/"[..], LuaStr::as_bytes);
    match search(name, path, separator, replacement) {
        Ok(file) => {
            let file = call.ctx.string(&file);
            call.ret1(file)
        }
        Err(tried) => {
            let tried = call.ctx.string(&tried);
            call.ret(&[Value::Nil, tried])
        }
    }
}

/// Upvalues of `require` and of the searchers.
const PACKAGE: usize = 0;
const PRELOAD: usize = 1;

const SEARCHERS: Functions = &[
    ("searcher_preload", searcher_preload),
    ("searcher_Lua", searcher_lua),
    ("searcher_C", searcher_c),
];

fn searcher_preload<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    let name = call.check_str(0)?;
    let loader = match call.upvalue(PRELOAD) {
        Value::Table(preload) => preload.get(call.ctx, name.into()),
        _ => Value::Nil,
    };
    if loader.is_nil() {
        let message = format!("no field package.preload['{}']", name.to_text());
        let message = call.ctx.string(message.as_bytes());
        return call.ret1(message);
    }
    let origin = call.ctx.string(b":preload:");
    call.ret(&[loader, origin])
}

fn searcher_lua<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    let name = call.check_str(0)?;
    let file = match search_field(call, name, "path")? {
        Ok(file) => file,
        Err(tried) => {
            let tried = call.ctx.string(&tried);
            return call.ret1(tried);
        }
    };
    let globals = call.ctx.state.globals().into();
    let loaded = match read_source(call.ctx, Some(&file)) {
        Ok((source, chunk_name)) => compile(call.ctx, &source, &chunk_name, globals),
        Err(Unread::NoMemory(error)) => return Err(error),
        Err(Unread::Refused(message)) => Err(call.ctx.string(&message)),
    };
    if loaded.is_err() {
        call.ctx.look()?;
    }
    match loaded {
        Ok(function) => {
            let file = call.ctx.string(&file);
            call.ret(&[function.into(), file])
        }
        Err(message) if call.ctx.is_no_memory(message) => Err(call.ctx.out_of_memory()),
        Err(Value::Str(message)) => Err(not_loaded(call, name, &file, message.as_bytes())),
        Err(_) => Err(not_loaded(call, name, &file, b"?")),
    }
}

/// Looks for modules written in C, only to say that they cannot be loaded.
fn searcher_c<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    let name = call.check_str(0)?;
    match search_field(call, name, "cpath")? {
        Ok(file) => Err(not_loaded(call, name, &file, NO_LIBRARIES)),
        Err(tried) => {
            let tried = call.ctx.string(&tried);
            call.ret1(tried)
        }
    }
}

/// Looks for a module along the path in a field of `package`.
fn search_field<'gc>(
    call: &Call<'gc>,
    name: LuaStr<'gc>,
    field: &str,
) -> Result<Result<Vec<u8>, Vec<u8>>, Error<'gc>> {
    let path = match call.upvalue(PACKAGE) {
        Value::Table(package) => package.get_name(call.ctx, field),
        _ => Value::Nil,
    };
    let Value::Str(path) = path else {
        return Err(call.error(format!("'package.{field}' must be a string")));
    };
    Ok(search(name.as_bytes(), path.as_bytes(), b".", b"/"))
}

fn not_loaded<'gc>(call: &Call<'gc>, name: LuaStr<'gc>, file: &[u8], why: &[u8]) -> Error<'gc> {
    let mut text = b"error loading module '".to_vec();
    text.extend_from_slice(name.as_bytes());
    text.extend_from_slice(b"' from file '");
    text.extend_from_slice(file);
    text.extend_from_slice(b"':\n\t");
    text.extend_from_slice(why);
    call.error(text)
}

/// Slots of `require`. [`Call::state`] is the number of the searcher that runs.
const NAME: usize = 0;
const SEARCHERS_TABLE: usize = 1;
const TRIED: usize = 2;
const REQUIRE_SLOTS: usize = 3;

fn require<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    let name = call.check_str(NAME)?;
    let module = call.ctx.state.loaded().get(call.ctx, name.into());
    if module.is_truthy() {
        return call.ret1(module);
    }
    let searchers = match call.upvalue(PACKAGE) {
        Value::Table(package) => package.get_name(call.ctx, "searchers"),
        _ => Value::Nil,
    };
    if !matches!(searchers, Value::Table(_)) {
        return Err(call.error("'package.searchers' must be a table"));
    }
    call.truncate(1);
    call.push(searchers);
    let tried = UserData::new(call.ctx, Vec::<u8>::new());
    call.push(tried.into());
    next_searcher(call)
}

/// Changes the list of what has been tried.
fn with_tried<'gc, R>(call: &Call<'gc>, change: impl FnOnce(&mut Vec<u8>) -> R) -> Option<R> {
    match call.get(TRIED) {
        Value::UserData(data) => data.borrow::<Vec<u8>>().map(|mut tried| change(&mut tried)),
        _ => None,
    }
}

fn next_searcher<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    call.state += 1;
    let (Value::Table(searchers), Value::Str(name)) = (call.get(SEARCHERS_TABLE), call.get(NAME))
    else {
        return call.ret0();
    };
    let searcher = searchers.get_int(call.ctx, call.state);
    if searcher.is_nil() {
        return Err(not_found(call, name));
    }
    call.call(searcher, &[name.into()], |call| {
        let (loader, extra) = (call.result(0), call.result(1));
        call.truncate(REQUIRE_SLOTS);
        if loader.is_function() {
            return run_loader(call, loader, extra);
        }
        if let Value::Str(message) = loader
            && !message.is_empty()
        {
            with_tried(call, |tried| {
                tried.extend_from_slice(b"\n\t");
                tried.extend_from_slice(message.as_bytes());
            });
        }
        next_searcher(call)
    })
}

fn not_found<'gc>(call: &mut Call<'gc>, name: LuaStr<'gc>) -> Error<'gc> {
    let mut message = b"module '".to_vec();
    message.extend_from_slice(name.as_bytes());
    message.extend_from_slice(b"' not found:");
    with_tried(call, |tried| message.append(tried));
    call.error(message)
}

fn run_loader<'gc>(
    call: &mut Call<'gc>,
    loader: Value<'gc>,
    extra: Value<'gc>,
) -> NativeResult<'gc> {
    let name = call.get(NAME);
    call.truncate(1);
    call.push(extra);
    call.call(loader, &[name, extra], |call| {
        let (name, extra, result) = (call.get(NAME), call.get(1), call.result(0));
        let loaded = call.ctx.state.loaded();
        if !result.is_nil() {
            loaded.set(call.ctx, name, result)?;
        }
        let mut module = loaded.get(call.ctx, name);
        if module.is_nil() {
            module = Value::Bool(true);
            loaded.set(call.ctx, name, module)?;
        }
        call.ret(&[module, extra])
    })
}
