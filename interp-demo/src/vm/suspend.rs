//! What a native may ask of the host: things that can't happen while the arena is being mutated.

use std::io;
use std::os::fd::RawFd;
use std::time::Duration;

use sleepy_gc::idle::Interest;

use super::roster::{ThreadId, Ticket};

/// A request to the host. It is carried out outside of the arena; the host collects while it waits.
#[non_exhaustive]
pub enum Suspend {
    /// Wait for this long. Answered with [`Answer::Done`].
    Sleep(Duration),
    /// Wait until the descriptor is ready. Answered with [`Answer::Ready`] (false: timed out) or [`Answer::Failed`].
    /// The native keeps whatever owns the descriptor in a slot.
    WaitFd {
        /// What to wait on.
        fd: RawFd,
        /// For what.
        interest: Interest,
        /// Longest wait; for ever if none.
        timeout: Option<Duration>,
    },
    /// Wait until one of the descriptors is ready. Answered with [`Answer::ReadyFds`] (empty: timed out) or
    /// [`Answer::Failed`].
    Poll {
        /// What to wait on, and for what.
        fds: Vec<(RawFd, Interest)>,
        /// Longest wait; for ever if none.
        timeout: Option<Duration>,
    },
    /// Wait until another thread rings with this ticket. Answered with [`Answer::Ready`] (false: timed out). If no thread is
    /// left that could ring, an error is raised instead: in the first thread, be it in the program or in a finalizer that it runs.
    Park {
        /// What the others ring with.
        ticket: Ticket,
        /// Longest wait; for ever if none.
        timeout: Option<Duration>,
    },
    /// Start the OS thread that a place was made for. Answered with [`Answer::Done`], or [`Answer::Failed`]:
    /// the place is gone then.
    StartThread(ThreadId),
    /// Let other threads run, if any wants to. Answered with [`Answer::Done`].
    GiveWay,
    /// A request to the collector. Answered as each says.
    Collect(GcRequest),
    /// End the program; never answered.
    Exit {
        /// The exit status.
        code: i32,
        /// Whether to close the state first: pending `__close` and `__gc` methods run.
        close: bool,
    },
    /// Anything else that waits.
    Custom(Box<dyn CustomWait>),
}

/// A wait that only its native knows.
pub trait CustomWait: Send {
    /// Waits. `wait` gives the thread's sleeper and the arena to it, to be used as in
    /// `wait.sleeper.wait_child(wait.arena, &mut child, timeout)`.
    fn run(self: Box<Self>, wait: &mut crate::runtime::Waiter<'_, '_>) -> Answer;
}

/// What `collectgarbage` may ask for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum GcRequest {
    /// A full cycle, with all finalizers. Answered with [`Answer::Done`].
    Full,
    /// As `Full`, for room for what is to be done once more: the next safe point is due soon, and ends that attempt.
    Room,
    /// A step of so many KiB (0: a basic one). Answered with [`Answer::Ready`]: whether a cycle ended.
    Step(usize),
    /// Automatic collection off. Answered with [`Answer::Done`].
    Stop,
    /// Automatic collection on. Answered with [`Answer::Done`].
    Restart,
    /// Two generations, or none. Answered with [`Answer::Ready`]: whether there were two.
    Generational(bool),
    /// Another pacing, in the terms of `collectgarbage`. Answered with [`Answer::Done`].
    Pace {
        /// How large the heap is when the next cycle starts, in percent of what is live.
        pause_percent: u32,
        /// How much is done for each byte that is allocated, in percent of the usual.
        step_multiplier_percent: u32,
    },
    /// Give free memory back to the system. Answered with [`Answer::Number`]: how many bytes.
    Scavenge,
    /// The figures of the runtime. Answered with [`Answer::Custom`]: a [`Stats`](crate::stats::Stats).
    Stats,
}

/// What the host answers.
#[non_exhaustive]
#[derive(Debug)]
pub enum Answer {
    /// It was done.
    Done,
    /// Ready or not.
    Ready(bool),
    /// Which descriptors of the request are ready, by index, and for what.
    ReadyFds(Vec<(usize, Interest)>),
    /// A number.
    Number(i64),
    /// The system refused.
    Failed(io::Error),
    /// Anything else, for the native that made a [`Suspend::Custom`].
    Custom(Box<dyn std::any::Any + Send>),
}
