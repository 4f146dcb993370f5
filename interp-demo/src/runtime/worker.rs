//! One OS thread at work in the arena: the host loop.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use sleepy_gc::Gc;
use sleepy_gc::idle::Sleeper;

use super::held::Held;
use super::shared::Shared;
use super::{End, INTERRUPTED, is_interrupted, report};
use crate::vm::roster::{MAIN, ThreadId};
use crate::vm::{Ctx, Error, Exit, GcRequest, run};

/// How long a thread may run on while another one wants to, before it gives way at a safe point.
///
/// A thread that has waited for an event has to wait so long for each one that computes; on the other hand each change of hands costs
/// the busy ones some 20 µs, most of it in caches. Beside a thread that has 50 µs of work for an event each 2 ms (2.5 % of a processor), two busy
/// threads and four get so much done, of what one alone does, and it waits so long (two processors, `--bin slices` of `sleepy-benches`):
///
/// | slice | 0.25 ms | 0.5 | 1 | 2 | 5 | 10 |
/// |---|---|---|---|---|---|---|
/// | two busy ones: work | 91.0 % | 92.8 | 94.7 | 96.4 | 97.6 | 98.4 |
/// | delay p50, ms | 0.5 | 0.9 | 1.5 | 2.5 | 21 | 268 |
/// | p99 | 6.0 | 1.1 | 2.1 | 5.8 | 31 | 507 |
/// | four: work | 84.4 % | 91.5 | 94.4 | 95.8 | 97.3 | 98.5 |
/// | delay p50, ms | 1.0 | 1.8 | 2.8 | 4.7 | 260 | 1208 |
/// | p99 | 36 | 2.4 | 4.2 | 13 | 503 | 1856 |
///
/// From 5 ms on events come faster than they are served. Below 1 ms little is won for what it costs.
const SLICE: Duration = Duration::from_millis(1);

/// A thread that has the interpreter lock.
pub(super) struct Worker<'g> {
    pub arena: Held<'g>,
    pub shared: &'g Arc<Shared>,
    pub sleeper: &'g mut Sleeper,
    pub id: ThreadId,
    /// Since when another thread is known to want to run.
    wanted_since: Option<Instant>,
}

/// Why the running program is stopped from outside.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Trouble {
    Interrupted,
    TimeOver,
    NoMemory,
    Deadlock,
    /// The program has ended, and so does this thread.
    Closing,
    /// Another thread has asked to end the process.
    Exit {
        code: i32,
        close: bool,
    },
}

/// What has come of a request.
pub(super) enum Served {
    /// It was carried out, and answered.
    Answered,
    /// As `Answered`; it was a wait that another thread has ended, which may have handed something over.
    Rung,
    /// It is a wait that no thread can end.
    Deadlocked,
    /// The program has asked to end.
    End(End),
}

/// What to do outside of the arena.
enum Next {
    Look,
    Collect,
    Serve,
    End(End),
}

