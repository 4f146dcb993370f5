//! `load`, `loadfile` and `dofile`.

use super::{io, room};
use crate::vm::closure::{Closure, Function};
use crate::vm::error::os_message;
use crate::vm::native::{Call, NativeResult, Outcome};
use crate::vm::state::Ctx;
use crate::vm::string::LuaStr;
use crate::vm::userdata::UserData;
use crate::vm::value::Value;
use crate::{compiler, dump};

/// Slots of `load` with a reader.
const CHUNK_NAME: usize = 1;
const MODE: usize = 2;
const ENVIRONMENT: usize = 3;
const PIECES: usize = 4;

pub(super) fn load<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    let environment = environment(call, ENVIRONMENT);
    if let Some(source) = call.ctx.number_or_string(call.get(0)) {
        let name = call.opt_str(1)?.unwrap_or(source);
        return finish(call, source.as_bytes(), name.as_bytes(), MODE, environment);
    }
    call.check_function(0)?;
    let name = match call.opt_str(CHUNK_NAME)? {
        Some(name) => name,
        None => LuaStr::new(call.ctx, b"=(load)"),
    };
    call.opt_str(MODE)?;
    call.set(CHUNK_NAME, name.into());
    call.set(ENVIRONMENT, environment);
    call.truncate(PIECES);
    let pieces = UserData::new(call.ctx, Vec::<u8>::new());
    call.push(pieces.into());
    read_piece(call)
}

fn environment<'gc>(call: &Call<'gc>, slot: usize) -> Value<'gc> {
    if call.len() > slot {
        call.get(slot)
    } else {
        call.ctx.state.globals().into()
    }
}

fn read_piece<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    let reader = call.get(0);
    call.push(reader);
    call.pcall_top(0, |call| {
        let piece = call.result(0);
        call.truncate(PIECES + 1);
        if call.outcome() == Outcome::Failed {
            call.ctx.look()?;
            return call.ret(&[Value::Nil, piece]);
        }
        let Value::UserData(pieces) = call.get(PIECES) else {
            return call.ret0();
        };
        let piece = match call.ctx.number_or_string(piece) {
            Some(text) => text.into(),
            None => piece,
        };
        match piece {
            Value::Str(text) if !text.is_empty() => {
                if let Some(mut pieces) = pieces.borrow::<Vec<u8>>() {
                    room::make(call.ctx, &mut pieces, text.len())?;
                    pieces.extend_from_slice(text.as_bytes());
                }
                read_piece(call)
            }
            Value::Nil | Value::Str(_) => {
                let source = pieces
                    .borrow::<Vec<u8>>()
                    .map(|mut pieces| std::mem::take(&mut *pieces))
                    .unwrap_or_default();
                let Value::Str(name) = call.get(CHUNK_NAME) else {
                    return call.ret0();
                };
                let environment = call.get(ENVIRONMENT);
                finish(call, &source, name.as_bytes(), MODE, environment)
            }
            _ => {
                let message = call.error("reader function must return a string").value();
                call.ret(&[Value::Nil, message])
            }
        }
    })
}

/// Returns the compiled chunk, or nil and a message.
fn finish<'gc>(
    call: &mut Call<'gc>,
    source: &[u8],
    name: &[u8],
    mode: usize,
    environment: Value<'gc>,
) -> NativeResult<'gc> {
    let is_binary = dump::is_binary(source);
    let kind = if is_binary { "binary" } else { "text" };
    if let Some(allowed) = call.opt_str(mode)?
        && !allowed.as_bytes().contains(&kind.as_bytes()[0])
    {
        let message = format!(
            "attempt to load a {kind} chunk (mode is '{}')",
            allowed.to_text()
        );
        let message = call.ctx.string(message.as_bytes());
        return call.ret(&[Value::Nil, message]);
    }
    match compile(call.ctx, source, name, environment) {
        Ok(function) => call.ret1(function),
        // A second attempt returns it like any other.
        Err(message) if call.ctx.is_no_memory(message) && call.is_repeatable() => {
            Err(call.ctx.out_of_memory())
        }
        Err(message) => {
            call.ctx.look()?;
            call.ret(&[Value::Nil, message])
        }
    }
}

/// A function of source text or of a compiled chunk; else the message of the error.
pub(super) fn compile<'gc>(
    ctx: Ctx<'gc>,
    source: &[u8],
    name: &[u8],
    environment: Value<'gc>,
) -> Result<Closure<'gc>, Value<'gc>> {
    if !dump::is_binary(source) {
        return ctx.load(source, name, environment);
    }
    match dump::load(source, name) {
        Ok(proto) => match Function::new(ctx, &proto) {
            Ok(function) => Ok(Closure::main(ctx, function, environment)),
            Err(error) => Err(error.value()),
        },
        Err(error) => Err(ctx.string(&error.message)),
    }
}

/// Reads a source file, without its first line if that begins with `#`. The error is the message.
pub(super) fn read_source(path: Option<&[u8]>) -> Result<(Vec<u8>, Vec<u8>), Vec<u8>> {
    let (outcome, name) = match path {
        Some(path) => {
            let mut name = b"@".to_vec();
            name.extend_from_slice(path);
            (io::read_file(path), name)
        }
        None => (io::read_whole_stdin(), b"=stdin".to_vec()),
    };
    match outcome {
        Ok(source) => {
            let text = compiler::file_text(&source);
            // A compiled chunk begins right after a first line that is no Lua.
            let text = match text {
                [b'\n', binary @ ..] if dump::is_binary(binary) => binary,
                text => text,
            };
            Ok((text.to_vec(), name))
        }
        Err(error) => {
            let shown = String::from_utf8_lossy(&name[1..]).into_owned();
            let action = if error.kind() == std::io::ErrorKind::IsADirectory {
                "read"
            } else {
                "open"
            };
            Err(format!("cannot {action} {shown}: {}", os_message(&error)).into_bytes())
        }
    }
}

pub(super) fn loadfile<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    let path = call.opt_str(0)?;
    call.opt_str(1)?;
    let environment = environment(call, 2);
    match read_source(path.map(LuaStr::as_bytes)) {
        Ok((source, name)) => finish(call, &source, &name, 1, environment),
        Err(message) => {
            let message = call.ctx.string(&message);
            call.ret(&[Value::Nil, message])
        }
    }
}

pub(super) fn dofile<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    let path = call.opt_str(0)?;
    let environment = call.ctx.state.globals().into();
    let loaded = match read_source(path.map(LuaStr::as_bytes)) {
        Ok((source, name)) => compile(call.ctx, &source, &name, environment),
        Err(message) => Err(call.ctx.string(&message)),
    };
    match loaded {
        Ok(function) => {
            call.truncate(0);
            call.push(function.into());
            call.tail_call_top(0)
        }
        Err(message) => {
            call.ctx.look()?;
            Err(crate::vm::error::Error::new(message))
        }
    }
}
