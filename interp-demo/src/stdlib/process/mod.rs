//! The `process` library: child processes whose end can be waited for, with or without pipes to them.
//!
//! `process.spawn(path [, { args =, env =, cwd =, stdio = }])` returns a process, or nil and why there is none.
//!
//! | option | meaning |
//! |---|---|
//! | `args` | a list of the arguments after the program's name |
//! | `env` | variables set beside those inherited; `false` takes one away |
//! | `cwd` | the directory to start in |
//! | `stdio` | `{ stdin =, stdout =, stderr = }`, each "inherit" (as when left out), "pipe" or "null" |
//!
//! A process has `pid`, for each pipe a file (`stdin`, `stdout`, `stderr`), and the methods `wait([seconds])` and
//! `kill([signal])`.

mod options;
mod waiting;

use std::cell::RefMut;
use std::fs::File;
use std::os::fd::OwnedFd;
use std::process::ExitStatus;
use std::sync::Arc;

use parking_lot::Mutex;

use super::children::{self, Offspring};
use super::io::stream::{Access, Stream};
use super::waiting::Waiters;
use super::{Functions, descriptors, fill};
use crate::vm::error::Error;
use crate::vm::native::{Call, Native, NativeResult};
use crate::vm::state::Ctx;
use crate::vm::table::Table;
use crate::vm::userdata::UserData;
use crate::vm::value::Value;

const FUNCTIONS: Functions = &[("spawn", spawn)];

const METHODS: Functions = &[("kill", kill), ("wait", waiting::wait)];

const METATABLE: &str = "process";

/// What stands behind a process.
#[derive(Debug)]
struct Process {
    state: State,
    pid: u32,
}

/// How far a process is known to have got.
#[derive(Debug)]
enum State {
    /// It may be running; the handle is here, or with a wait that is under way.
    Running(Arc<Mutex<Waited>>),
    /// It has ended.
    Ended(ExitStatus),
}

/// What the waits for a process share. Locked for moments, by whoever holds the interpreter lock.
#[derive(Debug)]
struct Waited {
    /// None while a wait has it.
    child: Option<Offspring>,
    /// Threads that wait for the handle.
    waiters: Waiters,
}

/// Makes `require "process"` work.
pub(super) fn open(ctx: Ctx<'_>) {
    super::package::preload(ctx, "process", load);
}

fn load<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    let library = Table::new(call.ctx);
    fill(call.ctx, library, FUNCTIONS);
    call.ret1(library)
}

/// The process in slot 0.
fn this<'gc>(call: &Call<'gc>) -> Result<RefMut<'gc, Process>, Error<'gc>> {
    match call.get(0) {
        Value::UserData(data) => data.borrow::<Process>(),
        _ => None,
    }
    .ok_or_else(|| call.type_error(0, METATABLE))
}

/// `spawn(path [, options])`
fn spawn<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    let path = call.check_str(0)?.as_bytes();
    let mut command = options::command(call, path)?;
    match children::spawn(&mut command) {
        Ok(child) => {
            let object = object(call.ctx, child);
            call.ret1(object)
        }
        Err(error) => {
            if let Some(again) = descriptors::collect_once(call, &error, spawn) {
                return again;
            }
            // The system does not tell the directory's fault from the program's.
            match options::directory_fault(&command) {
                Some((directory, fault)) => call.ret_io_error(&fault, Some(directory)),
                None => call.ret_io_error(&error, Some(path)),
            }
        }
    }
}

fn object<'gc>(ctx: Ctx<'gc>, mut child: Offspring) -> UserData<'gc> {
    let fields = Table::new(ctx);
    let pipe = |name: &str, fd: Option<OwnedFd>, access: Access| {
        if let Some(fd) = fd {
            let stream = Stream::new(File::from(fd), access);
            fields.set_name(ctx, name, super::io::handle(ctx, stream));
        }
    };
    let (read, write) = (
        Access {
            read: true,
            write: false,
        },
        Access {
            read: false,
            write: true,
        },
    );
    pipe("stdin", child.stdin.take().map(OwnedFd::from), write);
    pipe("stdout", child.stdout.take().map(OwnedFd::from), read);
    pipe("stderr", child.stderr.take().map(OwnedFd::from), read);
    let pid = child.id();
    fields.set_name(ctx, "pid", i64::from(pid));

    let object = UserData::new(
        ctx,
        Process {
            state: State::Running(Arc::new(Mutex::new(Waited {
                child: Some(child),
                waiters: Waiters::default(),
            }))),
            pid,
        },
    );
    object.set_user_value(ctx, fields.into());
    object.set_metatable(ctx, Some(class(ctx)));
    object
}

fn class<'gc>(ctx: Ctx<'gc>) -> Table<'gc> {
    let registry = ctx.state.registry();
    if let Value::Table(class) = registry.get_name(ctx, METATABLE) {
        return class;
    }
    let methods = Table::new(ctx);
    fill(ctx, methods, METHODS);
    let class = Table::new(ctx);
    let index = Native::with_upvalues(ctx, "index", index, &[methods.into()]);
    class.set_name(ctx, "__index", index);
    class.set_name(ctx, "__name", ctx.string(METATABLE.as_bytes()));
    registry.set_name(ctx, METATABLE, class);
    class
}

/// A method, or a field of the process in slot 0.
fn index<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    let key = call.get(1);
    if let Value::Table(methods) = call.upvalue(0) {
        let method = methods.get(call.ctx, key);
        if !method.is_nil() {
            return call.ret1(method);
        }
    }
    let field = match call.get(0) {
        Value::UserData(data) => match data.user_value() {
            Value::Table(fields) => fields.get(call.ctx, key),
            _ => Value::Nil,
        },
        _ => Value::Nil,
    };
    call.ret1(field)
}

/// `kill([signal])`: sends a signal, SIGTERM if none is given. One that has ended is left alone.
fn kill<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    let number = call.opt_int(1, i64::from(libc::SIGTERM))?;
    let signal = i32::try_from(number)
        .ok()
        .and_then(rustix::process::Signal::from_named_raw)
        .ok_or_else(|| call.arg_error(1, "invalid signal"))?;
    let process = this(call)?;
    let pid = i32::try_from(process.pid)
        .ok()
        .and_then(rustix::process::Pid::from_raw);
    // Until it is waited for, an ended process keeps its number: the signal can not reach another.
    match (&process.state, pid) {
        (State::Running(_), Some(pid)) => match rustix::process::kill_process(pid, signal) {
            Ok(()) => call.ret1(true),
            Err(error) => call.ret_io_error(&error.into(), None),
        },
        _ => call.ret1(true),
    }
}
