//! How a thread that sleeps is asked to collect.
//!
//! A thread that waits for ever sleeps through all the garbage that others make meanwhile. No timer wakes it to look; whoever gives up
//! the interpreter lock and leaves garbage behind rings for it. What waits in a way that hears no bell has a stand-in.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use parking_lot::Mutex;
use rustix::event::{EventfdFlags, eventfd};
use rustix::io::{read, write};

use super::forks::{self, PerProcess};
use super::policy::Policy;
use super::sleeper::Sleeper;
use super::stand_in::{Ended, Host, StandIn};

/// Wakes one thread out of a wait for descriptors or for time.
#[derive(Clone, Debug)]
pub struct Bell {
    fd: Arc<OwnedFd>,
    /// The process that has made it: to a child it would be its parent's, too.
    generation: u32,
}

impl Bell {
    /// A bell, unless the process is out of descriptors.
    pub(super) fn new() -> Option<Self> {
        let fd = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK).ok()?;
        Some(Self {
            fd: Arc::new(fd),
            generation: forks::generation(),
        })
    }

    /// Whether it is of this process.
    pub(super) fn is_ours(&self) -> bool {
        self.generation == forks::generation()
    }

    /// Readable once it was rung.
    pub(super) fn fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }

    fn ring(&self) {
        // It fails only if the bell was rung 2^64 - 2 times and is ringing still.
        let _ = write(&*self.fd, &1u64.to_ne_bytes());
    }

    fn silence(&self) {
        // It fails only if it is silent.
        let _ = read(&*self.fd, &mut [0u8; 8]);
    }
}

/// How a thread that sleeps is reached.
#[derive(Debug)]
enum Hung {
    Bell(Bell),
    StandIn(Arc<StandIn>),
}

/// The bells of the threads that sleep and could collect. A fork's child, whose other threads are not there, begins with none.
#[derive(Debug, Default)]
pub struct Bells {
    /// How many there are. A hint for who would ring; written with the list locked.
    count: AtomicUsize,
    /// Whether a thread was rung that had something else to do. Relaxed: it publishes nothing.
    unheeded: AtomicBool,
    all: PerProcess<All>,
}

/// What only the threads of one process know of.
#[derive(Debug, Default)]
struct All {
    /// Who went to sleep last is rung first: its stack and its caches are the warmest. The locks of stand-ins and of
    /// their helper are taken under this one.
    hung: Mutex<Vec<Hung>>,
    /// How others collect behind the lock, where they can. Told anew with each thread that goes to sleep, since the lock may have moved.
    host: Mutex<Option<Host>>,
    /// The sleeper of the helper, made when it is first needed.
    helper: Mutex<Option<Arc<Mutex<Sleeper>>>>,
}

impl Bells {
    /// Whether there is anybody to ring for: one load.
    #[inline]
    pub fn any(&self) -> bool {
        self.count.load(Ordering::Relaxed) > 0
    }

    /// Whether a thread that was rung had something else to do; says so once.
    pub(super) fn take_unheeded(&self) -> bool {
        self.unheeded.swap(false, Ordering::Relaxed)
    }

    pub(super) fn hang(&self, bell: &Bell) {
        self.push(Hung::Bell(bell.clone()));
    }

    /// Says how others can collect behind the lock.
    pub(super) fn set_host(&self, host: Host) {
        *self.all.get().host.lock() = Some(host);
    }

    /// Hangs a stand-in for a thread that can't hear a bell, if there is a way to stand in for it.
    pub(super) fn hang_stand_in(&self, policy: &Policy) -> Option<Arc<StandIn>> {
        let all = self.all.get();
        let host = (*all.host.lock())?;
        let mut helper = all.helper.lock();
        let sleeper =
            helper.get_or_insert_with(|| Arc::new(Mutex::new(Sleeper::new(policy.clone()))));
        let stand_in = StandIn::new(host, Arc::clone(sleeper));
        drop(helper);
        self.push(Hung::StandIn(Arc::clone(&stand_in)));
        Some(stand_in)
    }

