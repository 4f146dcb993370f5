//! Collection on demand: debt at safe points, `collectgarbage`, finalizers, the memory limit.

use sleepy_gc::Budget;
use sleepy_gc::metrics::Pacing;

use super::worker::{Served, Trouble, Worker, run_on, trouble_error};
use super::{End, FINALIZERS_AT_ONCE};
use crate::vm::roster::MAIN;
use crate::vm::{Answer, Exit, GcRequest, fail};

/// How the collector is driven.
pub(super) struct Control {
    /// Whether it works by itself.
    running: bool,
    /// The largest heap that is tolerated at a safe point.
    limit_bytes: Option<usize>,
    /// A heap of this size has been complained about already.
    tolerated_bytes: usize,
    /// Whether there are to be two generations, as far as the program or the environment has said.
    generational: Option<bool>,
    /// How many cycles had ended when finalizers were last looked at.
    cycles_seen: u64,
    /// How many finalizers had run when that number was new.
    finalized_before: u64,
    /// How many cycles had ended, and how many bytes had been allocated, when tables last followed a late `__mode`.
    cycles_followed: u64,
    allocated_bytes_followed: u64,
}

impl Control {
    pub fn new() -> Control {
        Control {
            running: true,
            limit_bytes: None,
            tolerated_bytes: 0,
            generational: std::env::var_os("SLEEPY_GENERATIONAL").map(|value| value == "1"),
            cycles_seen: 0,
            finalized_before: 0,
            cycles_followed: 0,
            allocated_bytes_followed: 0,
        }
    }

    pub fn set_limit(&mut self, bytes: Option<usize>) {
        self.limit_bytes = bytes;
        self.tolerated_bytes = 0;
    }

    /// Whether a cycle that a wait starts gives the arena generations. A full cycle for each megabyte that a waiting program
    /// allocates would cost it more than a young one by the size of its live heap. Programs that do not wait keep one
    /// generation, whose stores are cheaper.
    pub fn waits_in_generations(&self) -> bool {
        self.generational.is_none()
    }
}

/// A full collection of a heap larger than this may be stopped after pieces of so much work.
const PIECE_BYTES: usize = 32 << 20;

/// What may be allocated between two cycles even if a program asks for no pause.
const MIN_SLEEP_BYTES: usize = 16 * 1024;

/// Which share of the finalizers that wait runs at a safe point beyond [`FINALIZERS_AT_ONCE`]: one of so many.
const DUE_SHARE: usize = 8;

/// What an object with a finalizer holds, roughly, when that has run.
const FINALIZED_BYTES: usize = 128;

/// What a basic step of `collectgarbage` does, in bytes of work.
const BASIC_STEP_BYTES: usize = 8 * 1024;

/// The pacing that a program means by Lua's two parameters: a cycle starts when the heap has grown to `pause_percent` of what was live,
/// and works `step_multiplier_percent` as fast as usual. Between two cycles as much may be allocated as by default at least, unless
/// the pause is shorter than ours.
fn pacing_of(pause_percent: u32, step_multiplier_percent: u32) -> Pacing {
    let usual = Pacing::DEFAULT;
    let sleep_factor = f64::from(pause_percent.saturating_sub(100)) / 100.0;
    let least = usual.min_sleep as f64 * (sleep_factor / usual.sleep_factor).min(1.0);
    // What a byte pays off is the inverse of how fast the collector works.
    let slowness = 100.0 / f64::from(step_multiplier_percent.max(1));
    Pacing {
        sleep_factor,
        min_sleep: (least as usize).max(MIN_SLEEP_BYTES),
        mark_factor: usual.mark_factor * slowness,
        trace_factor: usual.trace_factor * slowness,
        keep_factor: usual.keep_factor * slowness,
        drop_factor: usual.drop_factor * slowness,
        free_factor: usual.free_factor * slowness,
    }
    .checked()
}

