//! How a thread that sleeps is asked to collect.
//!
//! A thread that waits for ever sleeps through all the garbage that others make meanwhile. No timer wakes it to look; whoever gives up
//! the interpreter lock and leaves garbage behind rings for it.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use parking_lot::Mutex;
use rustix::event::{EventfdFlags, eventfd};
use rustix::io::{read, write};

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

/// The bells of the threads that sleep and could collect.
#[derive(Debug, Default)]
pub struct Bells {
    /// How many there are. A hint for who would ring; written with the list locked.
    count: AtomicUsize,
    /// Whether a thread was rung that had something else to do. Relaxed: it publishes nothing.
    unheeded: AtomicBool,
    /// Who went to sleep last is rung first: its stack and its caches are the warmest. No other lock is taken under this one.
    hung: Mutex<Vec<Bell>>,
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
        let mut hung = self.hung.lock();
        hung.push(bell.clone());
        self.count.store(hung.len(), Ordering::Relaxed);
    }

    /// Whether it was rung. `heeds`: its thread will collect, if it was.
    pub(super) fn take_down(&self, bell: &Bell, heeds: bool) -> bool {
        let mut hung = self.hung.lock();
        let place = hung
            .iter()
            .rposition(|other| Arc::ptr_eq(&other.fd, &bell.fd));
        if let Some(place) = place {
            hung.remove(place);
            self.count.store(hung.len(), Ordering::Relaxed);
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
        // With the list locked: a bell that was taken down is not rung afterwards.
        if let Some(bell) = hung.pop() {
            self.count.store(hung.len(), Ordering::Relaxed);
            bell.ring();
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
