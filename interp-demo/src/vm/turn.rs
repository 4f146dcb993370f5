//! OS threads that share a state.
//!
//! One of them runs in the arena at a time: it *holds* the state. What each has for itself (its coroutine, the request it has
//! made, the answer it got) lies in the state's own fields while it holds it, and in a [`Turn`] while another does. The fields are
//! exchanged when a thread enters that is not the holder ([`Ctx::take_turn`]), so that a thread that is alone pays one comparison.
//!
//! Who waits for what, and how it is woken, is in [`roster`](super::roster).

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io;
use std::os::fd::RawFd;
use std::sync::Arc;

use sleepy_gc::collect::Trace;

use super::error::Error;
use super::roster::{Alarm, NOBODY, NoRest, Rest, Roster, ThreadId, Ticket, Woken};
use super::state::Ctx;
use super::suspend::{Answer, Suspend};
use super::thread::{Status, Thread};
use super::userdata::UserData;
use super::value::Value;

/// What an OS thread has for itself, while another one holds the state.
struct Turn<'gc> {
    current: Thread<'gc>,
    interrupted: Option<Thread<'gc>>,
    request: Option<Suspend>,
    answer: Option<Answer>,
    told_of_memory: bool,
    retrying: bool,
}

/// The OS threads of a state.
#[derive(Default)]
pub(super) struct Threads<'gc> {
    pub(super) roster: RefCell<Roster>,
    /// Of those that do not hold the state.
    turns: RefCell<BTreeMap<ThreadId, Turn<'gc>>>,
    /// The objects that stand for them; none for the first until somebody asks.
    handles: RefCell<BTreeMap<ThreadId, UserData<'gc>>>,
}

impl<'gc> Threads<'gc> {
    /// Traces all pointers; stores run a barrier (`take_turn`, `enlist`, `set_thread_handle`).
    pub(super) fn trace<T: Trace<'gc>>(&self, cc: &mut T) {
        for turn in self.turns.borrow().values() {
            cc.trace(&turn.current);
            cc.trace(&turn.interrupted);
        }
        for handle in self.handles.borrow().values() {
            cc.trace(handle);
        }
    }

    /// The coroutines of those that do not hold the state, and all handles.
    pub(super) fn values(&self) -> Vec<Value<'gc>> {
        let (turns, handles) = (self.turns.borrow(), self.handles.borrow());
        let coroutines = turns
            .values()
            .flat_map(|turn| [Some(turn.current), turn.interrupted])
            .flatten()
            .map(Value::from);
        coroutines
            .chain(handles.values().map(|&handle| handle.into()))
            .collect()
    }
}

impl<'gc> Ctx<'gc> {
    /// The OS thread that holds the state.
    #[inline]
    #[must_use]
    pub fn os_thread(self) -> ThreadId {
        self.state.holder.get()
    }

    /// Whether there is no other OS thread.
    #[must_use]
    pub fn is_alone(self) -> bool {
        !self.state.shared.get()
    }

