//! `lfs.dir`: the names in a directory.

use std::cell::RefMut;
use std::io;

use rustix::fs::{Mode, OFlags};

use super::path_at;
use crate::stdlib::{Functions, class, descriptors};
use crate::vm::error::{Error, os_message};
use crate::vm::native::{Call, Native, NativeResult};
use crate::vm::userdata::UserData;
use crate::vm::value::Value;

const METATABLE: &str = "directory metatable";

const METHODS: Functions = &[("close", close), ("next", next)];

const EVENTS: Functions = &[("__close", close)];

/// A directory that is being read; none once it is closed, or its end was reached.
struct Directory(Option<rustix::fs::Dir>);

/// `dir(path)`: the iterator, the directory, and, for the loop to close, the directory again
pub(super) fn dir<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    let folder = path_at(call, 0)?;
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let opened = rustix::fs::open(folder, flags, Mode::empty()).and_then(rustix::fs::Dir::new);
    let directory = match opened {
        Ok(directory) => Directory(Some(directory)),
        Err(error) => {
            let error = io::Error::from(error);
            if let Some(again) = descriptors::collect_once(call, &error, dir) {
                return again;
            }
            let mut text = b"cannot open ".to_vec();
            text.extend_from_slice(call.check_str(0)?.as_bytes());
            text.extend_from_slice(format!(": {}", os_message(&error)).as_bytes());
            return Err(call.error(text));
        }
    };
    let object = Value::UserData(UserData::new(call.ctx, directory));
    let class = class(call.ctx, METATABLE, METHODS, EVENTS);
    call.ctx.set_metatable(object, Some(class))?;
    let iterator = Native::new(call.ctx, "next", next);
    call.ret(&[iterator.into(), object, Value::Nil, object])
}

fn this<'gc>(call: &Call<'gc>) -> Result<RefMut<'gc, Directory>, Error<'gc>> {
    match call.get(0) {
        Value::UserData(data) => data.borrow::<Directory>(),
        _ => None,
    }
    .ok_or_else(|| call.type_error(0, METATABLE))
}

/// `directory:next()`: a name; nil at the end, where the directory is closed
fn next<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    let mut directory = this(call)?;
    let Some(entries) = &mut directory.0 else {
        return Err(call.arg_error(0, "closed directory"));
    };
    match entries.read() {
        Some(Ok(entry)) => {
            let name = call.ctx.string(entry.file_name().to_bytes());
            call.ret1(name)
        }
        Some(Err(_)) | None => {
            directory.0 = None;
            call.ret1(Value::Nil)
        }
    }
}

/// `directory:close()`
fn close<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    this(call)?.0 = None;
    call.ret0()
}
