//! Locks on files and directories.

use std::io;
use std::time::{Duration, SystemTime};

use nix::fcntl::{FcntlArg, fcntl};

use super::{path_at, ret_failure};
use crate::stdlib::{Functions, class};
use crate::vm::error::{Error, os_message};
use crate::vm::native::{Call, NativeResult};
use crate::vm::userdata::UserData;
use crate::vm::value::Value;

/// `lock(file, mode [, start [, length]])`: does not wait for whoever holds the lock
pub(super) fn lock<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    super::super::io::check_handle(call, 0)?;
    let kind = match call.check_str(1)?.as_bytes().first() {
        Some(b'w') => libc::F_WRLCK,
        Some(b'r') => libc::F_RDLCK,
        Some(b'u') => libc::F_UNLCK,
        _ => return Err(call.error("lock: invalid mode")),
    };
    set_lock(call, kind, 2)
}

/// `unlock(file [, start [, length]])`
pub(super) fn unlock<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    set_lock(call, libc::F_UNLCK, 1)
}

/// Locks, or unlocks, the part of the file in slot 0 that the slots from `range` on name.
fn set_lock<'gc>(call: &mut Call<'gc>, kind: i32, range: usize) -> NativeResult<'gc> {
    let stream = super::super::io::check_handle(call, 0)?;
    let (start, length) = (call.opt_int(range, 0)?, call.opt_int(range + 1, 0)?);
    let stream = stream.lock();
    let Some(file) = stream.file() else {
        return Err(call.error("attempt to use a closed file"));
    };
    let request = libc::flock {
        l_type: kind as libc::c_short,
        l_whence: libc::SEEK_SET as libc::c_short,
        l_start: start,
        l_len: length,
        l_pid: 0,
    };
    let done = fcntl(file, FcntlArg::F_SETLK(&request));
    drop(stream);
    match done {
        Ok(_) => call.ret1(true),
        Err(error) => {
            let text = os_message(&io::Error::from(error));
            let text = call.ctx.string(text.as_bytes());
            call.ret(&[Value::Nil, text])
        }
    }
}

const METATABLE: &str = "lock metatable";

const METHODS: Functions = &[("free", free)];

const EVENTS: Functions = &[("__close", free), ("__gc", free)];

/// The symbolic link that marks a locked directory; none once the lock was freed.
struct DirectoryLock(Option<std::path::PathBuf>);

/// `lock_dir(path [, seconds])`: a lock on the directory, which is freed by `free`; nil and "File exists" if somebody has it, unless
/// they have had it for more than so many seconds
pub(super) fn lock_dir<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    let mark = path_at(call, 0)?.join("lockfile.lfs");
    if !call.is_none_or_nil(1) && is_stale(&mark, call.check_float(1)?) {
        // If that fails, so does what follows.
        let _ = std::fs::remove_file(&mark);
    }
    if let Err(error) = rustix::fs::symlink("lock", &mark) {
        return ret_failure(call, None, error);
    }
    let object = Value::UserData(UserData::new(call.ctx, DirectoryLock(Some(mark))));
    let class = class(call.ctx, METATABLE, METHODS, EVENTS);
    call.ctx.set_metatable(object, Some(class))?;
    call.ret1(object)
}

fn is_stale(mark: &std::path::Path, limit_s: f64) -> bool {
    let made = std::fs::symlink_metadata(mark).and_then(|data| data.modified());
    let age = made.map(|made| SystemTime::now().duration_since(made));
    matches!(age, Ok(Ok(age)) if age > Duration::try_from_secs_f64(limit_s).unwrap_or_default())
}

/// `lock:free()`
fn free<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    let lock = match call.get(0) {
        Value::UserData(data) => data.borrow::<DirectoryLock>(),
        _ => None,
    };
    let Some(mut lock) = lock else {
        return Err::<_, Error<'gc>>(call.type_error(0, METATABLE));
    };
    if let Some(mark) = lock.0.take() {
        // It is gone already, then.
        let _ = std::fs::remove_file(mark);
    }
    call.ret0()
}
