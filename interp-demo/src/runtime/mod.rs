//! The host of the interpreter: owns the arena, runs programs in it, and does between two runs what can't be done
//! inside: collection, waits, finalizers, limits.
//!
//! ```text
//!  execute ──▶ arena.mutate(run) ──▶ SafePoint ──▶ a step of the collector, finalizers, limits ──┐
//!                 ▲                  Request   ──▶ a wait (which collects), collectgarbage, exit │
//!                 │                  Done / Failed ──▶ back to the caller                        │
//!                 └──────────────────────────────────────────────────────────────────────────────┘
//! ```

mod collect;
mod figures;
mod held;
mod options;
mod report;
mod shared;
mod wait;
mod watched;
mod worker;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use sleepy_gc::idle::{SendArena, Sleeper};
use sleepy_gc::{Gc, Rootable};

pub use self::held::Held;
pub use self::options::{GcTrace, Options};
pub(crate) use self::report::message as error_message;
use self::shared::Shared;
pub use self::wait::Waiter;
pub use self::watched::WatchedArena;
use self::worker::{Trouble, Worker};
use crate::stats::Stats;
use crate::vm::closure::Closure;
use crate::vm::roster::MAIN;
use crate::vm::{Ctx, GcRequest, State, Value};

/// The arena's root.
pub type StateRoot = Rootable![Gc<'_, State<'_>>];

/// How many finalizers run at a safe point that nobody has asked for, at least where so many are due.
const FINALIZERS_AT_ONCE: u32 = 16;

/// Set by [`interrupt`], cleared when the program has been stopped by it.
///
/// It publishes nothing but itself: relaxed order is enough.
static INTERRUPTED: AtomicBool = AtomicBool::new(false);

/// Asks the running program to stop at its next safe point with the error "interrupted!". May be called from a
/// signal handler.
pub fn interrupt() {
    INTERRUPTED.store(true, Ordering::Relaxed);
}

/// Set by [`terminate`], and never cleared. Relaxed as well: the handler runs on the thread that reads it, or on one that has nothing
/// else to tell.
static TERMINATED: AtomicBool = AtomicBool::new(false);

/// As [`interrupt`], with the error "terminated!". May be called from a signal handler.
pub fn terminate() {
    TERMINATED.store(true, Ordering::Relaxed);
    interrupt();
}

/// Whether [`terminate`] was called.
#[must_use]
pub fn was_terminated() -> bool {
    TERMINATED.load(Ordering::Relaxed)
}

/// Whether an [`interrupt`] is still pending: the program has not come to a safe point since.
#[must_use]
pub fn interrupt_is_pending() -> bool {
    is_interrupted()
}

/// Whether the running program was asked to stop.
#[inline]
pub(crate) fn is_interrupted() -> bool {
    INTERRUPTED.load(Ordering::Relaxed)
}

/// Whether [`look`] would fail.
pub(crate) fn is_to_stop(ctx: Ctx<'_>) -> bool {
    pending_trouble(ctx).is_some()
}

fn pending_trouble(ctx: Ctx<'_>) -> Option<Trouble> {
    // It is the first thread that is interrupted.
    if is_interrupted() && ctx.os_thread() == MAIN {
        return Some(Trouble::Interrupted);
    }
    let deadline = ctx.state.deadline.get()?;
    (Instant::now() >= deadline).then_some(Trouble::TimeOver)
}

/// For natives that work for long: whether the program is to stop.
///
/// # Errors
///
/// If it was interrupted or its time is over, which a safe point would tell as well.
pub(crate) fn look(ctx: Ctx<'_>) -> Result<(), crate::vm::Error<'_>> {
    let Some(trouble) = pending_trouble(ctx) else {
        return Ok(());
    };
    if trouble == Trouble::Interrupted {
        INTERRUPTED.store(false, Ordering::Relaxed);
    }
    Err(worker::trouble_error(ctx, trouble))
}

/// How a program has ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    /// It has returned; [`Ctx::results`] holds its results.
    Done,
    /// It has failed, with this message (and a traceback, where one was asked for).
    Failed(Vec<u8>),
    /// It has asked to end the process.
    Exit {
        /// The exit status.
        code: i32,
        /// Whether the state is to be closed first ([`Runtime::close`]).
        close: bool,
    },
}

