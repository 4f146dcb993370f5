//! `lfs`: directories and the attributes of files, in the shapes of LuaFileSystem 1.8. `require` finds it; it makes no global.
//!
//! | function | what it returns |
//! |---|---|
//! | `attributes(path [, name or table])`, `symlinkattributes` | a table, or one attribute ([`attributes`]) |
//! | `dir(path)` | an iterator over names, and the directory object ([`dir`]) |
//! | `mkdir`, `rmdir`, `link`, `touch`, `lock`, `unlock` | true, or nil, a message and the system's number |
//! | `chdir`, `currentdir`, `lock_dir`, `setmode` | as there |

mod attributes;
mod dir;
mod lock;

use std::io;

use rustix::fs::{AtFlags, CWD, Mode, Timespec, Timestamps};

use super::io::path;
use super::{Functions, fill};
use crate::vm::error::{Error, os_message};
use crate::vm::native::{Call, NativeResult};
use crate::vm::state::Ctx;
use crate::vm::table::Table;
use crate::vm::value::Value;

const FUNCTIONS: Functions = &[
    ("attributes", attributes::attributes),
    ("chdir", chdir),
    ("currentdir", currentdir),
    ("dir", dir::dir),
    ("link", link),
    ("lock", lock::lock),
    ("lock_dir", lock::lock_dir),
    ("mkdir", mkdir),
    ("rmdir", rmdir),
    ("setmode", setmode),
    ("symlinkattributes", attributes::symlinkattributes),
    ("touch", touch),
    ("unlock", lock::unlock),
];

/// Makes `require "lfs"` work. The library is made when it is first required.
pub(super) fn open(ctx: Ctx<'_>) {
    super::package::preload(ctx, "lfs", load);
}

fn load<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    let ctx = call.ctx;
    let library = Table::new(ctx);
    fill(ctx, library, FUNCTIONS);
    library.set_name(ctx, "_VERSION", ctx.string(b"LuaFileSystem 1.8.0"));
    call.ret1(library)
}

/// Returns true; or nil, what failed and the system's number of it.
fn ret_done<'gc>(call: &mut Call<'gc>, done: rustix::io::Result<()>) -> NativeResult<'gc> {
    match done {
        Ok(()) => call.ret1(true),
        Err(error) => ret_failure(call, None, error),
    }
}

/// Returns nil, a message that begins with `what`, and the system's number.
fn ret_failure<'gc>(
    call: &mut Call<'gc>,
    what: Option<&[u8]>,
    error: rustix::io::Errno,
) -> NativeResult<'gc> {
    let mut text = Vec::new();
    if let Some(what) = what {
        text.extend_from_slice(what);
        text.extend_from_slice(b": ");
    }
    text.extend_from_slice(os_message(&io::Error::from(error)).as_bytes());
    let text = call.ctx.string(&text);
    call.ret(&[Value::Nil, text, i64::from(error.raw_os_error()).into()])
}

/// The path in slot `i`.
fn path_at<'gc>(call: &mut Call<'gc>, i: usize) -> Result<&'gc std::path::Path, Error<'gc>> {
    Ok(path(call.check_str(i)?.as_bytes()))
}

/// `chdir(path)`
fn chdir<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    let name = call.check_str(0)?;
    match rustix::process::chdir(path(name.as_bytes())) {
        Ok(()) => call.ret1(true),
        Err(error) => {
            let text = format!(
                "Unable to change working directory to '{}'\n{}\n",
                name.to_text(),
                os_message(&io::Error::from(error))
            );
            let text = call.ctx.string(text.as_bytes());
            call.ret(&[Value::Nil, text])
        }
    }
}

/// `currentdir()`
fn currentdir<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    match rustix::process::getcwd(Vec::new()) {
        Ok(folder) => {
            let folder = call.ctx.string(folder.as_bytes());
            call.ret1(folder)
        }
        Err(error) => ret_failure(call, Some(b"get_dir getcwd() failed"), error),
    }
}

/// `mkdir(path)`, for its owner to write to and all to read
fn mkdir<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    let done = rustix::fs::mkdir(path_at(call, 0)?, Mode::from_raw_mode(0o775));
    ret_done(call, done)
}

/// `rmdir(path)`
fn rmdir<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    let done = rustix::fs::rmdir(path_at(call, 0)?);
    ret_done(call, done)
}

/// `link(old, new [, symbolic])`
fn link<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    let (old, new) = (path_at(call, 0)?, path_at(call, 1)?);
    let done = match call.get(2).is_truthy() {
        true => rustix::fs::symlink(old, new),
        false => rustix::fs::link(old, new),
    };
    ret_done(call, done)
}

/// `touch(path [, seconds of access [, seconds of modification]])`: now, unless they are given
fn touch<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    let file = path_at(call, 0)?;
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Realtime).tv_sec;
    let access = seconds(call, 1, now)?;
    let modification = seconds(call, 2, access.tv_sec)?;
    let times = Timestamps {
        last_access: access,
        last_modification: modification,
    };
    let done = rustix::fs::utimensat(CWD, file, &times, AtFlags::empty());
    ret_done(call, done)
}

fn seconds<'gc>(call: &Call<'gc>, i: usize, default: i64) -> Result<Timespec, Error<'gc>> {
    Ok(Timespec {
        tv_sec: match call.is_none_or_nil(i) {
            true => default,
            // What does not fit becomes the largest integer.
            false => call.check_float(i)? as i64,
        },
        tv_nsec: 0,
    })
}

/// `setmode(file, mode)`: there is but one mode here
fn setmode<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    super::io::check_handle(call, 0)?;
    call.check_option(1, None, &["binary", "text"])?;
    let mode = call.ctx.string(b"binary");
    call.ret(&[true.into(), mode])
}