    /// Makes `id` the holder.
    #[cold]
    pub(crate) fn take_turn(self, id: ThreadId) {
        let state = self.state;
        let holder = state.holder.replace(id);
        let mut turns = state.threads.turns.borrow_mut();
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
            turns.insert(holder, turn);
        }
        if let Some(turn) = turns.remove(&id) {
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
    /// If there is no memory; inside, if the process is out of descriptors.
    pub(crate) fn enlist(self, handle: UserData<'gc>) -> Result<io::Result<ThreadId>, Error<'gc>> {
        let Some(current) = Thread::try_empty(self.mc) else {
            return Err(self.out_of_memory());
        };
        let threads = &self.state.threads;
        let id = match threads.roster.borrow_mut().enlist() {
            Ok(id) => id,
            Err(error) => return Ok(Err(error)),
        };
        self.barrier(handle.into());
        self.barrier(current.into());
        threads.handles.borrow_mut().insert(id, handle);
        let turn = Turn {
            current,
            interrupted: None,
            request: None,
            answer: None,
            told_of_memory: false,
            retrying: false,
        };
        threads.turns.borrow_mut().insert(id, turn);
        self.state.shared.set(true);
        Ok(Ok(id))
    }

    /// Ends what the running OS thread runs: nothing of it will go on.
    pub(crate) fn end_coroutines(self) {
        if self.is_finalizing() {
            self.end_finalizer(None);
        }
        let mut ended = Some(self.current());
        while let Some(coroutine) = ended {
            coroutine.set_status(self, Status::Dead);
            ended = coroutine.resumer();
        }
    }

    /// The thread `id` has ended, or was never started.
    pub(crate) fn dismiss(self, id: ThreadId) {
        let state = self.state;
        if self.os_thread() == id {
            state.set_current(self, state.main_thread());
            state.request.take();
            state.answer.take();
            state.holder.set(NOBODY);
        }
        state.threads.turns.borrow_mut().remove(&id);
        state.threads.handles.borrow_mut().remove(&id);
        let mut roster = state.threads.roster.borrow_mut();
        roster.dismiss(id);
        state.shared.set(!roster.is_alone());
    }

    /// The object that stands for the running OS thread, if there is one yet.
    pub(crate) fn thread_handle(self) -> Option<UserData<'gc>> {
        self.handle_of(self.os_thread())
    }

    /// The object that stands for an OS thread, if there is one yet.
    pub(crate) fn handle_of(self, id: ThreadId) -> Option<UserData<'gc>> {
        let handles = self.state.threads.handles.borrow();
        handles.get(&id).copied()
    }

    /// Gives the running OS thread an object that stands for it.
    pub(crate) fn set_thread_handle(self, handle: UserData<'gc>) {
        self.barrier(handle.into());
        let mut handles = self.state.threads.handles.borrow_mut();
        handles.insert(self.os_thread(), handle);
    }

    /// For a native that is about to park: what others ring with.
    pub(crate) fn ticket(self) -> Ticket {
        let mut roster = self.state.threads.roster.borrow_mut();
        roster.ticket(self.os_thread())
    }

    /// Ends the wait of this ticket; false if it has ended already.
    pub(crate) fn ring(self, ticket: Ticket) -> bool {
        self.state.threads.roster.borrow_mut().ring(ticket)
    }

    /// Whether the wait of this ticket is under way.
    pub(crate) fn is_parked(self, ticket: Ticket) -> bool {
        self.state.threads.roster.borrow().is_parked(ticket)
    }

    /// Whether a thread runs, or will as soon as it gets the interpreter lock.
    pub(crate) fn is_awake(self, id: ThreadId) -> bool {
        self.state.threads.roster.borrow().is_awake(id)
    }

    /// Ends the wait of a thread, whatever it is for; false if it does not wait, or can't be rung for.
    pub(crate) fn rouse(self, id: ThreadId) -> bool {
        self.state.threads.roster.borrow_mut().rouse(id)
    }

    /// Ends the waits of all threads that can be rung for.
    pub(crate) fn rouse_all(self) {
        let mut roster = self.state.threads.roster.borrow_mut();
        roster.rouse_where(|_| true);
    }

    /// To be called before a descriptor is closed: ends the waits for it.
    pub(crate) fn rouse_waiters_of(self, fd: RawFd) {
        if !self.is_alone() {
            let mut roster = self.state.threads.roster.borrow_mut();
            roster.rouse_where(|rest| matches!(rest, Rest::Polling(fds) if fds.contains(&fd)));
        }
    }

    /// The holder is about to wait; see [`Roster::begin_rest`].
    pub(crate) fn begin_rest(self, rest: Rest) -> Result<Arc<Alarm>, NoRest> {
        let mut roster = self.state.threads.roster.borrow_mut();
        roster.begin_rest(self.os_thread(), rest)
    }

    /// The holder has waited.
    pub(crate) fn end_rest(self) -> Woken {
        let mut roster = self.state.threads.roster.borrow_mut();
        roster.end_rest(self.os_thread())
    }

    /// Nobody but the running thread runs finalizers from now on: the others are not going to come back.
    pub(crate) fn take_finalizers_over(self) {
        if !self.is_finalizing() {
            self.state.finalizer_of.set(NOBODY);
        }
    }
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
