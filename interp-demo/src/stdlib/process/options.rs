//! The options of `process.spawn`.

use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::process::{Command, Stdio};

use crate::text::number;
use crate::vm::error::Error;
use crate::vm::native::Call;
use crate::vm::table::Table;
use crate::vm::value::Value;

/// The command for the program `path` and the options in slot 1.
pub(super) fn command<'gc>(call: &Call<'gc>, path: &[u8]) -> Result<Command, Error<'gc>> {
    let mut command = Command::new(OsStr::from_bytes(path));
    let options = match call.get(1) {
        Value::Nil => return Ok(command),
        Value::Table(options) => options,
        _ => return Err(call.type_error(1, "table")),
    };
    if let Some(args) = table(call, options, "args")? {
        for i in 1..=args.len(call.ctx) {
            let text = text(call, args.get_int(call.ctx, i), "args")?;
            command.arg(OsStr::from_bytes(&text));
        }
    }
    if let Some(env) = table(call, options, "env")? {
        set_variables(call, &mut command, env)?;
    }
    match options.get_name(call.ctx, "cwd") {
        Value::Nil => {}
        directory => {
            let directory = text(call, directory, "cwd")?;
            command.current_dir(OsStr::from_bytes(&directory));
        }
    }
    if let Some(stdio) = table(call, options, "stdio")? {
        command
            .stdin(stream(call, stdio, "stdin")?)
            .stdout(stream(call, stdio, "stdout")?)
            .stderr(stream(call, stdio, "stderr")?);
    }
    Ok(command)
}

/// The directory that `command` was to start in and what is wrong with it, if anything is.
pub(super) fn directory_fault(command: &Command) -> Option<(&[u8], io::Error)> {
    let directory = command.get_current_dir()?;
    let fault = match std::fs::metadata(directory) {
        Ok(found) if found.is_dir() => return None,
        Ok(_) => io::Error::from_raw_os_error(libc::ENOTDIR),
        Err(fault) => fault,
    };
    Some((directory.as_os_str().as_bytes(), fault))
}

fn set_variables<'gc>(
    call: &Call<'gc>,
    command: &mut Command,
    env: Table<'gc>,
) -> Result<(), Error<'gc>> {
    let mut key = Value::Nil;
    while let Some((name, value)) = env.next(call.ctx, key)? {
        let variable = text(call, name, "env")?;
        let variable = OsStr::from_bytes(&variable);
        match value {
            Value::Bool(false) => {
                command.env_remove(variable);
            }
            _ => {
                let value = text(call, value, "env")?;
                command.env(variable, OsStr::from_bytes(&value));
            }
        }
        key = name;
    }
    Ok(())
}

fn invalid<'gc>(call: &Call<'gc>, option: &str) -> Error<'gc> {
    call.arg_error(1, format!("invalid value for option '{option}'"))
}

fn table<'gc>(
    call: &Call<'gc>,
    options: Table<'gc>,
    option: &str,
) -> Result<Option<Table<'gc>>, Error<'gc>> {
    match options.get_name(call.ctx, option) {
        Value::Nil => Ok(None),
        Value::Table(table) => Ok(Some(table)),
        _ => Err(invalid(call, option)),
    }
}

/// A string or a number as text without zero bytes, which the system could not take.
fn text<'gc>(call: &Call<'gc>, value: Value<'gc>, option: &str) -> Result<Vec<u8>, Error<'gc>> {
    let mut text = Vec::new();
    match value {
        Value::Str(string) => text.extend_from_slice(string.as_bytes()),
        Value::Int(int) => number::write_int(&mut text, int),
        Value::Float(float) => number::write_float(&mut text, float),
        _ => return Err(invalid(call, option)),
    }
    match text.contains(&0) {
        true => Err(invalid(call, option)),
        false => Ok(text),
    }
}

fn stream<'gc>(call: &Call<'gc>, stdio: Table<'gc>, name: &str) -> Result<Stdio, Error<'gc>> {
    match stdio.get_name(call.ctx, name) {
        Value::Nil => Ok(Stdio::inherit()),
        Value::Str(how) => match how.as_bytes() {
            b"inherit" => Ok(Stdio::inherit()),
            b"pipe" => Ok(Stdio::piped()),
            b"null" => Ok(Stdio::null()),
            _ => Err(invalid(call, name)),
        },
        _ => Err(invalid(call, name)),
    }
}
