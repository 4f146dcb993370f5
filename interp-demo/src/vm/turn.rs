//! OS threads that share a state.
//!
//! One of them runs in the arena at a time: it *holds* the state. What each has for itself (its coroutine, the request it has
//! made, the answer it got) lies in the state's own fields while it holds it, and in a [`Turn`] while another does. The fields are
//! exchanged when a thread enters that is not the holder ([`Ctx::take_turn`]), so that a thread that is alone pays one comparison.
//!
//! A thread that waits says for what ([`Rest`]). Whoever brings that about, while it holds the state, *rings* for it:
//!
//! | rest | ended by |
//! |---|---|
//! | `Awake` | (it runs, or waits for the interpreter lock) |
//! | `Parked` | the ring for its ticket; its timeout |
//! | `Polling` | a descriptor; somebody who closes one of them; its timeout |
//! | `Away` | what it waits for, nothing else |
//!
//! `Parked` and `Polling` are ended by [`Ctx::rouse`] too. All of this happens under the interpreter lock; the eventfd of an [`Alarm`] only
//! wakes the thread. It is written to once for each rest that is ended by another thread, and read when the thread is back.

use std::collections::BTreeMap;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd, RawFd};
use std::sync::Arc;

use rustix::event::{EventfdFlags, eventfd};
use sleepy_gc::collect::Trace;

use super::error::Error;
use super::state::Ctx;
use super::suspend::{Answer, Suspend};
use super::thread::Thread;
use super::userdata::UserData;
use super::value::Value;

/// The number of an OS thread. Each is given once.
pub type ThreadId = u32;

/// The thread that has made the state.
pub const MAIN: ThreadId = 0;

/// Nobody's number: the holder has ended.
pub(super) const NOBODY: ThreadId = ThreadId::MAX;

/// What an OS thread has for itself, while another one holds the state.
pub(super) struct Turn<'gc> {
    current: Thread<'gc>,
    interrupted: Option<Thread<'gc>>,
    request: Option<Suspend>,
    answer: Option<Answer>,
    told_of_memory: bool,
    retrying: bool,
}

/// The OS threads of a state, by number.
#[derive(Default)]
pub(super) struct Roster<'gc> {
    /// Of those that do not hold the state.
    turns: BTreeMap<ThreadId, Turn<'gc>>,
    /// Of all, once there is more than the first; none before.
    members: BTreeMap<ThreadId, Member<'gc>>,
    last_id: ThreadId,
    last_ticket: u64,
    /// How many are parked without a timeout.
    stuck: usize,
    /// The first thread is to be told that nobody is left who could wake it.
    deadlocked: bool,
}

struct Member<'gc> {
    alarm: Arc<Alarm>,
    rest: Rest,
    /// The object that stands for it; none for the first thread until somebody asks.
    handle: Option<UserData<'gc>>,
}

impl<'gc> Roster<'gc> {
    /// Traces all pointers; stores run a barrier (`take_turn`, `enlist`, `set_handle`).
    pub(super) fn trace<T: Trace<'gc>>(&self, cc: &mut T) {
        for turn in self.turns.values() {
            cc.trace(&turn.current);
            cc.trace(&turn.interrupted);
        }
        for member in self.members.values() {
            cc.trace(&member.handle);
        }
    }

    /// Ends the rest of `id`, if it rests.
    fn end_rest(&mut self, id: ThreadId) -> bool {
        let Some(member) = self.members.get_mut(&id) else {
            return false;
        };
        if matches!(member.rest, Rest::Awake | Rest::Away) {
            return false;
        }
        let rest = std::mem::replace(&mut member.rest, Rest::Awake);
        self.stuck -= usize::from(rest.is_for_ever());
        member.alarm.ring();
        true
    }

    /// If all threads are parked for good, the first one is told.
    fn tell_deadlock(&mut self) {
        if self.stuck > 0 && self.stuck == self.members.len() && self.end_rest(MAIN) {
            self.deadlocked = true;
        }
    }
}

/// What a thread waits for, as far as others can bring it about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Rest {
    /// Nothing.
    Awake,
    /// To be rung for.
    Parked {
        ticket: u64,
        /// Without a timeout.
        for_ever: bool,
    },
    /// One of these descriptors, or time to pass.
    Polling(Vec<RawFd>),
    /// Something during which it can't be woken.
    Away,
}

impl Rest {
    fn is_for_ever(&self) -> bool {
        matches!(self, Rest::Parked { for_ever: true, .. })
    }
}

/// How a rest has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Woken {
    /// Another thread has ended it.
    Rung,
    /// Nobody has.
    ByItself,
    /// All threads would have waited for ever.
    Deadlocked,
}

/// The right to ring once for a thread in the one wait that it is about to begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ticket {
    thread: ThreadId,
    number: u64,
}

impl Ticket {
    pub(crate) fn number(self) -> u64 {
        self.number
    }
}

