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
mod options;
mod report;
mod wait;
mod watched;

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use sleepy_gc::idle::{Policy, Sleeper};
use sleepy_gc::{Arena, Gc, Rootable};

pub use self::options::{GcTrace, Options};
pub use self::wait::Waiter;
pub use self::watched::WatchedArena;
use crate::vm::{Ctx, Error, Exit, GcRequest, State, Value, run};

/// The arena's root.
pub type StateRoot = Rootable![Gc<'_, State<'_>>];

/// How many finalizers run at a safe point that nobody has asked for.
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
pub struct Runtime {
    arena: WatchedArena,
    sleeper: Sleeper,
    options: Options,
    started: Instant,
    collector: collect::Control,
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
        let mut arena = Arena::<StateRoot>::new(|mc| State::new(mc, seed));
        arena.set_heap_limit(options.hard_memory_limit_bytes());
        crate::stdlib::room::set_limit(options.memory_limit_bytes);
        let policy = if options.sleepy {
            Policy::default()
        } else {
            Policy::off()
        };
        let mut sleeper = Sleeper::new(policy);
        sleeper.interrupt_when(Some(is_interrupted));
        let mut runtime = Runtime {
            arena: WatchedArena::new(arena, options.gc_trace.take()),
            sleeper,
            collector: collect::Control::new(),
            options,
            started: Instant::now(),
        };
        runtime.enter(|ctx| {
            ctx.state.watched.set(watched);
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
        &self.options
    }

    /// Checks the heap by a walk of its own: for tests.
    ///
    /// # Errors
    ///
    /// What is wrong, in words.
    pub fn verify(&mut self) -> Result<(), String> {
        self.arena.verify()
    }

    /// Looks at, or changes, the state. Nothing runs meanwhile.
    pub fn enter<T>(&mut self, f: impl for<'gc> FnOnce(Ctx<'gc>) -> T) -> T {
        self.arena.mutate(|mc, state| {
            f(Ctx {
                mc,
                state: Gc::as_ref(*state),
            })
        })
    }

    /// Runs a chunk that is given as text, as `lua -e` does.
    pub fn do_string(&mut self, source: &[u8], chunk_name: &[u8]) -> End {
        self.call(|ctx| {
            let env = ctx.state.globals().into();
            let function = ctx.load(source, chunk_name, env)?;
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
            let function = ctx.load(text, &chunk_name, env)?;
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

    /// Runs a function. `prepare` gives it and its arguments, or an error value. A failure is reported with a
    /// traceback, as the stand-alone interpreter does.
    pub fn call<F>(&mut self, prepare: F) -> End
    where
        F: for<'gc> FnOnce(Ctx<'gc>) -> Result<(Value<'gc>, Vec<Value<'gc>>), Value<'gc>>,
    {
        let begun = self.enter(|ctx| match prepare(ctx) {
            Ok((function, args)) => report::start(ctx, function, &args)
                .map_err(|error| report::message(ctx, error.value())),
            Err(value) => Err(report::message(ctx, value)),
        });
        match begun {
            Ok(()) => self.drive(),
            Err(message) => End::Failed(message),
        }
    }

    /// Runs what was started on the main coroutine.
    fn drive(&mut self) -> End {
        /// What to do outside of the arena.
        enum Next {
            Look,
            Collect,
            Serve,
            End(End),
        }
        let mut trouble = None;
        loop {
            let next = self.arena.mutate(|mc, state| {
                let ctx = Ctx {
                    mc,
                    state: Gc::as_ref(*state),
                };
                if let Some(trouble) = trouble.take() {
                    let error = trouble_error(ctx, trouble);
                    if let Err(value) = crate::vm::fail(ctx, error) {
                        return Next::End(End::Failed(report::message(ctx, value)));
                    }
                }
                match run(ctx) {
                    Exit::SafePoint => Next::Look,
                    Exit::ShortOfMemory => Next::Collect,
                    Exit::Request => Next::Serve,
                    Exit::Done => Next::End(report::outcome(ctx)),
                    Exit::Failed(value) => Next::End(End::Failed(report::message(ctx, value))),
                }
            });
            match next {
                Next::Look => trouble = self.safe_point(),
                Next::Collect => {
                    self.collect(GcRequest::Full);
                }
                Next::Serve => {
                    if let Some(end) = self.serve() {
                        return end;
                    }
                    trouble = self.stopped();
                    if trouble.is_some() {
                        // The native that has waited does not go on.
                        self.enter(|ctx| ctx.drop_answer());
                    }
                }
                Next::End(end) => return end,
            }
        }
    }

    /// What is due at a safe point: a step of the collector; then the limits are looked at.
    fn safe_point(&mut self) -> Option<Trouble> {
        self.pay_debt();
        self.run_finalizers(FINALIZERS_AT_ONCE);
        let stopped = self.stopped();
        if stopped.is_none() && self.is_over_memory_limit() {
            return Some(Trouble::NoMemory);
        }
        stopped
    }

    /// Whether the program was asked to stop, or its time is over.
    fn stopped(&self) -> Option<Trouble> {
        if INTERRUPTED.swap(false, Ordering::Relaxed) {
            return Some(Trouble::Interrupted);
        }
        (self.time_left() == Some(Duration::ZERO)).then_some(Trouble::TimeOver)
    }

    /// Whether [`Runtime::stopped`] would stop the program.
    fn must_stop(&self) -> bool {
        is_interrupted() || self.time_left() == Some(Duration::ZERO)
    }

    /// How much longer the program may run; none: for ever.
    fn time_left(&self) -> Option<Duration> {
        let limit = self.options.time_limit?;
        Some(limit.saturating_sub(self.started.elapsed()))
    }
}

/// Why the running program is stopped from outside.
#[derive(Clone, Copy)]
enum Trouble {
    Interrupted,
    TimeOver,
    NoMemory,
}

fn trouble_error<'gc>(ctx: Ctx<'gc>, trouble: Trouble) -> Error<'gc> {
    match trouble {
        Trouble::Interrupted => ctx.error("interrupted!"),
        Trouble::TimeOver => ctx.error("time limit exceeded"),
        Trouble::NoMemory => {
            let error = ctx.out_of_memory();
            ctx.state.told_of_memory.set(false);
            error
        }
    }
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