    /// The thread is back, and nobody stands in for it any more. Whether anybody did, or was to.
    pub(super) fn take_down_stand_in(&self, stand_in: &Arc<StandIn>) -> bool {
        let mut hung = self.all.get().hung.lock();
        self.remove(&mut hung, |it| match it {
            Hung::StandIn(other) => Arc::ptr_eq(other, stand_in),
            Hung::Bell(_) => false,
        });
        drop(hung);
        let ended = stand_in.end();
        if ended == Ended::InVain {
            self.unheeded.store(true, Ordering::Relaxed);
        }
        ended != Ended::NotCalled
    }

    /// Hangs a stand-in again, which was called.
    pub(super) fn hang_again(&self, stand_in: &Arc<StandIn>) {
        self.push(Hung::StandIn(Arc::clone(stand_in)));
    }

    fn push(&self, it: Hung) {
        let mut hung = self.all.get().hung.lock();
        hung.push(it);
        self.count.store(hung.len(), Ordering::Relaxed);
    }

    fn remove(&self, hung: &mut Vec<Hung>, is_it: impl FnMut(&Hung) -> bool) -> bool {
        let place = hung.iter().rposition(is_it);
        if let Some(place) = place {
            hung.remove(place);
            self.count.store(hung.len(), Ordering::Relaxed);
        }
        place.is_some()
    }

    /// Whether it was rung. `heeds`: its thread will collect, if it was.
    pub(super) fn take_down(&self, bell: &Bell, heeds: bool) -> bool {
        let mut hung = self.all.get().hung.lock();
        let hangs = self.remove(&mut hung, |it| match it {
            Hung::Bell(other) => Arc::ptr_eq(&other.fd, &bell.fd),
            Hung::StandIn(_) => false,
        });
        if hangs {
            return false;
        }
        drop(hung);
        bell.silence();
        if !heeds {
            self.unheeded.store(true, Ordering::Relaxed);
        }
        true
    }

    /// Wakes one thread. It is not rung again before it goes to sleep again.
    pub fn ring(&self) {
        // Also where those that were counted are a parent's: who hangs his bell meanwhile does so under the same lock.
        let mut hung = self.all.get().hung.lock();
        // With the list locked: what was taken down is not rung afterwards.
        while let Some(it) = hung.pop() {
            self.count.store(hung.len(), Ordering::Relaxed);
            match it {
                Hung::Bell(bell) => bell.ring(),
                // Its thread may be back, or there may be no helper.
                Hung::StandIn(stand_in) if !stand_in.call() => continue,
                Hung::StandIn(_) => {}
            }
            return;
        }
        self.count.store(0, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::super::fd::{Interest, poll_fd};
    use super::super::test_fork::in_child;
    use super::*;
    use std::time::Duration;

    fn rings(bell: &Bell) -> bool {
        poll_fd(bell.fd(), Interest::Readable, Some(Duration::ZERO), None).is_some()
    }

    #[test]
    fn each_bell_is_rung_once_and_the_last_one_first() {
        let bells = Bells::default();
        let (one, other) = (Bell::new().unwrap(), Bell::new().unwrap());
        bells.ring();
        bells.hang(&one);
        bells.hang(&other);
        bells.ring();
        assert!(bells.any() && rings(&other) && !rings(&one));
        bells.ring();
        bells.ring();
        assert!(!bells.any() && rings(&one));
        assert!(bells.take_down(&one, true) && !bells.take_unheeded());
        assert!(bells.take_down(&other, false) && bells.take_unheeded());
        assert!(!rings(&one) && !rings(&other));
        bells.hang(&one);
        assert!(!bells.take_down(&one, true) && !bells.any());
    }

    #[test]
    fn a_childs_bells_are_its_own_whatever_other_threads_were_doing() {
        let bells = Bells::default();
        let bell = Bell::new().unwrap();
        bells.hang(&bell);
        // Another thread rings at the moment of the fork.
        let ringing = bells.all.get().hung.lock();
        let host = bells.all.get().host.lock();
        in_child(|| {
            bells.ring();
            assert!(!bells.any() && !rings(&bell) && !bell.is_ours());
            let own = Bell::new().unwrap();
            bells.hang(&own);
            bells.ring();
            assert!(rings(&own) && bells.take_down(&own, true));
            assert!(bells.hang_stand_in(&Policy::default()).is_none());
        });
        drop((ringing, host));
        assert!(!rings(&bell) && !bells.take_down(&bell, true));
    }
}