/// What a file gets as its arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arguments {
    /// Nothing.
    None,
    /// What the global table `arg` holds from 1 on.
    Global,
}

/// A Lua state and everything around it.
///
/// The OS thread that it belongs to is the state's first. Lua programs start others, which share the state: one of them runs at a
/// time, this one while it is in a method. Between two of its methods the others run.
pub struct Runtime {
    shared: Arc<Shared>,
    sleeper: Sleeper,
}

impl Runtime {
    /// A state with all libraries.
    #[must_use]
    pub fn new(mut options: Options) -> Runtime {
        let ignore_environment = options.ignore_environment;
        if !options.scavenger {
            let without = sleepy_alloc::Options {
                scavenger: false,
                ..sleepy_alloc::Options::default()
            };
            // In a process that has a heap already the allocator keeps its options.
            let _ = without.install();
        }
        let seed = options.seed();
        if let Some(every) = options.zeal {
            sleepy_gc::set_zeal(every);
        }
        let watched = options.time_limit.is_some();
        let mut arena = SendArena::<StateRoot>::new(|mc| State::new(mc, seed));
        let hard_limit = options.hard_memory_limit_bytes();
        arena.set_heap_limit(hard_limit);
        let trace = options.gc_trace.take();
        let shared = Arc::new(Shared::new(WatchedArena::new(arena, trace), options));
        shared
            .gil
            .lock()
            .control
            .set_limit(shared.options.memory_limit_bytes);
        let limit = shared.options.time_limit;
        let deadline = limit.and_then(|limit| shared.started.checked_add(limit));
        let mut sleeper = shared.sleeper();
        sleeper.interrupt_when(Some(is_interrupted));
        let mut runtime = Runtime { shared, sleeper };
        runtime.enter(|ctx| {
            ctx.state.watched.set(watched);
            ctx.state.deadline.set(deadline);
            ctx.state
                .hard_limit_bytes
                .set(hard_limit.unwrap_or(usize::MAX));
            if ignore_environment {
                ctx.state
                    .registry()
                    .set_name(ctx, "LUA_NOENV", Value::Bool(true));
            }
            crate::stdlib::open_all(ctx);
        });
        runtime
    }

    /// The options it was made with.
    #[must_use]
    pub fn options(&self) -> &Options {
        &self.shared.options
    }

