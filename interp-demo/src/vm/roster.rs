//! Who waits for what: the rests of the OS threads of a state.
//!
//! A thread that waits says for what ([`Rest`]). Whoever brings that about *rings* for it:
//!
//! | rest | ended by |
//! |---|---|
//! | `Awake` | (it runs, or waits for the interpreter lock) |
//! | `Parked` | the ring for its ticket; its timeout |
//! | `Polling` | a descriptor; somebody who closes one of them; its timeout |
//! | `Away` | what it waits for, nothing else |
//!
//! `Parked` and `Polling` are ended by [`Roster::rouse`] too. All of this happens under the interpreter lock; the eventfd of an
//! [`Alarm`] only wakes the thread. It is written to once for each rest that is ended by another thread, and read when the thread
//! is back.

use std::collections::BTreeMap;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd, RawFd};
use std::sync::Arc;

use rustix::event::{EventfdFlags, eventfd};

/// The number of an OS thread. Each is given once.
pub type ThreadId = u32;

/// The thread that has made the state.
pub const MAIN: ThreadId = 0;

/// Nobody's number.
pub(super) const NOBODY: ThreadId = ThreadId::MAX;

/// The OS threads of a state.
#[derive(Default)]
pub(super) struct Roster {
    /// All, once there is more than the first; none before.
    members: BTreeMap<ThreadId, Member>,
    last_id: ThreadId,
    last_ticket: u64,
    /// How many are parked without a timeout.
    stuck: usize,
    /// The first thread is to be told that nobody is left who could wake it.
    deadlocked: bool,
}

struct Member {
    alarm: Arc<Alarm>,
    rest: Rest,
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

/// Why a thread can't rest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NoRest {
    /// No thread would be left that could end it.
    Deadlock,
    /// There is no other thread.
    Alone,
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

impl Roster {
    /// Whether there is no thread but the first.
    pub fn is_alone(&self) -> bool {
        self.members.len() <= 1
    }

    /// Makes a place for one more thread, and, with the second, for the first.
    ///
    /// # Errors
    ///
    /// If the process is out of descriptors; nothing has changed then.
    pub fn enlist(&mut self) -> io::Result<ThreadId> {
        if self.last_id == NOBODY - 1 {
            return Err(io::Error::from_raw_os_error(libc::EAGAIN));
        }
        let alarm = Alarm::new()?;
        if self.members.is_empty() {
            let alarm = Alarm::new()?;
            self.members.insert(MAIN, Member::new(alarm));
        }
        self.last_id += 1;
        self.members.insert(self.last_id, Member::new(alarm));
        Ok(self.last_id)
    }

    /// The thread has ended, or was never started.
    pub fn dismiss(&mut self, id: ThreadId) {
        self.members.remove(&id);
        self.tell_deadlock();
    }

    /// For a thread that is about to park: what others ring with.
    pub fn ticket(&mut self, me: ThreadId) -> Ticket {
        self.last_ticket += 1;
        Ticket {
            thread: me,
            number: self.last_ticket,
        }
    }

    /// Whether the wait of this ticket is under way.
    pub fn is_parked(&self, ticket: Ticket) -> bool {
        self.members.get(&ticket.thread).is_some_and(|member| {
            matches!(member.rest, Rest::Parked { ticket: number, .. } if number == ticket.number)
        })
    }

    /// Ends the wait of this ticket; false if it has ended already.
    pub fn ring(&mut self, ticket: Ticket) -> bool {
        self.is_parked(ticket) && self.rouse(ticket.thread)
    }

