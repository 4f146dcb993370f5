//! Opening files and processes, and choosing the default files.

use std::fs::{File, OpenOptions};
use std::ops::ControlFlow::{self, Break, Continue};
use std::os::fd::OwnedFd;
use std::process::{Command, Stdio};

use rustix::fs::FileType;

use super::stream::{Access, Stream};
use super::{DEFAULT_INPUT, DEFAULT_OUTPUT, flush_all, handle, path, shown};
use crate::runtime::Waiter;
use crate::stdlib::{children, descriptors};
use crate::vm::error::{Error, os_message};
use crate::vm::native::{Call, Flow, NativeFn, NativeResult};
use crate::vm::suspend::{Answer, CustomWait, Suspend};
use crate::vm::value::Value;

const READ: Access = Access {
    read: true,
    write: false,
};
const WRITE: Access = Access {
    read: false,
    write: true,
};
const BOTH: Access = Access {
    read: true,
    write: true,
};

/// Whether a mode is one of `r w a`, then perhaps `+`, then perhaps `b`.
fn is_mode(mode: &[u8]) -> bool {
    let Some((b'r' | b'w' | b'a', rest)) = mode.split_first().map(|(first, rest)| (*first, rest))
    else {
        return false;
    };
    let rest = rest.strip_prefix(b"+").unwrap_or(rest);
    rest.iter().all(|&byte| byte == b'b')
}

/// How a file of this mode is opened, and what it may be used for.
fn options_of(mode: &[u8]) -> (OpenOptions, Access) {
    let update = mode.get(1) == Some(&b'+');
    let mut options = File::options();
    let access = match mode.first() {
        Some(b'w') => {
            options.write(true).create(true).truncate(true).read(update);
            if update { BOTH } else { WRITE }
        }
        Some(b'a') => {
            options.append(true).create(true).read(update);
            if update { BOTH } else { WRITE }
        }
        _ => {
            options.read(true).write(update);
            if update { BOTH } else { READ }
        }
    };
    (options, access)
}

fn open_stream(name: &[u8], mode: &[u8]) -> std::io::Result<Stream> {
    let (options, access) = options_of(mode);
    if name.contains(&0) {
        // The C library would see a shorter name.
        return Err(rustix::io::Errno::NOENT.into());
    }
    Ok(Stream::new(options.open(path(name))?, access))
}

/// Opening a named pipe, which waits for the other end: another thread does so meanwhile.
struct OpenFifo {
    name: Vec<u8>,
    options: OpenOptions,
}

impl CustomWait for OpenFifo {
    fn run(self: Box<Self>, wait: &mut Waiter<'_, '_>) -> Answer {
        let Self { name, options } = *self;
        let spawned = std::thread::Builder::new()
            .name("opener".to_owned())
            .spawn(move || options.open(path(&name)));
        let opening = match spawned {
            Ok(opening) => opening,
            Err(error) => return Answer::Failed(error),
        };
        // If the program is stopped before, the thread that opens is left to itself.
        match wait.sleeper.join(wait.arena, &opening, wait.time_left) {
            true => match opening.join() {
                Ok(Ok(file)) => Answer::Custom(Box::new(file)),
                Ok(Err(error)) => Answer::Failed(error),
                Err(_) => Answer::Failed(std::io::ErrorKind::Other.into()),
            },
            false => Answer::Failed(std::io::ErrorKind::TimedOut.into()),
        }
    }
}

/// Opens the named pipe in slot 0.
fn open_fifo<'gc>(call: &mut Call<'gc>, name: &[u8], mode: &[u8]) -> NativeResult<'gc> {
    let opening = OpenFifo {
        name: name.to_vec(),
        options: options_of(mode).0,
    };
    call.suspend(Suspend::Custom(Box::new(opening)), |call| {
        match call.answer() {
            Answer::Custom(file) => match file.downcast::<File>() {
                Ok(file) => {
                    let mode = call.opt_str(1)?.map_or(&b"r"[..], |text| text.as_bytes());
                    let stream = Stream::new(*file, options_of(mode).1);
                    let file = handle::handle(call.ctx, stream);
                    call.ret1(file)
                }
                Err(_) => call.ret0(),
            },
            Answer::Failed(error) => {
                let name = call.check_str(0)?.as_bytes();
                call.ret_io_error(&error, Some(name))
            }
            _ => call.ret0(),
        }
    })
}

/// Whether opening it may wait for somebody else to do so.
fn is_fifo(name: &[u8]) -> bool {
    rustix::fs::stat(path(name))
        .is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::Fifo)
}