    /// This thread at work: with the interpreter lock.
    fn worker(&mut self) -> Worker<'_> {
        Worker::new(&self.shared, &mut self.sleeper, MAIN)
    }

    /// Limits the heap from now on to so much (none: no longer), whatever the options say, and without leave to go beyond it between
    /// two safe points: for tests.
    pub fn set_heap_limit(&mut self, bytes: Option<usize>) {
        let mut worker = self.worker();
        worker.arena.set_heap_limit(bytes);
        worker.arena.control.set_limit(bytes);
        drop(worker);
        self.enter(|ctx| ctx.state.hard_limit_bytes.set(bytes.unwrap_or(usize::MAX)));
    }

    /// As [`sleepy_gc::Arena::set_shortage`].
    #[cfg(debug_assertions)]
    pub fn set_shortage(&mut self, shortage: sleepy_gc::Shortage) -> sleepy_gc::Shortage {
        self.worker().arena.set_shortage(shortage)
    }

    /// Checks the heap by a walk of its own: for tests.
    ///
    /// # Errors
    ///
    /// What is wrong, in words.
    pub fn verify(&mut self) -> Result<(), String> {
        self.worker().arena.verify()
    }

    /// Looks at, or changes, the state. Nothing runs meanwhile.
    pub fn enter<T>(&mut self, f: impl for<'gc> FnOnce(Ctx<'gc>) -> T) -> T {
        self.worker().enter(f)
    }

    /// Runs a chunk that is given as text, as `lua -e` does.
    pub fn do_string(&mut self, source: &[u8], chunk_name: &[u8]) -> End {
        self.call(|ctx| {
            let env = ctx.state.globals().into();
            let function = load(ctx, source, chunk_name, env)?;
            Ok((function.into(), Vec::new()))
        })
    }

    /// Runs a file (standard input, for none) with these arguments.
    pub fn run_file(&mut self, path: Option<&[u8]>, arguments: Arguments) -> End {
        let (source, chunk_name) = match read_file(path) {
            Ok(file) => file,
            Err(message) => return End::Failed(message),
        };
        self.call(|ctx| {
            let env = ctx.state.globals().into();
            let text = crate::compiler::file_text(&source);
            let function = load(ctx, text, &chunk_name, env)?;
            let args = match (arguments, ctx.state.globals().get_name(ctx, "arg")) {
                (Arguments::None, _) => Vec::new(),
                (Arguments::Global, Value::Table(arg)) => {
                    (1..=arg.len(ctx)).map(|i| arg.get_int(ctx, i)).collect()
                }
                (Arguments::Global, _) => return Err(ctx.string(b"'arg' is not a table")),
            };
            Ok((function.into(), args))
        })
    }

    /// Runs a function. `prepare` gives it and its arguments, or an error value; where there is no memory for that, it is asked
    /// once more after a collection. A failure is reported with a traceback, as the stand-alone interpreter does.
    pub fn call<F>(&mut self, mut prepare: F) -> End
    where
        F: for<'gc> FnMut(Ctx<'gc>) -> Result<(Value<'gc>, Vec<Value<'gc>>), Value<'gc>>,
    {
        let mut worker = self.worker();
        let mut begin = |worker: &mut Worker<'_>| {
            worker.enter(|ctx| {
                let begun = prepare(ctx).and_then(|(function, args)| {
                    report::start(ctx, function, &args).map_err(|error| error.value())
                });
                begun.map_err(|value| (ctx.is_no_memory(value), report::message(ctx, value)))
            })
        };
        let mut begun = begin(&mut worker);
        if let Err((true, _)) = begun {
            worker.collect(GcRequest::Room);
            begun = begin(&mut worker);
        }
        match begun {
            Ok(()) => worker.drive(),
            Err((_, message)) => End::Failed(message),
        }
    }

    /// Ends the program as `lua_close` does: stops all other threads where they are, closes the pending variables, and runs all
    /// finalizers, the youngest object's first. If a `__close` method or another thread asks to exit, its status is the answer; if finalizers are
    /// given up as the program's time is over, or it was interrupted, 1.
    pub fn close(&mut self) -> Option<i32> {
        self.worker().close()
    }

    /// Writes out what `--gc-trace` holds back; to be called before the process ends.
    pub fn finish_trace(&mut self) {
        self.worker().arena.finish_trace();
    }

    /// How things stand now. Taken before the heap is torn down, it tells of the whole run.
    #[must_use]
    pub fn stats(&self) -> Stats {
        let arena = self.shared.gil.lock();
        figures::stats(&arena, &self.sleeper, self.shared.started)
    }
}

impl Drop for Runtime {
    /// The other threads end when they come to a safe point, or out of their waits; the last one frees the heap.
    fn drop(&mut self) {
        let mut worker = self.worker();
        worker.shared.set_closing();
        worker.enter(|ctx| ctx.rouse_all());
    }
}

/// A chunk's function; else the message of the syntax error, or of why the program is to stop.
fn load<'gc>(
    ctx: Ctx<'gc>,
    source: &[u8],
    chunk_name: &[u8],
    env: Value<'gc>,
) -> Result<Closure<'gc>, Value<'gc>> {
    ctx.load(source, chunk_name, env).or_else(|message| {
        look(ctx).map_err(|error| error.value())?;
        Err(message)
    })
}

/// A file's content and the name of its chunk.
fn read_file(path: Option<&[u8]>) -> Result<(Vec<u8>, Vec<u8>), Vec<u8>> {
    use std::io::Read;
    use std::os::unix::ffi::OsStrExt;

    let Some(path) = path else {
        let mut source = Vec::new();
        return match std::io::stdin().read_to_end(&mut source) {
            Ok(_) => Ok((source, b"=stdin".to_vec())),
            Err(error) => Err(format!("cannot read stdin: {error}").into_bytes()),
        };
    };
    match std::fs::read(std::ffi::OsStr::from_bytes(path)) {
        Ok(source) => Ok((source, [b"@", path].concat())),
        Err(error) => {
            // A folder can be opened, but not read.
            let failed: &[u8] = match error.kind() {
                std::io::ErrorKind::IsADirectory => b"cannot read ",
                _ => b"cannot open ",
            };
            let mut message = failed.to_vec();
            message.extend_from_slice(path);
            message.extend_from_slice(b": ");
            message.extend_from_slice(crate::vm::error::os_message(&error).as_bytes());
            Err(message)
        }
    }
}
