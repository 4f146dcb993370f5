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

use super::policy::Policy;
use super::sleeper::Sleeper;
use super::stand_in::{Ended, Host, StandIn};

/// Wakes one thread out of a wait for descriptors or for time.
#[derive(Clone, Debug)]
pub struct Bell {
    fd: Arc<OwnedFd>,
}

impl Bell {
    /// A bell, unless the process is out of descriptors.
    pub(super) fn new() -> Option<Self> {
        let fd = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK).ok()?;
        Some(Self { fd: Arc::new(fd) })
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

/// The bells of the threads that sleep and could collect.
#[derive(Debug, Default)]
pub struct Bells {
    /// How many there are. A hint for who would ring; written with the list locked.
    count: AtomicUsize,
    /// Whether a thread was rung that had something else to do. Relaxed: it publishes nothing.
    unheeded: AtomicBool,
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
        *self.host.lock() = Some(host);
    }

    /// Hangs a stand-in for a thread that can't hear a bell, if there is a way to stand in for it.
    pub(super) fn hang_stand_in(&self, policy: &Policy) -> Option<Arc<StandIn>> {
        let host = (*self.host.lock())?;
        let mut helper = self.helper.lock();
        let sleeper =
            helper.get_or_insert_with(|| Arc::new(Mutex::new(Sleeper::new(policy.clone()))));
        let stand_in = StandIn::new(host, Arc::clone(sleeper));
        drop(helper);
        self.push(Hung::StandIn(Arc::clone(&stand_in)));
        Some(stand_in)
    }

    /// The thread is back, and nobody stands in for it any more. Whether anybody did, or was to.
    pub(super) fn take_down_stand_in(&self, stand_in: &Arc<StandIn>) -> bool {
        let mut hung = self.hung.lock();
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
        let mut hung = self.hung.lock();
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
        let mut hung = self.hung.lock();
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
        let mut hung = self.hung.lock();
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
    }
}

#[cfg(test)]
mod tests {
    use super::super::fd::{Interest, poll_fd};
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
}