pub(super) fn open<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    let name = call.check_str(0)?.as_bytes();
    let mode = call.opt_str(1)?.map_or(&b"r"[..], |text| text.as_bytes());
    if !is_mode(mode) {
        return Err(call.arg_error(1, "invalid mode"));
    }
    if mode.get(1) != Some(&b'+') && is_fifo(name) {
        return open_fifo(call, name, mode);
    }
    match open_stream(name, mode) {
        Ok(stream) => {
            let file = handle::handle(call.ctx, stream);
            call.ret1(file)
        }
        Err(error) => match descriptors::collect_once(call, &error, open) {
            Some(again) => again,
            None => call.ret_io_error(&error, Some(name)),
        },
    }
}

/// Opens a file, or raises an error that names it, or has the native `again` called after a collection.
pub(super) fn open_or_raise<'gc>(
    call: &mut Call<'gc>,
    name: &[u8],
    mode: &str,
    again: NativeFn,
) -> Result<ControlFlow<Flow, Value<'gc>>, Error<'gc>> {
    match open_stream(name, mode.as_bytes()) {
        Ok(stream) => Ok(Continue(handle::handle(call.ctx, stream))),
        Err(error) => {
            if let Some(again) = descriptors::collect_once(call, &error, again) {
                return again.map(Break);
            }
            let message = format!(
                "cannot open file '{}' ({})",
                shown(name),
                os_message(&error)
            );
            Err(call.error(message))
        }
    }
}

pub(super) fn input<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    choose(call, DEFAULT_INPUT, "r", input)
}

pub(super) fn output<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    choose(call, DEFAULT_OUTPUT, "w", output)
}

fn choose<'gc>(call: &mut Call<'gc>, key: &str, mode: &str, again: NativeFn) -> NativeResult<'gc> {
    let registry = call.ctx.state.registry();
    if !call.is_none_or_nil(0) {
        let file = match call.get(0) {
            Value::Str(_) | Value::Int(_) | Value::Float(_) => {
                let name = call.check_str(0)?.as_bytes();
                match open_or_raise(call, name, mode, again)? {
                    Continue(file) => file,
                    Break(flow) => return Ok(flow),
                }
            }
            file => {
                handle::check(call, 0)?;
                file
            }
        };
        registry.set_name(call.ctx, key, file);
    }
    let file = registry.get_name(call.ctx, key);
    call.ret1(file)
}

pub(super) fn tmpfile<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    match tempfile::tempfile() {
        Ok(file) => {
            let file = handle::handle(call.ctx, Stream::new(file, BOTH));
            call.ret1(file)
        }
        Err(error) => match descriptors::collect_once(call, &error, tmpfile) {
            Some(again) => again,
            None => call.ret_io_error(&error, None),
        },
    }
}

pub(super) fn popen<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    let command = call.check_str(0)?.as_bytes();
    let mode = call.opt_str(1)?.map_or(&b"r"[..], |text| text.as_bytes());
    let reads = match mode {
        b"r" => true,
        b"w" => false,
        _ => return Err(call.arg_error(1, "invalid mode")),
    };
    flush_all();
    match spawn(command, reads) {
        Ok(stream) => {
            let file = handle::handle(call.ctx, stream);
            call.ret1(file)
        }
        Err(error) => match descriptors::collect_once(call, &error, popen) {
            Some(again) => again,
            None => call.ret_io_error(&error, Some(command)),
        },
    }
}

/// Runs a shell command with a pipe from its output or to its input.
fn spawn(command: &[u8], reads: bool) -> std::io::Result<Stream> {
    let mut shell = shell(command);
    if reads {
        shell.stdout(Stdio::piped())
    } else {
        shell.stdin(Stdio::piped())
    };
    let mut child = children::spawn(&mut shell)?;
    let pipe = match (child.stdout.take(), child.stdin.take()) {
        (Some(output), _) => OwnedFd::from(output),
        (None, Some(input)) => OwnedFd::from(input),
        (None, None) => return Err(std::io::ErrorKind::BrokenPipe.into()),
    };
    Ok(Stream::with_child(
        File::from(pipe),
        if reads { READ } else { WRITE },
        child,
    ))
}

/// A command for the shell.
pub(in crate::stdlib) fn shell(command: &[u8]) -> Command {
    use std::os::unix::ffi::OsStrExt as _;
    let mut shell = Command::new("/bin/sh");
    shell.arg("-c").arg(std::ffi::OsStr::from_bytes(command));
    shell
}

#[cfg(test)]
mod tests {
    use super::is_mode;

    #[test]
    fn modes() {
        for mode in ["r", "w", "a", "r+", "w+b", "rb", "a+b", "rbb"] {
            assert!(is_mode(mode.as_bytes()), "{mode}");
        }
        for mode in ["", "rw", "x", "+", "rb+", "r++", "rt", " r"] {
            assert!(!is_mode(mode.as_bytes()), "{mode}");
        }
    }
}