impl<'g> Worker<'g> {
    /// Waits for the interpreter lock.
    pub fn new(shared: &'g Arc<Shared>, sleeper: &'g mut Sleeper, id: ThreadId) -> Worker<'g> {
        Worker {
            arena: Held::new(shared.gil.lock()),
            shared,
            sleeper,
            id,
            wanted_since: None,
        }
    }

    /// Looks at, or changes, the state. Nothing runs meanwhile.
    pub fn enter<T>(&mut self, f: impl for<'gc> FnOnce(Ctx<'gc>) -> T) -> T {
        let id = self.id;
        self.arena.mutate(|mc, state| {
            let ctx = Ctx {
                mc,
                state: Gc::as_ref(*state),
            };
            if ctx.os_thread() != id {
                ctx.take_turn(id);
            }
            f(ctx)
        })
    }

    /// Runs what was started on the thread's coroutine.
    pub fn drive(&mut self) -> End {
        let mut trouble = None;
        loop {
            let next = match trouble.take() {
                None => self.enter(go_on),
                Some(Trouble::Closing) => return End::Done,
                Some(Trouble::Exit { code, close }) => return End::Exit { code, close },
                Some(trouble) => self.enter(|ctx| {
                    let error = trouble_error(ctx, trouble);
                    match crate::vm::fail(ctx, error) {
                        Ok(()) => go_on(ctx),
                        Err(value) => Next::End(End::Failed(report::message(ctx, value))),
                    }
                }),
            };
            match next {
                Next::Look => trouble = self.safe_point(),
                Next::Collect => {
                    self.collect(GcRequest::Room);
                }
                Next::Serve if self.is_not_to_wait() => trouble = self.stopped(),
                Next::Serve => {
                    let served = self.serve_in_turn(Worker::serve);
                    self.follow_late_modes_of_cycle();
                    trouble = match served {
                        Served::End(end) => return end,
                        // What was handed over is taken before the program hears of it at its next safe point.
                        Served::Rung if !self.is_ending() => None,
                        Served::Answered | Served::Rung => self.stopped(),
                        Served::Deadlocked => self.stopped().or(Some(Trouble::Deadlock)),
                    };
                    if trouble.is_some() {
                        // The native that has waited does not go on.
                        self.enter(|ctx| ctx.drop_answer());
                    }
                }
                Next::End(end) => return end,
            }
        }
    }

    /// What is due at a safe point: a step of the collector; then others may run, and the limits are looked at.
    fn safe_point(&mut self) -> Option<Trouble> {
        self.pay_debt();
        self.run_some_finalizers();
        if self.arena.is_wanted() {
            self.share();
        }
        let stopped = self.stopped();
        if stopped.is_none() && (self.has_lost_string() || self.is_over_memory_limit()) {
            return Some(Trouble::NoMemory);
        }
        stopped
    }

    /// Gives way to those who want to run, if they have wanted it for long.
    pub fn share(&mut self) {
        let since = *self.wanted_since.get_or_insert_with(Instant::now);
        if since.elapsed() >= SLICE {
            self.give_way();
        }
    }

    /// Carries out a request. If it gave the lock up the slice begins anew; what was answered at once counts as computing, or a loop of
    /// such requests would keep the lock for ever.
    pub fn serve_in_turn(&mut self, serve: impl FnOnce(&mut Self) -> Served) -> Served {
        let released = self.arena.times_released();
        let served = serve(self);
        if self.arena.times_released() != released || !self.arena.is_wanted() {
            self.wanted_since = None;
        } else {
            self.share();
        }
        served
    }

    /// Lets others run first, if any wants to.
    pub fn give_way(&mut self) {
        self.arena.give_way();
        self.wanted_since = None;
    }

    /// Whether the program was asked to stop, or its time is over. That is told to the first thread; the others stop when it has
    /// ended.
    pub fn stopped(&mut self) -> Option<Trouble> {
        if self.id != MAIN {
            return self.shared.is_closing().then_some(Trouble::Closing);
        }
        if INTERRUPTED.swap(false, Ordering::Relaxed) {
            return Some(Trouble::Interrupted);
        }
        if self.time_left() == Some(Duration::ZERO) {
            return Some(Trouble::TimeOver);
        }
        let (code, close) = self.shared.take_exit()?;
        Some(Trouble::Exit { code, close })
    }

    /// Whether [`Worker::stopped`] would stop the program.
    pub fn must_stop(&self) -> bool {
        self.is_ending()
            || (self.id == MAIN && (is_interrupted() || self.time_left() == Some(Duration::ZERO)))
    }

    /// Whether nothing of the program is to run on this thread any more.
    pub fn is_ending(&self) -> bool {
        match self.id {
            MAIN => self.shared.is_exit_asked_for(),
            _ => self.shared.is_closing(),
        }
    }

    /// Whether the program, which has a request, is to be stopped instead of waiting for another thread. It does not wait then.
    pub fn is_not_to_wait(&mut self) -> bool {
        self.must_stop() && self.enter(|ctx| ctx.withdraw_park())
    }

    /// How much longer the program may run; none: for ever. The first thread sees to it.
    pub fn time_left(&self) -> Option<Duration> {
        if self.id != MAIN {
            return None;
        }
        let limit = self.shared.options.time_limit?;
        Some(limit.saturating_sub(self.shared.started.elapsed()))
    }

    /// Runs a thread other than the first, from its beginning to its end. However it ends, those who wait for it hear of it.
    pub fn run_thread(mut self) {
        let end = match self.shared.is_closing() {
            true => End::Done,
            false => match self.enter(crate::stdlib::thread::begin) {
                Ok(()) => self.drive(),
                Err(message) => End::Failed(message),
            },
        };
        let (id, stats) = (self.id, self.sleeper.stats().clone());
        self.arena.add_ended(&stats);
        let is_closing = self.shared.is_closing();
        let message = match end {
            End::Exit { code, close } => {
                if !is_closing {
                    self.end_process(code, close);
                }
                None
            }
            End::Done => None,
            // No frame was left to catch it.
            End::Failed(message) => Some(message),
        };
        self.enter(|ctx| {
            crate::stdlib::thread::end(ctx, message.as_deref(), !is_closing);
            ctx.end_coroutines();
            look_who_ended(ctx);
            ctx.dismiss(id);
        });
    }

    /// Has the first thread end the process, or does so where that one can't be reached.
    pub fn end_process(&mut self, code: i32, close: bool) {
        self.shared.ask_to_exit(code, close);
        if self.id != MAIN && !self.enter(|ctx| ctx.rouse(MAIN) || ctx.is_awake(MAIN)) {
            crate::stdlib::io::flush_all();
            std::process::exit(code);
        }
    }
}

/// As [`run`]; then sees to it that what ended coroutines owned is free.
pub(super) fn run_on<'gc>(ctx: Ctx<'gc>) -> Exit<'gc> {
    let exit = run(ctx);
    look_who_ended(ctx);
    exit
}

fn look_who_ended(ctx: Ctx<'_>) {
    if ctx.state.has_told_end.take() {
        crate::stdlib::lock::hand_on(ctx);
    }
}

/// Runs until the host has something to do.
fn go_on(ctx: Ctx<'_>) -> Next {
    match run_on(ctx) {
        Exit::SafePoint => Next::Look,
        Exit::ShortOfMemory => Next::Collect,
        Exit::Request => Next::Serve,
        Exit::Done => Next::End(report::outcome(ctx)),
        Exit::Failed(value) => Next::End(End::Failed(report::message(ctx, value))),
    }
}

pub(super) fn trouble_error<'gc>(ctx: Ctx<'gc>, trouble: Trouble) -> Error<'gc> {
    match trouble {
        Trouble::Interrupted if super::was_terminated() => ctx.error("terminated!"),
        // As `lua` says it: without a place, for programs that compare. The traceback has it.
        Trouble::Interrupted => Error::new(ctx.string(b"interrupted!")),
        Trouble::TimeOver => ctx.error("time limit exceeded"),
        Trouble::Deadlock => ctx.error("deadlock: no thread is left that could end this wait"),
        Trouble::NoMemory => {
            let error = ctx.out_of_memory();
            ctx.state.told_of_memory.set(false);
            error
        }
        Trouble::Closing | Trouble::Exit { .. } => ctx.error("the program ends"),
    }
}