/// Wakes a thread out of a wait for descriptors.
#[derive(Debug)]
pub(crate) struct Alarm(OwnedFd);

impl Alarm {
    fn new() -> io::Result<Alarm> {
        let fd = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        Ok(Alarm(fd))
    }

    /// Readable once it was rung.
    pub fn fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }

    fn ring(&self) {
        // It fails only if it was rung 2^64 - 2 times.
        let _ = rustix::io::write(&self.0, &1u64.to_ne_bytes());
    }

    fn silence(&self) {
        // It fails only if it is silent.
        let _ = rustix::io::read(&self.0, &mut [0u8; 8]);
    }
}

impl<'gc> Ctx<'gc> {
    /// The OS thread that holds the state.
    #[inline]
    #[must_use]
    pub fn os_thread(self) -> ThreadId {
        self.state.holder.get()
    }

    /// Whether no other OS thread was ever started, or all have ended.
    #[must_use]
    pub fn is_alone(self) -> bool {
        self.state.roster.borrow().members.len() <= 1
    }

    /// Makes `id` the holder.
    #[cold]
    pub(crate) fn take_turn(self, id: ThreadId) {
        let state = self.state;
        let holder = state.holder.replace(id);
        let mut roster = state.roster.borrow_mut();
        if holder != NOBODY {
            let turn = Turn {
                current: state.current(),
                interrupted: state.interrupted.take(),
                request: state.request.take(),
                answer: state.answer.take(),
                told_of_memory: state.told_of_memory.take(),
                retrying: state.retrying.take(),
            };
            self.barrier(turn.current.into());
            if let Some(interrupted) = turn.interrupted {
                self.barrier(interrupted.into());
            }
            roster.turns.insert(holder, turn);
        }
        if let Some(turn) = roster.turns.remove(&id) {
            state.set_current(self, turn.current);
            if let Some(interrupted) = turn.interrupted {
                self.barrier(interrupted.into());
            }
            state.interrupted.set(turn.interrupted);
            state.request.replace(turn.request);
            state.answer.replace(turn.answer);
            state.told_of_memory.set(turn.told_of_memory);
            state.retrying.set(turn.retrying);
        }
    }

    /// Makes a place for one more OS thread, for which `handle` stands.
    ///
    /// # Errors
    ///
    /// If there is no memory.
    pub(crate) fn enlist(self, handle: UserData<'gc>) -> Result<io::Result<ThreadId>, Error<'gc>> {
        let Some(current) = Thread::try_empty(self.mc) else {
            return Err(self.out_of_memory());
        };
        let mut roster = self.state.roster.borrow_mut();
        let mut alarms = Vec::new();
        for _ in usize::from(!roster.members.is_empty())..2 {
            match Alarm::new() {
                Ok(alarm) => alarms.push(Arc::new(alarm)),
                Err(error) => return Ok(Err(error)),
            }
        }
        if roster.last_id == NOBODY - 1 {
            return Ok(Err(io::Error::from_raw_os_error(libc::EAGAIN)));
        }
        roster.last_id += 1;
        let id = roster.last_id;
        self.barrier(handle.into());
        self.barrier(current.into());
        for (id, handle) in [(id, Some(handle)), (MAIN, None)] {
            if let Some(alarm) = alarms.pop() {
                let rest = Rest::Awake;
                roster.members.insert(
                    id,
                    Member {
                        alarm,
                        rest,
                        handle,
                    },
                );
            }
        }
        roster.turns.insert(
            id,
            Turn {
                current,
                interrupted: None,
                request: None,
                answer: None,
                told_of_memory: false,
                retrying: false,
            },
        );
        self.state.shared.set(true);
        Ok(Ok(id))
    }

    /// The thread `id` has ended, or was never started.
    pub(crate) fn dismiss(self, id: ThreadId) {
        if self.os_thread() == id {
            if self.is_finalizing() {
                self.end_finalizer(None);
            }
            self.state.set_current(self, self.state.main_thread());
            self.state.request.take();
            self.state.answer.take();
            self.state.holder.set(NOBODY);
        }
        let mut roster = self.state.roster.borrow_mut();
        roster.turns.remove(&id);
        roster.members.remove(&id);
        self.state.shared.set(roster.members.len() > 1);
        roster.tell_deadlock();
    }

    /// The object that stands for the running OS thread, if there is one yet.
    pub(crate) fn thread_handle(self) -> Option<UserData<'gc>> {
        let roster = self.state.roster.borrow();
        match self.os_thread() {
            MAIN => self.state.main_handle.get(),
            id => roster.members.get(&id)?.handle,
        }
    }

    /// Gives the first thread an object that stands for it.
    pub(crate) fn set_main_handle(self, handle: UserData<'gc>) {
        self.barrier(handle.into());
        self.state.main_handle.set(Some(handle));
    }