impl Worker<'_> {
    /// Pays the debt of the allocations since the last safe point.
    pub(super) fn pay_debt(&mut self) {
        if !self.arena.control.running {
            return;
        }
        let debt = self.arena.allocation_debt();
        if debt > 0 {
            self.forced_step(debt);
            self.follow_late_modes_of_cycle();
        }
    }

    /// Has tables follow a `__mode` that came to their metatables, so that the next cycle finds them in their form: once a cycle at
    /// most, whether work or a wait has ended it, and only when as much was allocated as there is to walk over. That bounds what
    /// the walks cost for each byte.
    pub(super) fn follow_late_modes_of_cycle(&mut self) {
        let metrics = self.arena.metrics();
        let (cycles, allocated_bytes) = (metrics.cycles(), metrics.allocated_bytes());
        let heap_bytes = metrics.heap_bytes() as u64;
        let control = &mut self.arena.control;
        // The figure counts reserved cells, of which some come back: it may have fallen a little.
        let since_bytes = allocated_bytes.saturating_sub(control.allocated_bytes_followed);
        if control.cycles_followed != cycles && since_bytes >= heap_bytes {
            control.cycles_followed = cycles;
            self.follow_late_modes();
        }
    }

    fn follow_late_modes(&mut self) {
        // What there was no memory for is followed when the table gets its next entry.
        if self.enter(|ctx| ctx.follow_late_modes().unwrap_or(true)) {
            self.arena.control.allocated_bytes_followed = self.arena.metrics().allocated_bytes();
        }
    }

    fn forced_step(&mut self, work_bytes: usize) {
        let sleeper = &mut *self.sleeper;
        self.arena.forced(|arena| {
            sleeper.forced_step(arena, Budget::Work(work_bytes));
        });
    }

    /// A whole cycle, with all that died before it; no finalizer runs.
    fn collect_fully(&mut self) {
        self.follow_late_modes();
        // What has died since the cycle under way began is not its business.
        if self.arena.has_work() && !self.finish_stoppable() {
            return;
        }
        self.arena.forced(|arena| arena.start_cycle());
        if !self.finish_stoppable() {
            return;
        }
        self.enter(|ctx| ctx.give_back_nils());
    }

    /// Ends the cycle under way; in a large heap in pieces, between which the program may be stopped: false then.
    fn finish_stoppable(&mut self) -> bool {
        while self.arena.metrics().heap_bytes() > PIECE_BYTES {
            let progress = self
                .arena
                .forced(|arena| arena.step(Budget::Work(PIECE_BYTES)));
            if progress.finished_cycle {
                return true;
            }
            if self.must_stop() {
                return false;
            }
            if progress.work_bytes == 0 {
                break;
            }
        }
        self.arena.forced(|arena| arena.finish_cycle());
        true
    }

    pub(super) fn collect(&mut self, request: GcRequest) -> Answer {
        match request {
            GcRequest::Full => {
                self.collect_fully();
                self.run_finalizers(u32::MAX);
                Answer::Done
            }
            GcRequest::Room => {
                self.collect(GcRequest::Full);
                let metrics = self.arena.metrics();
                let pacing = metrics.pacing();
                // So much may be allocated before the next cycle.
                let sleep_bytes = metrics.heap_bytes() as f64 * pacing.sleep_factor;
                metrics.adjust_debt(sleep_bytes + pacing.min_sleep as f64);
                Answer::Done
            }
            GcRequest::Step(kib) => {
                let bytes = match kib {
                    0 => BASIC_STEP_BYTES,
                    kib => kib.saturating_mul(1024),
                };
                if !self.arena.has_work() {
                    self.arena.start_cycle();
                }
                let finished = self.arena.forced(|arena| {
                    let mut left = bytes;
                    loop {
                        // A step may stop before its budget is used up.
                        let progress = arena.step(Budget::Work(left));
                        if progress.finished_cycle {
                            return true;
                        }
                        left = left.saturating_sub(progress.work_bytes);
                        if left == 0 || progress.work_bytes == 0 {
                            return false;
                        }
                    }
                });
                Answer::Ready(finished)
            }
            GcRequest::Stop => {
                self.arena.control.running = false;
                Answer::Done
            }
            GcRequest::Restart => {
                self.arena.control.running = true;
                Answer::Done
            }
            GcRequest::Generational(generational) => {
                let chosen = &mut self.arena.control.generational;
                // Like the stand-alone `lua`, a program begins in the mode that it has not chosen: generations, here in waits.
                let was = chosen.replace(generational).unwrap_or(true);
                self.arena.set_generational(generational);
                Answer::Ready(was)
            }
            GcRequest::Pace {
                pause_percent,
                step_multiplier_percent,
            } => {
                let pacing = pacing_of(pause_percent, step_multiplier_percent);
                self.arena.metrics().set_pacing(pacing);
                Answer::Done
            }
            GcRequest::Stats => {
                let stats = super::figures::stats(&self.arena, self.sleeper, self.shared.started);
                Answer::Custom(Box::new(stats))
            }
            GcRequest::Scavenge => Answer::Number(sleepy_alloc::purge_now() as i64),
        }
    }

    /// Whether the heap is larger than it may be, even after a full collection. A program that has been told so is told
    /// again only when the heap has grown further: it must be able to let go of what it holds.
    pub(super) fn is_over_memory_limit(&mut self) -> bool {
        let Some(limit) = self.arena.control.limit_bytes else {
            return false;
        };
        if self.arena.metrics().heap_bytes() <= limit.max(self.arena.control.tolerated_bytes) {
            return false;
        }
        let finalized = self.arena.seen().finalizers;
        self.collect(GcRequest::Full);
        if self.arena.seen().finalizers != finalized {
            // What finalizers have made, and what was finalized, is garbage now.
            self.collect_fully();
        }
        let heap_bytes = self.arena.metrics().heap_bytes();
        if heap_bytes <= limit {
            self.arena.control.tolerated_bytes = 0;
            return false;
        }
        self.arena.control.tolerated_bytes = heap_bytes + limit / 32;
        // A failed allocation has told it already.
        !self.enter(|ctx| ctx.state.told_of_memory.take())
    }

    /// Runs some of the finalizers that are due, as every safe point does.
    ///
    /// A fixed number would let them pile up where a program makes garbage with finalizers faster than that. A share of those that wait
    /// bounds them: there are never more than `DUE_SHARE` times what comes between two safe points.
    pub(super) fn run_some_finalizers(&mut self) {
        let before = self.arena.seen().finalizers;
        if !self.run_finalizers(FINALIZERS_AT_ONCE) || self.arena.seen().finalizers == before {
            return;
        }
        let due = self.enter(|ctx| ctx.finalizers_due());
        self.run_finalizers(u32::try_from(due / DUE_SHARE).unwrap_or(u32::MAX));
        self.collect_finalized(before);
    }

    /// Starts a cycle when much of the heap is what has been finalized. To the collector that is what has survived the last cycle, and it
    /// would wait for the heap to grow by a share of that: with garbage of this kind it would grow from cycle to cycle.
    ///
    /// `before`: how many finalizers had run before the last safe point.
    fn collect_finalized(&mut self, before: u64) {
        let (cycles, heap_bytes) = {
            let metrics = self.arena.metrics();
            (metrics.cycles(), metrics.heap_bytes())
        };
        let finalized = self.arena.seen().finalizers;
        let control = &mut self.arena.control;
        if control.cycles_seen != cycles {
            (control.cycles_seen, control.finalized_before) = (cycles, before);
        }
        let count = usize::try_from(finalized - control.finalized_before).unwrap_or(usize::MAX);
        let is_much = count.saturating_mul(FINALIZED_BYTES) > heap_bytes / 4;
        if control.running && is_much && !self.arena.has_work() {
            self.arena.start_cycle();
        }
    }

    /// Whether there was no memory for a string since the last safe point. Everything is collected then, so that there may be room for
    /// the next one.
    pub(super) fn has_lost_string(&mut self) -> bool {
        let lost = self.enter(|ctx| ctx.state.lost_string.take());
        if lost {
            self.collect(GcRequest::Full);
            self.enter(|ctx| ctx.state.told_of_memory.set(false));
        }
        lost
    }

    /// Runs the finalizers that are due, `most` of them at most; false if the program was to stop meanwhile.
    pub(super) fn run_finalizers(&mut self, most: u32) -> bool {
        // Those of a program that ends are the first thread's.
        if self.id != MAIN && self.shared.is_closing() {
            return false;
        }
        for _ in 0..most {
            if !self.enter(|ctx| ctx.start_finalizer()) {
                break;
            }
            self.arena.count_finalizer();
            if !self.run_finalizer() {
                // It is given up; the program hears of what has stopped it at its own next safe point.
                self.enter(|ctx| ctx.end_finalizer(None));
                return false;
            }
            if self.must_stop() {
                return false;
            }
            self.pay_debt();
        }
        true
    }

    /// Runs the finalizer that was started to its end; false if the program is to stop before that.
    fn run_finalizer(&mut self) -> bool {
        enum Next {
            Look,
            Collect,
            Serve,
            Over,
        }
        loop {
            let next = self.enter(|ctx| match run_on(ctx) {
                Exit::SafePoint => Next::Look,
                Exit::ShortOfMemory => Next::Collect,
                Exit::Request => Next::Serve,
                Exit::Done => {
                    ctx.end_finalizer(None);
                    Next::Over
                }
                Exit::Failed(value) => {
                    ctx.end_finalizer(Some(value));
                    Next::Over
                }
            });
            let served = match next {
                Next::Look => {
                    self.pay_debt();
                    if self.arena.is_wanted() {
                        self.share();
                    }
                    Served::Answered
                }
                Next::Collect => {
                    // No finalizer begins while one runs.
                    self.collect(GcRequest::Room);
                    Served::Answered
                }
                Next::Serve if self.is_not_to_wait() => return false,
                Next::Serve => self.serve_in_turn(Worker::serve_in_finalizer),
                Next::Over => return true,
            };
            match served {
                // What was handed over is taken first.
                Served::Rung if !self.is_ending() => {}
                // The finalizer does not go on, nor does the program once it hears of it.
                Served::End(_) => return false,
                _ if self.must_stop() => return false,
                Served::Deadlocked if !self.fail_finalizer(Trouble::Deadlock) => return true,
                _ => {}
            }
        }
    }

    /// Raises an error in the finalizer that runs; false if that has ended it.
    fn fail_finalizer(&mut self, trouble: Trouble) -> bool {
        self.enter(|ctx| {
            ctx.drop_answer();
            let error = trouble_error(ctx, trouble);
            let failed = fail(ctx, error);
            failed
                .map_err(|value| ctx.end_finalizer(Some(value)))
                .is_ok()
        })
    }

    fn serve_in_finalizer(&mut self) -> Served {
        // Collection is refused while a finalizer runs.
        let request = self.enter(|ctx| ctx.take_request());
        let answer = match request {
            Some(crate::vm::Suspend::Exit { code, close }) => {
                self.end_process(code, close);
                return Served::End(End::Exit { code, close });
            }
            Some(crate::vm::Suspend::Collect(_)) | None => Answer::Ready(false),
            Some(other) => {
                self.enter(|ctx| ctx.put_request(other));
                return self.serve();
            }
        };
        self.enter(|ctx| ctx.put_answer(answer));
        Served::Answered
    }

    /// See [`Runtime::close`](super::Runtime::close).
    pub(super) fn close(&mut self) -> Option<i32> {
        let mut status = None;
        self.shared.set_closing();
        // Another thread may have asked to exit when this one had already come to its end.
        if let Some((code, close)) = self.shared.take_exit() {
            if !close {
                return Some(code);
            }
            status = Some(code);
        }
        // What runs now can't be told that memory is short.
        self.arena.set_heap_limit(None);
        let has_pending = self.enter(|ctx| {
            ctx.take_finalizers_over();
            ctx.rouse_all();
            ctx.start_closing()
        });
        // An error while a state is closed concerns nobody any more.
        if has_pending && let End::Exit { code, .. } = self.drive() {
            status = Some(code);
        }
        self.enter(|ctx| ctx.finalize_all());
        while !self.run_finalizers(u32::MAX) {
            // A finalizer that exits gives its status; if the state is to be closed, the others run all the same.
            let exit = self.shared.take_exit();
            status = exit.map(|(code, _)| code).or(status).or(Some(1));
            if !exit.is_some_and(|(_, close)| close) {
                break;
            }
        }
        crate::stdlib::io::flush_all();
        status
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pacing_in_percent() {
        let usual = Pacing::DEFAULT;
        let pacing = pacing_of(200, 100);
        assert_eq!(pacing.sleep_factor, 1.0);
        assert_eq!(
            Pacing {
                sleep_factor: usual.sleep_factor,
                ..pacing
            },
            usual
        );
        // No pause: the next cycle follows at once; nor is a pause below 100 % a smaller one.
        assert_eq!(pacing_of(100, 100).sleep_factor, 0.0);
        assert_eq!(pacing_of(0, 100), pacing_of(100, 100));
        assert_eq!(pacing_of(100, 100).min_sleep, MIN_SLEEP_BYTES);
        // Twice as fast: half as much is paid off by each byte.
        assert!((pacing_of(200, 200).trace_factor - usual.trace_factor / 2.0).abs() < 1e-9);
        // As slow as a collector may be that is to end.
        assert_eq!(pacing_of(200, 0), pacing_of(200, 0).checked());
        assert!(pacing_of(200, 0).trace_factor > usual.trace_factor);
    }
}