    /// Ends the wait of a thread, whatever it is for; false if it does not wait, or can't be rung for.
    pub fn rouse(&mut self, id: ThreadId) -> bool {
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

    /// Ends the waits of all threads of which `is_one` says so.
    pub fn rouse_where(&mut self, is_one: impl Fn(&Rest) -> bool) {
        let members = self.members.iter();
        let ids: Vec<_> = members
            .filter(|(_, member)| is_one(&member.rest))
            .map(|(&id, _)| id)
            .collect();
        for id in ids {
            self.rouse(id);
        }
    }

    /// Whether a thread runs, or will as soon as it gets the interpreter lock.
    pub fn is_awake(&self, id: ThreadId) -> bool {
        let member = self.members.get(&id);
        member.is_some_and(|member| member.rest == Rest::Awake)
    }

    /// A thread is about to wait: what it watches beside that.
    ///
    /// # Errors
    ///
    /// If it must not wait, as nobody would be left to wake it; or there is nobody else.
    pub fn begin_rest(&mut self, me: ThreadId, rest: Rest) -> Result<Arc<Alarm>, NoRest> {
        let for_ever = rest.is_for_ever();
        if for_ever && me == MAIN && self.stuck + 1 >= self.members.len() {
            return Err(NoRest::Deadlock);
        }
        if self.is_alone() {
            return Err(NoRest::Alone);
        }
        let Some(member) = self.members.get_mut(&me) else {
            return Err(NoRest::Alone);
        };
        member.rest = rest;
        let alarm = Arc::clone(&member.alarm);
        self.stuck += usize::from(for_ever);
        self.tell_deadlock();
        Ok(alarm)
    }

    /// A thread has waited.
    pub fn end_rest(&mut self, me: ThreadId) -> Woken {
        let Some(member) = self.members.get_mut(&me) else {
            return Woken::ByItself;
        };
        let rest = std::mem::replace(&mut member.rest, Rest::Awake);
        if rest != Rest::Awake {
            self.stuck -= usize::from(rest.is_for_ever());
            return Woken::ByItself;
        }
        member.alarm.silence();
        match me == MAIN && std::mem::take(&mut self.deadlocked) {
            true => Woken::Deadlocked,
            false => Woken::Rung,
        }
    }

    /// If all threads are parked for good, the first one is told.
    fn tell_deadlock(&mut self) {
        if self.stuck > 0 && self.stuck == self.members.len() && self.rouse(MAIN) {
            self.deadlocked = true;
        }
    }
}

impl Member {
    fn new(alarm: Alarm) -> Member {
        Member {
            alarm: Arc::new(alarm),
            rest: Rest::Awake,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::event::{PollFd, PollFlags, Timespec, poll};

    fn parked(ticket: Ticket, for_ever: bool) -> Rest {
        let ticket = ticket.number();
        Rest::Parked { ticket, for_ever }
    }

    fn rings(alarm: &Alarm) -> bool {
        let alarm = alarm.fd();
        let now = Timespec {
            tv_sec: 0,
            tv_nsec: 0,
        };
        poll(&mut [PollFd::new(&alarm, PollFlags::IN)], Some(&now)).unwrap() > 0
    }

    #[test]
    fn a_ticket_rings_once_and_in_its_own_wait_only() {
        let mut roster = Roster::default();
        let one = roster.enlist().unwrap();
        let (first, second) = (roster.ticket(one), roster.ticket(one));
        assert!(!roster.ring(first), "it does not wait yet");
        let alarm = roster.begin_rest(one, parked(first, false)).unwrap();
        assert!(roster.is_parked(first) && !roster.ring(second) && !rings(&alarm));
        assert!(roster.ring(first) && !roster.ring(first) && rings(&alarm));
        assert_eq!(roster.end_rest(one), Woken::Rung);
        assert!(!rings(&alarm));
        roster.begin_rest(one, parked(second, false)).unwrap();
        assert!(!roster.ring(first));
        assert_eq!(roster.end_rest(one), Woken::ByItself);
        assert!(!roster.ring(second), "timed out");
    }

    #[test]
    fn closing_ends_the_waits_for_a_descriptor() {
        let mut roster = Roster::default();
        let (one, two, three) = (
            roster.enlist().unwrap(),
            roster.enlist().unwrap(),
            roster.enlist().unwrap(),
        );
        roster.begin_rest(one, Rest::Polling(vec![3, 4])).unwrap();
        roster.begin_rest(two, Rest::Polling(vec![5])).unwrap();
        roster.begin_rest(three, Rest::Away).unwrap();
        roster.rouse_where(|rest| matches!(rest, Rest::Polling(fds) if fds.contains(&4)));
        assert!(roster.is_awake(one) && !roster.is_awake(two));
        roster.rouse_where(|_| true);
        assert_eq!(roster.end_rest(two), Woken::Rung);
        assert_eq!(roster.end_rest(three), Woken::ByItself);
    }

    #[test]
    fn the_first_thread_is_told_when_all_are_parked_for_good() {
        let mut roster = Roster::default();
        let alone = roster.ticket(MAIN);
        let deadlock = Err(NoRest::Deadlock);
        let begin = |roster: &mut Roster, me, rest| roster.begin_rest(me, rest).map(drop);
        assert_eq!(begin(&mut roster, MAIN, parked(alone, true)), deadlock);
        assert_eq!(
            begin(&mut roster, MAIN, parked(alone, false)),
            Err(NoRest::Alone)
        );

        let (one, two) = (roster.enlist().unwrap(), roster.enlist().unwrap());
        let tickets = [roster.ticket(MAIN), roster.ticket(one), roster.ticket(two)];
        roster.begin_rest(one, parked(tickets[1], true)).unwrap();
        roster.begin_rest(MAIN, parked(tickets[0], true)).unwrap();
        // One that waits for a time, or for a descriptor, may wake the others.
        roster.begin_rest(two, Rest::Polling(vec![3])).unwrap();
        assert!(roster.is_parked(tickets[0]));
        assert_eq!(roster.end_rest(two), Woken::ByItself);
        roster.begin_rest(two, parked(tickets[2], true)).unwrap();
        assert_eq!(roster.end_rest(MAIN), Woken::Deadlocked);
        assert!(roster.is_parked(tickets[1]) && roster.is_parked(tickets[2]));
        // It goes on, and finds the same again.
        assert_eq!(begin(&mut roster, MAIN, parked(tickets[0], true)), deadlock);

        // The end of the last thread that runs counts too.
        assert!(roster.ring(tickets[2]));
        let again = roster.ticket(MAIN);
        roster.begin_rest(MAIN, parked(again, true)).unwrap();
        roster.dismiss(two);
        assert_eq!(roster.end_rest(MAIN), Woken::Deadlocked);
    }
}
