//! Child processes, none of which stays a zombie: the status of one that nobody can wait for any more is fetched when
//! it has ended.

use std::io;
use std::ops::{Deref, DerefMut};
use std::process::{Child, Command};

use parking_lot::Mutex;
use rustix::process::{Pid, WaitOptions, waitpid};

/// Children whose handles were dropped while they ran. Nobody else waits for them, so that their numbers stay theirs.
static LEFT_ALONE: Mutex<Vec<Pid>> = Mutex::new(Vec::new());

/// A child process. When this is dropped before the child has ended, [`reap`] will see to it.
#[derive(Debug)]
pub(super) struct Offspring(Child);

impl Deref for Offspring {
    type Target = Child;

    fn deref(&self) -> &Child {
        &self.0
    }
}

impl DerefMut for Offspring {
    fn deref_mut(&mut self) -> &mut Child {
        &mut self.0
    }
}

impl Drop for Offspring {
    fn drop(&mut self) {
        if matches!(self.0.try_wait(), Ok(None)) {
            LEFT_ALONE.lock().push(Pid::from_child(&self.0));
        }
    }
}

/// Starts a process.
pub(super) fn spawn(command: &mut Command) -> io::Result<Offspring> {
    reap();
    command.spawn().map(Offspring)
}

/// Fetches the status of those that were left alone and have ended.
pub(super) fn reap() {
    LEFT_ALONE
        .lock()
        .retain(|&child| matches!(waitpid(Some(child), WaitOptions::NOHANG), Ok(None)));
}
