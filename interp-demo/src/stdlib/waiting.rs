//! Waiting for other threads: what the natives of `thread`, `queue`, `lock`, `semaphore` and `timer` have in common.
//!
//! All of their state is changed under the interpreter lock, by natives that run from their beginning to the point where they
//! park. So a native looks, notes its [`Ticket`] with what it waits for, and parks; whoever brings that about rings with the
//! ticket, and the native looks again.

use std::collections::VecDeque;
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

use crate::vm::error::Error;
use crate::vm::native::{Call, NativeFn, NativeResult};
use crate::vm::roster::Ticket;
use crate::vm::state::Ctx;
use crate::vm::suspend::{Answer, Suspend};
use crate::vm::value::Value;

/// A moment that never comes, in nanoseconds of the monotonic clock.
pub(super) const NEVER_NS: i64 = i64::MAX;

/// The monotonic clock.
pub(super) fn now_ns() -> i64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec * 1_000_000_000 + now.tv_nsec
}

/// The moment so many seconds from now: no earlier than now, and never if the number is too large.
pub(super) fn moment_ns(seconds: f64) -> i64 {
    match seconds > 0.0 {
        // A float that does not fit becomes the largest integer.
        true => now_ns().saturating_add((seconds * 1e9) as i64),
        false => now_ns(),
    }
}

/// The timeout in slot `i`, in seconds, that an object has where its methods are given none; for ever where there is none.
pub(super) fn timeout_s<'gc>(call: &Call<'gc>, i: usize) -> Result<f64, Error<'gc>> {
    let timeout_s = call.opt_float(i, f64::INFINITY)?;
    if timeout_s.is_nan() || timeout_s < 0.0 {
        return Err(call.arg_error(i, "timeout must not be negative"));
    }
    Ok(timeout_s)
}

/// When the timeout passes that slot `i` holds in seconds; `default_s` where it holds none.
pub(super) fn deadline_ns<'gc>(
    call: &Call<'gc>,
    i: usize,
    default_s: f64,
) -> Result<i64, Error<'gc>> {
    let seconds = match call.is_none_or_nil(i) {
        true => default_s,
        false => call.check_float(i)?,
    };
    if seconds.is_nan() {
        return Err(call.arg_error(i, "timeout is not a number"));
    }
    Ok(moment_ns(seconds))
}

/// Whether it has passed.
pub(super) fn is_over(deadline_ns: i64) -> bool {
    deadline_ns != NEVER_NS && deadline_ns <= now_ns()
}

/// How long it is until the deadline; none: for ever.
pub(super) fn left(deadline_ns: i64) -> Option<Duration> {
    let left_ns = deadline_ns.saturating_sub(now_ns());
    let left = Duration::from_nanos(u64::try_from(left_ns).unwrap_or(0));
    (deadline_ns != NEVER_NS).then_some(left)
}

/// Parks until somebody rings with the ticket, or the deadline passes.
pub(super) fn park<'gc>(
    call: &mut Call<'gc>,
    ticket: Ticket,
    deadline_ns: i64,
    then: NativeFn,
) -> NativeResult<'gc> {
    let timeout = left(deadline_ns);
    call.suspend(Suspend::Park { ticket, timeout }, then)
}

/// In the native that goes on after [`park`]: whether somebody has rung.
pub(super) fn was_rung(call: &mut Call<'_>) -> bool {
    matches!(call.answer(), Answer::Ready(true))
}

/// Returns `nil, why`.
pub(super) fn ret_why<'gc>(call: &mut Call<'gc>, why: &str) -> NativeResult<'gc> {
    let why = call.ctx.string(why.as_bytes());
    call.ret(&[Value::Nil, why])
}

/// Threads that wait for the same, first come, first served.
#[derive(Debug, Default)]
pub(super) struct Waiters(VecDeque<Ticket>);

impl Waiters {
    /// Adds the running thread, as the first if it was the first before: the ticket to park with.
    pub fn join(&mut self, ctx: Ctx<'_>, again: bool) -> Ticket {
        let ticket = ctx.ticket();
        match again {
            true => self.0.push_front(ticket),
            false => self.0.push_back(ticket),
        }
        ticket
    }

    /// Rings for the first that still waits; false if none does.
    pub fn ring_one(&mut self, ctx: Ctx<'_>) -> bool {
        while let Some(ticket) = self.0.pop_front() {
            if ctx.ring(ticket) {
                return true;
            }
        }
        false
    }

    /// Rings for all; whether there were any.
    pub fn ring_all(&mut self, ctx: Ctx<'_>) -> bool {
        let mut any = false;
        while self.ring_one(ctx) {
            any = true;
        }
        any
    }

    /// Forgets those that wait no longer, as the running thread, which has timed out.
    pub fn forget_gone(&mut self, ctx: Ctx<'_>) {
        self.0.retain(|&ticket| ctx.is_parked(ticket));
    }
}