    /// For a native that is about to park: what others ring with.
    pub(crate) fn ticket(self) -> Ticket {
        let mut roster = self.state.roster.borrow_mut();
        roster.last_ticket += 1;
        Ticket {
            thread: self.os_thread(),
            number: roster.last_ticket,
        }
    }

    /// Ends the wait of this ticket; false if it has ended already.
    pub(crate) fn ring(self, ticket: Ticket) -> bool {
        let mut roster = self.state.roster.borrow_mut();
        let waits = roster.members.get(&ticket.thread).is_some_and(
            |member| matches!(member.rest, Rest::Parked { ticket: number, .. } if number == ticket.number),
        );
        waits && roster.end_rest(ticket.thread)
    }

    /// Whether the wait of this ticket has not ended yet.
    pub(crate) fn is_parked(self, ticket: Ticket) -> bool {
        let roster = self.state.roster.borrow();
        roster.members.get(&ticket.thread).is_some_and(
            |member| matches!(member.rest, Rest::Parked { ticket: number, .. } if number == ticket.number),
        )
    }

    /// Ends the wait of a thread, whatever it is for; false if it does not wait, or can't be rung for.
    pub(crate) fn rouse(self, id: ThreadId) -> bool {
        self.state.roster.borrow_mut().end_rest(id)
    }

    /// Whether a thread runs, or will as soon as it gets the interpreter lock.
    pub(crate) fn is_awake(self, id: ThreadId) -> bool {
        let roster = self.state.roster.borrow();
        let member = roster.members.get(&id);
        member.is_some_and(|member| member.rest == Rest::Awake)
    }

    /// Ends the waits of all threads that can be rung for.
    pub(crate) fn rouse_all(self) {
        let mut roster = self.state.roster.borrow_mut();
        let all: Vec<_> = roster.members.keys().copied().collect();
        for id in all {
            roster.end_rest(id);
        }
    }

    /// To be called before a descriptor is closed: ends the waits for it.
    pub(crate) fn rouse_waiters_of(self, fd: RawFd) {
        if self.is_alone() {
            return;
        }
        let mut roster = self.state.roster.borrow_mut();
        let waiting: Vec<_> = roster
            .members
            .iter()
            .filter(|(_, member)| matches!(&member.rest, Rest::Polling(fds) if fds.contains(&fd)))
            .map(|(&id, _)| id)
            .collect();
        for id in waiting {
            roster.end_rest(id);
        }
    }

    /// The holder is about to wait. None: it must not, as nobody would be left to wake it; or there is nobody else.
    pub(crate) fn begin_rest(self, rest: Rest) -> Result<Arc<Alarm>, NoRest> {
        let me = self.os_thread();
        let mut roster = self.state.roster.borrow_mut();
        let for_ever = rest.is_for_ever();
        let everybody = roster.stuck + 1 >= roster.members.len();
        if for_ever && everybody && me == MAIN {
            return Err(NoRest::Deadlock);
        }
        if roster.members.len() <= 1 {
            return Err(NoRest::Alone);
        }
        let Some(member) = roster.members.get_mut(&me) else {
            return Err(NoRest::Alone);
        };
        member.rest = rest;
        let alarm = Arc::clone(&member.alarm);
        roster.stuck += usize::from(for_ever);
        roster.tell_deadlock();
        Ok(alarm)
    }

    /// The holder has waited.
    pub(crate) fn end_rest(self) -> Woken {
        let me = self.os_thread();
        let mut roster = self.state.roster.borrow_mut();
        let Some(member) = roster.members.get_mut(&me) else {
            return Woken::ByItself;
        };
        let rest = std::mem::replace(&mut member.rest, Rest::Awake);
        if rest == Rest::Awake {
            member.alarm.silence();
            let deadlocked = me == MAIN && std::mem::take(&mut roster.deadlocked);
            return match deadlocked {
                true => Woken::Deadlocked,
                false => Woken::Rung,
            };
        }
        roster.stuck -= usize::from(rest.is_for_ever());
        Woken::ByItself
    }

    /// Nobody but the running thread runs finalizers from now on: the others are not going to come back.
    pub(crate) fn take_finalizers_over(self) {
        if !self.is_finalizing() {
            self.state.finalizer_of.set(NOBODY);
        }
    }
}

/// Why a thread can't rest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NoRest {
    /// No thread would be left that could end it.
    Deadlock,
    /// There is no other thread.
    Alone,
}

/// Starts a function on the running OS thread's coroutine, of which nothing runs yet.
///
/// # Errors
///
/// The error value, if nothing catches it.
pub(crate) fn begin<'gc>(
    ctx: Ctx<'gc>,
    function: Value<'gc>,
    args: &[Value<'gc>],
) -> Result<(), Value<'gc>> {
    let begun = ctx.start_on(ctx.current(), function, args);
    // A native that fails at once has done so outside of the loop that looks who catches it.
    begun.or_else(|error| super::run::fail(ctx, error))
}
