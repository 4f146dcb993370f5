//! `load`, `loadfile` and `dofile`.

use super::io;
use crate::vm::buffer::Buffer;
use crate::vm::closure::{Closure, Function};
use crate::vm::error::{Error, os_message};
use crate::vm::native::{Call, NativeFn, NativeResult, Outcome};
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
    let pieces = UserData::new(call.ctx, Buffer::new());
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
        let piece = match call.ctx.number_or_string(piece) {
            Some(text) => text.into(),
            None => piece,
        };
        match piece {
            Value::Str(text) if !text.is_empty() => {
                call.push(text.into());
                keep_piece(call)
            }
            Value::Nil | Value::Str(_) => {
                call.truncate(PIECES + 1);
                compile_pieces(call)
            }
            _ => {
                let message = call.error("reader function must return a string").value();
                call.ret(&[Value::Nil, message])
            }
        }
    })
}

/// Appends the piece in the last slot, and goes on.
fn keep_piece<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    if let (Value::UserData(pieces), Value::Str(text)) = (call.get(PIECES), call.get(PIECES + 1))
        && let Some(mut pieces) = pieces.borrow::<Buffer>()
    {
        if let Err(error) = pieces.make_room(call.ctx, text.len()) {
            return call.or_again(Err(error), PIECES + 2, keep_piece);
        }
        pieces.extend_from_slice(text.as_bytes());
    }
    call.truncate(PIECES + 1);
    read_piece(call)
}

/// Compiles what the reader has given.
fn compile_pieces<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    let (Value::UserData(pieces), Value::Str(name)) = (call.get(PIECES), call.get(CHUNK_NAME))
    else {
        return call.ret0();
    };
    let Some(mut source) = pieces.borrow::<Buffer>() else {
        return call.ret0();
    };
    let environment = call.get(ENVIRONMENT);
    let result = finish(call, &source, name.as_bytes(), MODE, environment);
    if result.is_ok() {
        source.free();
    }
    drop(source);
    call.or_again(result, PIECES + 1, compile_pieces)
}

/// Returns the compiled chunk, or nil and a message. Want of memory is an error at the first attempt, so that there is another.
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
        Err(message) if call.ctx.is_no_memory(message) && !call.ctx.is_retrying() => {
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

/// Why a source file can't be had.
pub(super) enum Unread<'gc> {
    /// The system refuses, in these words.
    Refused(Vec<u8>),
    NoMemory(Error<'gc>),
}

/// Reads a source file, without its first line if that begins with `#`.
pub(super) fn read_source<'gc>(
    ctx: Ctx<'gc>,
    path: Option<&[u8]>,
) -> Result<(Buffer, Vec<u8>), Unread<'gc>> {
    let (outcome, name) = match path {
        Some(path) => {
            let mut name = b"@".to_vec();
            name.extend_from_slice(path);
            (io::read_file(ctx, path), name)
        }
        None => (io::read_whole_stdin(ctx), b"=stdin".to_vec()),
    };
    match outcome {
        Ok(mut source) => {
            let text = compiler::file_text(&source);
            // A compiled chunk begins right after a first line that is no Lua.
            let text = match text {
                [b'\n', binary @ ..] if dump::is_binary(binary) => binary,
                text => text,
            };
            let skipped = source.len() - text.len();
            source.drain(..skipped);
            Ok((source, name))
        }
        Err(error) if error.kind() == std::io::ErrorKind::OutOfMemory => {
            Err(Unread::NoMemory(ctx.out_of_memory()))
        }
        Err(error) => {
            let shown = String::from_utf8_lossy(&name[1..]).into_owned();
            let action = if error.kind() == std::io::ErrorKind::IsADirectory {
                "read"
            } else {
                "open"
            };
            let message = format!("cannot {action} {shown}: {}", os_message(&error));
            Err(Unread::Refused(message.into_bytes()))
        }
    }
}

pub(super) fn loadfile<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    let result = loadfile_once(call);
    again_from_file(call, result, loadfile)
}

/// As [`Call::or_again`] for what has read the file that slot 0 names: standard input can't be read again.
fn again_from_file<'gc>(
    call: &mut Call<'gc>,
    result: NativeResult<'gc>,
    again: NativeFn,
) -> NativeResult<'gc> {
    if call.is_none_or_nil(0) {
        return result;
    }
    let arguments = call.results();
    call.or_again(result, arguments, again)
}

fn loadfile_once<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    let path = call.opt_str(0)?;
    call.opt_str(1)?;
    let environment = environment(call, 2);
    match read_source(call.ctx, path.map(LuaStr::as_bytes)) {
        Ok((source, name)) => finish(call, &source, &name, 1, environment),
        Err(Unread::NoMemory(error)) => Err(error),
        Err(Unread::Refused(message)) => {
            let message = call.ctx.string(&message);
            call.ret(&[Value::Nil, message])
        }
    }
}

pub(super) fn dofile<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    let result = dofile_once(call);
    again_from_file(call, result, dofile)
}

fn dofile_once<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    let path = call.opt_str(0)?;
    let environment = call.ctx.state.globals().into();
    let loaded = match read_source(call.ctx, path.map(LuaStr::as_bytes)) {
        Ok((source, name)) => compile(call.ctx, &source, &name, environment),
        Err(Unread::NoMemory(error)) => return Err(error),
        Err(Unread::Refused(message)) => Err(call.ctx.string(&message)),
    };
    match loaded {
        Ok(function) => {
            call.truncate(0);
            call.push(function.into());
            call.tail_call_top(0)
        }
        Err(message) => {
            call.ctx.look()?;
            if call.ctx.is_no_memory(message) {
                return Err(call.ctx.out_of_memory());
            }
            Err(Error::new(message))
        }
    }
}
